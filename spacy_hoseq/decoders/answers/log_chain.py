"""p(y | x) of a chain whose scaled sums would lose digits: messages on logarithms.

    a_t(y) = scores[t, y] + log sum_a exp(a_{t-1}(a) + trans[a, y])
    b_{t-1}(a) = log sum_y exp(trans[a, y] + scores[t, y] + b_t(y))

The sum of each row is less its largest, so that nothing that all labels share is added to what tells
them apart. Checked against enumeration in tests/decoders/test_posterior.py.
"""

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints
from ...caches import cached_property
from ..chain import MarkovChain, sum_by_rank
from ..problem import TUNING, Potentials, Tuning, largest, make_layout, masked
from .pattern_posterior import PatternPosterior

LEAST = 1e-280  # a sum that has all its digits
EPSILON = float(np.finfo(np.float64).eps)
TOLERANCE = 1e-7  # of logarithms, after all steps
CELLS = 20_000  # terms that are added up together


class LogChain(MarkovChain, PatternPosterior):
    """Marginals, pairs and segments are made of messages that are kept, other sums anew. Of a checked
    chain. keeps_digits (bool): if not, or if a sequence has no path, nothing can be asked."""

    def __init__(self, potentials: Potentials, *, tuning: Tuning = TUNING) -> None:
        super().__init__(potentials, tuning=tuning)
        self._layout = layout = make_layout(potentials.lengths, len(potentials.scores))
        self._place = layout.place
        trans = potentials.weights.precise_trans
        edges = potentials.edge_scores
        edges = None if edges is None else edges[layout.tokens]
        into = LogTransitions(trans, edges)
        back = LogTransitions(trans.T, None if edges is None else edges.swapaxes(1, 2))
        self._prefixes = masked(potentials.scores, potentials.allowed)[layout.tokens]  # a
        self._messages = self._prefixes.copy()  # scores + b
        self._after = np.zeros(self._prefixes.shape)  # b, with the largest
        self._taken_off = np.zeros(len(self._prefixes))
        for t in range(1, len(layout.size_at_t)):
            sums = into.log_sums(self._prefixes[layout.before(t)], layout.step(t))
            top = _largest_of_each(sums)
            self._prefixes[layout.step(t)] += sums - top
            self._taken_off[layout.step(t)] = top[:, 0]
        self._both = self._prefixes.copy()  # a + b
        for t in range(len(layout.size_at_t) - 1, 0, -1):
            before = layout.before(t)
            sums = back.log_sums(self._messages[layout.step(t)], layout.step(t))
            self._after[before] = np.where(sums > -np.inf, sums, np.inf)  # nothing can follow
            sums -= _largest_of_each(sums)
            self._messages[before] += sums
            self._both[before] += sums

    @property
    def keeps_digits(self) -> bool:
        trans = self._potentials.weights.precise_trans
        size = largest(self._potentials.scores) + largest(trans[trans > -np.inf])
        size -= self._both.max(axis=1, initial=-np.inf).min(initial=0.0)
        return bool(4 * EPSILON * len(self._layout.size_at_t) * size < TOLERANCE)

    @cached_property
    def log_z(self) -> Floats:
        log_z = np.empty(len(self.lengths))
        ends = self._prefixes[self._layout.ends]
        log_z[self._layout.order] = sum_by_rank(self._taken_off, self._layout) + log_sum(ends.T)
        return log_z

    @cached_property
    def nodes(self) -> Floats:
        p = np.exp(self._both - _largest_of_each(self._both))
        return np.asarray((p / p.sum(axis=1, keepdims=True))[self._place])

    def steps(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        potentials = self._potentials
        logs = potentials.weights.precise_trans[earlier, later]
        if potentials.edge_scores is not None:
            logs = logs + potentials.edge_scores[tokens, earlier, later]
        logs = logs + self._messages[self._place[tokens], later]
        logs -= self._after[self._place[tokens - 1], earlier]
        return np.asarray(np.exp(np.minimum(logs, 0.0)))


class LogTransitions:
    """trans (L, L), and what a product needs of it. edges (N, L, L): packed, of each token."""

    def __init__(self, trans: Floats, edges: AnyFloats | None) -> None:
        permitted = trans > -np.inf
        self._trans = trans
        self._edges = edges
        self._largest = float(trans.max(initial=0.0, where=permitted))
        self._weights = np.exp(trans - self._largest)
        self._counts = permitted.sum(axis=0)
        # (L, L): labels before each label, those that are permitted first
        self._before = np.argsort(~permitted, axis=0, kind="stable")

    def log_sums(self, rows: Floats, here: slice) -> Floats:
        """log sum_a exp(rows[n, a] + trans[a, y]), of the tokens `here`. RETURNS (n, L)."""
        if self._edges is not None:
            terms = rows[:, :, None] + self._trans + self._edges[here]
            return log_sum(terms.swapaxes(0, 1))
        top = _largest_of_each(rows)
        sums = np.exp(rows - top) @ self._weights
        low = np.argwhere(sums < LEAST)
        with np.errstate(divide="ignore"):
            result = np.log(sums) + (top + self._largest)
        counts = self._counts[low[:, 1]]
        n_parts = 1 + int(counts.sum()) // CELLS
        for part in np.array_split(low[counts.argsort()], n_parts):
            at, labels = part.T
            before = self._before[: self._counts[labels].max(initial=0), labels]
            result[at, labels] = log_sum(rows[at, before] + self._trans[before, labels])
        return np.asarray(result)


def log_sum(terms: Floats) -> Floats:
    """log sum exp over the first axis, -inf of none."""
    top = terms.max(axis=0, initial=-np.inf)
    top = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - top).sum(axis=0)) + top)


def _largest_of_each(rows: Floats) -> Floats:
    """RETURNS (n, 1), 0 where there is none."""
    top: Floats = rows.max(axis=1, initial=-np.inf, keepdims=True)
    return np.where(top > -np.inf, top, 0.0)
