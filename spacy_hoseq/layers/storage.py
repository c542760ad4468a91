"""How weights and feature keys are written: non-zero weights only, half precision where it fits,
bytes by place.

An array is stored as all of its first bytes, then all of its second bytes, and so on, compressed by
zlib: places that hardly vary (signs and exponents, zeros of short integers) then cost nearly
nothing. zlib looks for runs and frequent bytes only: there are no longer repetitions to speak of,
and looking for those takes twenty times as long, at every evaluation of a training. Feature keys
are random numbers, which cannot be compressed; their order can: in ascending order F keys of 64
bits cost about 64 - log2(F) + 1.5 bits each.

Columns of weights are numbered by how many rows use them, most used first, and each cell in use is
written as its distance from the one before: these are small numbers. Where few values occur, as
after compaction, they are written once, and each weight as the number of its value.

What a layer saves is a msgpack map of

    format    1
    layer     its name
    made_for  what the config says of it that its numbers depend on, as templates
    settings  whole numbers, texts, truth values
    tables    name -> weights that are not zero (`pack_table`)
    extra     what else it needs to understand its rows: numbers, arrays by name
"""

import zlib
from typing import Any, Dict, NamedTuple, Tuple

import numpy as np
import srsly
from numpy.typing import NDArray

from ..errors import Errors
from ..learning.used_rows import UsedRows, to_storage

FORMAT = 1
DISTINCT = 256  # values that a byte can number


class Saved(NamedTuple):
    """Saved layer. settings: plain values. tables: weights by name. extra: plain values and
    arrays."""

    settings: Dict[str, Any]
    tables: Dict[str, UsedRows]
    extra: Dict[str, Any]


def write_layer(
    layer: str,
    made_for: Dict[str, Any],
    settings: Dict[str, Any],
    tables: Dict[str, UsedRows],
    extra: Dict[str, Any],
) -> bytes:
    """RETURNS the bytes of a file."""
    message = {
        "format": FORMAT,
        "layer": layer,
        "made_for": made_for,
        "settings": settings,
        "tables": {name: pack_table(table) for name, table in tables.items()},
        "extra": pack_extra(extra),
    }
    return bytes(srsly.msgpack_dumps(message))


def read_layer(data: bytes, layer: str, made_for: Dict[str, Any]) -> Saved:
    """RAISES ValueError [HS050]: damaged, or not finite; [HS051]: of another layer, or made for
    another config."""
    try:
        message = srsly.msgpack_loads(data)
        if message["format"] != FORMAT:
            raise ValueError(f"format {message['format']}")
        got = message["layer"]
        saved_for = dict(message["made_for"])
        tables = {name: unpack_table(packed) for name, packed in message["tables"].items()}
        saved = Saved(dict(message["settings"]), tables, unpack_extra(message["extra"]))
    except Exception as error:
        raise ValueError(Errors.HS050.format(name=layer, problem=repr(error))) from error
    if got != layer:
        raise ValueError(Errors.HS051.format(name=layer, got=got, expected=layer))
    for name in sorted({*made_for, *saved_for}):
        if saved_for.get(name) != made_for.get(name):
            one, other = _differing(saved_for.get(name), made_for.get(name))
            raise ValueError(Errors.HS051.format(name=layer, got=f"{name} {one}", expected=other))
    for name, table in tables.items():
        if not np.isfinite(table.values).all():
            problem = "NaN or infinite values"
            raise ValueError(Errors.HS050.format(name=f"{layer}.{name}", problem=problem))
    return saved


def _differing(saved: object, expected: object) -> Tuple[object, object]:
    """Of two lists only what the other has not, if that tells them apart."""
    if not isinstance(saved, list) or not isinstance(expected, list):
        return saved, expected
    more = [each for each in saved if each not in expected]
    missing = [each for each in expected if each not in saved]
    return (more, missing) if more or missing else (saved, expected)


def pack_table(used: UsedRows) -> Dict[str, Any]:
    """Weights that are not zero, for msgpack.

    order: columns in use, most used first. cells (n,): of an array with these columns, each as its
    distance from the one before. values (n,); or distinct, and values as places in it.
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
        "order": _shortest(order),
        "cells": _shortest(np.diff(cells.take(ascending), prepend=0)),
        **_numbered(to_storage(flat[row, column].take(ascending))),
    }
    double = used.table.dtype == np.float64
    packed = {name: pack_array(part) for name, part in parts.items()}
    return {"shape": list(used.shape), "double": bool(double), **packed}


def unpack_table(packed: Dict[str, Any]) -> UsedRows:
    """The inverse of `pack_table`. RAISES Exception of any kind: damaged."""
    shape = tuple(map(int, packed["shape"]))
    order = unpack_array(packed["order"])
    cells = unpack_array(packed["cells"]).cumsum(dtype=np.intp)
    row, place = np.divmod(cells, max(1, len(order)))
    values = unpack_array(packed["values"])
    if "distinct" in packed:
        values = unpack_array(packed["distinct"]).take(values)
    begins = np.diff(row, prepend=-1) != 0
    rows = row[begins]
    if rows.max(initial=-1) >= shape[0]:
        raise ValueError("more rows than the table has")
    dtype = np.float64 if packed["double"] else np.float32
    table = np.zeros((len(rows) + 1, int(np.prod(shape[1:]))), dtype)
    table[begins.cumsum() - 1, order.take(place)] = values
    return UsedRows(shape, rows, table.reshape(len(rows) + 1, *shape[1:]))


def _shortest(numbers: NDArray[np.generic]) -> NDArray[np.generic]:
    """Whole numbers >= 0 in the shortest type that holds them."""
    return numbers.astype(np.min_scalar_type(numbers.max(initial=0)))


def _numbered(values: NDArray[np.generic]) -> Dict[str, NDArray[np.generic]]:
    """values; or distinct and values, if few of half precision occur."""
    if values.dtype == np.float16:
        bits = values.view(np.uint16)
        distinct = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
        if len(distinct) <= DISTINCT:
            numbers = np.searchsorted(distinct, bits).astype(np.uint8)
            return {"distinct": distinct.view(np.float16), "values": numbers}
    return {"values": values}


def pack_array(array: NDArray[np.generic]) -> Dict[str, Any]:
    """RETURNS shape, type and compressed bytes."""
    dtype = array.dtype.newbyteorder("<")
    little = np.ascontiguousarray(array, dtype).reshape(-1)
    places = little.view(np.uint8).reshape(len(little), dtype.itemsize).T  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    data = packer.compress(places.tobytes()) + packer.flush()
    return {"shape": list(array.shape), "dtype": dtype.str, "bytes": data}


def unpack_array(packed: Dict[str, Any]) -> NDArray[Any]:
    """The inverse of `pack_array`. RAISES Exception of any kind: damaged."""
    dtype = np.dtype(packed["dtype"])
    places = np.frombuffer(zlib.decompress(packed["bytes"]), np.uint8)
    little = np.ascontiguousarray(places.reshape(dtype.itemsize, -1).T).view(dtype)
    return little.reshape(packed["shape"]).astype(dtype.newbyteorder("="))


def pack_extra(extra: Any, name: str = "") -> Any:
    """Saved values beside the weights, with all arrays packed, wherever they are. name: of an
    array. Those called "keys" are packed as differences modulo 2^64: small ones if they ascend."""
    if isinstance(extra, dict):
        return {part: pack_extra(value, part) for part, value in extra.items()}
    if isinstance(extra, list):
        return [pack_extra(value, name) for value in extra]
    if isinstance(extra, np.ndarray):
        return pack_array(np.diff(extra, prepend=extra.dtype.type(0)) if name == "keys" else extra)
    return extra


def unpack_extra(extra: Any, name: str = "") -> Any:
    """The inverse of `pack_extra`. RAISES Exception of any kind: damaged."""
    if isinstance(extra, dict) and "bytes" in extra:
        array = unpack_array(extra)
        return array.cumsum(dtype=array.dtype) if name == "keys" else array
    if isinstance(extra, dict):
        return {part: unpack_extra(value, part) for part, value in extra.items()}
    if isinstance(extra, list):
        return [unpack_extra(value, name) for value in extra]
    return extra
