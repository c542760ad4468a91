"""How weights and feature keys are written: non-zero weights only, half precision where it fits,
bytes by place.

An array is stored as all of its first bytes, then all of its second bytes, and so on, compressed by
zlib: places that hardly vary (signs and exponents, zeros of short integers) then cost nearly
nothing. zlib looks for runs and frequent bytes only: there are no longer repetitions to speak of,
and looking for those takes twenty times as long, at every evaluation of a training. Feature keys
are random numbers, which cannot be compressed; their order can: in ascending order F keys of 64
bits cost about 64 - log2(F) + 1.5 bits each.

Format 4: what a layer saves is a msgpack map of

    format    4
    layer     its name
    made_for  what the config says of it that its numbers depend on, as templates
    settings  whole numbers, texts, truth values
    tables    name -> weights that are not zero: shape, double, counts, columns, values (`SparseTable`)
    extra     what else it needs to understand its rows: numbers, arrays by name

A packed array is its shape and its bytes; its type follows from its name, with the number of bytes
where weights or numbers of columns may be short or long. Format 3 had shortened keys in whole bytes,
so that its reader would look for others; format 2 had types in the file, and another layout of local
classifiers; format 1 had plain arrays. All are read.
"""

import zlib
from typing import Any, Dict, NamedTuple, Sequence, Tuple

import numpy as np
import srsly
from numpy.typing import NDArray

from ...arrays import Keys
from ...errors import Errors
from ...learning.used_weights import FEW, MANY_COLUMNS, Used, UsedCells, UsedRows, to_storage

FORMAT = 4
COLUMNS = ("<u1", "<u2", "<u4")  # the shortest type that holds all columns
WEIGHTS = ("<f2", "<f4")
COPIED = (*WEIGHTS, "<f8")  # in copies, which are exact
EXTRA = {"keys": ("<u8",), "values": ("<u8",), "sets": ("<u1",)}  # all other arrays: NUMBERS
NUMBERS = ("<i4",)
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
    """The weights of an array (R, ...) that are not zero, row by row, each row in the order of its
    columns.

    double (bool): whether the array is of double precision. counts (R,): how many. columns, values
    (sum of counts,): where in the row, and what. rows (R',): only in local classifiers of formats 1
    and 2, which rows of the whole array these are.
    """

    shape: Tuple[int, ...]
    double: bool
    counts: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[np.generic]
    rows: Any = None

    @classmethod
    def of(cls, used: UsedCells, *, exact: bool = False) -> "SparseTable":
        """Values are rounded as `to_storage` does; if `exact`, only where that changes none."""
        stored = to_storage(used.values)
        if exact and not np.array_equal(stored, used.values):
            stored = used.values
        n_columns = int(np.prod(used.shape[1:]))
        rows, columns = np.divmod(used.cells, max(1, n_columns))
        return cls(
            used.shape,
            used.values.dtype == np.float64,
            np.bincount(rows, minlength=used.shape[0]).astype(_unsigned(n_columns)),
            columns.astype(_unsigned(n_columns - 1)),
            stored,
        )

    @classmethod
    def unpacked(cls, packed: Dict[str, Any], types: Sequence[str] = WEIGHTS) -> "SparseTable":
        """The inverse of `packed`. types: that values may have. RAISES Exception of any kind:
        damaged."""
        if "dtype" in packed and packed["dtype"] not in ("<f4", "<f8"):
            raise ValueError(UNFIT)
        double = bool(packed["double"]) if "double" in packed else packed["dtype"] == "<f8"
        counts, columns = (unpack_array(packed[name], COLUMNS) for name in ("counts", "columns"))
        rows = unpack_keys(packed["rows"], NUMBERS) if "rows" in packed else None
        shape = tuple(int(size) for size in packed["shape"])
        return cls(shape, double, counts, columns, unpack_array(packed["values"], types), rows)

    def packed(self) -> Dict[str, Any]:
        """For msgpack."""
        parts = {"counts": self.counts, "columns": self.columns, "values": self.values}
        packed = {name: pack_array(part) for name, part in parts.items()}
        return {"shape": list(self.shape), "double": self.double, **packed}

    def used(self) -> Used:
        """As rows, or as cells if few are used. RAISES ValueError, IndexError: the parts do not fit
        together."""
        n_columns = int(np.prod(self.shape[1:]))
        if len(self.counts) != self.shape[0] or not self.counts.sum() == len(self.columns) == len(
            self.values
        ):
            raise ValueError(UNFIT)
        largest = (
            np.iinfo(self.columns.dtype).max if len(self.columns) else EMPTY
        )  # (no bytes tell no type)
        if n_columns - 1 > largest:  # a damaged shape, which may need all memory
            raise ValueError(UNFIT)
        rows = np.flatnonzero(self.counts)
        if (
            n_columns >= MANY_COLUMNS
            and 0 < FEW * len(self.values) <= len(rows) * n_columns
            and self.rows is None
        ):
            if self.columns.max(initial=0) >= n_columns:
                raise ValueError(UNFIT)
            cells = np.repeat(rows * n_columns, self.counts[rows]) + self.columns
            order = np.argsort(
                cells, kind="stable"
            )  # (they are in order already, if nothing is damaged)
            values = self.values.take(order).astype(np.float64 if self.double else np.float32)
            return UsedCells(self.shape, cells.take(order), values)
        table = np.zeros((len(rows) + 1, n_columns), np.float64 if self.double else np.float32)
        table[np.repeat(np.arange(len(rows)), self.counts[rows]), self.columns] = self.values
        room = table.reshape(len(rows) + 1, *self.shape[1:])
        shape = self.shape
        if self.rows is not None:
            if (
                len(self.rows) != len(self.counts)
                or (np.diff(self.rows) <= 0).any()
                or (self.rows < 0).any()
            ):
                raise ValueError(UNFIT)
            rows = self.rows[rows].astype(np.intp)
            shape = (int(self.rows.max(initial=-1)) + 1, *self.shape[1:])
        return UsedRows(shape, rows, room[:-1], room)


def pack_array(array: NDArray[np.generic]) -> Dict[str, Any]:
    """RETURNS shape and compressed bytes."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1)
    places = np.ascontiguousarray(
        little.view(np.uint8).reshape(len(little), little.itemsize).T
    )  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    data = packer.compress(places.tobytes()) + packer.flush()
    return {"shape": list(array.shape), "bytes": data}


def unpack_array(packed: Any, types: Sequence[str]) -> NDArray[np.generic]:
    """The inverse of `pack_array`; plain arrays stay as they are. types: those that there may be,
    shortest first.
    RAISES Exception of any kind: damaged, or of another type."""
    if not isinstance(packed, dict):
        if packed.dtype.str.replace("|", "<") not in types:
            raise ValueError(UNFIT)
        return packed.astype(packed.dtype.newbyteorder("="), copy=False)
    shape = tuple(int(n) for n in packed.get("shape", [packed.get("size")]))
    size = int(np.prod(shape, dtype=object))
    widest = np.dtype(types[-1]).itemsize
    if size < 0 or min(shape, default=0) < 0:
        raise ValueError(UNFIT)
    reader = zlib.decompressobj()
    data = reader.decompress(packed["bytes"], size * widest + 1)
    fitting = [name for name in types if len(data) == size * np.dtype(name).itemsize]
    named = packed.get("dtype")
    if named is not None:  # format 2
        fitting = [name for name in fitting if named.replace("|", "<") == name]
    if not fitting or not reader.eof or reader.unused_data:
        raise ValueError(UNFIT)
    dtype = np.dtype(fitting[0])
    places = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, size)
    array: NDArray[np.generic] = np.ascontiguousarray(places.T).view(dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def pack_keys(keys: NDArray[np.generic]) -> Dict[str, Any]:
    """Whole numbers (n,) of any order as differences modulo 2^64 (2^32, ...): small ones if they
    ascend."""
    return pack_array(np.diff(keys, prepend=keys.dtype.type(0)))


def unpack_keys(packed: object, types: Sequence[str] = EXTRA["keys"]) -> NDArray[np.generic]:
    """The inverse of `pack_keys`; plain arrays stay as they are. RAISES Exception of any kind:
    damaged."""
    array = unpack_array(packed, types)
    return array.cumsum(dtype=array.dtype) if isinstance(packed, dict) else array


def pack_extra(extra: Dict[str, Any]) -> Dict[str, Any]:
    """What a layer saves beside its weights, with all arrays packed, wherever they are."""
    return {name: _packed(name, value) for name, value in extra.items()}


def _packed(name: str, value: object) -> object:
    if isinstance(value, dict):
        return pack_extra(value)
    if isinstance(value, list):
        return [_packed(name, part) for part in value]
    if isinstance(value, np.ndarray):
        return pack_keys(value) if name == "keys" else pack_array(value)
    return value


def unpack_extra(extra: Dict[str, Any]) -> Dict[str, Any]:
    """The inverse of `pack_extra`. RAISES Exception of any kind: damaged."""
    return {name: _unpacked(name, value) for name, value in extra.items()}


def _unpacked(name: str, value: object) -> object:
    if isinstance(value, dict) and "bytes" not in value:
        return unpack_extra(value)
    if isinstance(value, list):
        return [_unpacked(name, part) for part in value]
    if isinstance(value, (dict, np.ndarray)):
        types = EXTRA.get(name, NUMBERS)
        return unpack_keys(value, types) if name == "keys" else unpack_array(value, types)
    return value


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


def _unsigned(largest: int) -> "np.dtype[Any]":
    """The shortest type of whole numbers from 0 to `largest`."""
    return np.dtype(np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32)
