"""Lines of JSON: an object for each row, with the columns as they are in Parquet."""

import json
from typing import List, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..output import OutputFormat


def json_lines_bytes(table: pa.Table) -> bytes:
    """An object in each line, with the columns as they are in Parquet. Made column by column: no
    object of Python for a token."""
    if not len(table):
        return b""
    table = table.combine_chunks()
    columns = [_json(table[name].chunk(0)) for name in table.schema.names]
    rows = _object(table.schema.names, columns)
    return "".join(f"{row}\n" for row in rows.to_pylist()).encode("utf8")


def _object(names: Sequence[str], values: Sequence[pa.Array]) -> pa.Array:
    """Objects, from the JSON of their values."""
    pieces: List[object] = []
    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        pieces += [
            pa.scalar(f"{'{' if not i else ', '}{json.dumps(name)}: ", pa.large_string()),
            value,
        ]
    return pc.binary_join_element_wise(
        *pieces, pa.scalar("}", pa.large_string()), pa.scalar("", pa.large_string())
    )


def _json(values: pa.Array) -> pa.Array:
    kind = values.type
    if pa.types.is_list(kind):
        lists = pa.LargeListArray.from_arrays(_offsets(values), _json(values.flatten()))
        empty = pa.scalar("", pa.large_string())
        joined = pc.binary_join(lists, pa.scalar(", ", pa.large_string()))
        text = pc.binary_join_element_wise(
            pa.scalar("[", pa.large_string()), joined, pa.scalar("]", pa.large_string()), empty
        )
    elif pa.types.is_struct(kind):
        fields = values.flatten()
        text = _object(
            [kind.field(i).name for i in range(kind.num_fields)], [_json(field) for field in fields]
        )
    elif pa.types.is_string(kind):
        encoded = values.dictionary_encode()
        names = [json.dumps(name, ensure_ascii=False) for name in encoded.dictionary.to_pylist()]
        text = pa.array(names, pa.large_string()).take(encoded.indices)
    else:
        text = values.cast(pa.string()).cast(pa.large_string())
    return pc.if_else(values.is_valid(), text, pa.scalar("null", pa.large_string()))


def _offsets(values: pa.Array) -> pa.Array:
    lengths = pc.fill_null(values.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))


FORMAT = OutputFormat(table=json_lines_bytes)
