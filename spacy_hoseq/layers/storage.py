"""File format of a layer's weights: a msgpack map (`SavedLayer`) whose arrays are packed.

An array is stored as all of its first bytes, then all of its second bytes, and so on, compressed by
zlib: bytes that hardly vary (signs and exponents, zeros of short integers) then cost nearly
nothing. zlib looks for runs and frequent bytes only. There are no longer repetitions to speak of,
and looking for those takes twenty times as long, at every evaluation of a training.
"""

import zlib
from typing import Any, TypedDict, cast

import numpy as np
import srsly
from numpy.typing import NDArray

from ..arrays import Keys
from ..learning.used_rows import Cells, UsedRows, to_storage

FORMAT = 1


class SavedLayer(TypedDict):
    """What a layer saves. In the file, tables are `PackedTable`, and arrays are `PackedArray`.

    format (int): of the file. layer (str): its name. made_for: what the config says of the layer
        that its weights depend on, as templates.
    settings: whole numbers, texts, truth values. tables: weights by name.
    extra: what else the layer needs to understand its rows: arrays and values by name. Its "keys"
        are those of features: an array, or a list of arrays.
    """

    format: int
    layer: str
    made_for: dict[str, Any]
    settings: dict[str, Any]
    tables: dict[str, UsedRows]
    extra: dict[str, Any]


class PackedArray(TypedDict):
    """shape: of the array. dtype: NumPy's name, little-endian. bytes: compressed."""

    shape: list[int]
    dtype: str
    bytes: bytes


class PackedTable(TypedDict, total=False):
    """Weights of a table (R, ...), flattened to two dimensions, that are not zero.

    shape: of the table. double (bool): it is of double precision.
    order (C,): columns in use, those of most weights first.
    cells (n,): row * C + place of the column in `order`, ascending, as differences.
    distinct: the values, if they are few, and only then; `values` are places in it.
    values (n,): of the cells.
    """

    shape: list[int]
    double: bool
    order: PackedArray
    cells: PackedArray
    distinct: PackedArray
    values: PackedArray


def layer_bytes(saved: SavedLayer) -> bytes:
    """The bytes of a file."""
    extra = {}
    for name, value in saved["extra"].items():
        extra[name] = _pack_keys(value) if name == "keys" else _pack_value(value)
    tables = {name: pack_table(table) for name, table in saved["tables"].items()}
    return bytes(srsly.msgpack_dumps({**saved, "tables": tables, "extra": extra}))


def read_layer(data: bytes) -> SavedLayer:
    """The inverse of `layer_bytes`. RAISES Exception of any kind: damaged, or of another format."""
    saved = srsly.msgpack_loads(data)
    if saved["format"] != FORMAT:
        raise ValueError(f"format {saved['format']}")
    extra = {}
    for name, value in saved["extra"].items():
        extra[name] = _unpack_keys(value) if name == "keys" else _unpack_value(value)
    tables = {name: unpack_table(table) for name, table in saved["tables"].items()}
    return cast(SavedLayer, {**saved, "tables": tables, "extra": extra})


def pack_table(used: UsedRows) -> PackedTable:
    """Pack the weights of a table that are not zero."""
    flat = used.values.reshape(len(used.rows), int(np.prod(used.shape[1:])))  # (U, L)
    row, column = np.nonzero(flat)
    # columns are numbered by their weights, most first: cells in use are then close together
    n_weights = np.bincount(column)
    order = np.argsort(-n_weights, kind="stable")[: np.count_nonzero(n_weights)]  # (C,)
    place = np.zeros(len(n_weights), np.intp)
    place[order] = np.arange(len(order))
    cells = used.rows.take(row) * len(order) + place.take(column)
    ascending = np.argsort(cells, kind="stable")
    packed: PackedTable = {
        "shape": list(used.shape),
        "double": used.table.dtype == np.float64,
        "order": pack_array(_shortest(order)),
        # distances to the cell before: small numbers, whose higher bytes are all zero
        "cells": pack_array(_shortest(np.diff(cells.take(ascending), prepend=0))),
    }
    values = to_storage(flat[row, column].take(ascending))
    if values.dtype == np.float16:
        # compaction leaves few values: they are written once, if a byte can number them
        bits = values.view(np.uint16)
        distinct = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
        if len(distinct) <= 256:
            packed["distinct"] = pack_array(distinct.view(np.float16))
            values = np.searchsorted(distinct, bits).astype(np.uint8)
    packed["values"] = pack_array(values)
    return packed


def unpack_table(packed: PackedTable) -> UsedRows:
    """The inverse of `pack_table`. RAISES Exception of any kind: damaged, or not finite."""
    shape = tuple(map(int, packed["shape"]))
    order = unpack_array(packed["order"])
    values = unpack_array(packed["values"])
    if "distinct" in packed:
        values = unpack_array(packed["distinct"]).take(values)
    if not np.isfinite(values).all():
        raise ValueError("NaN or infinite values")
    cells = unpack_array(packed["cells"]).cumsum(dtype=np.intp)
    row, place = np.divmod(cells, max(1, len(order)))
    is_first = np.diff(row, prepend=-1) != 0  # of its row
    rows = row[is_first]
    if rows.max(initial=-1) >= shape[0]:
        raise ValueError("more rows than the table has")
    dtype = np.float64 if packed["double"] else np.float32
    if len(shape) == 2 and 20 * len(cells) < len(rows) * shape[1]:
        size = len(rows) + 1, shape[1]
        row = is_first.cumsum() - 1
        sparse = Cells.of(row, order.take(place), values.astype(dtype), size)
        return UsedRows(shape, rows, cells=sparse)
    table = np.zeros((len(rows) + 1, int(np.prod(shape[1:]))), dtype)  # the last row stays zero
    table[is_first.cumsum() - 1, order.take(place)] = values
    return UsedRows(shape, rows, table.reshape(len(rows) + 1, *shape[1:]))


def pack_array(array: NDArray[Any]) -> PackedArray:
    """Pack an array without loss."""
    dtype = array.dtype.newbyteorder("<")
    little = np.ascontiguousarray(array, dtype).reshape(-1)
    planes = little.view(np.uint8).reshape(len(little), dtype.itemsize).T  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    data = packer.compress(planes.tobytes()) + packer.flush()
    return {"shape": list(array.shape), "dtype": dtype.str, "bytes": data}


def unpack_array(packed: PackedArray) -> NDArray[Any]:
    """The inverse of `pack_array`. RAISES Exception of any kind: damaged."""
    dtype = np.dtype(packed["dtype"])
    planes = np.frombuffer(zlib.decompress(packed["bytes"]), np.uint8)
    little = np.ascontiguousarray(planes.reshape(dtype.itemsize, -1).T).view(dtype)
    return little.reshape(packed["shape"]).astype(dtype.newbyteorder("="))


def _pack_keys(keys: Keys | list[Keys]) -> Any:
    """Pack feature keys, as differences modulo 2^64 between one and the next.

    Keys are random numbers, which cannot be compressed; their order can. In ascending order F keys
    of 64 bits cost about 64 - log2(F) + 1.5 bits each.
    """
    if isinstance(keys, list):
        return [_pack_keys(group) for group in keys]
    return pack_array(np.diff(keys, prepend=keys.dtype.type(0)))


def _unpack_keys(packed: Any) -> Keys | list[Keys]:
    if isinstance(packed, list):
        return [unpack_array(group).cumsum(dtype=np.uint64) for group in packed]
    return unpack_array(packed).cumsum(dtype=np.uint64)


def _pack_value(value: Any) -> Any:
    """Pack the arrays in a value of `extra`."""
    if isinstance(value, dict):
        return {name: _pack_value(part) for name, part in value.items()}
    return pack_array(value) if isinstance(value, np.ndarray) else value


def _unpack_value(packed: Any) -> Any:
    if not isinstance(packed, dict):
        return packed
    if packed.keys() == PackedArray.__annotations__.keys():
        return unpack_array(cast(PackedArray, packed))
    return {name: _unpack_value(part) for name, part in packed.items()}


def _shortest(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers >= 0 in the shortest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
