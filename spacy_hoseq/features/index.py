"""Key -> row of a table, for whole arrays of keys. Checked in tests/features/test_index.py."""

import numpy as np

from ..arrays import AnyInts, Keys, Rows
from ..errors import Errors
from .keys import ABSENT, KEY_BITS, lowest_bits

NO_ROW = np.int32(2**31 - 1)
CROWDED = np.int32(-(2**31))
WINDOW = np.arange(1, 9)  # slots further on that are looked at together: one line of memory

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


def check_min_count(min_count: int) -> None:
    """RAISES ValueError [HS027]: features are counted from 1."""
    if min_count < 1:
        raise ValueError(
            Errors.HS027.format(name="min_count", value=min_count, expected="1 or more")
        )


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
