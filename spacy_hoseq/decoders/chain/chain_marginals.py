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

from functools import cached_property
from typing import NamedTuple, Optional

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors
from ..problem.layout import Layout, check_scores, check_segments, largest, make_layout, ranges
from ..problem.results import LostDigits
from .forward_backward import finite_range, forward_backward, packed_emissions, scaled_prefixes, scaled_suffixes


class Arcs(NamedTuple):
    """Pairs of labels at neighbouring tokens. tokens (A,): of the later label. earlier, later (A,): the labels."""

    tokens: Ints
    earlier: Ints
    later: Ints


class LikelyCells(NamedTuple):
    """Labels of some tokens. tokens, labels (C,): those of each token together, ascending. p (C,): mu. alpha, message
    (C,): alpha_t(y) and e_t(y) beta_t(y), which with the w between make nu. Those that fit to other marginals, too, are
    scaled as if rows of alpha summed to 1."""

    tokens: Ints
    labels: Ints
    p: Floats
    alpha: Floats
    message: Floats


class ChainGradient(NamedTuple):
    """Gradient of a loss with respect to scores (N, L) and trans (L, L)."""

    scores: Floats
    trans: Floats


class ChainMarginals:
    """Forward-backward over a batch, kept for the way back.

    Arguments as in `forward_backward`; trans may forbid transitions (-inf). edge_scores (N, L, L): scores of pairs
    of labels at each token, on top of trans; there is no way back through marginals then.
    RAISES ValueError [HS020-HS025]; [HS097]: scores or transitions that differ by too much.
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
        layout = make_layout(lengths, len(scores))
        packed = None if edge_scores is None else packed_edge_scores(edge_scores, scores, layout)
        if not self._summed(packed_emissions(scores, allowed, layout), trans, layout, largest(scores), packed):
            forward_backward(scores, trans, lengths, allowed=allowed)  # says so if there is no path
            raise LostDigits(finite_range(trans if edge_scores is None else trans + edge_scores))

    @classmethod
    def of_some(
        cls,
        scores: AnyFloats,
        trans: AnyFloats,
        lengths: AnyInts,
        tokens: Ints,
        allowed: Optional[Mask],
        most: float,
    ) -> "ChainMarginals":
        """Of some tokens (n,) of a batch that has been checked, with the lengths of the sequences that these make up.
        most (float): of the batch, as in `scaled_prefixes`. RAISES ValueError [HS023], [HS097]."""
        marginals, layout = cls.__new__(cls), make_layout(lengths, len(tokens))
        rows = layout._replace(tokens=tokens.take(layout.tokens))
        if not marginals._summed(packed_emissions(scores, allowed, rows), trans, layout, most):
            mask = None if allowed is None else allowed[tokens]
            return cls(scores[tokens], trans, lengths, allowed=mask)  # which says why not
        return marginals

    def _summed(
        self,
        emissions: AnyFloats,
        trans: AnyFloats,
        layout: Layout,
        most: float,
        edge_scores: Optional[Floats] = None,
    ) -> bool:
        """emissions, edge_scores: packed. RETURNS False if digits would be lost, or if a sequence has no path."""
        found = scaled_prefixes(emissions, trans.astype(np.float64), layout, most, edge_scores)
        if found is None:
            return False
        self._layout = layout
        self._e, self._weights, self._alpha = found.e, found.weights, found.alpha  # (N, L)
        self._beta, self._nodes = scaled_suffixes(found, layout)
        self.log_z = np.empty(len(layout.lengths))
        self.log_z[layout.order] = found.log_z
        self._place = np.empty(len(emissions), np.intp)
        self._place[layout.tokens] = np.arange(len(emissions))
        return True

    @cached_property
    def nodes(self) -> Floats:
        """mu. RETURNS (N, L), rows sum to 1."""
        return self._unpacked(self._nodes)

    @property
    def weights(self) -> Floats:
        """w, the largest 1. RETURNS (L, L), or (N, L, L) packed."""
        return self._weights

    def prefixes(self, tokens: Ints) -> Floats:
        """alpha. tokens: any shape. RETURNS that shape and (L,)."""
        return np.asarray(self._alpha[self._place[tokens]])

    def suffixes(self, tokens: Ints) -> Floats:
        """beta."""
        return np.asarray(self._beta[self._place[tokens]])

    def likely(self, least: float, tokens: Optional[Ints] = None) -> LikelyCells:
        """All labels whose probability is at least `least`. tokens: at some tokens only, in such a way that they fit
        to those of other marginals."""
        n_labels, token_at = self._e.shape[1], self._layout.tokens
        cells = np.flatnonzero(self._nodes >= least)
        if tokens is not None:
            chosen = np.zeros(len(token_at), bool)
            chosen[self._place[tokens]] = True
            cells = cells[chosen.take(cells // n_labels)]
        places, alpha, message = cells // n_labels, self._alpha.take(cells), self._e.take(cells)
        message *= self._beta.take(cells)
        if tokens is not None:
            sums = self._alpha @ np.ones(n_labels)
            alpha /= sums.take(places)
            message *= sums.take(self._place.take(token_at.take(places) - 1, mode="wrap"))  # (1st tokens: anything)
        return LikelyCells(token_at.take(places), cells - places * n_labels, self._nodes.take(cells), alpha, message)

    def stops(self, tokens: Ints, labels: AnyInts, goes_on: Mask) -> Floats:
        """p(not goes_on[y_t, y_{t+1}] | y_t = y), 1 at last tokens and for labels across which nothing goes on.
        tokens, labels (E,). RETURNS (E,)."""
        last = np.zeros(len(self._e), bool)
        last[np.cumsum(self._layout.lengths) - 1] = True
        leaves, found = np.where(goes_on, 0.0, self._weights), np.ones(len(tokens))
        here = np.flatnonzero(goes_on.any(axis=1).take(labels) & ~last.take(tokens))
        found[here] = 0.0
        here = here[leaves.any(axis=1).take(labels.take(here))]  # in some representations none can stop
        following, own = self._place.take(tokens.take(here) + 1), labels.take(here)
        suffixes = (leaves[own] * self._e[following] * self._beta[following]).sum(axis=1)
        found[here] = suffixes / self._beta[self._place.take(tokens.take(here)), own]
        return found

    def arcs(self, arcs: Arcs) -> Floats:
        """nu of some pairs, 0 at the first token of a sequence. RETURNS (A,)."""
        here, before = self._sides(arcs)
        _, earlier, later = arcs
        message = self._e[here, later] * self._beta[here, later]
        weights = self._weight(here, earlier, later)
        return np.asarray(self._alpha[before, earlier] * weights * message * (before >= 0))

    def every_arc(self) -> Floats:
        """nu of all pairs of labels. RETURNS (N, L, L), 0 at the first token of a sequence."""
        packed = np.zeros((*self._e.shape, self._e.shape[1]))
        for t in range(1, len(self._layout.size_at_t)):
            here = self._layout.step(t)
            weights = self._weights if self._weights.ndim == 2 else self._weights[here]
            message = self._e[here] * self._beta[here]
            packed[here] = self._alpha[self._before(t)][:, :, None] * weights * message[:, None, :]
        return self._unpacked(packed)

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        goes_on: Optional[Mask] = None,
    ) -> Floats:
        """The probability that some tokens have these labels, and that what they stand for ends there.

            p(y_first..y_last = labels, not goes_on[y_last, y_{last+1}] | x)

        first, sizes (C,): the tokens of each segment, within one sequence. labels (sum of sizes,): theirs, end to end.
        goes_on (L, L) bool: pairs of labels across which a segment would go on, such as B-NP, I-NP; None = none.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence.
        """
        sequence, ends = check_segments(first, sizes, self._layout.lengths), np.cumsum(self._layout.lengths)
        if not len(first):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        at = self._place[ranges(first, sizes)]
        with np.errstate(divide="ignore"):
            steps = np.log(self._e[at, labels])
            steps[1:] += np.log(self._weight(at[1:], labels[:-1], labels[1:]))
        steps[starts] = 0.0  # alpha holds the first label
        inside = np.exp(np.add.reduceat(steps, starts)) * self._alpha[at[starts], labels[starts]]
        final, last = at[starts + sizes - 1], labels[starts + sizes - 1]
        after = self._beta[final, last]
        followed = np.flatnonzero(first + sizes < ends[sequence])
        if goes_on is not None and len(followed):
            following = self._place[(first + sizes)[followed]]
            every = np.arange(self._e.shape[1])
            weights = self._weight(following[:, None], last[followed, None], every)
            leaves = np.where(goes_on[last[followed]], 0.0, weights)
            after[followed] = (leaves * self._e[following] * self._beta[following]).sum(axis=1)
        return np.asarray(inside * after)

    def along(self, labels: AnyInts, goes_on: Mask) -> "tuple[Floats, Floats, Floats]":
        """Of one labelling: p(y_t), p(y_t | y_{t-1}) (1 at first tokens), and `stops`.

        labels (N,). goes_on (L, L) bool: as in `segments`. RETURNS (N,) each.
        """
        at, ends = self._place, np.cumsum(self._layout.lengths)
        cells = at * self._e.shape[1] + labels
        alpha, beta = self._alpha.take(cells), self._beta.take(cells)
        message = self._e.take(cells) * beta
        step, tokens = np.ones(len(labels)), np.arange(len(labels))
        step[1:] = self._weight(at[1:], labels[:-1], labels[1:]) * message[1:] / beta[:-1]
        step[ends - self._layout.lengths] = 1.0
        return alpha * beta, step, self.stops(tokens, labels, goes_on)

    def backprop(
        self, d_nodes: AnyFloats, arcs: Optional[Arcs] = None, d_arcs: Optional[AnyFloats] = None
    ) -> ChainGradient:
        """The gradient of a loss, given its gradient with respect to `nodes` (N, L), and to those of some arcs (A,).
        RAISES ValueError [HS024]: the shape of d_nodes; [HS099]: pairs of labels have scores at each token."""
        check_gradient(d_nodes, self._alpha.shape)
        if self._weights.ndim == 3:
            raise ValueError(Errors.HS099.format(decoder="backpropagation through marginals"))
        layout, weights, alpha, beta, e = self._layout, self._weights, self._alpha, self._beta, self._e
        node = d_nodes[layout.tokens].astype(np.float64)
        message = e * beta
        into, out_of, d_weights = np.zeros_like(alpha), np.zeros_like(alpha), np.zeros_like(weights)
        if arcs is not None and d_arcs is not None and len(d_arcs):
            into, out_of, d_weights = self._arc_costs(arcs, d_arcs, message)
        forward, backward = alpha * node, out_of  # A, B
        for t in range(1, len(layout.size_at_t)):
            here = layout.step(t)
            forward[here] += e[here] * (forward[self._before(t)] @ weights + into[here])
        for t in range(len(layout.size_at_t) - 1, 0, -1):
            here = layout.step(t)
            backward[self._before(t)] += (e[here] * backward[here] + message[here] * node[here]) @ weights.T
        with_cost = forward * beta + alpha * backward  # E[I(y_t = y) c]
        cost = with_cost.sum(axis=1, keepdims=True)  # E[c], the same at every token of a sequence
        for t in range(1, len(layout.size_at_t)):
            here, before = layout.step(t), self._before(t)
            d_weights += forward[before].T @ message[here]
            d_weights += alpha[before].T @ (message[here] * (node[here] - cost[here]) + e[here] * backward[here])
        return ChainGradient(self._unpacked(with_cost - alpha * beta * cost), d_weights * weights)

    def _arc_costs(self, arcs: Arcs, d_arcs: AnyFloats, message: Floats) -> "tuple[Floats, Floats, Floats]":
        """Costs of arcs on the way forward and on the way back (N, L), and by pair of labels (L, L)."""
        n, n_labels = self._e.shape
        here, before = self._sides(arcs)
        follows = before >= 0
        here, before, earlier, later = here[follows], before[follows], arcs.earlier[follows], arcs.later[follows]
        cost = d_arcs[follows].astype(np.float64)
        moved = cost * self._weights[earlier, later]
        came, goes = self._alpha[before, earlier], message[here, later]
        into: Floats = np.zeros((n, n_labels))
        out_of: Floats = np.zeros((n, n_labels))
        by_pair: Floats = np.zeros((n_labels, n_labels))
        into += np.bincount(here * n_labels + later, moved * came, minlength=into.size).reshape(into.shape)
        out_of += np.bincount(before * n_labels + earlier, moved * goes, minlength=into.size).reshape(into.shape)
        by_pair += np.bincount(earlier * n_labels + later, cost * came * goes, minlength=by_pair.size).reshape(
            by_pair.shape
        )
        return into, out_of, by_pair

    def _sides(self, arcs: Arcs) -> "tuple[Ints, Ints]":
        """Packed places of the later and the earlier token of each arc; -1 where there is no earlier one."""
        is_first = np.zeros(len(self._e), bool)
        is_first[np.cumsum(self._layout.lengths) - self._layout.lengths] = True
        before = np.where(is_first[arcs.tokens], -1, self._place[arcs.tokens - 1])
        return self._place[arcs.tokens], before

    def _weight(self, places: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        """e^score of pairs of labels, the later one at these packed places."""
        weights = self._weights
        return np.asarray(weights[earlier, later] if weights.ndim == 2 else weights[places, earlier, later])

    def _before(self, t: int) -> slice:
        """The tokens before those of step t."""
        start = int(self._layout.offset[t - 1])
        return slice(start, start + int(self._layout.size_at_t[t]))

    def _unpacked(self, packed: Floats) -> Floats:
        return np.asarray(packed.take(self._place, axis=0))


def packed_edge_scores(edge_scores: AnyFloats, scores: AnyFloats, layout: Layout) -> Floats:
    """RETURNS (N, L, L) float64, 0 at first tokens, which count for nothing. RAISES ValueError [HS024]: their shape;
    [HS021]: NaN or infinite ones."""
    expected = (*scores.shape, scores.shape[1])
    if edge_scores.shape != expected:
        raise ValueError(Errors.HS024.format(name="edge_scores", got=edge_scores.shape, expected=expected))
    finite = np.isfinite(edge_scores)
    if not finite.all():
        raise ValueError(Errors.HS021.format(n=(~finite).sum(), size=edge_scores.size))
    packed: Floats = edge_scores[layout.tokens].astype(np.float64)
    if len(packed):
        packed[layout.step(0)] = 0.0
    return packed


def check_gradient(d_nodes: AnyFloats, shape: "tuple[int, ...]") -> None:
    """RAISES ValueError [HS024]."""
    if d_nodes.shape != shape:
        raise ValueError(Errors.HS024.format(name="d_nodes", got=d_nodes.shape, expected=shape))
