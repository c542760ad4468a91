"""The features that prediction needs: those with a weight that is not zero, which often are less than half."""

from typing import Any, Dict, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features.index import ExactIndex, HashedIndex, Index


class UsedFeatures(NamedTuple):
    """rows: key -> row of `table` (U + 1, L), whose last row is zero. known, whole: what they were made from."""

    rows: Index
    table: NDArray[np.float32]
    known: Dict[str, Any]
    whole: NDArray[np.float32]

    @classmethod
    def of(cls, known: Dict[str, Any], table: NDArray[np.float32]) -> "UsedFeatures":
        """known: what a layer saves of its features, "keys" (F,) or "hash_rows". table (F + 1, L)."""
        if "hash_rows" in known:
            return cls(HashedIndex(known["hash_rows"]), table, known, table)
        rows = np.flatnonzero(table[:-1].any(axis=1))
        return cls(ExactIndex(known["keys"][rows]), table[np.append(rows, len(table) - 1)], known, table)
