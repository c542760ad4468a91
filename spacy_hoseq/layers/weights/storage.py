"""How weights and feature keys are written: non-zero weights only, half precision where it fits, bytes by place.

Format 2. An array is stored as all of its first bytes, then all of its second bytes, and so on, compressed by zlib:
places that hardly vary (signs and exponents, zeros of short integers) then cost nearly nothing. zlib looks for runs
and frequent bytes only: there are no longer repetitions to speak of, and looking for those takes twenty times as long,
at every evaluation of a training. Feature keys are random numbers, which cannot be compressed; their order can: in
ascending order F keys of 64 bits cost about 64 - log2(F) + 1.5 bits each. Format 1 (before) stored plain arrays, which
are read as well.
"""

import zlib
from typing import Any, Dict, NamedTuple, Tuple

import numpy as np
import srsly
from numpy.typing import NDArray

from ...errors import Errors
from ...features.keys import Keys
from ...learning.parameter import UsedCells, UsedRows, to_storage

FORMAT = 2


class SparseTable(NamedTuple):
    """The weights of an array (R, ...) that are not zero, row by row, each row in the order of its columns.

    counts (R,): how many. columns, values (sum of counts,): where in the row, and what.
    """

    shape: Tuple[int, ...]
    dtype: str
    counts: NDArray[Any]
    columns: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of(cls, used: UsedCells) -> "SparseTable":
        """Values are rounded as `to_storage` does."""
        n_columns = int(np.prod(used.shape[1:]))
        rows, columns = np.divmod(used.cells, max(1, n_columns))
        return cls(
            used.shape,
            used.values.dtype.str,
            np.bincount(rows, minlength=used.shape[0]).astype(_unsigned(n_columns)),
            columns.astype(_unsigned(n_columns - 1)),
            to_storage(used.values),
        )

    @classmethod
    def unpacked(cls, packed: Dict[str, Any]) -> "SparseTable":
        """The inverse of `packed`. RAISES Exception of any kind: damaged."""
        parts = (unpack_array(packed[name]) for name in ("counts", "columns", "values"))
        return cls(tuple(int(size) for size in packed["shape"]), packed["dtype"], *parts)

    def packed(self) -> Dict[str, Any]:
        """For msgpack."""
        parts = {"counts": self.counts, "columns": self.columns, "values": self.values}
        packed = {name: pack_array(part) for name, part in parts.items()}
        return {"shape": list(self.shape), "dtype": self.dtype, **packed}

    def used(self) -> UsedRows:
        """RAISES ValueError, IndexError: the parts do not fit together."""
        n_columns, dtype = int(np.prod(self.shape[1:])), np.dtype(self.dtype)
        if len(self.counts) != self.shape[0] or not self.counts.sum() == len(self.columns) == len(self.values):
            raise ValueError("the parts of an array do not fit together")
        if n_columns - 1 > np.iinfo(self.columns.dtype).max:  # a damaged shape, which may need all memory
            raise ValueError("the parts of an array do not fit together")
        if dtype.kind != "f" or self.values.dtype.kind != "f":
            raise ValueError("the parts of an array do not fit together")
        rows = np.flatnonzero(self.counts)
        table = np.zeros((len(rows), n_columns), dtype)
        table[np.repeat(np.arange(len(rows)), self.counts[rows]), self.columns] = self.values
        return UsedRows(self.shape, rows, table.reshape(len(rows), *self.shape[1:]))


def all_cells(values: NDArray[Any]) -> UsedCells:
    """values (R, ...)."""
    return UsedRows(values.shape, np.arange(len(values)), values).cells()


def read_message(data: bytes, name: str) -> Dict[str, Any]:
    """What a layer saved. RAISES ValueError [HS050]: damaged; [HS059]: of a later version."""
    try:
        message = srsly.msgpack_loads(data)
        version = int(message.get("format", 1))
    except Exception as error:
        raise ValueError(Errors.HS050.format(name=name, problem=repr(error))) from error
    if not 1 <= version <= FORMAT:
        raise ValueError(Errors.HS059.format(name=name, got=version, known=FORMAT))
    return dict(message)


def pack_array(array: NDArray[Any]) -> Dict[str, Any]:
    """A list of numbers (n,). RETURNS their number, type, and compressed bytes."""
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    places = np.ascontiguousarray(little.view(np.uint8).reshape(len(little), little.itemsize).T)  # (itemsize, n)
    packer = zlib.compressobj(strategy=zlib.Z_RLE)
    data = packer.compress(places.tobytes()) + packer.flush()
    return {"size": len(little), "dtype": little.dtype.str, "bytes": data}


def unpack_array(packed: Any) -> NDArray[Any]:
    """The inverse of `pack_array`; plain arrays stay as they are. RAISES Exception of any kind: damaged."""
    if not isinstance(packed, dict):
        return packed
    size, dtype = int(packed["size"]), np.dtype(packed["dtype"])
    if size < 0 or dtype.kind not in "fui":
        raise ValueError("the parts of an array do not fit together")
    reader = zlib.decompressobj()
    data = reader.decompress(packed["bytes"], size * dtype.itemsize + 1)
    if len(data) != size * dtype.itemsize or not reader.eof:
        raise ValueError("the parts of an array do not fit together")
    places = np.frombuffer(data, np.uint8).reshape(dtype.itemsize, size)
    array: NDArray[Any] = np.ascontiguousarray(places.T).view(dtype).reshape(size)
    return array.astype(dtype.newbyteorder("="), copy=False)


def pack_keys(keys: NDArray[Any]) -> Dict[str, Any]:
    """Whole numbers (n,) of any order as differences modulo 2^64 (2^32, ...): small ones if they ascend."""
    return pack_array(np.diff(keys, prepend=keys.dtype.type(0)))


def unpack_keys(packed: Any) -> NDArray[Any]:
    """The inverse of `pack_keys`; plain arrays stay as they are. RAISES Exception of any kind: damaged."""
    if not isinstance(packed, dict):
        return packed
    differences = unpack_array(packed)
    return differences.cumsum(dtype=differences.dtype)


def pack_extra(extra: Dict[str, Any]) -> Dict[str, Any]:
    """What a layer saves beside its weights, with "keys" (one array, or a list of arrays) packed."""
    keys = extra.get("keys")
    if keys is None:
        return extra
    return {**extra, "keys": [pack_keys(group) for group in keys] if isinstance(keys, list) else pack_keys(keys)}


def unpack_extra(extra: Dict[str, Any]) -> Dict[str, Any]:
    """The inverse of `pack_extra`. RAISES Exception of any kind: damaged."""
    keys = extra.get("keys")
    if keys is None:
        return extra
    return {**extra, "keys": [unpack_keys(group) for group in keys] if isinstance(keys, list) else unpack_keys(keys)}


def keys_problem(keys: Any) -> str:
    """What is wrong with feature keys just loaded; "" if nothing."""
    if not isinstance(keys, np.ndarray) or keys.dtype != np.uint64 or keys.ndim != 1 or not keys.all():
        return "the feature keys are no list of 64-bit numbers above 0"
    return "a feature key is given twice" if not _is_ascending(keys) and not _is_ascending(np.sort(keys)) else ""


def _is_ascending(keys: Keys) -> bool:
    return bool((keys[1:] > keys[:-1]).all())


def _unsigned(largest: int) -> "np.dtype[Any]":
    """The shortest type of whole numbers from 0 to `largest`."""
    return np.dtype(np.uint8 if largest < 256 else np.uint16 if largest < 65536 else np.uint32)
