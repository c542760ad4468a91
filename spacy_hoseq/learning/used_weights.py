"""The rows or cells of an array of weights that are not zero: what is loaded, finished and
saved."""

from typing import NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, Ints

MANY_COLUMNS = 128  # of a table of features from which on it is learnt cell by cell
FEW = 4  # weights are read as cells if at most one in so many of a row is not zero


class UsedRows(NamedTuple):
    """An array (R, C) or (R,) of which most rows are zero. shape: of all. rows (U,): ascending; all
    others are zero. values (U, C) or (U,). room (U + 1, ...): the array of which they are the first
    rows, if its last one is zero."""

    shape: Tuple[int, ...]
    rows: Ints
    values: AnyFloats
    room: Optional[AnyFloats] = None

    def dense(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        every = np.zeros(self.shape, self.values.dtype)
        every[self.rows] = self.values
        return every

    def ended(self) -> AnyFloats:
        """The values, and a row of zeros. RETURNS (U + 1, C) or (U + 1,)."""
        if self.room is not None:
            return self.room
        return np.concatenate([self.values, np.zeros((1, *self.shape[1:]), self.values.dtype)])

    def cells(self) -> "UsedCells":
        n_columns = max(1, int(np.prod(self.shape[1:])))
        nonzero = np.flatnonzero(self.values != 0)
        row, column = np.divmod(nonzero, n_columns)
        return UsedCells(
            self.shape,
            self.rows.take(row) * n_columns + column,
            self.values.reshape(-1).take(nonzero),
        )


class UsedCells(NamedTuple):
    """An array (R, C) or (R,), shape, of which most cells are zero. cells (n,): of the flat array,
    ascending; all others are zero. values (n,): not zero."""

    shape: Tuple[int, ...]
    cells: Ints
    values: AnyFloats

    def dense(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        every = np.zeros(self.shape, self.values.dtype)
        every.reshape(-1)[self.cells] = self.values
        return every

    def taking(self, rows: Ints) -> "UsedCells":
        """Some rows (n,), distinct: the i-th of the result is row rows[i]."""
        place = np.full(self.shape[0], -1)
        place[rows] = np.arange(len(rows))
        n_columns = max(1, int(np.prod(self.shape[1:])))
        row, column = np.divmod(self.cells, n_columns)
        left = np.flatnonzero(place.take(row) >= 0)
        cells = place.take(row.take(left)) * n_columns + column.take(left)
        order = np.argsort(cells)
        shape = (len(rows), *self.shape[1:])
        return UsedCells(shape, cells.take(order), self.values.take(left.take(order)))

    def scaled(self, factor: float) -> "UsedCells":
        """All weights times a factor, which is not 0."""
        return self if factor == 1 else self._replace(values=self.values * np.float32(factor))

    def rounded(self) -> "UsedCells":
        """To what half precision can hold."""
        rounded = to_storage(self.values)
        left = np.flatnonzero(rounded != 0)
        return UsedCells(
            self.shape, self.cells.take(left), rounded.take(left).astype(self.values.dtype)
        )

    def rows(self) -> UsedRows:
        n_columns = int(np.prod(self.shape[1:]))
        row, column = np.divmod(self.cells, max(1, n_columns))
        begins = np.diff(row, prepend=-1) != 0
        used = row[begins]
        room = np.zeros((len(used) + 1, *self.shape[1:]), self.values.dtype)
        room.reshape(-1)[(np.cumsum(begins) - 1) * n_columns + column] = self.values
        return UsedRows(self.shape, used, room[:-1], room)

    def fitting(self) -> "Used":
        """As rows, unless they are long and mostly zero."""
        n_columns = int(np.prod(self.shape[1:]))
        n_rows = np.count_nonzero(np.diff(self.cells // max(1, n_columns), prepend=-1))
        is_sparse = 0 < FEW * len(self.cells) <= n_rows * n_columns
        return self if n_columns >= MANY_COLUMNS and is_sparse else self.rows()


Used = Union[UsedRows, UsedCells]


def to_storage(weights: AnyFloats) -> NDArray[np.generic]:
    """Half precision (11 bits) where the weights fit, else single. Idempotent, so saving again
    changes nothing."""
    fits = np.abs(weights).max(initial=0) < np.finfo(np.float16).max
    return weights.astype(np.float16 if fits else np.float32)
