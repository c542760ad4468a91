"""Scores of prediction as sums of rows that are kept, for those who need a few columns of them only."""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyInts, Floats32
from ...features.growing_table import GrowingTable
from ...learning.cell_table import CellTable
from ..tuning import TUNING, Tuning
from ..weights.row_sums import Summands


class KeptRows(NamedTuple):
    """A term of scores[n] = sum over k of table[rows[k, n]], of all terms, one after the other.

    table (R, C). rows (K, N). source: as long as it is the same object, rows have the same numbers. nothing: a row of
    zeros, -1 if there is none."""

    source: object
    table: Floats32
    rows: AnyInts
    nothing: int


class WholeRows:
    """Rows of a table that is stored cell by cell, with all columns: of those that were asked for."""

    def __init__(self, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self._kept = GrowingTable((), np.zeros((1, 0), np.float32))

    def of(self, table: Summands, rows: AnyInts) -> KeptRows:
        """rows (K, N). The last row of the table is zero."""
        if not isinstance(table, CellTable):
            return KeptRows(table, table, rows, len(table) - 1)
        kept, most = self._kept, self._tuning.score_bytes // (table.dtype.itemsize * table.shape[1])
        if not kept.serves((table,), most):
            nothing = np.zeros((1, table.shape[1]), table.dtype)
            self._kept = kept = GrowingTable((table,), nothing, merged_zeros=True)

        def make(new: AnyInts) -> Floats32:
            whole: Floats32 = np.zeros((len(new), table.shape[1]), table.dtype)
            table.add_to(whole, new[None])
            return whole

        numbers, numbered = kept.of(rows, make)
        return KeptRows(kept, numbered, numbers, 0)
