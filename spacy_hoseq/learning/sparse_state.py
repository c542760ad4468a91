"""What learning keeps of a weight array beside the weights: of rows and cells that updates have
touched. By a margin these are a part of the features, and few labels of each."""

from typing import Protocol, Tuple

import numpy as np

from ..arrays import AnyFloats, AnyInts, Ints


class Start(Protocol):
    """A rule's memory for so many rows (see `UpdateRule.start`)."""

    def __call__(
        self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats: ...


class TouchedRows:
    """Sums for the average and the rule's memory, in the order in which rows were touched first:
    these arrays are as large as that of the weights, but what is never written on takes no memory.

    shape, dtype: of the weights. sums (R, ...), memory (R, ...): by place.
    """

    def __init__(
        self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", start: Start, *, resumed: bool
    ) -> None:
        self._start = start
        self._resumed = resumed
        self._place_of = np.full(shape[0], -1, np.intp)
        self._n_touched = 0
        self.sums: AnyFloats = np.zeros(shape, dtype)
        self.memory: AnyFloats = np.zeros(
            (shape[0], *start((0, *shape[1:]), dtype).shape[1:]), dtype
        )

    def touch(self, rows: AnyInts) -> Ints:
        """Places of rows, which get one if they have none. rows (n,). RETURNS (n,)."""
        places = self._place_of.take(rows)
        new = distinct(rows[places < 0])
        if len(new):
            first = self._n_touched
            last = self._n_touched + len(new)
            self._place_of[new] = np.arange(first, last)
            shape = (len(new), *self.sums.shape[1:])
            self.memory[first:last] = self._start(shape, self.sums.dtype, resumed=self._resumed)
            self._n_touched = last
            places = self._place_of.take(rows)
        return places

    def begin_at(self, cells: Ints, sums: AnyFloats, memory: AnyFloats) -> None:
        """Cells that updates have touched before. cells, sums, memory (n,)."""
        n_columns = int(np.prod(self.sums.shape[1:]))
        row, column = np.divmod(cells, n_columns)
        places = self.touch(row) * n_columns + column
        self.sums.reshape(-1)[places] = sums
        self.memory.reshape(-1)[places] = memory

    def sums_of(self, rows: AnyInts, columns: AnyInts) -> AnyFloats:
        """Of some cells, 0 where nothing was touched. rows, columns (n,). RETURNS (n,)."""
        places = self._place_of.take(rows)
        n_columns = int(np.prod(self.sums.shape[1:]))
        sums: AnyFloats = self.sums.reshape(-1).take(np.maximum(places, 0) * n_columns + columns)
        return np.where(places < 0, sums.dtype.type(0), sums)

    def sums_of_rows(self, rows: AnyInts) -> AnyFloats:
        """rows (n,). RETURNS (n, ...)."""
        places = self._place_of.take(rows)
        sums: AnyFloats = self.sums.take(np.maximum(places, 0), axis=0)
        sums[places < 0] = 0
        return sums


class TouchedCells:
    """Cells of an array that may not be 0: those that were not at the beginning, and all that
    updates have changed.

    begun (n,): cells, distinct, ascending.
    """

    def __init__(self, begun: Ints) -> None:
        self._known = begun
        self._waiting = [begun[:0]]

    def add(self, cells: Ints) -> None:
        """cells (n,): in any order, known ones perhaps among them."""
        self._waiting.append(cells)

    def all(self) -> Ints:
        """RETURNS (n,), distinct, ascending."""
        if len(self._waiting) > 1:
            self._known = distinct(np.concatenate([self._known, *self._waiting])).astype(
                np.intp, copy=False
            )
            del self._waiting[1:]
        return self._known


def distinct(numbers: AnyInts) -> AnyInts:
    """numbers (n,), >= 0. RETURNS them ascending, each once (in a tenth of the time of
    `np.unique`)."""
    ascending: AnyInts = np.sort(numbers)
    return np.asarray(ascending[np.diff(ascending, prepend=-1) != 0])
