"""Upper bounds on what one label can have over another beside any neighbours.

    bound[j, k] = max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b]))

is what label k can have over label j at one token, whatever its neighbours are; 0 stands for a
missing neighbour. Towards the token before, with label a, j earns at least trans[a, j], and k at
most E[a, k] = trans[a, k] + the largest weight of patterns that end here with a, k. Towards the
token after, with label b, j earns at least trans[j, b] and k at most G[k, b] = trans[k, b] + the
largest weight of patterns that hold k, b and end at the next token, plus at the one after it, and
so on. (Weights are >= 0, so patterns that j gains can be left out.) Patterns that fire at positions
have no part in it.

Bounds are single precision, rounded upwards: one that is too high excludes fewer labels, never a
wrong one.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, distinct
from ..problem import Weights

ROUNDING = 1e-6  # relative: what a sum in single precision is off, and more


class Slack(NamedTuple):
    """By how much the bounds of row j, column k may be too low: up[k] + down[j]. (L,) each."""

    up: AnyFloats
    down: AnyFloats


class Bounds(NamedTuple):
    """The bounds of some weights (`weights.prepared(Bounds.of)`). slack: on top of rows that were
    made for earlier weights; None = they are those of these weights."""

    rows: "BoundRows"
    slack: Slack | None = None

    @classmethod
    def of(cls, weights: Weights) -> "Bounds":
        """The rows of the weights that these follow, where they are near enough, else new ones."""
        earlier = weights.before(Bounds.of)
        slack = None if earlier is None else slack_after(earlier.rows, weights)
        if earlier is None or slack is None:
            return cls(BoundRows(weights))
        return cls(earlier.rows, slack)

    def over(self, labels: Ints) -> AnyFloats:
        """The most that other labels can have over these. labels (n,): j. RETURNS (n, L), a copy."""
        bounds = self.rows.take(labels)
        if self.slack is not None:
            bounds += self.slack.up
            bounds += self.slack.down.take(labels)[:, None]
        return bounds


class BoundRows:
    """A cache of the rows of `bound`, each made in O(L^2) when it is first taken.

    The whole table costs O(L^3), but only labels that are the best-scoring one of some token are
    taken. Key: the label. At most L rows; kept as long as the weights, so that in prediction every
    row is made once. Several threads may fill it at once.
    """

    def __init__(self, weights: Weights) -> None:
        # (weights hold this: a way back would keep both until the next collection)
        self.trans = weights.precise_trans  # (L, L)
        self.after, self.before = _upper(weights)  # E[a, k], G[k, b] (L, L)
        self.can_be_followed = weights.permit_all and not weights.has_patterns
        self.largest = max(map(_largest_finite, (self.trans, self.after, self.before)))
        # single precision ends at 3e38
        dtype = np.float32 if self.largest < 1e18 else np.float64
        self._rows: AnyFloats = np.empty(self.trans.shape, dtype)
        self._is_made = np.zeros(len(self.trans), bool)

    @property
    def dtype(self) -> "np.dtype[np.floating]":
        return self._rows.dtype

    def take(self, labels: Ints) -> AnyFloats:
        """RETURNS (n, L), a copy."""
        missing = labels[~self._is_made.take(labels)]
        if len(missing):
            self._make(distinct(missing))
        return self._rows.take(labels, axis=0)

    def _make(self, labels: Ints) -> None:
        trans = self.trans
        # four roundings of sums up to 4 times that
        margin = 16 * float(np.finfo(self.dtype).eps) * self.largest
        # where both are forbidden nothing can be lost: -inf - -inf = nan, and fmax leaves nan out
        with np.errstate(invalid="ignore"):
            for j in labels.tolist():
                before = np.fmax.reduce(self.after - trans[:, j, None], axis=0, initial=0.0)
                after = np.fmax.reduce(self.before - trans[j], axis=1, initial=0.0)
                self._rows[j] = before + after + margin
        self._is_made[labels] = True  # after the rows: other threads may be reading


def slack_after(rows: BoundRows, weights: Weights) -> Slack | None:
    """What rows of earlier weights lack, as after an update of learning; None: so much that rows are
    better made anew.

    With D the change of trans since the rows were made, they are too low by at most

        max_a D[a, k] - min_a D[a, j]  +  max_b D[k, b] - min_b D[j, b]

    which costs O(L^2) once.
    """
    if not rows.can_be_followed or not weights.permit_all or weights.has_patterns:
        return None
    change = weights.precise_trans - rows.trans
    rounding = ROUNDING * (1 + 2 * rows.largest + _largest_finite(change))
    up = np.full(len(change), 2 * rounding)
    down = np.zeros(len(change))
    for axis in (0, 1):  # the token before, the token after
        up += np.maximum(change.max(axis=axis, initial=0), 0)
        down += np.maximum(-change.min(axis=axis, initial=0), 0)
    # bounds that are too high by more, on average, leave too many candidates
    if up.mean() + down.mean() > 0.5:
        return None
    return Slack(up.astype(rows.dtype), down.astype(rows.dtype))


def _largest_finite(values: Floats) -> float:
    """The largest absolute value among the finite ones."""
    return float(np.abs(values[values > -np.inf]).max(initial=0.0))


def _upper(weights: Weights) -> tuple[Floats, Floats]:
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
