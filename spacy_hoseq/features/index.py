"""Key -> row of a table, for whole arrays of keys.

`ExactIndex` holds a set of keys, as the features seen in training: an open-addressing table, probed
for whole arrays at once; a key that was not seen has no row. `HashedIndex` needs no pass over the
data: any key has a row, and two keys may share one (for corpora that are streamed). All return
`n_rows` for "no feature": the table keeps a row of zeros there.

`KeyedValues` and `GrowingTable` hold what is worked out when it is first asked for, and kept from
batch to batch: what a word type is worth under some weights. It is the same whether it is kept or
made anew, so all may be dropped at any time, and results do not depend on what was asked before.
Checked in tests/features/test_index.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyInts, Keys, Rows, distinct
from ..caches import SharedCache
from .keys import ABSENT, KEY_BITS, lowest_bits

NO_ROW = np.int32(2**31 - 1)
CROWDED = np.int32(-(2**31))
WINDOW = np.arange(1, 9)  # slots further on that are looked at together: one line of memory
MOST_VALUES = 50_000  # that are kept by key

Counted = tuple[Keys, AnyInts]  # distinct keys, ascending, and their counts


class ExactIndex:
    """Rows for a set of keys, by linear probing at a load of at most one quarter. `lookup` gives the row
    of each key, `n_rows` where there is none, in any shape.

    A slot is CROWDED, the sign of its row, if a key that belongs there lies further on; only from
    such a slot does a search go on.

    keys (F,) uint64: distinct, none of them 0; key i has row i.
    bits (int): the lowest bits, which are all that is compared (`bits_of`).
    """

    def __init__(self, keys: Keys, bits: int = KEY_BITS) -> None:
        self.n_rows = 0
        self._compared = lowest_bits(bits)
        self._make_slots(16)
        self.add(keys)

    def add(self, keys: Keys) -> None:
        """More keys, none of them known, which have the next rows."""
        rows = np.arange(self.n_rows, self.n_rows + len(keys), dtype=np.int32)
        self.n_rows += len(keys)
        if 4 * self.n_rows > len(self._slot_keys):
            used = np.flatnonzero(self._slot_keys)
            keys = np.concatenate([self._slot_keys[used], keys])
            rows = np.concatenate([self._slot_rows[used] & NO_ROW, rows])
            self._make_slots(1 << (4 * self.n_rows - 1).bit_length())
        home = slots = (keys & self._mask).astype(np.intp)
        while len(keys):
            empty = self._slot_keys[slots] == ABSENT
            self._slot_keys[slots[empty]] = keys[empty]  # of several for one slot the last stays
            self._slot_rows[slots[empty]] = rows[empty]
            left = self._slot_keys[slots] != keys
            keys = keys[left]
            rows = rows[left]
            home = home[left]
            slots = (slots[left] + 1) & int(self._mask)
            self._slot_rows[home] |= CROWDED

    def _make_slots(self, size: int) -> None:
        self._mask = np.uint64(size - 1)
        self._slot_keys = np.zeros(size, np.uint64)
        self._slot_rows = np.full(size, NO_ROW)  # of ABSENT

    def lookup(self, keys: Keys) -> Rows:
        flat = (keys & self._compared).reshape(-1)
        slots = (flat & self._mask).view(np.int64)
        hit = self._slot_keys.take(slots) == flat
        rows = self._slot_rows.take(slots)
        open_ = np.flatnonzero((rows < 0) > hit)
        rows &= NO_ROW
        np.copyto(rows, NO_ROW, where=~hit)
        slots = slots.take(open_)
        while len(open_):  # the few whose key may lie further on
            window = (slots[:, None] + WINDOW) & int(self._mask)
            there = self._slot_keys.take(window)
            found = there == flat.take(open_)[:, None]
            which, place = found.nonzero()
            rows[open_.take(which)] = self._slot_rows.take(window[which, place]) & NO_ROW
            going_on = np.flatnonzero(~(found | (there == ABSENT)).any(axis=1))
            open_ = open_.take(going_on)
            slots = slots.take(going_on) + len(WINDOW)
        result: Rows = np.minimum(rows, np.int32(self.n_rows)).reshape(keys.shape)
        return result


class HashedIndex:
    """Row = key modulo `n_rows`: constant size, needs no data, different features may share a
    row."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def lookup(self, keys: Keys) -> Rows:
        rows: Rows = (keys % np.uint64(self.n_rows)).astype(np.int32)
        rows[keys == ABSENT] = self.n_rows
        return rows


class SomeRows:
    """Some rows of another index, numbered in their order: much sooner made than an index of their
    keys.

    rows (U,): distinct.
    """

    def __init__(self, index: "Index", rows: AnyInts) -> None:
        self._index = index
        self.n_rows = len(rows)
        self._place = np.full(index.n_rows + 1, self.n_rows, np.int32)
        self._place[rows] = np.arange(self.n_rows, dtype=np.int32)

    def lookup(self, keys: Keys) -> Rows:
        return self._place.take(self._index.lookup(keys))


Index = ExactIndex | HashedIndex | SomeRows  # rows of a table of weights by key


class KeyCounter:
    """Distinct keys with their counts, gathered batch by batch in memory linear in the distinct
    keys.

    Batches are merged when they hold as many keys together as were merged before, so that all
    merging costs little more than the last.
    """

    def __init__(self) -> None:
        self._merged: Counted = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self._waiting: list[Counted] = []

    def add(self, keys: Keys) -> None:
        """keys of any shape."""
        self._waiting.append(np.unique(keys[keys != ABSENT], return_counts=True))
        if sum(len(keys) for keys, _ in self._waiting) > len(self._merged[0]):
            self._merge()

    def frequent(self, min_count: int) -> Keys:
        """Keys seen at least `min_count` times, ascending (so they are stored in fewer bytes)."""
        self._merge()
        keys, counts = self._merged
        return keys[counts >= min_count]

    def _merge(self) -> None:
        keys, counts = map(np.concatenate, zip(self._merged, *self._waiting, strict=True))
        # parts are in order already, which other sorts do not see
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=ABSENT))
        sums = np.add.reduceat(counts[order], starts) if len(starts) else counts
        self._merged = keys[starts], sums
        self._waiting = []


class KeyedValues(SharedCache):
    """Values of keys, worked out when they are first asked for. dtype: of values. Beyond MOST_VALUES
    all are forgotten. Several threads may ask at once."""

    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self._nothing = np.zeros(0, dtype)
        self.forget()

    def forget(self) -> None:
        self._index = ExactIndex(np.zeros(0, np.uint64))
        self._values = self._nothing

    def of(self, keys: Keys, make: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """keys (N,). make: values of keys[i], for some i (n,). RETURNS (N,)."""
        with self._lock:
            if len(self._values) > MOST_VALUES:
                self.forget()
            rows = self._index.lookup(keys)
            new = np.flatnonzero(rows == self._index.n_rows)
            if len(new):
                new_keys, first = np.unique(keys[new], return_index=True)
                self._values = np.concatenate([self._values, make(new[first])])
                self._index.add(new_keys)
                rows = self._index.lookup(keys)
            return self._values.take(rows)


class GrowingTable(SharedCache):
    """One row for each whole number from 0, of which none may be much above the others. It only grows:
    who uses it begins another one when it is full, or made from other things.

    nothing (1, n): zeros, a row that all numbers share whose rows are zero. Several threads may ask
    at once.
    """

    def __init__(self, nothing: NDArray[Any]) -> None:
        super().__init__()
        self._nothing = nothing
        self.forget()

    def forget(self) -> None:
        self._table = self._nothing  # all rows, and room for more
        self._n_rows = 1
        self._row_of = np.full(1, NO_ROW)  # the last one stands for all larger numbers

    def __len__(self) -> int:
        """Rows that are not zero."""
        return self._n_rows - 1

    def of(
        self, numbers: AnyInts, make: Callable[[Any], NDArray[Any]]
    ) -> tuple[Rows, NDArray[Any]]:
        """make: the rows of some numbers, each once, ascending. RETURNS the row of each number, as
        `numbers` in shape; and the rows, of which there are more than that."""
        with self._lock:
            rows: Rows = self._row_of.take(numbers, mode="clip")
            if rows.max(initial=0) == NO_ROW:
                new = distinct(numbers[rows == NO_ROW])
                self._add(new, make(new))
                rows = self._row_of.take(numbers)
            return rows, self._table

    def _add(self, numbers: AnyInts, fresh: NDArray[Any]) -> None:
        first = self._n_rows
        is_used = fresh.any(axis=1)
        rows = np.where(is_used, first - 1 + np.cumsum(is_used), 0)
        stop = self._n_rows = first + int(is_used.sum())
        # by doubling; others may still read the old arrays
        if stop > len(self._table):
            grown = np.empty((max(2 * first, stop), fresh.shape[1]), fresh.dtype)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first:stop] = fresh.compress(is_used, axis=0)
        n_more = int(numbers[-1]) + 2 - len(self._row_of)
        if n_more > 0:
            more = np.full(max(n_more, len(self._row_of)), NO_ROW)
            self._row_of = np.concatenate([self._row_of, more])
        self._row_of[numbers] = rows
