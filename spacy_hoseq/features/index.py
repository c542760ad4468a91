"""Key -> row of a table, for whole arrays of keys. Checked in tests/features/test_index.py."""

import numpy as np

from ..arrays import AnyInts, Keys, Rows
from ..errors import wrong_value
from .keys import ABSENT, lowest_bits

NO_ROW = np.int32(2**31 - 1)


class ExactIndex:
    """Rows for a set of keys, by linear probing at a load of at most one quarter. `lookup` gives the
    row of each key, `n_rows` where there is none, in any shape.

    A slot is crowded, the sign of its row, if a key that belongs there lies further on; only from
    such a slot does a search go on.

    keys (F,) uint64: distinct, none of them 0; key i has row i.
    bits (int): the lowest bits, which are all that is compared (`bits_of`).
    """

    def __init__(self, keys: Keys, bits: int = 64) -> None:
        self.n_rows = 0
        self._compared = lowest_bits(bits)
        self._make_slots(16)
        self.add(keys)

    def add(self, keys: Keys) -> None:
        """Add keys, none of them known. They get the next rows."""
        rows = np.arange(self.n_rows, self.n_rows + len(keys), dtype=np.int32)
        self.n_rows += len(keys)
        if 4 * self.n_rows > len(self._slot_keys):
            # all keys move to a larger table
            used = np.flatnonzero(self._slot_keys)
            keys = np.concatenate([self._slot_keys[used], keys])
            rows = np.concatenate([self._slot_rows[used] & NO_ROW, rows])
            self._make_slots(1 << (4 * self.n_rows - 1).bit_length())
        home = slots = (keys & self._mask).astype(np.intp)
        while len(keys):
            empty = self._slot_keys[slots] == ABSENT
            # of several keys for one empty slot, the last is stored
            self._slot_keys[slots[empty]] = keys[empty]
            self._slot_rows[slots[empty]] = rows[empty]
            # the others try the next slot
            is_outside = self._slot_keys[slots] != keys
            keys = keys[is_outside]
            rows = rows[is_outside]
            home = home[is_outside]
            slots = (slots[is_outside] + 1) & int(self._mask)
            self._slot_rows[home] |= np.int32(-(2**31))  # crowded

    def _make_slots(self, size: int) -> None:
        self._mask = np.uint64(size - 1)
        self._slot_keys = np.zeros(size, np.uint64)  # 0 is ABSENT
        self._slot_rows = np.full(size, NO_ROW)

    def lookup(self, keys: Keys) -> Rows:
        flat = (keys & self._compared).reshape(-1)
        slots = (flat & self._mask).view(np.int64)
        hit = self._slot_keys.take(slots) == flat
        rows = self._slot_rows.take(slots)
        searching = np.flatnonzero((rows < 0) > hit)  # from crowded slots, without a hit
        rows &= NO_ROW
        np.copyto(rows, NO_ROW, where=~hit)
        slots = slots.take(searching)
        while len(searching):
            # eight slots are compared together: one line of memory
            window = (slots[:, None] + np.arange(1, 9)) & int(self._mask)  # (n, 8)
            candidates = self._slot_keys.take(window)
            is_same = candidates == flat.take(searching)[:, None]
            which, place = is_same.nonzero()
            rows[searching.take(which)] = self._slot_rows.take(window[which, place]) & NO_ROW
            # a key that is stored lies before the next empty slot
            goes_on = np.flatnonzero(~(is_same | (candidates == ABSENT)).any(axis=1))
            searching = searching.take(goes_on)
            slots = slots.take(goes_on) + 8
        result: Rows = np.minimum(rows, np.int32(self.n_rows)).reshape(keys.shape)
        return result


def check_min_count(min_count: int) -> None:
    """Check a setting. RAISES ValueError [HS027]: features are counted from 1."""
    if min_count < 1:
        raise wrong_value("min_count", min_count, "1 or more")


class KeyCounter:
    """Counts distinct keys batch by batch, in memory linear in the distinct keys.

    Batches are merged when they hold as many keys together as were merged before, so that all
    merging costs little more than the last.
    """

    def __init__(self) -> None:
        # distinct keys, ascending, and their counts
        self._merged: tuple[Keys, AnyInts] = (np.zeros(0, np.uint64), np.zeros(0, np.int64))
        self._waiting: list[tuple[Keys, AnyInts]] = []

    def add(self, keys: Keys) -> None:
        """Count keys of any shape."""
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
        # a stable sort: it makes use of the order within each part
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        starts = np.flatnonzero(np.diff(keys, prepend=ABSENT))
        if len(starts):
            counts = np.add.reduceat(counts[order], starts)
        self._merged = keys[starts], counts
        self._waiting = []
