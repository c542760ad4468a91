"""The features that prediction needs: those with a weight that is not zero, which often are less
than half."""

from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import Ints
from ...features.index import ExactIndex, HashedIndex, Index, SomeRows
from ...features.keys import bits_of
from ...learning.cell_table import CellTable
from ...learning.used_weights import Used, UsedCells
from ..weights.shim import Summands


class UsedFeatures(NamedTuple):
    """rows: key -> row of `table` (U + 1, L), whose last row is that of no feature."""

    rows: Index
    table: Summands

    @classmethod
    def of(
        cls, known: Dict[str, Any], whole: Used, index: Optional[Index] = None
    ) -> "UsedFeatures":
        """known: what a layer saves of its features, "keys" (F,) or "hash_rows". whole: of a table
        (F + 1, L).
        index: of all features, if it is there: while weights change, that takes less than making
            another."""
        if "hash_rows" in known:
            every = CellTable.of(*whole) if isinstance(whole, UsedCells) else whole.dense()
            return cls(HashedIndex(known["hash_rows"]), every)
        rows, table = _some(whole)
        if index is not None:
            return cls(SomeRows(index, rows), table)
        keys = known["keys"]
        return cls(ExactIndex(keys[rows], bits_of(keys)), table)


def _some(whole: Used) -> Tuple[Ints, Summands]:
    """RETURNS rows (U,) that are not zero, and a table of them (U + 1, L)."""
    n_features = whole.shape[0] - 1
    if isinstance(whole, UsedCells):
        row, column = np.divmod(whole.cells, whole.shape[1])
        begins = np.diff(row, prepend=-1) != 0
        rows = row[begins]
        rows = rows[: np.searchsorted(rows, n_features)]
        cells = (np.cumsum(begins) - 1) * whole.shape[1] + column
        return rows, CellTable.of((len(rows) + 1, whole.shape[1]), cells, whole.values)
    rows = whole.rows[: np.searchsorted(whole.rows, n_features)]
    return rows, whole.ended() if len(rows) == len(whole.rows) else whole.values
