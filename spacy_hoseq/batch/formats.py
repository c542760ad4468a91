"""What a part becomes: bytes of a table, or of a file of Docs."""

import io
import json
from typing import Any, Dict, List, NamedTuple, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
from spacy.tokens import DocBin

from .columns import Annotated, check_spans, tokens_of
from .conll import conll, conllu

STRING = pa.large_string()


class Format(NamedTuple):
    """table: bytes of a table; or docs: what some Docs become, and joined: the bytes of these.
    is_stream (bool): parts can stand one behind the other. is_flat (bool): rows are tokens."""

    table: Any = None
    docs: Any = None
    joined: Any = None
    is_stream: bool = True
    is_flat: bool = False


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
    """An object in each line, with the columns as they are in Parquet. Made column by column: no
    object of Python for a token."""
    if not len(table):
        return b""
    table = table.combine_chunks()
    columns = [_json(column.chunk(0)) for column in table.columns]
    rows = _object(table.schema.names, columns)
    return "".join(f"{row}\n" for row in rows.to_pylist()).encode("utf8")


def _object(names: Sequence[str], values: Sequence[pa.Array]) -> pa.Array:
    """Objects, from the JSON of their values."""
    pieces: List[object] = []
    for name, value in zip(names, values, strict=True):
        pieces += [f"{', ' if pieces else '{'}{json.dumps(name)}: ", value]
    return _joined(*pieces, "}")


def _joined(*pieces: object) -> pa.Array:
    texts = [pa.scalar(piece, STRING) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*texts, pa.scalar("", STRING))


def _json(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_list(kind):
        lengths = pc.fill_null(values.value_lengths(), 0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
        lists = pa.LargeListArray.from_arrays(offsets, _json(values.flatten()))
        text = _joined("[", pc.binary_join(lists, pa.scalar(", ", STRING)), "]")
    elif pa.types.is_struct(kind):
        names = [field.name for field in kind]
        text = _object(names, [_json(field) for field in values.flatten()])
    elif pa.types.is_string(kind):
        encoded = values.dictionary_encode()
        names = [json.dumps(name, ensure_ascii=False) for name in encoded.dictionary.to_pylist()]
        text = pa.array(names, STRING).take(encoded.indices)
    else:
        text = values.cast(pa.string()).cast(STRING)
    return pc.if_else(values.is_valid(), text, pa.scalar("null", STRING))


def doc_bin(rows: Annotated, ids: Sequence[str]) -> DocBin:
    """`doc.user_data["id"]` is the id. RAISES ValueError [HS171]: a span that nobody could read."""
    check_spans(tokens_of(rows, []))
    docs = DocBin(store_user_data=True)
    for name, doc in zip(ids, rows.docs, strict=True):
        if doc is not None:
            doc.user_data["id"] = name
            docs.add(doc)
    return docs


def doc_bin_bytes(parts: Sequence[DocBin]) -> bytes:
    whole = DocBin(store_user_data=True)
    for part in parts:
        whole.merge(part)
    return whole.to_bytes()


def lines_bytes(parts: Sequence[str]) -> bytes:
    return "".join(parts).encode("utf8")


FORMATS: Dict[str, Format] = {
    "parquet": Format(table=parquet_bytes, is_stream=False),
    "jsonl": Format(table=json_lines_bytes),
    "csv": Format(table=lambda table: delimited_bytes(table, ","), is_stream=False, is_flat=True),
    "tsv": Format(table=lambda table: delimited_bytes(table, "\t"), is_stream=False, is_flat=True),
    "spacy": Format(docs=doc_bin, joined=doc_bin_bytes, is_stream=False),
    "conll": Format(docs=conll, joined=lines_bytes),
    "conllu": Format(docs=conllu, joined=lines_bytes),
}
