"""Marginals of a first-order chain, and backpropagation through them.

    mu_t(y) = p(y_t = y | x)        nu_t(a, b) = p(y_{t-1} = a, y_t = b | x)

A loss of the marginals has gradients d_mu and d_nu with respect to them. They make up a cost of each labelling,
c(y) = sum_t d_mu[t, y_t] + sum_{t>0} d_nu[t, y_{t-1}, y_t], and for every parameter with feature f

    d loss / d theta = sum_i c_i d E[f_i] / d theta = Cov(f, c) = E[f c] - E[f] E[c]

(Azuma & Matsumoto 2011, equations 17 and 18; their Algorithm 2 computes something else as it is printed, which a test
shows.) E[f c] is found by forward and backward passes that carry the cost of prefixes and
suffixes along, in the order of time of forward-backward itself:

    A_t(y)     = e_t(y) sum_a w(a, y) (A_{t-1}(a) + alpha_{t-1}(a) d_nu[t, a, y]) / scale_t + alpha_t(y) d_mu[t, y]
    B_{t-1}(a) = sum_y w(a, y) e_t(y) (B_t(y) + beta_t(y) (d_mu[t, y] + d_nu[t, a, y])) / scale_t

with e = exp(scores), w = exp(trans), alpha and beta scaled as in `forward_backward`. Then E[I(y_t = y) c] is
A_t beta_t + alpha_t B_t. Tests compare with enumeration, and the gradient with finite differences.
"""

from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .forward_backward import MAX_RANGE, sum_by_rank
from .layout import check_scores, make_layout, ranges
from .records import NoPath

Floats = NDArray[np.float64]


class ChainGradient(NamedTuple):
    """Gradient of a loss with respect to scores (N, L) and trans (L, L)."""

    scores: Floats
    trans: Floats


class ChainMarginals:
    """Forward-backward over a batch, kept for the way back.

    Arguments as in `forward_backward`; trans may forbid transitions (-inf).
    RAISES ValueError [HS020-HS025]; [HS097]: transitions that differ by MAX_RANGE or more.
    """

    def __init__(
        self,
        scores: NDArray[np.floating],
        trans: NDArray[np.floating],
        lengths: NDArray[np.integer],
        *,
        allowed: Optional[NDArray[np.bool_]] = None,
    ) -> None:
        check_scores(scores, trans, allowed)
        open_moves = trans[np.isfinite(trans)].astype(np.float64)
        top = float(open_moves.max()) if len(open_moves) else 0.0
        if len(open_moves) and np.ptp(open_moves) >= MAX_RANGE:
            raise ValueError(Errors.HS097.format(limit=MAX_RANGE, got=f"{np.ptp(open_moves):.3g}"))
        self._layout = layout = make_layout(lengths, len(scores))
        emissions = scores[layout.tokens].astype(np.float64)
        if allowed is not None:
            emissions[~allowed[layout.tokens]] = -np.inf
        self._weights: Floats = np.exp(trans.astype(np.float64) - top)
        shift = emissions.max(axis=1, keepdims=True, initial=-np.inf)
        self._e = np.exp(emissions - shift)  # (N, L), divided by the scale below
        self._alpha, self._beta = np.empty_like(self._e), np.ones_like(self._e)
        scale = np.empty(len(self._e))
        for t in range(len(layout.size_at_t)):
            here = layout.step(t)
            current = self._e[here]
            if t > 0:
                current = current * (self._alpha[self._before(t)] @ self._weights)
            scale[here] = current.sum(axis=1)
            if (scale[here] == 0).any():
                raise NoPath(int(layout.order[np.argmax(scale[here] == 0)]))
            self._alpha[here] = current / scale[here, None]
        self._e /= scale[:, None]
        for t in range(len(layout.size_at_t) - 1, 0, -1):
            here = layout.step(t)
            self._beta[self._before(t)] = (self._e[here] * self._beta[here]) @ self._weights.T
        self.log_z = np.empty(len(layout.lengths))
        steps = layout.lengths[layout.order] - 1
        self.log_z[layout.order] = sum_by_rank(np.log(scale) + shift[:, 0], layout) + top * steps

    @property
    def nodes(self) -> Floats:
        """mu. RETURNS (N, L), rows sum to 1."""
        return self._unpacked(self._alpha * self._beta)

    @property
    def arcs(self) -> Floats:
        """nu. RETURNS (N, L, L), first index the earlier label: the arc into each token; 0 for first tokens."""
        packed = np.zeros((*self._e.shape, self._e.shape[1]))
        for t in range(1, len(self._layout.size_at_t)):
            here = self._layout.step(t)
            message = self._e[here] * self._beta[here]
            packed[here] = self._alpha[self._before(t)][:, :, None] * self._weights * message[:, None, :]
        return self._unpacked(packed)

    def segments(
        self,
        first: NDArray[np.integer],
        sizes: NDArray[np.integer],
        labels: NDArray[np.integer],
        goes_on: Optional[NDArray[np.bool_]] = None,
    ) -> Floats:
        """The probability that some tokens have these labels, and that what they stand for ends there.

            p(y_first..y_last = labels, not goes_on[y_last, y_{last+1}] | x)

        first, sizes (C,): the tokens of each segment, within one sequence. labels (sum of sizes,): theirs, end to end.
        goes_on (L, L) bool: pairs of labels across which a segment would go on, such as B-NP, I-NP; None = none.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence.
        """
        ends = np.cumsum(self._layout.lengths)
        sequence = np.searchsorted(ends, first, side="right")
        if (sizes < 1).any() or (first < 0).any() or (first + sizes > np.append(ends, 0)[sequence]).any():
            raise ValueError(Errors.HS098.format(first=first.tolist()[:10], sizes=sizes.tolist()[:10]))
        if not len(first):
            return np.zeros(0)
        place = np.empty(len(self._e), np.intp)
        place[self._layout.tokens] = np.arange(len(place))
        starts = np.cumsum(sizes) - sizes
        at = place[ranges(first, sizes)]
        with np.errstate(divide="ignore"):
            steps = np.log(self._e[at, labels])
            steps[1:] += np.log(self._weights[labels[:-1], labels[1:]])
        steps[starts] = 0.0  # alpha holds the first label
        inside = np.exp(np.add.reduceat(steps, starts)) * self._alpha[at[starts], labels[starts]]
        final, last = at[starts + sizes - 1], labels[starts + sizes - 1]
        after = self._beta[final, last]
        followed = np.flatnonzero(first + sizes < ends[sequence])
        if goes_on is not None and len(followed):
            following = place[(first + sizes)[followed]]
            moves = np.where(goes_on, 0.0, self._weights)[last[followed]]
            after[followed] = (moves * self._e[following] * self._beta[following]).sum(axis=1)
        return np.asarray(inside * after)

    def backprop(self, d_nodes: NDArray[np.floating], d_arcs: Optional[NDArray[np.floating]] = None) -> ChainGradient:
        """The gradient of a loss, given its gradient with respect to `nodes` (N, L) and `arcs` (N, L, L) or None."""
        layout, weights, alpha, beta, e = self._layout, self._weights, self._alpha, self._beta, self._e
        node = d_nodes[layout.tokens].astype(np.float64)
        arc = None if d_arcs is None else d_arcs[layout.tokens].astype(np.float64)
        forward, backward = alpha * node, np.zeros_like(alpha)  # A, B
        for t in range(1, len(layout.size_at_t)):
            here, before = layout.step(t), self._before(t)
            moved = forward[before] @ weights
            if arc is not None:
                moved += np.einsum("na,ab,nab->nb", alpha[before], weights, arc[here], optimize=True)
            forward[here] += e[here] * moved
        for t in range(len(layout.size_at_t) - 1, 0, -1):
            here, before = layout.step(t), self._before(t)
            backward[before] = (e[here] * (backward[here] + beta[here] * node[here])) @ weights.T
            if arc is not None:
                message = e[here] * beta[here]
                backward[before] += np.einsum("nb,ab,nab->na", message, weights, arc[here], optimize=True)
        with_cost = forward * beta + alpha * backward  # E[I(y_t = y) c]
        cost = with_cost.sum(axis=1, keepdims=True)  # E[c], the same at every token of a sequence
        d_trans = np.zeros_like(weights)
        for t in range(1, len(layout.size_at_t)):
            here, before = layout.step(t), self._before(t)
            message = e[here] * beta[here]
            d_trans += forward[before].T @ message
            d_trans += alpha[before].T @ (message * (node[here] - cost[here]) + e[here] * backward[here])
            if arc is not None:
                d_trans += np.einsum("na,nab,nb->ab", alpha[before], arc[here], message, optimize=True)
        return ChainGradient(self._unpacked(with_cost - alpha * beta * cost), d_trans * weights)

    def _before(self, t: int) -> slice:
        """The tokens before those of step t."""
        start = int(self._layout.offset[t - 1])
        return slice(start, start + int(self._layout.size_at_t[t]))

    def _unpacked(self, packed: Floats) -> Floats:
        result = np.empty_like(packed)
        result[self._layout.tokens] = packed
        return result
