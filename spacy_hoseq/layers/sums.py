"""Sums of rows of weights, the same numbers whatever the batch is."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyInts, Floats32

SUM_CELLS = 65_536  # weights that are gathered at once: they stay in the processor's cache

Term = tuple[Floats32, NDArray[Any]]  # a table, and rows of it


def add_rows(table: Floats32, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores


def sum_rows(terms: Sequence[Term], sums: Floats32) -> None:
    """sums[n] = sum over (table, rows) and k of table[rows[k, n]], one after the other, whatever
    the block.

    terms: table (F, L), rows (K, n). sums (n, L): what is written, 0 without terms. Rows are
    gathered and added up in blocks of tokens that stay in the processor's cache.
    """
    n_rows = sum([len(rows) for _, rows in terms])
    together = max(1, SUM_CELLS // max(1, n_rows * sums.shape[1]))
    for start in range(0, len(sums), together):
        some = slice(start, start + together)
        block = sums[some]
        gathered = np.empty((n_rows, *block.shape), sums.dtype)
        first = 0
        for table, rows in terms:
            out = gathered[first : first + len(rows)]
            table.take(rows[:, some], axis=0, out=out, mode="clip")
            first += len(rows)
        # (of a single cell `reduce` adds in another order)
        block[:] = (
            np.add.reduce(gathered, axis=0)
            if block.size > 1
            else sum(gathered, np.zeros_like(block))
        )
