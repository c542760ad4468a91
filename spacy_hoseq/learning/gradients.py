"""Gradients of a weight array (R, C) or (R,), of which most rows are 0, and in these rows often
most cells.

Rows say more than cells: a rule with penalties changes all weights of a row that the gradient
touches. Cells, numbered r C + c in the flat array, are fewer: an update of a margin changes two
labels of four hundred.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import AnyFloats, AnyInts, Ints


class CellGradient(NamedTuple):
    """cells (n,): distinct, of the flat array. gradient (n,): of these cells; that of all others is
    0. Rows that are touched have a cell, perhaps one with gradient 0."""

    cells: Ints
    gradient: AnyFloats


# (n,) distinct rows; (n, C) or (n,) their gradient; that of all others is 0
RowGradient = tuple[AnyInts, AnyFloats]
Gradient = RowGradient | CellGradient


def summed(gradients: Sequence[Gradient], values: AnyFloats, *, by_cells: bool) -> Gradient:
    """The sum of gradients. values (R, C) or (R,): the weights. by_cells (bool): by cells where
    they are few; else by rows."""
    if by_cells and len(gradients) == 1 and isinstance(gradients[0], CellGradient):
        return gradients[0]
    n_columns = max(1, values[:1].size)
    rows, gradient = merge_gradients([_rows_of(each, values) for each in gradients], values)
    nonzero = np.flatnonzero(gradient != 0)
    if not by_cells or not are_few(len(nonzero), len(rows), n_columns):
        return rows, gradient
    row, column = np.divmod(nonzero, n_columns)
    cells = rows.astype(np.intp).take(row) * n_columns + column
    return CellGradient(cells, gradient.reshape(-1).take(nonzero))


def are_few(n_cells: int, n_rows: int, n_columns: int) -> bool:
    """RETURNS whether cells are the cheaper way for a gradient that is not 0 at `n_cells` of some
    rows: at most every fourth cell."""
    return 4 * n_cells <= n_rows * n_columns


def added_cells(cells: Ints, gradient: AnyFloats) -> CellGradient:
    """The sum of gradients of single cells, which may be the same. cells, gradient (n,)."""
    distinct, place = np.unique(cells, return_inverse=True)
    added = np.bincount(place, gradient, minlength=len(distinct))
    return CellGradient(distinct, added.astype(gradient.dtype))


def merge_gradients(gradients: Sequence[RowGradient], values: AnyFloats) -> RowGradient:
    """The sum of gradients of some rows each. RETURNS distinct rows, their gradient; none are of
    the type of values."""
    if not gradients:
        return np.zeros(0, np.intp), np.zeros((0, *values.shape[1:]), values.dtype)
    if len(gradients) == 1:
        return gradients[0]
    rows = np.concatenate([r for r, _ in gradients])
    stacked = np.concatenate([g for _, g in gradients])
    order = np.argsort(rows, kind="stable")
    unique, starts = np.unique(rows[order], return_index=True)
    merged: AnyFloats = np.add.reduceat(stacked[order], starts, axis=0)
    return unique, merged


def _rows_of(gradient: Gradient, values: AnyFloats) -> RowGradient:
    if not isinstance(gradient, CellGradient):
        return gradient
    n_columns = max(1, values[:1].size)
    row, column = np.divmod(gradient.cells, n_columns)
    rows, place = np.unique(row, return_inverse=True)
    dense: AnyFloats = np.zeros((len(rows), n_columns), gradient.gradient.dtype)
    dense[place, column] = gradient.gradient
    return rows, dense.reshape(len(rows), *values.shape[1:])
