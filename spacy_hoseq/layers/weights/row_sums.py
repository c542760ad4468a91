"""Sums of weight rows at many tokens. NumPy adds a million numbers in the time it takes to fetch them from memory, so
the sums are made in blocks of tokens that stay in the processor's cache until all is added."""

from typing import Any, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats32, Rows
from ...learning.cell_table import CellTable
from ..tuning import TUNING

Summands = Union[Floats32, CellTable]  # (F, L)
Term = Tuple[Summands, NDArray[Any]]


def sum_rows(terms: Sequence[Term], sums: Floats32, block_tokens: int = TUNING.sum_tokens) -> None:
    """sums[n] = sum over (table, rows) of table[rows[n]], one after the other, whatever the block.

    terms: table (F, L), rows (n,). sums (n, L): what is written, 0 without terms.
    """
    if not terms:
        sums[:] = 0
        return
    buffer = np.empty_like(sums[:block_tokens])
    for start in range(0, len(sums), block_tokens):
        block, some = sums[start : start + block_tokens], slice(start, start + block_tokens)
        for i, (table, rows) in enumerate(terms):
            if isinstance(table, CellTable):
                if not i:
                    block[:] = 0
                table.add_to(block, rows[None, some])
                continue
            np.take(table, rows[some], axis=0, out=buffer[: len(block)] if i else block, mode="clip")
            if i:
                block += buffer[: len(block)]


def add_rows(table: Summands, rows: Rows, most_cells: int = TUNING.few_cells) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    n_templates, n = rows.shape
    if isinstance(table, CellTable):
        sums: Floats32 = np.zeros((n, table.shape[1]), table.dtype)
        table.add_to(sums, rows)
        return sums
    n_cells = n * table.shape[1]
    if n_templates and 1 < n_cells <= most_cells // n_templates:  # (of a single cell NumPy adds in another order)
        few: Floats32 = np.add.reduce(table.take(rows, axis=0, mode="clip"), axis=0)
        return few
    scores = np.empty((n, table.shape[1]), table.dtype)
    sum_rows([(table, row) for row in rows], scores)
    return scores
