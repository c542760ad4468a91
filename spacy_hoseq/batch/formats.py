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
    """A part that is done. data: the bytes of its file. entry: what the list of parts says of it.
    position (int): as the part has it."""

    data: bytes
    entry: dict[str, Any]
    position: int


class Work(NamedTuple):
    """Makes the file of a part. format (str): one of `TABLES` or `DOCS`."""

    annotator: Annotator
    format: str

    def __call__(self, part: Part) -> Done:
        ids = [row.id for row in part.rows]
        texts = [row.text for row in part.rows]
        if self.format in TABLES:
            done = self.annotator.table(texts, pa.array(ids, pa.string()))
            data = TABLES[self.format](done.made)
        else:
            make, joined = DOCS[self.format]
            done = self.annotator.annotate(texts, partial(make, ids))
            data = joined(done.made)
        errors = [*map(_said, part.problems), *zip(ids, done.errors, strict=True)]
        entry = {
            "file": f"{part.number:06}.{self.format}",
            "sha256": sha256(data).hexdigest(),
            "read": part.digest,
            "rows": len(ids),
            "tokens": done.n_tokens,
            "errors": [
                {"part": part.number, "id": id, "error": error} for id, error in errors if error
            ],
        }
        return Done(data, entry, part.position)


def parquet_bytes(table: pa.Table) -> bytes:
    """One row group, compressed with zstd."""
    data = io.BytesIO()
    rows = max(1, len(table))
    pq.write_table(table.combine_chunks(), data, compression="zstd", row_group_size=rows)
    return data.getvalue()


def delimited_bytes(table: pa.Table, delimiter: str) -> bytes:
    """The names of the columns in the first line, then a line for each row; null is an empty
    cell."""
    data = io.BytesIO()
    plain = table.replace_schema_metadata(None)
    pcsv.write_csv(plain, data, pcsv.WriteOptions(delimiter=delimiter))
    return data.getvalue()


def json_lines_bytes(table: pa.Table) -> bytes:
    """An object in each line, with the columns as they are in Parquet."""
    return "".join(f"{srsly.json_dumps(row)}\n" for row in table.to_pylist()).encode("utf8")


def doc_bin(ids: Sequence[str], docs: Docs, here: slice) -> DocBin:
    """`doc.user_data["id"]` is the id. RAISES ValueError [HS171]: a span that nobody could read."""
    result = DocBin(store_user_data=True)
    for doc, name in zip(docs, ids[here], strict=True):
        if doc is not None:
            token_bounds(doc, spans_of(doc))
            doc.user_data["id"] = name
            result.add(doc)
    return result


def doc_bin_bytes(parts: Sequence[DocBin]) -> bytes:
    whole = DocBin(store_user_data=True)
    for part in parts:
        whole.merge(part)
    return whole.to_bytes()


def texts(write: Callable[[Doc, str], str], ids: Sequence[str], docs: Docs, here: slice) -> str:
    """write: a Doc and its id as text."""
    pairs = zip(docs, ids[here], strict=True)
    return "".join(write(doc, name) for doc, name in pairs if doc is not None)


def texts_bytes(parts: Sequence[str]) -> bytes:
    return "".join(parts).encode("utf8")


def _said(problem: Problem) -> tuple[str, str]:
    """Where a problem is, a file or a line of it, and what it is."""
    where = f"{problem.path.as_posix()}:{problem.line}" if problem.line else problem.path.as_posix()
    return where, Errors.HS172.format(actual=problem.actual, expected=problem.expected)


# the bytes of a table
TABLES: dict[str, Callable[[pa.Table], bytes]] = {
    "parquet": parquet_bytes,
    "jsonl": json_lines_bytes,
    "csv": partial(delimited_bytes, delimiter=","),
    "tsv": partial(delimited_bytes, delimiter="\t"),
}
# what some Docs become, and the bytes of all
DOCS: dict[str, tuple[Callable[..., Any], Callable[[Any], bytes]]] = {
    "spacy": (doc_bin, doc_bin_bytes),
    "conllu": (partial(texts, conllu), texts_bytes),
    "conll": (partial(texts, conll), texts_bytes),
}
STREAMS = ("jsonl", "conllu", "conll")  # parts can stand one behind the other
