"""The features that prediction needs: those with a weight that is not zero, which often are less than half."""

from typing import Any, Dict, NamedTuple, Optional

import numpy as np

from ...arrays import AnyFloats
from ...features.index import ExactIndex, HashedIndex, Index, SomeRows
from ...learning.parameter import UsedRows


class UsedFeatures(NamedTuple):
    """rows: key -> row of `table` (U + 1, L), whose last row is that of no feature. known, whole: what they are of."""

    rows: Index
    table: AnyFloats
    known: Dict[str, Any]
    whole: UsedRows

    @classmethod
    def of(cls, known: Dict[str, Any], whole: UsedRows, index: Optional[Index] = None) -> "UsedFeatures":
        """known: what a layer saves of its features, "keys" (F,) or "hash_rows". whole: of a table (F + 1, L).
        index: of all features, if it is there: while weights change, that takes less than making another."""
        if "hash_rows" in known:
            return cls(HashedIndex(known["hash_rows"]), whole.dense(), known, whole)
        n_used = int(np.searchsorted(whole.rows, whole.shape[0] - 1))
        rows = whole.rows[:n_used]
        chosen = ExactIndex(known["keys"][rows]) if index is None else SomeRows(index, rows)
        return cls(chosen, whole.ended() if n_used == len(whole.rows) else whole.values, known, whole)
