"""What is done with a part: a function from texts to the bytes of a file, which any process can
run.

Only the process that hands out parts writes (folder.py), so a process that ends leaves nothing
half-written.
"""

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import pyarrow as pa
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors
from ..readers.sentences import Problem
from .annotator import Annotator
from .columns import Annotated
from .flat import flat
from .output import DocsFile
from .parts import InputPart
from .schema import schema_of
from .writing import output_format


class Done(NamedTuple):
    """A part that is done: the bytes of its file, and what could not be done. position (int): as
    the part has it.
    read (str): digest of what was read."""

    number: int
    data: bytes
    rows: int
    tokens: int
    errors: List[Dict[str, object]]
    position: int
    read: str


class Work:
    """Annotates parts. Can be pickled, as the annotator can. format (str): the name of one
    (writing/). flat (bool): a row for each token, not for each text."""

    def __init__(self, annotator: Annotator, format: str, flat: bool = False) -> None:
        self.annotator = annotator
        self.format = format
        self.flat = flat

    def with_bytes(self) -> "Work":
        """The same, with the pipeline as bytes."""
        return Work(self.annotator.with_bytes(), self.format, self.flat)

    def __call__(self, part: InputPart) -> Done:
        form = output_format(self.format)
        target: Union[_PartTables, _Docs] = (
            _PartTables(self) if form.docs is None else _Docs(form.docs())
        )
        doing = _Doing(part)
        for done in self.annotator.annotate(doing.rows, on_docs=form.docs is not None):
            names, texts = doing.take(done)
            target.add(names, texts, done)
            del done
        return Done(
            part.number,
            target.data(),
            doing.n_rows,
            doing.n_tokens,
            doing.errors,
            part.position,
            part.digest,
        )


class _Doing:
    """How far a part is done, and what could not be."""

    def __init__(self, part: InputPart) -> None:
        self.errors = [_error(part, problem) for problem in part.problems]
        self.n_rows = 0
        self.n_tokens = 0
        self._part = part
        self._ids = list(part.ids)

    def rows(self, vocab: Vocab) -> Sequence[Any]:
        """Texts, or Docs."""
        if self._part.docs is None:
            return self._part.texts
        docs = _docs(self._part, vocab, self.errors)
        place = self._part.docs[0].as_posix()
        self._ids = [f"{place}:{number}" for number in range(1, len(docs) + 1)]
        return docs

    def take(self, done: Annotated) -> Tuple[List[str], List[Optional[str]]]:
        """RETURNS the ids and the texts of these rows, which are the next ones."""
        first = self.n_rows
        self.n_rows += len(done.docs)
        self.n_tokens += sum(len(doc) for doc in done.docs if doc is not None)
        names = self._ids[first : self.n_rows]
        self.errors += [
            {"part": self._part.number, "id": name, "error": error}
            for name, error in zip(names, done.errors, strict=True)
            if error is not None
        ]
        if self._part.docs is None:
            return names, self._part.texts[first : self.n_rows]
        return names, [None if doc is None else doc.text for doc in done.docs]


class _PartTables:
    """A part as a table."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._tables: List[pa.Table] = []

    def add(self, names: List[str], texts: List[Optional[str]], done: Annotated) -> None:
        annotator = self._work.annotator
        schema = schema_of(annotator.outputs, pa.string(), annotator.about)
        columns = annotator.columns(done)
        columns["id"] = pa.array(names, pa.string())
        columns["text"] = pa.array(texts, pa.string())
        self._tables.append(pa.table([columns[name] for name in schema.names], schema=schema))

    def data(self) -> bytes:
        empty = self._work.annotator.schema.empty_table()
        table = pa.concat_tables(self._tables) if self._tables else empty
        write = output_format(self._work.format).table
        return b"" if write is None else write(flat(table) if self._work.flat else table)


class _Docs:
    """A part as a file of Docs; those that failed are left out."""

    def __init__(self, file: DocsFile) -> None:
        self._file = file

    def add(self, names: List[str], texts: List[Optional[str]], done: Annotated) -> None:
        there = [(name, doc) for name, doc in zip(names, done.docs, strict=True) if doc is not None]
        self._file.add([name for name, _ in there], [doc for _, doc in there])

    def data(self) -> bytes:
        return self._file.data()


def _docs(part: InputPart, vocab: Vocab, errors: List[Dict[str, object]]) -> List[Doc]:
    """Those of a .spacy file, or none and an error."""
    path, data = part.docs or (Path(), b"")
    try:
        return list(DocBin().from_bytes(data).get_docs(vocab))
    except Exception as error:  # whatever spaCy, msgpack and zlib raise
        errors.append(_error(part, Problem(path, 1, str(error), "a .spacy file")))
        return []


def _error(part: InputPart, problem: Problem) -> Dict[str, object]:
    """A line of errors.jsonl."""
    where = f"{problem.path.as_posix()}:{problem.line}" if problem.line else problem.path.as_posix()
    if problem.actual.startswith("[HS"):
        return {"part": part.number, "id": where, "error": problem.actual}
    error = Errors.HS172.format(actual=problem.actual, expected=problem.expected)
    return {"part": part.number, "id": where, "error": error}
