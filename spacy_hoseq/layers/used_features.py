"""The features that prediction needs: those with a weight that is not zero, which often are less than half."""

from typing import Any, Dict, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features.index import ExactIndex, HashedIndex, Index
from ..learning.parameter import UsedRows


class UsedFeatures(NamedTuple):
    """rows: key -> row of `table` (U + 1, L), whose last row is that of no feature. known, whole: what they are of."""

    rows: Index
    table: NDArray[np.floating]
    known: Dict[str, Any]
    whole: UsedRows

    @classmethod
    def of(cls, known: Dict[str, Any], whole: UsedRows) -> "UsedFeatures":
        """known: what a layer saves of its features, "keys" (F,) or "hash_rows". whole: of a table (F + 1, L)."""
        if "hash_rows" in known:
            return cls(HashedIndex(known["hash_rows"]), whole.dense(), known, whole)
        n_used = int(np.searchsorted(whole.rows, whole.shape[0] - 1))
        last = whole.values[n_used:]
        if not len(last):
            last = np.zeros((1, *whole.shape[1:]), whole.values.dtype)
        table = np.concatenate([whole.values[:n_used], last])
        return cls(ExactIndex(known["keys"][whole.rows[:n_used]]), table, known, whole)
