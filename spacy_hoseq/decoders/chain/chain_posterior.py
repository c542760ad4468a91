"""p(y | x) of a first-order chain, and backpropagation through it.

    mu_t(y) = p(y_t = y | x)        nu_t(a, b) = p(y_{t-1} = a, y_t = b | x)

A loss of these has gradients d_mu and d_nu; they make up a cost of each labelling, c(y)
(`problem/posterior.py`). E[f c] is found by forward and backward passes that carry the cost of
prefixes and suffixes along, in the order of time of forward-backward itself:

    A_t(y)     = e_t(y) sum_a w(a, y) (A_{t-1}(a) + alpha_{t-1}(a) d_nu[t, a, y]) + alpha_t(y) d_mu[t, y]
    B_{t-1}(a) = sum_y w(a, y) e_t(y) (B_t(y) + beta_t(y) (d_mu[t, y] + d_nu[t, a, y]))

with e, w, alpha and beta scaled as in `forward_backward.py`. Then E[I(y_t = y) c] is A_t beta_t +
alpha_t B_t. Tests compare with enumeration, and the gradient with finite differences.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...caches import cached_property
from ..problem import (
    LabelPairs,
    Layout,
    Posterior,
    Potentials,
    PotentialsGradient,
    check_gradient,
    make_layout,
    packed_edge_scores,
    ranges,
)
from .forward_backward import (
    ChainWeights,
    Prefixes,
    Suffixes,
    multiply,
    scaled_prefixes,
    scaled_suffixes,
)


def chain_posterior(potentials: Potentials) -> "ChainPosterior | None":
    """p(y | x) of a checked batch. RETURNS None if scaled probabilities would lose digits, or if a
    sequence has no path."""
    forward = forward_of(potentials)
    return None if forward is None else posterior_of(*forward)


def forward_of(potentials: Potentials) -> tuple[Prefixes, ChainWeights, Layout] | None:
    """The forward messages of `chain_posterior`, the weights of the chain, and its layout."""
    scores, weights, lengths = potentials[:3]
    layout = make_layout(lengths, len(scores))
    emissions = scores
    if potentials.allowed is not None:
        emissions = np.where(potentials.allowed, scores, -np.inf)
    if len(layout.order) > 1:
        emissions = emissions.take(layout.tokens, axis=0)
    if potentials.edge_scores is None:
        of = weights.prepared(ChainWeights.of)
    else:
        both = packed_edge_scores(potentials.edge_scores, layout) + weights.precise_trans
        of = ChainWeights.of_scores(both, permit_all=weights.permit_all)
    prefixes = scaled_prefixes(emissions, of, layout)
    return None if prefixes is None else (prefixes, of, layout)


def posterior_of(
    prefixes: Prefixes, of: ChainWeights, layout: Layout, last: Floats | None = None
) -> "ChainPosterior":
    """last (S, L), by rank: beta of last tokens; None = 1."""
    suffixes = scaled_suffixes(prefixes, of, layout, last)
    log_z = np.empty(len(layout.lengths))
    log_z[layout.order] = prefixes.log_z
    return ChainPosterior(layout, log_z, prefixes.e, prefixes.alpha, suffixes, of)


class Run(NamedTuple):
    """One step. here, before: packed tokens, and those before them. weights: w, shared (L, L), or
    of each token (n, L, L)."""

    here: slice
    before: slice
    weights: Floats


class ChainPosterior(Posterior):
    """Forward-backward over a batch, and the gradient through it.

    layout. log_z (S,). e, alpha (N, L) and suffixes: packed. of: w, shared by all tokens or of
    each, packed.
    """

    def __init__(
        self,
        layout: Layout,
        log_z: Floats,
        e: Floats,
        alpha: Floats,
        suffixes: Suffixes,
        of: ChainWeights,
    ) -> None:
        self.layout = layout
        self.lengths = layout.lengths
        self.log_z = log_z
        self._e = e
        self._alpha = alpha
        self.beta, self._message = suffixes
        self._of = of
        self._place = layout.place

    @cached_property
    def nodes(self) -> Floats:
        """mu. RETURNS (N, L), rows sum to 1."""
        return self._unpacked(self._alpha * self.beta)

    @property
    def expected(self) -> PotentialsGradient:
        trans, edges = self._counts((self._alpha, self._message))
        if edges is not None:
            edges = self._unpacked(edges)
        return PotentialsGradient(self.nodes, trans, edge_scores=edges)

    def pairs(self, arcs: LabelPairs) -> Floats:
        tokens, earlier, later = arcs
        p = self._at(tokens - 1, earlier) * self.steps(tokens, earlier, later)
        return np.where(self._is_first[tokens], 0.0, p)

    def _at(self, tokens: AnyInts, labels: AnyInts) -> Floats:
        """p(y_t = y | x). RETURNS (M,)."""
        return np.asarray(self.nodes.take(tokens * self.nodes.shape[1] + labels))

    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Mask | None
    ) -> Floats:
        """p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(it does not go on | y_t)."""
        if not len(sizes):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        tokens = ranges(first, sizes)
        steps = np.ones(len(labels))
        steps[1:] = self.steps(tokens[1:], labels[:-1], labels[1:])
        steps[starts] = self._at(first, labels[starts])
        p = np.asarray(np.multiply.reduceat(steps, starts), np.float64)
        if continues is not None:
            last = starts + sizes - 1
            p *= self._stops(tokens[last], labels[last], continues)
        return p

    def _stops(self, tokens: Ints, labels: AnyInts, continues: Mask) -> Floats:
        """p(not continues[y_t, y_{t+1}] | y_t = y), 1 at last tokens and for labels across which
        nothing goes on. tokens, labels (E,). RETURNS (E,)."""
        is_last = np.append(self._is_first[1:], True)
        which, later = (continues[labels] & ~is_last[tokens][:, None]).nonzero()
        further = self.steps(tokens.take(which) + 1, labels.take(which), later)
        goes_on = np.bincount(which, further, minlength=len(tokens))
        return np.asarray(np.maximum(1.0 - goes_on, 0.0))

    @cached_property
    def _is_first(self) -> Mask:
        """First tokens of sequences (N,)."""
        is_first = np.zeros(int(self.lengths.sum()), bool)
        is_first[np.cumsum(self.lengths) - self.lengths] = True
        return is_first

    def steps(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        """p(y_t = later | y_{t-1} = earlier), 0 where that is impossible; at first tokens any
        number. RETURNS (M,)."""
        n_labels = self._e.shape[1]
        here = self._place.take(tokens)
        message = self._message.take(here * n_labels + later)
        beta = self.beta.take(self._place.take(tokens - 1) * n_labels + earlier)
        # p(a, y) = alpha(a) w(a, y) m(y), and p(a) = alpha(a) beta(a)
        joint = self._weight(tokens, earlier, later) * message
        return np.asarray(np.divide(joint, beta, out=np.zeros(len(joint)), where=beta > 0))

    def conditional_entropies(self) -> Floats:
        """H(y_t | y_{t-1}, x) in nats, H(y_t | x) at first tokens. RETURNS (N,)."""
        nodes = self._alpha * self.beta
        entropies: Floats = -(nodes * _log(nodes)).sum(axis=1)  # right at first tokens
        # log p(y_t | y_{t-1}) = log w(y_{t-1}, y_t) + log m_t(y_t) - log beta_{t-1}(y_{t-1})
        for here, before, weights in self._runs():
            message = self._message[here]
            moved = multiply(self._alpha[before], weights * _log(weights)) * message
            entropies[here] = (nodes[before] * _log(self.beta[before])).sum(axis=1)
            entropies[here] -= (moved + nodes[here] * _log(message)).sum(axis=1)
        return self._unpacked(np.maximum(entropies, 0.0))

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: LabelPairs | None = None,
        d_arcs: AnyFloats | None = None,
    ) -> PotentialsGradient:
        check_gradient(d_nodes, self._alpha.shape)
        layout = self.layout
        alpha = self._alpha
        e = self._e
        node: Floats = d_nodes[layout.tokens].astype(np.float64)  # d_mu, packed
        into, backward = np.zeros((2, *alpha.shape))
        costly = None
        if arcs is not None and d_arcs is not None:
            costly, arc_costs = self._arc_costs(arcs, d_arcs, into, backward)
        forward = alpha * node  # A, B
        for here, before, weights in self._runs():
            forward[here] += e[here] * (multiply(forward[before], weights) + into[here])
        for here, before, weights in self._runs(back=True):
            message = e[here] * backward[here] + self._message[here] * node[here]
            backward[before] += multiply(message, weights)
        with_cost = forward * self.beta + alpha * backward  # E[I(y_t = y) c]
        cost = with_cost.sum(axis=1, keepdims=True)  # E[c], the same at every token of a sequence
        # what follows y_{t-1}, with its cost, less E[c]
        after = self._message * (node - cost) + e * backward
        trans, edges = self._counts((forward, self._message), (alpha, after))
        if costly is not None:
            _add_at(trans, costly[1:], arc_costs)
        if costly is not None and edges is not None:
            _add_at(edges, (self._place[costly.tokens], *costly[1:]), arc_costs)
        # E[f c] - E[f] E[c]
        scores = self._unpacked(with_cost - alpha * self.beta * cost)
        if edges is not None:
            edges = self._unpacked(edges).astype(d_nodes.dtype)
        return PotentialsGradient(scores.astype(d_nodes.dtype), trans, edge_scores=edges)

    def _runs(self, *, back: bool = False) -> "Iterator[Run]":
        """All steps but the first. back (bool): from the last on, and w with the later label
        first."""
        weights = self._of.back if back else self._of.weights
        steps = list(range(1, len(self.layout.size_at_t)))
        if back:
            steps.reverse()
        for t in steps:
            here = self.layout.step(t)
            step_weights = weights if weights.ndim == 2 else weights[here]
            yield Run(here, self.layout.before(t), step_weights)

    def _weight(self, tokens: Ints, earlier: AnyInts, later: AnyInts) -> Floats:
        """w of pairs of labels, the later one at these tokens. RETURNS (M,)."""
        weights = self._of.weights
        if weights.ndim == 2:
            return np.asarray(weights.take(earlier * weights.shape[1] + later))
        return np.asarray(weights[self._place.take(tokens), earlier, later])

    def _counts(self, *terms: tuple[Floats, Floats]) -> tuple[Floats, Floats | None]:
        """The sum of earlier_{t-1}(a) w_t(a, y) later_t(y) over all terms (N, L), packed. RETURNS it
        summed over tokens (L, L), and (N, L, L), packed, where text scores pairs of labels."""
        if self._of.weights.ndim == 2:
            first = len(self.layout.order)
            sizes = self.layout.size_at_t
            trans = np.zeros(self._of.weights.shape)
            places = np.arange(first, len(self._e)) - np.repeat(sizes[:-1], sizes[1:])
            for earlier, later in terms:
                trans += earlier.take(places, axis=0).T @ later[first:]
            return trans * self._of.weights, None
        edges = np.zeros(self._of.weights.shape)
        for here, before, weights in self._runs():
            for earlier, later in terms:
                edges[here] += earlier[before][:, :, None] * later[here][:, None]  # (n, L, L)
            edges[here] *= weights
        return edges.sum(axis=0), edges

    def _arc_costs(
        self, arcs: LabelPairs, d_arcs: AnyFloats, into: Floats, out_of: Floats
    ) -> tuple[LabelPairs, Floats]:
        """Put the costs of arcs into those of the way forward and of the way back. RETURNS the arcs
        that follow a token, and d_nu times nu."""
        follows = np.flatnonzero(~self._is_first[arcs.tokens])
        arcs = LabelPairs(*(part[follows] for part in arcs))
        here = self._place[arcs.tokens], arcs.later
        before = self._place[arcs.tokens - 1], arcs.earlier
        moved = d_arcs[follows].astype(np.float64) * self._weight(*arcs)
        _add_at(into, here, moved * self._alpha[before])
        _add_at(out_of, before, moved * self._message[here])
        return arcs, moved * self._alpha[before] * self._message[here]

    def _unpacked(self, packed: Floats) -> Floats:
        return np.asarray(packed.take(self._place, axis=0))


def _log(p: Floats) -> Floats:
    """log p, 0 where p is 0."""
    return np.asarray(np.log(np.where(p > 0, p, 1.0)))


def _add_at(total: Floats, at: tuple[Ints, ...], values: Floats) -> None:
    """Add values at places of an array, some of them more than once."""
    places = np.ravel_multi_index(at, total.shape)
    total += np.bincount(places, values, minlength=total.size).reshape(total.shape)
