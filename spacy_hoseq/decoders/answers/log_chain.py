"""p(y | x) of a chain whose scaled sums would lose digits (`forward_backward.py`): the same
recurrences on logarithms.

    a_t(y) = scores[t, y] + log sum_a exp(a_{t-1}(a) + trans[a, y])
    b_{t-1}(a) = log sum_y exp(trans[a, y] + scores[t, y] + b_t(y))

each less the largest of its row. A step is one matrix product; sums so small that digits are lost
in it are added up again, one by one.
"""

from typing import Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Mask
from ..problem import (
    LabelPairs,
    Layout,
    NoPath,
    Potentials,
    Tuning,
    largest,
    make_layout,
    masked,
    ranges,
    sums_of_sequences,
)
from .pattern_posterior import PatternPosterior

LEAST = 1e-280  # a sum that has all its digits
EPSILON = float(np.finfo(np.float64).eps)
TOLERANCE = 1e-8  # of logarithms, after all steps


class LogChain(PatternPosterior):
    """Marginals, pairs and segments are made of messages that are kept; other sums are those of
    patterns. Of a chain without edge_scores, checked. RAISES ValueError [HS023]."""

    def __init__(self, potentials: Potentials, *, tuning: Tuning) -> None:
        super().__init__(potentials, tuning=tuning)
        layout = make_layout(potentials.lengths, len(potentials.scores))
        self._trans = trans = potentials.weights.precise_trans
        emissions = masked(potentials.scores, potentials.allowed)[layout.tokens]
        forward, norms, self._backward, self._lowered = _messages(emissions, trans, layout)
        self._place = np.empty(len(layout.tokens), np.intp)
        self._place[layout.tokens] = np.arange(len(layout.tokens))
        self._message = emissions + self._backward
        both = forward + self._backward
        top = both.max(axis=1, initial=-np.inf, keepdims=True)
        ends = np.cumsum(potentials.lengths)
        closed = np.flatnonzero(top == -np.inf)
        if len(closed):
            token = layout.tokens[closed].min()
            raise NoPath(int(np.searchsorted(ends, token + 1, side="left")))
        p = np.exp(both - top)
        self._nodes = np.asarray((p / p.sum(axis=1, keepdims=True))[self._place])
        last = np.exp(forward[self._place[ends - 1]]).sum(axis=1)
        self._log_z = np.log(last) + sums_of_sequences(norms[self._place], potentials.lengths)
        # labels that hardly any labelling has may lose digits
        size = largest(potentials.scores) + largest(trans[trans > -np.inf])
        self._error = 4 * EPSILON * len(layout.size_at_t) * (size - top.min(initial=0.0))

    @property
    def keeps_digits(self) -> bool:
        return bool(self._error < TOLERANCE)

    @property
    def log_z(self) -> Floats:
        return np.asarray(self._log_z)

    @property
    def nodes(self) -> Floats:
        return self._nodes

    def pairs(self, arcs: LabelPairs) -> Floats:
        starts = np.cumsum(self.lengths) - self.lengths
        inside = np.flatnonzero(~np.isin(arcs.tokens, starts))
        tokens, earlier, later = (column[inside] for column in arcs)
        p = np.zeros(len(arcs.tokens))
        p[inside] = self._nodes[tokens - 1, earlier] * self._steps(tokens, earlier, later)
        return p

    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Optional[Mask]
    ) -> Floats:
        if not len(sizes):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        steps = np.ones(len(labels))
        steps[1:] = self._steps(ranges(first, sizes)[1:], labels[:-1], labels[1:])
        steps[starts] = self._nodes[first, labels[starts]]
        p = np.multiply.reduceat(steps, starts)
        if continues is not None:
            last = labels[starts + sizes - 1]
            end = first + sizes
            goes_on = np.flatnonzero(~np.isin(end, np.cumsum(self.lengths)))
            before = last[goes_on, None]
            further = self._steps(end[goes_on, None], before, np.arange(len(self._trans)))
            p[goes_on] *= np.where(continues[last[goes_on]], 0.0, further).sum(axis=1)
        return np.asarray(p)

    def _steps(self, tokens: AnyInts, earlier: AnyInts, later: AnyInts) -> Floats:
        """p(y_t = later | y_{t-1} = earlier); 0 where that is impossible."""
        before = self._place[tokens - 1]
        beta = self._backward[before, earlier] + self._lowered[before]
        score = self._trans[earlier, later] + self._message[self._place[tokens], later]
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(beta > -np.inf, np.exp(score - beta), 0.0)


def _messages(
    emissions: Floats, trans: Floats, layout: Layout
) -> Tuple[Floats, Floats, Floats, Floats]:
    """RETURNS a (N, L), b (N, L), packed, and behind each by how much its rows were lowered (N,)."""
    onward = _Transitions(trans)
    back = _Transitions(np.ascontiguousarray(trans.T))
    forward = emissions.copy()
    backward = np.zeros(emissions.shape)
    norms, lowered = np.zeros((2, len(emissions)))
    for t in range(len(layout.size_at_t)):
        here = layout.step(t)
        if t > 0:
            forward[here] += onward.log_product(forward[_before(layout, t)])
        norms[here] = _less_largest(forward[here])
    for t in range(len(layout.size_at_t) - 1, 0, -1):
        here = layout.step(t)
        before = _before(layout, t)
        backward[before] = back.log_product(emissions[here] + backward[here])
        lowered[before] = _less_largest(backward[before])
    return forward, norms, backward, lowered


def _before(layout: Layout, t: int) -> slice:
    """The tokens before those of step t."""
    start = int(layout.offset[t - 1])
    return slice(start, start + int(layout.size_at_t[t]))


def _less_largest(rows: Floats) -> Floats:
    """Subtract the largest of each row. RETURNS it (n,), 0 where there is none."""
    top = rows.max(axis=1, initial=-np.inf)
    top[top == -np.inf] = 0.0
    rows -= top[:, None]
    return np.asarray(top)


class _Transitions:
    """trans (L, L), and what a product needs of it."""

    def __init__(self, trans: Floats) -> None:
        largest = float(trans.max(initial=-np.inf))
        self.trans = trans
        self.largest = largest if np.isfinite(largest) else 0.0
        self.weights = np.exp(trans - self.largest)
        self.permitted = (trans > -np.inf).astype(np.float32)

    def log_product(self, rows: Floats) -> Floats:
        """log sum_a exp(rows[n, a] + trans[a, y]). RETURNS (n, L)."""
        top = rows.max(axis=1, initial=-np.inf)
        top[top == -np.inf] = 0.0
        sums = np.exp(rows - top[:, None]) @ self.weights
        with np.errstate(divide="ignore"):
            result = np.log(sums) + (top + self.largest)[:, None]
        low = sums < LEAST
        if low.any():  # where nothing is permitted 0 is right
            low &= (rows > -np.inf).astype(np.float32) @ self.permitted > 0
            at, labels = np.nonzero(low)
            terms = rows[at] + self.trans.T[labels]
            most = terms.max(axis=1, initial=-np.inf)
            result[at, labels] = most + np.log(np.exp(terms - most[:, None]).sum(axis=1))
        return np.asarray(result)
