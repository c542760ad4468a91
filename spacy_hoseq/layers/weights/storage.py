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

Format 5: what a layer saves is a msgpack map of

    format    5
    layer     its name
    made_for  what the config says of it that its numbers depend on, as templates
    settings  whole numbers, texts, truth values
    tables    name -> weights that are not zero: shape, double, order, cells, values, and distinct
              where few values occur (`SparseTable.packed`)
    extra     what else it needs to understand its rows: numbers, arrays by name

A packed array is its shape and its bytes; its type follows from its name, with the number of bytes
where weights or numbers of columns may be short or long. Format 4 had columns and values as they
are; format 3 had shortened keys in whole bytes, so that its reader would look for others; format 2
had types in the file, and another layout of local classifiers; format 1 had plain arrays. All are
read.
"""

import zlib
from typing import Any, Dict, NamedTuple, Sequence, Tuple

import numpy as np
import srsly
from numpy.typing import NDArray

from ...arrays import Ints, Keys
from ...errors import Errors
from ...learning.used_weights import FEW, MANY_COLUMNS, Used, UsedCells, UsedRows, to_storage

FORMAT = 5
COLUMNS = ("<u1", "<u2", "<u4")  # the shortest type that holds all columns
CELLS = (*COLUMNS, "<u8")
WEIGHTS = ("<f2", "<f4")
COPIED = (*WEIGHTS, "<f8")  # in copies, which are exact
EXTRA = {"keys": ("<u8",), "values": ("<u8",), "sets": ("<u1",)}  # all other arrays: NUMBERS
NUMBERS = ("<i4",)
DOUBLE = {"<f4": False, "<f8": True}  # types of arrays of weights in formats 1 and 2
DISTINCT = 256  # values that a byte can number
EMPTY = 1 << 24  # columns that an array without weights may have
UNFIT = "the parts of an array do not fit together"


class Saved(NamedTuple):
    """What a layer saves. made_for, settings: plain values. tables: weights by name. extra: plain
    values and arrays."""

    made_for: Dict[str, object]
    settings: Dict[str, Any]
    tables: Dict[str, Used]
    extra: Dict[str, object]


def write_layer(
    layer: str,
    made_for: Dict[str, Any],
    settings: Dict[str, Any],
    tables: Dict[str, UsedCells],
    packed: Dict[str, Any],
) -> bytes:
    """packed: of `pack_extra`."""
    message = {
        "format": FORMAT,
        "layer": layer,
        "made_for": made_for,
        "settings": settings,
        "tables": {name: SparseTable.of(used).packed() for name, used in tables.items()},
        "extra": packed,
    }
    return bytes(srsly.msgpack_dumps(message))


def read_layer(data: bytes, layer: str, made_for: Dict[str, Any]) -> Saved:
    """RAISES ValueError [HS050]: damaged; [HS051]: of another layer, or made for another config;
    [HS054]: NaN or infinite weights; [HS059]: of a later version."""
    try:
        message = srsly.msgpack_loads(data)
        version = int(message.get("format", 1))
    except Exception as error:
        raise ValueError(Errors.HS050.format(name=layer, problem=repr(error))) from error
    if not 1 <= version <= FORMAT:
        raise ValueError(Errors.HS059.format(name=layer, got=version, known=FORMAT))
    try:
        message = message if version >= 3 else _as_format_3(message, made_for)
        got = message["layer"]
        saved_for = message["made_for"]
        settings = dict(message["settings"])
        packed = {name: SparseTable.unpacked(table) for name, table in message["tables"].items()}
        saved = Saved(
            saved_for,
            settings,
            {n: t.used() for n, t in packed.items()},
            unpack_extra(message["extra"]),
        )
    except Exception as error:
        raise ValueError(Errors.HS050.format(name=layer, problem=repr(error))) from error
    if got != layer:
        raise ValueError(Errors.HS051.format(name=layer, got=got, expected=layer))
    for name in sorted({*made_for, *saved_for}):
        if saved_for.get(name) != made_for.get(name):
            one, other = _differing(saved_for.get(name), made_for.get(name))
            raise ValueError(Errors.HS051.format(name=layer, got=f"{name} {one}", expected=other))
    for name, table in packed.items():
        if not np.isfinite(table.values).all():
            raise ValueError(Errors.HS054.format(name=f"{layer}.{name}"))
    return saved


def _as_format_3(message: Dict[str, object], made_for: Dict[str, object]) -> Dict[str, Any]:
    """Of formats 1 and 2, which do not say what they were made for."""
    layout = {"layer": message["layer"], "extra": message["extra"], "made_for": made_for}
    if "arrays" in message:
        return {
            **layout,
            "settings": {"nonnegative": message["nonnegative"]},
            "tables": message["arrays"],
        }
    return {**layout, "settings": {"order": message["order"]}, "tables": message["weights"]}


def _differing(saved: object, expected: object) -> Tuple[object, object]:
    """Of two lists only what the other has not, if that tells them apart."""
    if (
        not isinstance(saved, list)
        or not isinstance(expected, list)
        or sorted(saved) == sorted(expected)
    ):
        return saved, expected
    return [s for s in saved if s not in expected], [e for e in expected if e not in saved]


class SparseTable(NamedTuple):
    """The weights of an array (R, ...) that are not zero.

    double (bool): whether the array is of double precision. rows, columns, values (n,): where they
    are, rows ascending, and what they are.
    """

    shape: Tuple[int, ...]
    double: bool
    rows: Ints
    columns: NDArray[Any]
    values: NDArray[np.generic]

    @classmethod
    def of(cls, used: UsedCells, *, exact: bool = False) -> "SparseTable":
        """Values are rounded as `to_storage` does; if `exact`, only where that changes none."""
        stored = to_storage(used.values)
        if exact and not np.array_equal(stored, used.values):
            stored = used.values
        n_columns = int(np.prod(used.shape[1:]))
        rows, columns = np.divmod(used.cells, max(1, n_columns))
        shortest = np.min_scalar_type(max(0, n_columns - 1))
        return cls(used.shape, used.values.dtype == np.float64, rows, columns.astype(shortest), stored)

    @classmethod
    def unpacked(cls, packed: Dict[str, Any], types: Sequence[str] = WEIGHTS) -> "SparseTable":
        """The inverse of `packed`. types: that values may have. RAISES Exception of any kind:
        damaged."""
        if "order" not in packed:
            return cls._of_format_4(packed, types)
        order = unpack_array(packed["order"], COLUMNS)
        cells = unpack_array(packed["cells"], CELLS).cumsum(dtype=np.intp)
        rows, places = np.divmod(cells, max(1, len(order)))
        values = unpack_array(packed.get("distinct", packed["values"]), types)
        if "distinct" in packed:
            values = values.take(unpack_array(packed["values"], ("<u1",)))
        shape = tuple(map(int, packed["shape"]))
        return cls(shape, bool(packed["double"]), rows, order.take(places), values)

    @classmethod
    def _of_format_4(cls, packed: Dict[str, Any], types: Sequence[str]) -> "SparseTable":
        """Of formats 1 to 4. counts (R,): weights of each row. rows (R,): only in local classifiers
        of formats 1 and 2, which rows of the whole array these are."""
        double = DOUBLE[packed["dtype"]] if "dtype" in packed else bool(packed["double"])
        counts, columns = (unpack_array(packed[name], COLUMNS) for name in ("counts", "columns"))
        shape = tuple(int(size) for size in packed["shape"])
        used = np.arange(len(counts))
        if "rows" in packed:
            used = unpack_keys(packed["rows"], NUMBERS).astype(np.intp)
            shape = (int(used.max(initial=-1)) + 1, *shape[1:])
        if used.max(initial=-1) + 1 != shape[0] or (np.diff(used, prepend=-1) <= 0).any():
            raise ValueError(UNFIT)
        values = unpack_array(packed["values"], types)
        return cls(shape, double, np.repeat(used, counts), columns, values)

    def packed(self) -> Dict[str, Any]:
        """For msgpack. order: columns in use, most used first. cells: of an array with these
        columns, each as its distance from the one before. values; or distinct, and values as places
        in it."""
        n_used = np.bincount(self.columns)
        order = np.argsort(-n_used, kind="stable")
        n_columns = np.count_nonzero(n_used)
        cells = self.rows * n_columns + np.argsort(order).take(self.columns)
        ascending = np.argsort(cells, kind="stable")
        distances = np.diff(cells.take(ascending), prepend=0)
        parts = {
            "order": order[:n_columns].astype(self.columns.dtype),
            "cells": distances.astype(np.min_scalar_type(distances.max(initial=0))),
            **_numbered(self.values.take(ascending)),
        }
        return {
            "shape": list(self.shape),
            "double": self.double,
            **{name: pack_array(part) for name, part in parts.items()},
        }

    def used(self) -> Used:
        """As rows, or as cells if few are used. RAISES ValueError, IndexError: the parts do not fit
        together."""
        n_columns = int(np.prod(self.shape[1:]))
        # A damaged shape may need all memory; no bytes tell no type.
        largest = np.iinfo(self.columns.dtype).max if len(self.columns) else EMPTY
        if (
            not len(self.rows) == len(self.columns) == len(self.values)
            or self.rows.max(initial=-1) >= self.shape[0]
            or self.rows.min(initial=0) < 0
            or n_columns > largest + 1
        ):
            raise ValueError(UNFIT)
        is_first = np.diff(self.rows, prepend=-1) > 0
        rows = self.rows[is_first]
        dtype = (np.float32, np.float64)[self.double]
        if n_columns >= MANY_COLUMNS and 0 < FEW * len(self.values) <= len(rows) * n_columns:
            cells = np.ravel_multi_index((self.rows, self.columns), (self.shape[0], n_columns))
            order = np.argsort(cells, kind="stable")
            return UsedCells(self.shape, cells.take(order), self.values.take(order).astype(dtype))
        table = np.zeros((len(rows) + 1, n_columns), dtype)
        table[is_first.cumsum() - 1, self.columns] = self.values
        room = table.reshape(len(rows) + 1, *self.shape[1:])
        return UsedRows(self.shape, rows, room[:-1], room)


def _numbered(values: NDArray[np.generic]) -> Dict[str, NDArray[np.generic]]:
    """values; or distinct and values, if few of half precision occur."""
    if values.dtype == np.float16:
        bits = values.view(np.uint16)
        distinct = np.flatnonzero(np.bincount(bits)).astype(np.uint16)
        if len(distinct) <= min(DISTINCT, len(values) // 4):
            numbers = np.searchsorted(distinct, bits).astype(np.uint8)
            return {"distinct": distinct.view(np.float16), "values": numbers}
    return {"values": values}


def pack_array(array: NDArray[np.generic]) -> Dict[str, Any]:
    """RETURNS shape and compressed bytes."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    places = np.ascontiguousarray(
        little.view(np.uint8).reshape(len(little), little.itemsize).T
    )  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    return {"shape": list(array.shape), "bytes": packer.compress(places.tobytes()) + packer.flush()}


def unpack_array(packed: Any, types: Sequence[str]) -> NDArray[Any]:
    """The inverse of `pack_array`; plain arrays stay as they are. types: those that there may be,
    shortest first.
    RAISES Exception of any kind: damaged, or of another type."""
    if not isinstance(packed, dict):
        if packed.dtype.str.replace("|", "<") not in types:
            raise ValueError(UNFIT)
        return packed.astype(packed.dtype.newbyteorder("="), copy=False)
    shape = tuple(int(n) for n in packed.get("shape", [packed.get("size")]))
    size = int(np.prod(shape, dtype=object))
    if size < 0 or min(shape, default=0) < 0:
        raise ValueError(UNFIT)
    reader = zlib.decompressobj()
    data = reader.decompress(packed["bytes"], size * np.dtype(types[-1]).itemsize + 1)
    fitting = [name for name in types if len(data) == size * np.dtype(name).itemsize]
    named = packed.get("dtype")
    if named is not None:  # format 2
        fitting = [name for name in fitting if named.replace("|", "<") == name]
    if not fitting or not reader.eof or reader.unused_data:
        raise ValueError(UNFIT)
    dtype = np.dtype(fitting[0])
    places = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, size).T
    return np.ascontiguousarray(places).view(dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def pack_keys(keys: NDArray[np.generic]) -> Dict[str, Any]:
    """Whole numbers (n,) of any order as differences modulo 2^64 (2^32, ...): small ones if they
    ascend."""
    return pack_array(np.diff(keys, prepend=keys.dtype.type(0)))


def unpack_keys(packed: object, types: Sequence[str] = EXTRA["keys"]) -> NDArray[np.generic]:
    """The inverse of `pack_keys`; plain arrays stay as they are. RAISES Exception of any kind:
    damaged."""
    array = unpack_array(packed, types)
    return array.cumsum(dtype=array.dtype) if isinstance(packed, dict) else array


def pack_extra(extra: Any, name: str = "") -> Any:
    """What a layer saves beside its weights, with all arrays packed, wherever they are. name: of an array."""
    if isinstance(extra, dict):
        return {part: pack_extra(value, part) for part, value in extra.items()}
    if isinstance(extra, list):
        return [pack_extra(value, name) for value in extra]
    if isinstance(extra, np.ndarray):
        return pack_keys(extra) if name == "keys" else pack_array(extra)
    return extra


def unpack_extra(extra: Any, name: str = "") -> Any:
    """The inverse of `pack_extra`. RAISES Exception of any kind: damaged."""
    if isinstance(extra, dict) and "bytes" not in extra:
        return {part: unpack_extra(value, part) for part, value in extra.items()}
    if isinstance(extra, list):
        return [unpack_extra(value, name) for value in extra]
    if isinstance(extra, (dict, np.ndarray)):
        types = EXTRA.get(name, NUMBERS)
        return unpack_keys(extra, types) if name == "keys" else unpack_array(extra, types)
    return extra


def keys_problem(keys: object) -> str:
    """What is wrong with feature keys just loaded; "" if nothing."""
    if (
        not isinstance(keys, np.ndarray)
        or keys.dtype != np.uint64
        or keys.ndim != 1
        or not keys.all()
    ):
        return "the feature keys are no list of 64-bit numbers above 0"
    return (
        "a feature key is given twice"
        if not _is_ascending(keys) and not _is_ascending(np.sort(keys))
        else ""
    )


def _is_ascending(keys: Keys) -> bool:
    return bool((keys[1:] > keys[:-1]).all())
