"""Key -> row of a table, for whole arrays of keys. Checked in tests/features/test_index.py."""

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyInts, Keys, Rows
from ..errors import wrong_value
from .keys import ABSENT, lowest_bits

NO_ROW = np.int32(2**31 - 1)


class ExactIndex:
    """Rows for a set of keys, by linear probing at a load of at most one quarter. `lookup` gives the
    row of each key, `n_rows` where there is none, in any shape.

    Most keys that are looked up have no row. So a slot has a byte, and a table of these bytes stays
    in the processor's cache: seven bits of the slot's key, and whether the slot is crowded, which
    means that a key that belongs there lies further on. Only from such a slot does a search go on.

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
            rows = np.concatenate([self._slot_rows[used], rows])
            self._make_slots(1 << (4 * self.n_rows - 1).bit_length())
        home = slots = (keys & self._mask).astype(np.intp)
        while len(keys):
            empty = self._slot_keys[slots] == ABSENT
            # of several keys for one empty slot, the last is stored
            self._slot_keys[slots[empty]] = keys[empty]
            self._slot_rows[slots[empty]] = rows[empty]
            self._slot_bytes[slots[empty]] = self._seven_bits(keys[empty])
            # the others try the next slot
            is_outside = self._slot_keys[slots] != keys
            keys = keys[is_outside]
            rows = rows[is_outside]
            home = home[is_outside]
            slots = (slots[is_outside] + 1) & int(self._mask)
            self._slot_bytes[home] |= 128  # crowded

    def _make_slots(self, size: int) -> None:
        self._mask = np.uint64(size - 1)
        self._slot_keys = np.zeros(size, np.uint64)  # 0 is ABSENT
        self._slot_rows = np.empty(size, np.int32)
        self._slot_bytes = np.zeros(size, np.uint8)

    def _seven_bits(self, keys: Keys) -> NDArray[np.uint8]:
        """Bits of keys (n,) that do not tell the slot."""
        above: Keys = keys >> np.uint64(int(self._mask).bit_length())
        bits: NDArray[np.uint8] = above.astype(np.uint8) & np.uint8(127)
        return bits

    def lookup(self, keys: Keys) -> Rows:
        flat = (keys & self._compared).reshape(-1)
        slots = (flat & self._mask).view(np.int64)
        rows = np.full(len(flat), self.n_rows, np.int32)
        differing = self._slot_bytes.take(slots) ^ self._seven_bits(flat)
        # 0: probably the key. 128 and more: the slot is crowded
        places = np.flatnonzero((differing == 0) | (differing >= 128))
        sought = flat.take(places)
        slots = slots.take(places)
        hit = self._slot_keys.take(slots) == sought
        is_key = sought != ABSENT
        rows[places[hit & is_key]] = self._slot_rows.take(slots[hit & is_key])
        goes_on = np.flatnonzero(~hit & is_key & (differing.take(places) >= 128))
        while len(goes_on):
            places = places.take(goes_on)
            sought = sought.take(goes_on)
            # eight slots are compared together: one line of memory
            window = (slots.take(goes_on)[:, None] + np.arange(1, 9)) & int(self._mask)  # (n, 8)
            slots = window[:, -1]
            found = self._slot_keys.take(window)
            is_same = found == sought[:, None]
            which, place = is_same.nonzero()
            rows[places.take(which)] = self._slot_rows.take(window[which, place])
            # a key that is stored lies before the next empty slot
            goes_on = np.flatnonzero(~(is_same | (found == ABSENT)).any(axis=1))
        result: Rows = rows.reshape(keys.shape)
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
