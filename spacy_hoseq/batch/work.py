"""What is done with a part: a function from texts to the bytes of a file, which any process can run.

Only the process that hands out parts writes (folder.py), so a process that ends leaves nothing half-written.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Sequence

import pyarrow as pa
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..readers.sentences import Problem
from .annotator import Annotator
from .columns import Annotated
from .formats import DOCS, TABLES, table_of
from .parts import Part


class Done(NamedTuple):
    """A part that is done: the bytes of its file, and what could not be done. position (int): as the part has it.
    read (str): digest of what was read."""

    number: int
    data: bytes
    rows: int
    tokens: int
    errors: List[Dict[str, Any]]
    position: int
    read: str


class Work:
    """Annotates parts. Can be pickled, as the annotator can. format (str): one of FORMATS."""

    def __init__(self, annotator: Annotator, format: str) -> None:
        self.annotator, self.format = annotator, format

    def __call__(self, part: Part) -> Done:
        errors = [_error(part, problem) for problem in part.problems]
        ids, tables, tokens, at = list(part.ids), list[pa.Table](), 0, 0
        file = DOCS[self.format]() if self.format in DOCS else None

        def rows(vocab: Vocab) -> Sequence[Any]:
            if part.docs is None:
                return part.texts
            docs = _docs(part, vocab, errors)
            ids.extend(f"{part.docs[0].as_posix()}:{number}" for number in range(1, len(docs) + 1))
            return docs

        for done in self.annotator.annotate(rows, on_docs=file is not None):
            names = ids[at : at + len(done.docs)]
            failed = [(name, error) for name, error in zip(names, done.errors, strict=True) if error is not None]
            errors += [{"part": part.number, "id": name, "error": error} for name, error in failed]
            tokens += sum(len(doc) for doc in done.docs if doc is not None)
            if file is None:
                tables.append(self._table(part, names, done, at))
            else:
                there = [(name, doc) for name, doc in zip(names, done.docs, strict=True) if doc is not None]
                file.add([name for name, _ in there], [doc for _, doc in there])
                del there
            at += len(names)
            del done
        if file is None:
            data = TABLES[self.format](pa.concat_tables(tables) if tables else self.annotator.schema.empty_table())
        else:
            data = file.data()
        return Done(part.number, data, at, tokens, errors, part.position, part.digest)

    def _table(self, part: Part, names: List[str], done: Annotated, first: int) -> pa.Table:
        annotator = self.annotator
        texts: Sequence[Any] = part.texts[first : first + len(names)]
        if part.docs is not None:
            texts = [None if doc is None else doc.text for doc in done.docs]
        return table_of(names, texts, annotator.columns(done), annotator.outputs, annotator.about)


def _docs(part: Part, vocab: Vocab, errors: List[Dict[str, Any]]) -> List[Doc]:
    """Those of a .spacy file, or none and an error."""
    path, data = part.docs or (Path(), b"")
    try:
        return list(DocBin().from_bytes(data).get_docs(vocab))
    except Exception as error:  # whatever spaCy, msgpack and zlib raise
        errors.append(_error(part, Problem(path, 1, str(error), "a .spacy file")))
        return []


def _error(part: Part, problem: Problem) -> Dict[str, Any]:
    """A line of errors.jsonl."""
    where = f"{problem.path.as_posix()}:{problem.line}" if problem.line else problem.path.as_posix()
    if problem.actual.startswith("[HS"):
        return {"part": part.number, "id": where, "error": problem.actual}
    error = Errors.HS172.format(actual=problem.actual, expected=problem.expected)
    return {"part": part.number, "id": where, "error": error}
