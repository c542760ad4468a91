"""Values of word types, computed for new types only. Checked in tests/features/test_type_cache.py."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..arrays import AnyInts, Ints, Rows, one_of_each
from ..caches import SharedCache
from .index import NO_ROW, ExactIndex

# all are forgotten beyond this many, so that a stream of any length runs in bounded memory
MAX_WORD_TYPES = 50_000


class TypeCache(SharedCache):
    """A cache of rows of numbers, one row for each word type.

    Key: a small number for each type, from 0; or with `hashed` any 64-bit key but 0. Bound:
    `max_rows` types, of which those of zeros count as one unless keys are hashed. It forgets all
    when there are more. A row is the same numbers whether it was cached or not, so results do not
    depend on what was asked before.

    width (int), dtype: of a row.
    """

    def __init__(
        self, width: int, dtype: DTypeLike, max_rows: int, *, hashed: bool = False
    ) -> None:
        super().__init__()
        self._max_rows = max_rows
        self._is_hashed = hashed
        self._zeros: NDArray[Any] = np.zeros((1, width), dtype)
        self.forget()

    def __len__(self) -> int:
        """Rows that are not zero."""
        return self._n_rows - 1

    def forget(self) -> None:
        """New arrays in place of the old ones, which others may still read."""
        self._index = ExactIndex(np.zeros(0, np.uint64))  # of hashed keys
        self._table = self._zeros  # all rows, and room for more; row 0 is that of all zeros
        self._n_rows = 1
        self._row_of = np.full(
            1, NO_ROW
        )  # row of each number; the last entry is that of all larger ones

    def of(
        self, keys: NDArray[Any], compute: Callable[[Ints], NDArray[Any]]
    ) -> tuple[Rows, NDArray[Any]]:
        """The values of some types.

        keys (any shape). compute: values (n, width), or (n,) if `width` is 1, of the types at n
            places of the flat `keys`, each type once. RETURNS the row of each key, in the shape of
            `keys`, and the table that has these rows.
        """
        with self._lock:
            rows = self._rows(keys)
            # once, unless the process was forked by `compute`: then the cache was emptied
            while rows.max(initial=0) == NO_ROW:
                unknown = np.flatnonzero(rows == NO_ROW)
                places = unknown[self._one_of_each(keys.reshape(-1)[unknown])]
                values = compute(places).reshape(len(places), -1)
                self._add(keys.reshape(-1)[places], values)
                rows = self._rows(keys)
            table = self._table
            if max(self._n_rows, self._index.n_rows) > self._max_rows:
                self.forget()
            return rows, table

    def _rows(self, keys: NDArray[Any]) -> Rows:
        """The row of each key, NO_ROW for new types."""
        numbers = self._index.lookup(keys) if self._is_hashed else keys
        return self._row_of.take(numbers, mode="clip")

    def _one_of_each(self, keys: NDArray[Any]) -> Ints:
        """A place of each distinct key (n,)."""
        if self._is_hashed:
            return one_of_each(keys)
        # small numbers need not be sorted: of the places of one, the last is kept
        places = np.arange(len(keys))
        last = np.empty(int(keys.max()) + 1, np.intp)
        last[keys] = places
        return np.flatnonzero(last[keys] == places)

    def _add(self, keys: NDArray[Any], values: NDArray[Any]) -> None:
        if self._is_hashed:
            numbers: AnyInts = np.arange(self._index.n_rows, self._index.n_rows + len(keys))
            self._index.add(keys)
        else:
            numbers = keys
        is_used = values.any(axis=1)
        first = self._n_rows
        stop = self._n_rows = first + int(is_used.sum())
        # arrays grow by doubling, so that all copies cost no more than the last
        if stop > len(self._table):
            grown = np.empty((max(2 * first, stop), values.shape[1]), values.dtype)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first:stop] = values.compress(is_used, axis=0)
        n_more = int(numbers.max()) + 2 - len(self._row_of)
        if n_more > 0:
            more = np.full(max(n_more, len(self._row_of)), NO_ROW)
            self._row_of = np.concatenate([self._row_of, more])
        self._row_of[numbers] = np.where(is_used, first - 1 + np.cumsum(is_used), 0)
