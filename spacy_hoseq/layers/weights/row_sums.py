"""Sums of weight rows at many tokens. NumPy adds a million numbers in the time it takes to fetch
them from memory, so the sums are made in blocks of tokens that stay in the processor's cache until
all is added."""

from typing import Any, Sequence, Tuple, Union

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
    is_few = (
        1 < sums.size <= tuning.few_cells // n_rows
    )  # (of a single cell NumPy adds in another order)
    arrays = [(table, rows) for table, rows in terms if not isinstance(table, CellTable)]
    if is_few and len(arrays) == len(terms):
        gathered = np.empty((n_rows, *sums.shape), sums.dtype)
        first = 0
        for array, rows in arrays:
            array.take(rows, axis=0, out=gathered[first : first + len(rows)], mode="clip")
            first += len(rows)
        np.add.reduce(gathered, axis=0, out=sums)
        return
    buffer = np.empty_like(sums[: tuning.sum_tokens])
    for start in range(0, len(sums), tuning.sum_tokens):
        block = sums[start : start + tuning.sum_tokens]
        some = slice(start, start + tuning.sum_tokens)
        is_first = True
        for table, rows in terms:
            if isinstance(table, CellTable):
                if is_first:
                    block[:] = 0
                table.add_to(block, rows[:, some])
                is_first = False
                continue
            for row in rows[:, some]:
                np.take(
                    table, row, axis=0, out=block if is_first else buffer[: len(block)], mode="clip"
                )
                if not is_first:
                    block += buffer[: len(block)]
                is_first = False


def add_rows(table: Summands, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores
