"""One step of a chain in the max-plus semiring:

    arriving(y) = max_a (V(a) + trans[a, y])

Hard constraints forbid most pairs of labels: after an inner label of a kind there is only that
kind. Labels that the same labels may precede share a block of the table, and only what is permitted
is added up: the same sums, so the same result to the last bit.

Checked against all pairs in tests/decoders/chain/test_arrivals.py.
"""

from typing import List, Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints, Labels, Mask
from ..problem import Weights

FEW = 4  # labels before a label, up to which each label is looked at by itself
COLUMN_COST = 5  # of one column more, in labels
STEP_CELLS = 120_000  # (earlier label, label, sequence) triples that are compared in one call
MANY_BLOCKS = 8  # from which on the calls cost more than what they save


class Arrivals:
    """trans (L, L) float64, the earlier label first; -inf forbids."""

    def __init__(self, trans: Floats) -> None:
        self._trans = np.ascontiguousarray(trans)
        # earlier (A,), later (B,), trans (A, B): labels all of which the same ones may precede
        self._blocks: List[Tuple[Ints, Ints, Floats]] = []
        # later (M,): the other labels. earlier (K, M): those before, the last ones with -inf in
        # trans (K, M, 1)
        self._few: Optional[Tuple[Ints, Ints, Floats]] = None
        permitted = trans > -np.inf
        if permitted.mean() < 0.5:
            self._group(trans, permitted)

    @classmethod
    def of(cls, weights: Weights) -> "Arrivals":
        """Those of the transitions: `weights.prepared(Arrivals.of)`."""
        return cls(weights.precise_trans)

    def _group(self, trans: Floats, permitted: Mask) -> None:
        # (G, L): sets of earlier labels
        before, kind = np.unique(permitted.T, axis=0, return_inverse=True)
        sizes = before.sum(axis=1)
        kind = kind.reshape(-1)
        large = np.flatnonzero(sizes > FEW)
        if len(large) > MANY_BLOCKS:
            return
        for group in large.tolist():
            earlier = np.flatnonzero(before[group])
            later = np.flatnonzero(kind == group)
            self._blocks.append((earlier, later, trans[np.ix_(earlier, later)]))
        later = np.flatnonzero(sizes[kind] <= FEW)
        earlier = np.argsort(~permitted[:, later], axis=0, kind="stable")[:FEW]
        self._few = later, earlier, trans[earlier, later][:, :, None]

    def __call__(self, v: Floats, t: int = 0) -> Floats:
        """v (L, n), the same at each step t. RETURNS (L, n)."""
        if self._few is None:
            return max_plus(v, self._trans)
        result = np.empty(v.shape)
        for earlier, later, trans in self._blocks:
            result[later] = max_plus(v.take(earlier, 0), trans)
        later, earlier, trans = self._few
        result[later] = np.maximum.reduce(v.take(earlier, 0) + trans, axis=0)  # (K, M, n)
        return result

    def from_each(self, following: Labels, t: int = 0) -> Floats:
        """trans of all labels before some (n,). RETURNS (L, n)."""
        return self._trans.take(following, axis=1)


def max_plus(v: Floats, trans: Floats) -> Floats:
    """max_a (v[a, n] + trans[a, y]). v (A, n), trans (A, B). RETURNS (B, n)."""
    at_once = max(1, STEP_CELLS // max(1, v.size))  # later labels
    # of few columns the labels are what lies side by side
    few = v.shape[1] * COLUMN_COST <= len(trans)
    parts = []
    for start in range(0, trans.shape[1], at_once):
        some = trans[:, start : start + at_once]
        if few:
            parts.append(np.maximum.reduce(v.T[:, :, None] + some, axis=1).T)
        else:
            parts.append(np.maximum.reduce(v[:, None, :] + some[:, :, None], axis=0))
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, v.shape[1])), *parts])
