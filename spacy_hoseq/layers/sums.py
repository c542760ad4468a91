"""Sums of rows of weights, the same numbers whatever the batch is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyInts, Floats32

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


def dropout_scale(drop: float) -> np.float32:
    """What the remaining features are multiplied by, so that their expected sum stays the same."""
    return np.float32(1 / (1 - drop) if drop < 1 else 0)
