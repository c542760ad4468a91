"""Sums of rows of weights, the same numbers whatever the batch is; and their gradients."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thinc.api import NumpyOps

from ..arrays import AnyFloats, AnyInts, Floats32
from ..learning.gradients import Gradient, RowGradient, added_cells, are_few

SUM_BLOCK_WEIGHTS = 65_536  # gathered at once: 256 KB stay in the processor's cache

Term = tuple[Floats32, NDArray[Any]]  # a table, and rows of it


def add_rows(table: Floats32, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores


def sum_rows(terms: Sequence[Term], sums: Floats32) -> None:
    """Write sums[n] = sum over (table, rows) and k of table[rows[k, n]], one after the other.

    terms: table (F, L), rows (K, n). sums (n, L): the result, 0 without terms.
    """
    n_rows = sum(len(rows) for _, rows in terms)
    block_size = max(1, SUM_BLOCK_WEIGHTS // max(1, n_rows * sums.shape[1]))
    for start in range(0, len(sums), block_size):
        tokens = slice(start, start + block_size)
        block = sums[tokens]
        # the rows of all terms, one below the other: then one sum over the first axis
        gathered = np.empty((n_rows, *block.shape), sums.dtype)  # (K, n, L)
        first = 0
        for table, rows in terms:
            out = gathered[first : first + len(rows)]
            table.take(rows[:, tokens], axis=0, out=out, mode="clip")
            first += len(rows)
        if block.size > 1:
            block[:] = np.add.reduce(gathered, axis=0)
        else:
            # of a single cell `reduce` adds pairwise, which may round otherwise
            block[:] = sum(gathered, np.zeros_like(block))


def table_gradient(rows: AnyInts, gradient: Floats32, scale: np.float32, nothing: int) -> Gradient:
    """Gradient of scale * `add_rows`, by rows or by cells.

    rows (K, N). gradient (N, L): of the scores. nothing: the row of no feature, which has none.
    """
    n_labels = gradient.shape[1]
    nonzero = np.flatnonzero(gradient != 0)  # (n,) cells of (N, L)
    token, label = np.divmod(nonzero, n_labels)
    tokens = token[np.diff(token, prepend=-1) != 0]  # each once: `token` ascends
    if not are_few(len(nonzero), len(tokens), n_labels):
        return row_gradient(rows[:, tokens], gradient[tokens] * scale, nothing)
    # A margin changes two labels of a token: then single cells of the table are far fewer than rows.
    token_rows = rows.take(token, axis=1)  # (K, n)
    is_feature = token_rows != nothing
    cells = token_rows.astype(np.intp) * n_labels + label  # of (F + 1, L)
    values = np.broadcast_to(gradient.reshape(-1).take(nonzero) * scale, cells.shape)
    return added_cells(cells[is_feature], values[is_feature])


def row_gradient(rows: AnyInts, gradient: AnyFloats, nothing: int) -> RowGradient:
    """Gradient of `add_rows`: d_table[r] = sum of gradient[n] over all k, n with rows[k, n] = r,
    without row `nothing`. RETURNS distinct rows (U,), their gradient (U, L)."""
    # rows are numbered anew, so that the sums need an array of those touched only
    distinct, place = np.unique(rows, return_inverse=True)
    place = place.reshape(rows.shape).astype(np.int32)
    sums = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    ops = NumpyOps()
    for places in place:
        ops.scatter_add(sums, places, gradient)
    is_feature = distinct != nothing
    return distinct[is_feature], sums[is_feature]


def dropout_scale(drop: float) -> np.float32:
    """What the remaining features are multiplied by, so that their expected sum stays the same."""
    return np.float32(1 / (1 - drop) if drop < 1 else 0)
