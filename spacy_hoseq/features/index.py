"""Feature key -> row of the weight table.

`ExactIndex` holds the features seen in training: a static open-addressing table, probed for whole arrays at once; a
key that was not seen has no row. `HashedIndex` needs no pass over the data: any key has a row, and two keys may share
one (for corpora that are streamed). Both return `n_rows` for "no feature": the table keeps a row of zeros there.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .keys import ABSENT, Keys

Rows = NDArray[np.int32]


class Index(Protocol):
    """What the weight table needs to know of an index."""

    n_rows: int

    def lookup(self, keys: Keys) -> Rows:
        """Row of each key, `n_rows` where there is none. Any shape, int32."""


class ExactIndex:
    """Rows for a fixed set of keys, by linear probing at a load of at most one quarter.

    A slot is CROWDED if a key that belongs there lies further on; only from such a slot does a search go on.

    keys (F,) uint64: distinct, none of them 0; key i has row i.
    """

    def __init__(self, keys: Keys) -> None:
        self.keys = keys
        self.n_rows = len(keys)
        size = 1 << max(4, int(4 * len(keys) - 1).bit_length())
        self._mask = np.uint64(size - 1)
        self._slot_keys = np.zeros(size, np.uint64)
        self._slot_rows = np.full(size, self.n_rows, np.int32)
        self._crowded = np.zeros(size, bool)
        self._fill()

    def _fill(self) -> None:
        pending = np.arange(self.n_rows, dtype=np.int32)
        home = slots = (self.keys & self._mask).astype(np.intp)
        while len(pending):
            empty = self._slot_keys[slots] == ABSENT
            self._slot_keys[slots[empty]] = self.keys[pending[empty]]  # of several for one slot the last stays
            self._slot_rows[slots[empty]] = pending[empty]
            left = self._slot_rows[slots] != pending
            pending, home, slots = pending[left], home[left], (slots[left] + 1) & int(self._mask)
            self._crowded[home] = True

    def lookup(self, keys: Keys) -> Rows:
        flat = keys.reshape(-1)
        mask = int(self._mask)
        slots = (flat & self._mask).astype(np.intp)
        hit = self._slot_keys.take(slots) == flat
        rows = np.where(hit, self._slot_rows.take(slots), np.int32(self.n_rows))
        open_ = np.flatnonzero(self._crowded.take(slots) & ~hit)
        slots = slots[open_]
        while len(open_):  # the few whose key may lie further on
            slots = (slots + 1) & mask
            found = self._slot_keys[slots]
            hit = found == flat[open_]
            rows[open_[hit]] = self._slot_rows[slots[hit]]
            going_on = ~hit & (found != ABSENT)
            open_, slots = open_[going_on], slots[going_on]
        result: Rows = rows.reshape(keys.shape)
        return result


class HashedIndex:
    """Row = key modulo `n_rows`: constant size, needs no data, different features may share a row."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows

    def lookup(self, keys: Keys) -> Rows:
        rows: Rows = (keys % np.uint64(self.n_rows)).astype(np.int32)
        rows[keys == ABSENT] = self.n_rows
        return rows


class KeyCounter:
    """Distinct keys with their counts, gathered batch by batch in memory linear in the distinct keys."""

    def __init__(self) -> None:
        self._keys = np.zeros(0, np.uint64)
        self._counts = np.zeros(0, np.int64)

    def add(self, keys: Keys) -> None:
        new_keys, new_counts = np.unique(keys[keys != ABSENT], return_counts=True)
        merged, inverse = np.unique(np.concatenate([self._keys, new_keys]), return_inverse=True)
        counts = np.concatenate([self._counts, new_counts])
        self._counts = np.bincount(inverse, weights=counts, minlength=len(merged)).astype(np.int64)
        self._keys = merged

    def frequent(self, min_count: int) -> Keys:
        """Keys seen at least `min_count` times, ascending (so they are stored in fewer bytes)."""
        return self._keys[self._counts >= min_count]
