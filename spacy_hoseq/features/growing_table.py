"""Rows that are worked out when they are first asked for, and kept from batch to batch.

Whatever is remembered of words is such a table: attributes of word types, rules that they pass,
their scores, their features with labels. A row is the same whether it is kept or made anew, so a
table may be dropped at any time, and results do not depend on what was asked before. Checked in
tests/features/test_growing_table.py.
"""

from threading import Lock
from typing import Any, Callable, Dict, Tuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyInts, Rows, distinct
from ..kept import are_same
from .index import DenseIndex, ExactIndex

Table = NDArray[Any]

FEW = 256  # keys
MOST_OF_FEW = 100_000  # keys of a dictionary


class GrowingTable:
    """One row for each key. It only grows: who uses it begins another one when it is full, or made
    from other things.

    made_from: objects that rows depend on and that never change.
    first (n, ...): rows that are there before any key. All others have their shape and type.
    n_rows (int): all that there are, the first ones among them.
    hashed (bool): keys are any uint64 but 0; else whole numbers from 0, of which none may be much
        above the others.
    merged_zeros (bool): keys whose rows are zero share the first row, which is zero.

    Several threads may ask at once. A copy, or one in another process, begins empty and belongs to
    nothing.
    """

    def __init__(
        self,
        made_from: Tuple[Any, ...],
        first: Table,
        *,
        hashed: bool = False,
        merged_zeros: bool = False,
    ) -> None:
        self.made_from = made_from
        self.first = first
        self._hashed = hashed
        self._merged_zeros = merged_zeros
        self._lock = Lock()
        self._few: Dict[int, int] = {}  # rows of keys that were asked for a few at a time
        self._index: Any = ExactIndex(np.zeros(0, np.uint64)) if hashed else DenseIndex()
        self._table = first
        self.n_rows = self._index.n_rows = len(first)

    def __len__(self) -> int:
        """Rows, without the first ones."""
        return self.n_rows - len(self.first)

    @property
    def table(self) -> Table:
        """All rows, and room for more."""
        return self._table

    def serves(self, made_from: Tuple[Any, ...], most: int) -> bool:
        """Whether to go on with it: made from these very objects, and not above `most` rows."""
        return len(self) <= most and are_same(made_from, self.made_from)

    def of(self, keys: AnyInts, make: Callable[[Any], Table]) -> Tuple[Rows, Table]:
        """make: the rows of some keys, each once, ascending. RETURNS the row of each key, as `keys`
        in shape; and the rows, of which there are more than that."""
        with self._lock:
            rows = (
                self._rows_of_few(keys, make)
                if self._hashed and keys.size <= FEW
                else self._rows_of(keys, make)
            )
            return rows, self._table

    def _rows_of(self, keys: AnyInts, make: Callable[[Any], Table]) -> Rows:
        rows: Rows = self._index.lookup(keys)
        if rows.max(initial=-1) >= self.n_rows:
            is_new = rows >= self.n_rows
            new = distinct(keys[is_new])
            rows[is_new] = self._add(new, make(new)).take(np.searchsorted(new, keys[is_new]))
        return rows

    def _rows_of_few(self, keys: AnyInts, make: Callable[[Any], Table]) -> Rows:
        """By a dictionary: to find a few keys in the index takes as long as to find a thousand."""
        known = self._few
        names = keys.reshape(-1).tolist()
        new = sorted({name for name in names if name not in known})
        if new:
            if len(known) > MOST_OF_FEW:
                self._few = known = {}
                new = sorted(set(names))
            known.update(
                zip(new, self._rows_of(np.array(new, keys.dtype), make).tolist(), strict=True)
            )
        return np.array([known[name] for name in names], np.int32).reshape(keys.shape)

    def _add(self, keys: AnyInts, fresh: Table) -> Rows:
        """RETURNS the row of each."""
        first = self.n_rows
        rows = np.arange(first, first + len(fresh), dtype=np.int32)
        if self._merged_zeros:
            is_used = fresh.any(axis=1)
            rows = np.where(is_used, first - 1 + np.cumsum(is_used), 0).astype(np.int32)
            fresh = fresh[is_used]
        last = first + len(fresh)
        if last > len(self._table):  # by doubling; others may still read the old array
            grown = np.empty((max(2 * first, last), *fresh.shape[1:]), self.first.dtype)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first:last] = fresh
        self._index.add(keys, rows)
        self.n_rows = self._index.n_rows = last
        return rows

    def __reduce__(self) -> Any:
        return _empty, (self.first, self._hashed, self._merged_zeros)


def _empty(first: Table, hashed: bool, merged_zeros: bool) -> GrowingTable:
    return GrowingTable((), first, hashed=hashed, merged_zeros=merged_zeros)
