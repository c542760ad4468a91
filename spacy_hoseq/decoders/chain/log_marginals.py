"""Marginals of a chain on logarithms: for weights with which scaled probabilities would vanish.

The recurrences of `forward_backward`, and what `ChainMarginals` reads off them, at the cost of an exponential for each
pair of labels and token. There is no way back.
"""

from typing import Optional

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem.layout import check_scores, check_segments, make_layout, ranges
from ..problem.results import LostDigits, NoPath
from .chain_marginals import Arcs, packed_edge_scores
from .forward_backward import finite_range, log_sum, packed_emissions


class LogMarginals:
    """Arguments and results as those of `ChainMarginals`. log_z (S,). nodes (N, L).

    RAISES ValueError [HS020-HS025].
    """

    def __init__(
        self,
        scores: AnyFloats,
        trans: AnyFloats,
        lengths: AnyInts,
        *,
        allowed: Optional[Mask] = None,
        edge_scores: Optional[AnyFloats] = None,
    ) -> None:
        check_scores(scores, trans, allowed)
        self._layout = layout = make_layout(lengths, len(scores))
        self._trans = trans.astype(np.float64)
        self._edge_scores = None if edge_scores is None else packed_edge_scores(edge_scores, scores, layout)
        self._e = packed_emissions(scores, allowed, layout).astype(np.float64, copy=False)  # (N, L)
        self._alpha, self._beta = self._e.copy(), np.zeros_like(self._e)
        n_steps = len(layout.size_at_t)
        for t in range(1, n_steps):
            here = layout.step(t)
            self._alpha[here] += log_sum(self._alpha[self._before(t)][:, :, None] + self._pairs(here), axis=1)
        for t in range(n_steps - 1, 0, -1):
            here = layout.step(t)
            message = self._e[here] + self._beta[here]
            self._beta[self._before(t)] = log_sum(self._pairs(here) + message[:, None, :], axis=2)
        self.log_z = np.empty(len(layout.lengths))
        self.log_z[layout.order] = log_sum(self._alpha[: len(layout.order)] + self._beta[: len(layout.order)], axis=1)
        if len(self.log_z) and self.log_z.min() == -np.inf:
            raise NoPath(int(self.log_z.argmin()))
        by_token = np.repeat(self.log_z, layout.lengths)
        self._total = by_token[layout.tokens]  # (N,), packed
        self._place = np.empty(len(scores), np.intp)
        self._place[layout.tokens] = np.arange(len(scores))
        self.nodes: Floats = np.empty_like(self._e)
        self.nodes[layout.tokens] = np.exp(self._alpha + self._beta - self._total[:, None])

    def arcs(self, arcs: Arcs) -> Floats:
        """As `ChainMarginals.arcs`."""
        first = np.zeros(len(self._e), bool)
        first[np.cumsum(self._layout.lengths) - self._layout.lengths] = True
        here = self._place[arcs.tokens]
        before = np.where(first[arcs.tokens], 0, self._place[arcs.tokens - 1])
        weights = self._pair(here, arcs.earlier, arcs.later)
        logs = self._alpha[before, arcs.earlier] + weights + (self._e + self._beta)[here, arcs.later]
        return np.asarray(np.exp(np.where(first[arcs.tokens], -np.inf, logs - self._total[here])))

    def every_arc(self) -> Floats:
        """As `ChainMarginals.every_arc`."""
        n, n_labels = self._e.shape
        grid = np.meshgrid(np.arange(n), np.arange(n_labels), np.arange(n_labels), indexing="ij")
        return self.arcs(Arcs(*(axis.reshape(-1) for axis in grid))).reshape(n, n_labels, n_labels)

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        goes_on: Optional[Mask] = None,
    ) -> Floats:
        """As `ChainMarginals.segments`."""
        sequence, ends = check_segments(first, sizes, self._layout.lengths), np.cumsum(self._layout.lengths)
        if not len(first):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        at = self._place[ranges(first, sizes)]
        steps = self._e[at, labels]
        steps[1:] += self._pair(at[1:], labels[:-1], labels[1:])
        steps[starts] = self._alpha[at[starts], labels[starts]]
        final, last = at[starts + sizes - 1], labels[starts + sizes - 1]
        after = self._beta[final, last]
        followed = np.flatnonzero(first + sizes < ends[sequence])
        if goes_on is not None and len(followed):
            following = self._place[(first + sizes)[followed]]
            every = np.arange(self._e.shape[1])
            edge_scores = self._pair(following[:, None], last[followed, None], every)
            edge_scores = np.where(goes_on[last[followed]], -np.inf, edge_scores)
            after[followed] = log_sum(edge_scores + self._e[following] + self._beta[following], axis=1)
        return np.asarray(np.exp(np.add.reduceat(steps, starts) + after - self._total[final]))

    def no_way_back(self) -> LostDigits:
        """The error for whoever asks for the gradient."""
        return LostDigits(finite_range(self._trans))

    def _pairs(self, here: slice) -> Floats:
        """Scores of pairs of labels into the tokens of a step: (L, L) or (n, L, L)."""
        return self._trans if self._edge_scores is None else self._trans + self._edge_scores[here]

    def _pair(self, places: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        found = self._trans[earlier, later]
        return np.asarray(found if self._edge_scores is None else found + self._edge_scores[places, earlier, later])

    def _before(self, t: int) -> slice:
        start = int(self._layout.offset[t - 1])
        return slice(start, start + int(self._layout.size_at_t[t]))
