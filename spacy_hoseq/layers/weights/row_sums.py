"""Sums of weight rows at many tokens. NumPy adds a million numbers in the time it takes to fetch
them from memory, so the sums are made in blocks of tokens that stay in the processor's cache until
all is added."""

from typing import Any, Sequence, Tuple, Union, cast

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats32
from ...learning.cell_table import CellTable
from ..tuning import TUNING, Tuning

Summands = Union[Floats32, CellTable]  # (F, L)
Term = Tuple[Summands, NDArray[Any]]


def sum_rows(terms: Sequence[Term], sums: Floats32, tuning: Tuning = TUNING) -> None:
    """sums[n] = sum over (table, rows) and k of table[rows[k, n]], one after the other, whatever
    the block.

    terms: table (F, L), rows (K, n). sums (n, L): what is written, 0 without terms.
    """
    n_rows = sum(len(rows) for _, rows in terms)
    if not n_rows:
        sums[:] = 0
        return
    # (of a single cell NumPy adds in another order)
    is_few = 1 < sums.size <= tuning.few_cells // n_rows
    if is_few and CellTable not in [type(table) for table, _ in terms]:
        gathered = np.empty((n_rows, *sums.shape), sums.dtype)
        first = 0
        for array, rows in terms:
            out = gathered[first : first + len(rows)]
            cast(Floats32, array).take(rows, axis=0, out=out, mode="clip")
            first += len(rows)
        np.add.reduce(gathered, axis=0, out=sums)
        return
    for start in range(0, len(sums), tuning.sum_tokens):
        some = slice(start, start + tuning.sum_tokens)
        _sum_block([(table, rows[:, some]) for table, rows in terms], sums[some])


def _sum_block(terms: Sequence[Term], block: Floats32) -> None:
    """`sum_rows` of tokens that stay in the processor's cache."""
    buffer = np.empty_like(block)
    is_first = True
    for table, rows in terms:
        if isinstance(table, CellTable):
            if is_first:
                block[:] = 0
            table.add_to(block, rows)
            is_first = False
            continue
        for row in rows:
            np.take(table, row, axis=0, out=block if is_first else buffer, mode="clip")
            if not is_first:
                block += buffer
            is_first = False


def add_rows(table: Summands, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores
