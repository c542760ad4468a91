"""The rows of an array of weights that are not zero: what predicts, and what is saved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, Ints, Mask


class UsedRows(NamedTuple):
    """An array (R, ...) of which most rows are zero.

    shape: of all. rows (U,): ascending; all others are zero. table (U + 1, ...): these rows, and a
    row of zeros for all others.
    """

    shape: tuple[int, ...]
    rows: Ints
    table: AnyFloats

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
