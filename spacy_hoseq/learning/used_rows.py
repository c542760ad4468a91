"""The rows of an array of weights that are not zero: what predicts, and what is saved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, AnyInts, Ints, Mask


class Cells(NamedTuple):
    """Cells of a table (U + 1, C) that are not zero. The last row has none.

    first (U + 2,): row u has the cells first[u] <= i < first[u + 1]. columns, values (n,): of these
    cells. full (F, C): rows that have more than 32 cells, and so none there. place (U + 1,): where
    a row stands among them, -1 of others.
    """

    first: Ints
    columns: AnyInts
    values: AnyFloats
    full: AnyFloats
    place: Ints

    @classmethod
    def of(cls, rows: Ints, columns: AnyInts, values: AnyFloats, shape: tuple[int, int]) -> "Cells":
        """rows, columns, values (n,): of all cells, by row. shape: U + 1, C."""
        is_full = np.bincount(rows, minlength=shape[0]) > 32
        place = np.where(is_full, np.cumsum(is_full) - 1, -1)
        in_full = is_full.take(rows)
        full = np.zeros((np.count_nonzero(is_full), shape[1]), values.dtype)
        full[place.take(rows[in_full]), columns[in_full]] = values[in_full]
        first = np.append(0, np.cumsum(np.bincount(rows[~in_full], minlength=shape[0])))
        return cls(first, columns[~in_full], values[~in_full], full, place)

    def table(self) -> AnyFloats:
        """RETURNS (U + 1, C)."""
        table = np.zeros((len(self.place), self.full.shape[1]), self.values.dtype)
        table[self.place >= 0] = self.full
        table[np.arange(len(table)).repeat(np.diff(self.first)), self.columns] = self.values
        return table


class UsedRows:
    """An array (R, ...) of which most rows are zero.

    shape: of all. rows (U,): ascending; all others are zero. table (U + 1, ...): these rows, and a
    row of zeros for all others. cells: instead of `table`, which is then made when something asks
    for it; None = the array is not that sparse.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        rows: Ints,
        table: AnyFloats | None = None,
        cells: Cells | None = None,
    ) -> None:
        self.shape = shape
        self.rows = rows
        self.cells = cells
        self._table = table

    @property
    def table(self) -> AnyFloats:
        table = self._table
        if table is None:
            table = self._table = self.made_table()
        return table

    def made_table(self) -> AnyFloats:
        """`table`, which is not kept if it has to be made."""
        if self.cells is None or self._table is not None:
            return self.table
        return self.cells.table()

    @classmethod
    def of(
        cls, values: AnyFloats, rows: Ints | None = None, n_rows: int | None = None
    ) -> "UsedRows":
        """values (n, ...). rows (n,): which rows of n_rows these are; None = all."""
        used = np.flatnonzero(are_used(values))
        table = np.zeros((len(used) + 1, *values.shape[1:]), values.dtype)
        table[:-1] = values[used]
        shape = (len(values) if n_rows is None else n_rows, *values.shape[1:])
        return cls(shape, used if rows is None else rows[used], table)

    @property
    def values(self) -> AnyFloats:
        """RETURNS (U, ...)."""
        return self.table[:-1]

    def dense(self) -> AnyFloats:
        """RETURNS (R, ...)."""
        every = np.zeros(self.shape, self.table.dtype)
        every[self.rows] = self.values
        return every

    def taking(self, rows: Ints) -> "UsedRows":
        """Some rows (n,): the i-th of the result is row rows[i]."""
        place = np.full(self.shape[0], len(self.rows))
        place[self.rows] = np.arange(len(self.rows))
        return UsedRows.of(self.table[place[rows]])

    def rounded(self) -> "UsedRows":
        """To what half precision can hold."""
        stored = to_storage(self.values).astype(self.table.dtype)
        return UsedRows.of(stored, self.rows, self.shape[0])


def are_used(values: AnyFloats) -> Mask:
    """Rows of values (n, ...) that are not zero. RETURNS (n,)."""
    return np.asarray(values.any(axis=tuple(range(1, values.ndim))))


def to_storage(weights: AnyFloats) -> NDArray[np.generic]:
    """Half precision (11 bits) where the weights fit, else single. Idempotent, so saving again
    changes nothing."""
    fits = np.abs(weights).max(initial=0) < np.finfo(np.float16).max
    return weights.astype(np.float16 if fits else np.float32)
