"""p(y | x) of a first-order chain, in scaled probabilities, and backpropagation through it.

    mu_t(y) = p(y_t = y | x)        nu_t(a, b) = p(y_{t-1} = a, y_t = b | x)

A loss of these has gradients d_mu and d_nu; they make up a cost of each labelling, c(y)
(`problem/posterior.py`). E[f c] is found by forward and backward passes that carry the cost of
prefixes and suffixes along, in the order of time of forward-backward itself:

    A_t(y)     = e_t(y) sum_a w(a, y) (A_{t-1}(a) + alpha_{t-1}(a) d_nu[t, a, y]) / scale_t + alpha_t(y) d_mu[t, y]
    B_{t-1}(a) = sum_y w(a, y) e_t(y) (B_t(y) + beta_t(y) (d_mu[t, y] + d_nu[t, a, y])) / scale_t

with e = exp(scores), w = exp(trans), alpha and beta scaled as in `forward_backward`. Then E[I(y_t =
y) c] is A_t beta_t + alpha_t B_t. Tests compare with enumeration, and the gradient with finite
differences.
"""

from functools import cached_property
from typing import NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem import (
    LabelPairs,
    Layout,
    Posterior,
    Potentials,
    PotentialsGradient,
    check_gradient,
    largest,
    make_layout,
    packed_edge_scores,
    ranges,
)
from .forward_backward import (
    ChainWeights,
    ScaledPrefixes,
    moved_on,
    packed_emissions,
    scaled_prefixes,
    scaled_suffixes,
)


def chain_posterior(
    potentials: Potentials, most: Optional[float] = None
) -> "Optional[ChainPosterior]":
    """Of a checked batch. most (float): how far its scores are from 0. RETURNS None if scaled
    probabilities would lose digits, or if a sequence has no path."""
    way = way_of_chain(potentials, largest(potentials.scores) if most is None else most)
    return None if way is None else ChainPosterior(*way)


class WayForward(NamedTuple):
    prefixes: ScaledPrefixes
    of: ChainWeights
    layout: Layout


def way_of_chain(potentials: Potentials, most: float) -> Optional[WayForward]:
    """As `chain_posterior`, without the way back."""
    scores, weights, lengths = potentials[:3]
    layout = make_layout(lengths, len(scores))
    emissions = packed_emissions(scores, potentials.allowed, layout)
    if potentials.edge_scores is None:
        of = weights.prepared(ChainWeights.of)
    else:
        both = packed_edge_scores(potentials.edge_scores, layout) + weights.precise_trans
        of = ChainWeights.of_scores(both, permit_all=weights.permit_all)
    prefixes = scaled_prefixes(emissions, of, weights.trans, layout, most)
    return None if prefixes is None else WayForward(prefixes, of, layout)


class ChainPosterior(Posterior):
    """Forward-backward over a batch, kept for the way back."""

    def __init__(
        self,
        prefixes: ScaledPrefixes,
        of: ChainWeights,
        layout: Layout,
        last: Optional[Floats] = None,
    ) -> None:
        self._layout = layout
        self._e, self._alpha, log_z = prefixes  # (N, L)
        self.weights = of.weights  # w (L, L), or (N, L, L) packed; the largest 1
        self._back = of.back
        self._beta, self._nodes = scaled_suffixes(prefixes, of, layout, last)
        self._log_z: Floats = np.empty(len(layout.lengths))
        self._log_z[layout.order] = log_z
        self._place = np.empty(len(layout.tokens), np.intp)
        self._place[layout.tokens] = np.arange(len(layout.tokens))

    @property
    def lengths(self) -> AnyInts:
        return self._layout.lengths

    @property
    def log_z(self) -> Floats:
        return self._log_z

    @cached_property
    def nodes(self) -> Floats:
        """mu. RETURNS (N, L), rows sum to 1."""
        return self._unpacked(self._nodes)

    def stops(self, tokens: Ints, labels: AnyInts, continues: Mask) -> Floats:
        """p(not continues[y_t, y_{t+1}] | y_t = y), 1 at last tokens and for labels across which
        nothing goes on. tokens, labels (E,). RETURNS (E,)."""
        last = np.zeros(len(self._e), bool)
        stop = np.ones(len(tokens))
        last[np.cumsum(self._layout.lengths) - 1] = True
        leaves = (
            self.weights.reshape(-1, *continues.shape).max(axis=0, initial=0.0) > 0
        ) & ~continues
        here = np.flatnonzero(continues.any(axis=1).take(labels) & ~last.take(tokens))
        stop[here] = 0.0
        # in some representations none can stop
        here = here[leaves.any(axis=1).take(labels.take(here))]
        at = self._place.take(tokens.take(here) + 1)
        before = labels.take(here)
        if self.weights.ndim == 2:
            weights = np.where(continues, 0.0, self.weights)[before]
        else:
            weights = np.where(continues[before], 0.0, self.weights[at, before])
        suffixes = (weights * self._e[at] * self._beta[at]).sum(axis=1)
        beta = self._beta[self._place.take(tokens.take(here)), before]
        stop[here] = np.divide(suffixes, beta, out=np.zeros(len(here)), where=beta > 0)
        return stop

    @cached_property
    def expected(self) -> PotentialsGradient:
        first = len(self._layout.order)  # place of the first token that has one before it
        message = self._e[first:] * self._beta[first:]
        alpha = self._alpha.take(self._places_before(), axis=0)
        nothing = np.zeros(0)
        if self.weights.ndim == 2:
            trans = alpha.T @ message
            trans *= self.weights
            return PotentialsGradient(self.nodes, trans, nothing, nothing)
        packed = np.zeros(self.weights.shape)
        packed[first:] = alpha[:, :, None] * self.weights[first:] * message[:, None, :]
        return PotentialsGradient(
            self.nodes, packed.sum(axis=0), nothing, nothing, nothing, self._unpacked(packed)
        )

    def pairs(self, arcs: LabelPairs) -> Floats:
        here, before = self._sides(arcs)
        _, earlier, later = arcs
        message = self._e[here, later] * self._beta[here, later]
        weights = self._weight(here, earlier, later)
        return np.asarray(self._alpha[before, earlier] * weights * message * (before >= 0))

    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Optional[Mask]
    ) -> Floats:
        """p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(it does not go on | y_t)."""
        if not len(sizes):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        tokens = ranges(first, sizes)
        last = starts + sizes - 1
        steps = np.ones(len(labels))
        steps[1:] = self.steps(tokens[1:], labels[:-1], labels[1:])
        steps[starts] = self.at(tokens[starts], labels[starts])
        p = np.multiply.reduceat(steps, starts)
        if continues is not None:
            p *= self.stops(tokens[last], labels[last], continues)
        return np.asarray(p)

    def at(self, tokens: Ints, labels: AnyInts) -> Floats:
        """p(y_t = y | x). tokens, labels (M,). RETURNS (M,)."""
        return np.asarray(self._nodes[self._place.take(tokens), labels])

    def first_suffixes(self) -> Floats:
        """beta at first tokens. RETURNS (S, L)."""
        lengths = self._layout.lengths
        return np.asarray(self._beta[self._place[np.cumsum(lengths) - lengths]])

    def conditional_entropies(self) -> Floats:
        """H(y_t | y_{t-1}, x) in nats, H(y_t | x) at first tokens. RETURNS (N,)."""
        first = len(self._layout.order)  # first: place of the first with one before it
        places = self._places_before()
        message = self._e * self._beta
        beta = self._beta[places]
        nodes = self._nodes
        weighted = self.weights * _log(self.weights)
        alpha = self._alpha[places]
        if weighted.ndim == 2:
            of_pairs = ((alpha @ weighted) * message[first:]).sum(axis=1)
        else:
            of_pairs = np.einsum("na,nab,nb->n", alpha, weighted[first:], message[first:])
        entropies: Floats = np.empty(len(nodes))
        entropies[:first] = -(nodes[:first] * _log(nodes[:first])).sum(axis=1)
        entropies[first:] = (nodes[places] * _log(beta)).sum(axis=1) - of_pairs
        entropies[first:] -= (nodes[first:] * _log(message[first:])).sum(axis=1)
        return self._unpacked(np.maximum(entropies, 0.0))

    def steps(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        """p(y_t = later | y_{t-1} = earlier), 0 where that is impossible; at first tokens any
        number. RETURNS (M,)."""
        n_labels = self._e.shape[1]
        here = self._place.take(tokens)
        cells = here * n_labels + later
        message = self._e.take(cells) * self._beta.take(cells)
        beta = self._beta.take(self._place.take(tokens - 1) * n_labels + earlier)
        weighted = self._weight(here, earlier, later) * message
        return np.asarray(np.divide(weighted, beta, out=np.zeros(len(cells)), where=beta > 0))

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
    ) -> PotentialsGradient:
        # long: two recursions, and what they make of the cost, with the same arrays
        check_gradient(d_nodes, self._alpha.shape)
        layout = self._layout
        weights = self.weights
        alpha = self._alpha
        beta = self._beta
        e = self._e
        node: Floats = d_nodes[layout.tokens].astype(np.float64)
        message = e * beta
        into = np.zeros_like(alpha)
        out_of = np.zeros_like(alpha)
        d_weights = np.zeros_like(weights)
        if arcs is not None and d_arcs is not None and len(d_arcs):
            into, out_of, d_weights = self._arc_costs(arcs, d_arcs, message)
        forward = alpha * node  # A, B
        backward = out_of
        back = self._back
        for t in range(1, len(layout.size_at_t)):
            here = layout.step(t)
            forward[here] += e[here] * (
                moved_on(forward[self._before(t)], weights, here) + into[here]
            )
        for t in range(len(layout.size_at_t) - 1, 0, -1):
            here = layout.step(t)
            backward[self._before(t)] += moved_on(
                e[here] * backward[here] + message[here] * node[here], back, here
            )
        with_cost = forward * beta + alpha * backward  # E[I(y_t = y) c]
        cost = with_cost.sum(axis=1, keepdims=True)  # E[c], the same at every token of a sequence
        after = message * (node - cost) + e * backward
        for t in range(1, len(layout.size_at_t)):
            here = layout.step(t)
            before = self._before(t)
            if weights.ndim == 2:
                d_weights += forward[before].T @ message[here]
                d_weights += alpha[before].T @ after[here]
            else:
                d_weights[here] += forward[before][:, :, None] * message[here][:, None, :]
                d_weights[here] += alpha[before][:, :, None] * after[here][:, None, :]
        d_weights *= weights
        scores = self._unpacked(with_cost - alpha * beta * cost).astype(d_nodes.dtype)
        nothing = np.zeros(0)
        if weights.ndim == 2:
            return PotentialsGradient(scores, d_weights, nothing, nothing)
        return PotentialsGradient(
            scores,
            d_weights.sum(axis=0),
            nothing,
            nothing,
            nothing,
            self._unpacked(d_weights).astype(d_nodes.dtype),
        )

    def _arc_costs(
        self, arcs: LabelPairs, d_arcs: AnyFloats, message: Floats
    ) -> Tuple[Floats, Floats, Floats]:
        """Costs of arcs on the way forward and on the way back (N, L), and by pair of labels (as
        the weights)."""
        n_labels = self._e.shape[1]
        here, before = self._sides(arcs)
        follows = before >= 0
        here = here[follows]
        before = before[follows]
        earlier = arcs.earlier[follows]
        later = arcs.later[follows]
        cost = d_arcs[follows].astype(np.float64)
        moved = cost * self._weight(here, earlier, later)
        came = self._alpha[before, earlier]
        goes = message[here, later]
        pairs = earlier * n_labels + later
        if self.weights.ndim == 3:
            pairs += here * n_labels * n_labels
        return (
            _added(here * n_labels + later, moved * came, self._e.shape),
            _added(before * n_labels + earlier, moved * goes, self._e.shape),
            _added(pairs, cost * came * goes, self.weights.shape),
        )

    def _sides(self, arcs: LabelPairs) -> "tuple[Ints, Ints]":
        """Packed places of the later and the earlier token of each arc; -1 where there is no
        earlier one."""
        is_first = np.zeros(len(self._e), bool)
        is_first[np.cumsum(self._layout.lengths) - self._layout.lengths] = True
        before = np.where(is_first[arcs.tokens], -1, self._place[arcs.tokens - 1])
        return self._place[arcs.tokens], before

    def _weight(self, places: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        """e^score of pairs of labels, the later one at these packed places."""
        weights = self.weights
        return np.asarray(
            weights[earlier, later] if weights.ndim == 2 else weights[places, earlier, later]
        )

    def _before(self, t: int) -> slice:
        """The tokens before those of step t."""
        start = int(self._layout.offset[t - 1])
        return slice(start, start + int(self._layout.size_at_t[t]))

    def _places_before(self) -> Ints:
        """Packed places of the tokens before those that are no first tokens."""
        sizes = self._layout.size_at_t
        return np.arange(len(self._layout.order), len(self._e)) - np.repeat(sizes[:-1], sizes[1:])

    def _unpacked(self, packed: Floats) -> Floats:
        return np.asarray(packed.take(self._place, axis=0))


def _log(p: Floats) -> Floats:
    """log p, 0 where p is 0."""
    return np.asarray(np.log(np.where(p > 0, p, 1.0)))


def _added(places: Ints, values: Floats, shape: Tuple[int, ...]) -> Floats:
    """Values added up at places of an array."""
    total: Floats = np.zeros(shape)
    total += np.bincount(places, values, minlength=total.size).reshape(shape)
    return total
