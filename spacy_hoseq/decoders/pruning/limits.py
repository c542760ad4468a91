"""Largest loss by a change of one label: the right-hand side of the test in `candidates.py`,
for one set of weights.

    rows[j, k] = max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b]))

is what label k can have over label j at one token, whatever its neighbours are; 0 stands for a
missing neighbour. Towards the token before, with label a, j earns at least trans[a, j], and k at
most E[a, k] = trans[a, k] + the largest weight of patterns that end here with a, k. Towards the
token after, with label b, j earns at least trans[j, b] and k at most G[k, b] = trans[k, b] + the
largest weight of patterns that hold k, b and end at the next token, plus at the one after it, and
so on. (Weights are >= 0, so patterns that j gains can be left out.)

The whole table costs O(L^3). So rows are made when they are asked for, those of labels that are the
best-scoring one of some token, each in O(L^2), and kept: with weights that stay, as in prediction,
every row is made once.

Weights that follow others (`Weights.follow`), as after each update of learning, keep the rows of
those: with D the change of trans since the rows were made, they are too low by at most

    max_a D[a, k] - min_a D[a, j]  +  max_b D[k, b] - min_b D[j, b]

which is added. It costs O(L^2) once. When it has grown too large, rows are made anew.

Rows are single precision, rounded upwards: a limit that is too high excludes fewer labels, never a
wrong one. Checked against the formulas in tests/decoders/pruning/test_limits.py.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, distinct
from ..problem import Weights

ROUNDING = 1e-6  # relative: what a sum in single precision is off, and more
LARGE = 1e18  # numbers up to which single precision will do
MOST_DRIFT = 0.5  # on average, by which limits of earlier weights may be too high


class Drift(NamedTuple):
    """Largest change of trans in row j, column k: up[k] + down[j]. (L,) each."""

    up: AnyFloats
    down: AnyFloats


class Limits:
    """Limits of one set of weights (`weights.prepared(Limits)`), filled while they are used,
    perhaps by several threads at once. Patterns that fire at positions have no part in it."""

    def __init__(self, weights: Weights) -> None:
        # (weights hold their limits: a way back would keep both until the next collection)
        self.trans = weights.precise_trans  # (L, L)
        self.after, self.before = _upper(weights)  # E[a, k], G[k, b] (L, L)
        self._follows = weights.permit_all and not weights.has_patterns
        self._largest = max(map(_most, (self.trans, self.after, self.before)))
        dtype = np.float32 if self._largest < LARGE else np.float64
        self._rows: AnyFloats = np.empty(self.trans.shape, dtype)
        self._known = np.zeros(len(self.trans), bool)
        self._start: Limits = self  # whose rows are used
        self._drift: Optional[Drift] = None
        earlier = weights.before(Limits)
        if earlier is not None and self._follows and earlier._start._follows:
            self._follow(earlier._start)

    def of(self, labels: Ints) -> AnyFloats:
        """Largest advantage of other labels over these. labels (n,): j. RETURNS (n, L)."""
        start = self._start
        missing = labels[~start._known.take(labels)]
        if len(missing):
            start._make_rows(distinct(missing))
        rows: AnyFloats = start._rows.take(labels, axis=0)
        if self._drift is not None:
            rows += self._drift.up
            rows += self._drift.down.take(labels)[:, None]
        return rows

    def _follow(self, start: "Limits") -> None:
        """Use the rows of earlier limits, if they are near enough."""
        change = self.trans - start.trans
        rounding = ROUNDING * (1 + 2 * start._largest + _most(change))
        up = np.full(len(change), 2 * rounding)
        down = np.zeros(len(change))
        for axis in (0, 1):  # the token before, the token after
            up += np.maximum(change.max(axis=axis, initial=0), 0)
            down += np.maximum(-change.min(axis=axis, initial=0), 0)
        if up.mean() + down.mean() <= MOST_DRIFT:
            self._start = start
            dtype = start._rows.dtype
            self._drift = Drift(up.astype(dtype), down.astype(dtype))

    def _make_rows(self, labels: Ints) -> None:
        trans = self.trans
        # four roundings of sums up to 4 times that
        margin = 16 * float(np.finfo(self._rows.dtype).eps) * self._largest
        # where both are forbidden nothing can be lost: -inf - -inf = nan, and fmax leaves nan out
        with np.errstate(invalid="ignore"):
            for j in labels.tolist():
                before = np.fmax.reduce(self.after - trans[:, j, None], axis=0, initial=0.0)
                after = np.fmax.reduce(self.before - trans[j], axis=1, initial=0.0)
                self._rows[j] = before + after + margin
        self._known[labels] = True  # after the rows: other threads may be reading


def _most(values: Floats) -> float:
    """How far finite values are from 0."""
    return float(np.abs(values[values > -np.inf]).max(initial=0.0))


def _upper(weights: Weights) -> Tuple[Floats, Floats]:
    """E[a, k] and G[k, b]."""
    trans = weights.precise_trans
    if not weights.has_patterns:
        return trans, trans
    after = trans.copy()
    before = trans.copy()
    psi = weights.psi
    for j, (nodes, shorter, pairs, starts) in enumerate(weights.trie.covers):
        if len(nodes):
            # patterns in u longer than j labels
            covered = psi[nodes] - np.where(shorter >= 0, psi[shorter], 0.0)
            (before if j else after).reshape(-1)[pairs] += np.maximum.reduceat(covered, starts)
    return after, before
