"""Files of parts: the bytes of a table, or of a file of Docs."""

import io
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import srsly
from spacy.tokens import Doc, DocBin

from ..errors import Errors
from ..readers.sentences import Problem
from .annotator import Annotator
from .columns import Docs, spans_of, token_bounds
from .conllu import conll, conllu
from .inputs import Part


class Done(NamedTuple):
    """A part that is done. data: the bytes of its file. entry: its line in the list of parts.
    position (int): as `Part.position`."""

    data: bytes
    entry: dict[str, Any]
    position: int


class Work(NamedTuple):
    """Annotates parts. format (str): of their files, one of `TABLES` or `DOCS`."""

    annotator: Annotator
    format: str

    def __call__(self, part: Part) -> Done:
        ids = [row.id for row in part.rows]
        texts = [row.text for row in part.rows]
        if self.format in TABLES:
            annotated = self.annotator.table(texts, pa.array(ids, pa.string()))
            data = TABLES[self.format](annotated.result)
        else:
            convert, join = DOCS[self.format]
            annotated = self.annotator.annotate(texts, partial(convert, ids))
            data = join(annotated.result)
        errors = [_error(part, *_described(problem)) for problem in part.problems]
        for row_id, error in zip(ids, annotated.errors, strict=True):
            if error:
                errors.append(_error(part, row_id, error))
        entry = {
            "file": f"{part.number:06}.{self.format}",
            "sha256": sha256(data).hexdigest(),
            "read": part.digest,
            "rows": len(ids),
            "tokens": annotated.n_tokens,
            "errors": errors,
        }
        return Done(data, entry, part.position)


def parquet_bytes(table: pa.Table) -> bytes:
    """One row group, compressed with zstd."""
    data = io.BytesIO()
    rows = max(1, len(table))
    pq.write_table(table.combine_chunks(), data, compression="zstd", row_group_size=rows)
    return data.getvalue()


def delimited_bytes(table: pa.Table, delimiter: str) -> bytes:
    """CSV or TSV. The first line has the names of the columns; null is an empty cell."""
    data = io.BytesIO()
    plain = table.replace_schema_metadata(None)
    pcsv.write_csv(plain, data, pcsv.WriteOptions(delimiter=delimiter))
    return data.getvalue()


def json_lines_bytes(table: pa.Table) -> bytes:
    """An object for each row, with the same columns as in Parquet."""
    lines = [f"{srsly.json_dumps(row)}\n" for row in table.to_pylist()]
    return "".join(lines).encode("utf8")


def doc_bin(ids: Sequence[str], docs: Docs, rows: slice) -> DocBin:
    """Some Docs, whose ids are `doc.user_data["id"]`. RAISES ValueError [HS171]: a span could not
    be read back."""
    result = DocBin(store_user_data=True)
    for doc, row_id in zip(docs, ids[rows], strict=True):
        if doc is not None:
            token_bounds(doc, spans_of(doc))  # raises here, not when the file is read
            doc.user_data["id"] = row_id
            result.add(doc)
    return result


def doc_bin_bytes(bins: Sequence[DocBin]) -> bytes:
    """All of them as one file."""
    result = DocBin(store_user_data=True)
    for bin in bins:
        result.merge(bin)
    return result.to_bytes()


def texts(write: Callable[[Doc, str], str], ids: Sequence[str], docs: Docs, rows: slice) -> str:
    """Some Docs as text. write: gives the text of a Doc and its id."""
    pairs = zip(docs, ids[rows], strict=True)
    return "".join([write(doc, row_id) for doc, row_id in pairs if doc is not None])


def texts_bytes(texts: Sequence[str]) -> bytes:
    """All of them as one file."""
    return "".join(texts).encode("utf8")


def _error(part: Part, row_id: str, error: str) -> dict[str, Any]:
    """A line of errors.jsonl."""
    return {"part": part.number, "id": row_id, "error": error}


def _described(problem: Problem) -> tuple[str, str]:
    """Its file and line in place of an id, and a message."""
    where = problem.path.as_posix()
    if problem.line:
        where = f"{where}:{problem.line}"
    return where, Errors.HS172.format(actual=problem.actual, expected=problem.expected)


# a format -> the bytes of a table
TABLES: dict[str, Callable[[pa.Table], bytes]] = {
    "parquet": parquet_bytes,
    "jsonl": json_lines_bytes,
    "csv": partial(delimited_bytes, delimiter=","),
    "tsv": partial(delimited_bytes, delimiter="\t"),
}
# a format -> what some Docs become, and the bytes of all of that
DOCS: dict[str, tuple[Callable[..., Any], Callable[[Any], bytes]]] = {
    "spacy": (doc_bin, doc_bin_bytes),
    "conllu": (partial(texts, conllu), texts_bytes),
    "conll": (partial(texts, conll), texts_bytes),
}
