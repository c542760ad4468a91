"""File format of arrays and of tables of weights: packed for msgpack, without loss.


An array is stored as all of its first bytes, then all of its second bytes, and so on, compressed by
zlib: places that hardly vary (signs and exponents, zeros of short integers) then cost nearly
nothing. zlib looks for runs and frequent bytes only: there are no longer repetitions to speak of,
and looking for those takes twenty times as long, at every evaluation of a training. Feature keys
are random numbers, which cannot be compressed; their order can: in ascending order F keys of 64
bits cost about 64 - log2(F) + 1.5 bits each.
"""

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..learning.used_rows import UsedRows, to_storage

DISTINCT = 256  # values that a byte can number


def packed(value: Any, name: str = "") -> Any:
    """A value for msgpack, with all arrays and tables packed, wherever they are. name: of an array.
    Those called "keys" are packed as differences modulo 2^64: small ones if they ascend."""
    if isinstance(value, UsedRows):
        value = pack_table(value)
    if isinstance(value, dict):
        return {part: packed(each, part) for part, each in value.items()}
    if isinstance(value, list):
        return [packed(each, name) for each in value]
    if isinstance(value, np.ndarray):
        return pack_array(np.diff(value, prepend=value.dtype.type(0)) if name == "keys" else value)
    return value


def unpacked(value: Any, name: str = "") -> Any:
    """The inverse of `packed`. RAISES Exception of any kind: damaged."""
    if isinstance(value, list):
        return [unpacked(each, name) for each in value]
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        array = unpack_array(value)
        return array.cumsum(dtype=array.dtype) if name == "keys" else array
    parts = {part: unpacked(each, part) for part, each in value.items()}
    return unpack_table(parts) if "cells" in parts else parts


def pack_table(used: UsedRows) -> dict[str, Any]:
    """Weights that are not zero. Columns are numbered by how many rows use them, most used first,
    and each cell in use is written as its distance from the one before: these are small numbers.

    order: columns in use, most used first. cells (n,): of an array with these columns. values (n,);
    or distinct, and values as places in it: where few values of half precision occur, as after
    compaction, they are written once.
    """
    flat = used.values.reshape(len(used.rows), int(np.prod(used.shape[1:])))
    row, column = np.nonzero(flat)
    n_used = np.bincount(column)
    order = np.argsort(-n_used, kind="stable")[: np.count_nonzero(n_used)]
    place = np.zeros(len(n_used), np.intp)
    place[order] = np.arange(len(order))
    cells = used.rows.take(row) * len(order) + place.take(column)
    ascending = np.argsort(cells, kind="stable")
    parts = {
        "shape": list(used.shape),
        "double": used.table.dtype == np.float64,
        "order": _shortest(order),
        "cells": _shortest(np.diff(cells.take(ascending), prepend=0)),
    }
    values = to_storage(flat[row, column].take(ascending))
    if values.dtype == np.float16:
        bits = values.view(np.uint16)
        distinct = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
        if len(distinct) <= DISTINCT:
            parts["distinct"] = distinct.view(np.float16)
            values = np.searchsorted(distinct, bits).astype(np.uint8)
    return {**parts, "values": values}


def unpack_table(parts: dict[str, Any]) -> UsedRows:
    """The inverse of `pack_table`. RAISES Exception of any kind: damaged, or not finite."""
    shape = tuple(map(int, parts["shape"]))
    row, place = np.divmod(parts["cells"].cumsum(dtype=np.intp), max(1, len(parts["order"])))
    values = parts["distinct"].take(parts["values"]) if "distinct" in parts else parts["values"]
    if not np.isfinite(values).all():
        raise ValueError("NaN or infinite values")
    begins = np.diff(row, prepend=-1) != 0
    rows = row[begins]
    if rows.max(initial=-1) >= shape[0]:
        raise ValueError("more rows than the table has")
    dtype = np.float64 if parts["double"] else np.float32
    table = np.zeros((len(rows) + 1, int(np.prod(shape[1:]))), dtype)
    table[begins.cumsum() - 1, parts["order"].take(place)] = values
    return UsedRows(shape, rows, table.reshape(len(rows) + 1, *shape[1:]))


def _shortest(numbers: NDArray[np.generic]) -> NDArray[np.generic]:
    """Whole numbers >= 0 in the shortest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def pack_array(array: NDArray[np.generic]) -> dict[str, Any]:
    """RETURNS shape, type and compressed bytes."""
    dtype = array.dtype.newbyteorder("<")
    little = np.ascontiguousarray(array, dtype).reshape(-1)
    places = little.view(np.uint8).reshape(len(little), dtype.itemsize).T  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    data = packer.compress(places.tobytes()) + packer.flush()
    return {"shape": list(array.shape), "dtype": dtype.str, "bytes": data}


def unpack_array(packed: dict[str, Any]) -> NDArray[Any]:
    """The inverse of `pack_array`. RAISES Exception of any kind: damaged."""
    dtype = np.dtype(packed["dtype"])
    places = np.frombuffer(zlib.decompress(packed["bytes"]), np.uint8)
    little = np.ascontiguousarray(places.reshape(dtype.itemsize, -1).T).view(dtype)
    return little.reshape(packed["shape"]).astype(dtype.newbyteorder("="))
