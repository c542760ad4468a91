"""p(y | x) with label patterns or configurations, and of chains whose scores are too far apart for
other sums.

A string of labels that ends at a token is a pattern that fires there with weight 0: added to the
trie, its expected count is its probability. Where configurations fire, it is a configuration of
weight 0 whose sets are single labels. So pairs of labels, and whole segments, need no algorithm of
their own; and a cost of pairs is the weight of such patterns.

Checked against enumeration and finite differences in tests/decoders/test_posterior.py.
"""

from typing import Any, NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...caches import cached_property
from ..patterns import (
    STEP,
    InclusiveMessages,
    InnerNodes,
    MatrixMessages,
    NodeMessages,
    configured_sequences,
    exclusive_sums,
    inclusive_sums,
    keeps_digits,
    lattice_entropies,
    lattices_of,
    with_costs,
)
from ..problem import (
    TUNING,
    Fired,
    LabelPairs,
    NoPath,
    PatternTrie,
    Posterior,
    Potentials,
    PotentialsGradient,
    Selection,
    Sums,
    Tuning,
    Weights,
    check_gradient,
    ranges,
)


class LabelStrings(NamedTuple):
    """Labels of neighbouring tokens. first, sizes (C,): their tokens, within one sequence. labels:
    theirs, end to end."""

    first: Ints
    sizes: Ints
    labels: AnyInts

    def chosen(self, which: Ints) -> "LabelStrings":
        starts = np.cumsum(self.sizes) - self.sizes
        return LabelStrings(
            self.first[which],
            self.sizes[which],
            self.labels[ranges(starts[which], self.sizes[which])],
        )

    def joined(self, others: "LabelStrings") -> "LabelStrings":
        return LabelStrings(*(np.concatenate(parts) for parts in zip(self, others, strict=True)))


class PatternPosterior(Posterior):
    """It caches log Z and expected counts; pairs, segments and gradients are computed by sums of
    their own.

    potentials: checked. When sums are first used: RAISES ValueError [HS023]; as `feature_sums`.
    """

    def __init__(self, potentials: Potentials, *, tuning: Tuning = TUNING) -> None:
        self._potentials = potentials
        self._tuning = tuning
        self.lengths = potentials.lengths

    @cached_property
    def log_z(self) -> Floats:
        return self._sums.log_z

    @property
    def nodes(self) -> Floats:
        return np.asarray(self._sums.counts.scores, np.float64)

    @property
    def expected(self) -> PotentialsGradient:
        return self._sums.counts

    @cached_property
    def _sums(self) -> Sums:
        sums = feature_sums(self._potentials, self._tuning)
        if len(sums.log_z) and sums.log_z.min() == -np.inf:
            raise NoPath(int(sums.log_z.argmin()))
        return sums

    def pairs(self, arcs: LabelPairs) -> Floats:
        p: Floats = np.zeros(len(arcs.tokens))
        follows, strings = self._strings(arcs)
        p[follows] = self._probabilities(strings)
        return p

    def _segments(
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Mask | None
    ) -> Floats:
        """p(segment) less the sum of p(segment and one more label with which it goes on)."""
        strings = LabelStrings(first.astype(np.intp), sizes.astype(np.intp), labels)
        longer, which = self._continued(strings, continues)
        # p(segment) less p(it goes on), with all strings in one search
        p = self._probabilities(strings.joined(longer))
        segments = p[: len(first)]
        further = np.bincount(which, p[len(first) :], minlength=len(first))
        return np.asarray(np.maximum(segments - further, 0.0))

    def conditional_entropies(self) -> Floats:
        """Time O(U L) a token, for U nodes of the trie. RAISES ValueError [HS038, HS097]."""
        entropies = np.zeros(len(self._potentials.scores))
        for lattice, part in lattices_of(self._potentials, self._tuning):
            entropies[part.tokens[lattice.layout.tokens]] = lattice_entropies(lattice)
        return entropies

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: LabelPairs | None = None,
        d_arcs: AnyFloats | None = None,
    ) -> PotentialsGradient:
        check_gradient(d_nodes, self._potentials.scores.shape)
        potentials = self._potentials
        n_nodes = len(potentials.numbers.node_weights)
        n_fired = len(potentials.numbers.fired_weights)
        places = np.arange(n_nodes)
        cost = np.zeros(0)
        if arcs is not None and d_arcs is not None and len(d_arcs):
            follows, strings = self._strings(arcs)
            potentials, places = with_patterns(potentials, strings)
            cost = d_arcs[follows].astype(np.float64)
        counts = feature_sums(with_costs(potentials, d_nodes, cost), self._tuning).counts
        # the strings of arcs are no parameters
        gradient = counts._replace(
            node_weights=counts.node_weights[places[:n_nodes]],
            fired_weights=counts.fired_weights[:n_fired],
        ).map(lambda part: part.imag / STEP)
        return gradient.with_scores_in(d_nodes.dtype)

    def _strings(self, arcs: LabelPairs) -> tuple[Ints, LabelStrings]:
        """The arcs that have an earlier token, and their two labels as strings."""
        lengths = self._potentials.lengths
        follows = np.flatnonzero(~np.isin(arcs.tokens, np.cumsum(lengths) - lengths))
        labels = np.stack([arcs.earlier[follows], arcs.later[follows]], axis=1).reshape(-1)
        sizes = np.full(len(follows), 2)
        return follows, LabelStrings(arcs.tokens[follows] - 1, sizes, labels)

    def _continued(
        self, strings: LabelStrings, continues: Mask | None
    ) -> tuple[LabelStrings, Ints]:
        """The strings, with each label with which they go on, and the number of each."""
        nothing = np.zeros(0, np.intp)
        if continues is None or not len(strings.first):
            return LabelStrings(nothing, nothing, nothing), nothing
        end = strings.first + strings.sizes
        ends = np.cumsum(self._potentials.lengths)
        last = strings.labels[np.cumsum(strings.sizes) - 1]
        which, more = np.nonzero(continues[last] & ~np.isin(end, ends)[:, None])
        repeated = strings.chosen(which)
        labels = np.insert(repeated.labels, np.cumsum(repeated.sizes), more)
        return LabelStrings(repeated.first, repeated.sizes + 1, labels), which

    def _probabilities(self, strings: LabelStrings) -> Floats:
        """Probabilities of the strings. RETURNS (C,)."""
        p: Floats = np.zeros(len(strings.first))
        single = strings.sizes == 1
        starts = np.cumsum(strings.sizes) - strings.sizes
        p[single] = self.nodes[strings.first[single], strings.labels[starts[single]]]
        longer = np.flatnonzero(~single)
        if len(longer):
            potentials, _ = with_patterns(self._potentials, strings.chosen(longer))
            p[longer] = feature_sums(potentials, self._tuning).counts.fired_weights[-len(longer) :]
        return p


def with_patterns(potentials: Potentials, strings: LabelStrings) -> tuple[Potentials, Ints]:
    """With the strings, each of at least two labels, as patterns of weight 0 that fire, after those
    that fire already.
    RETURNS them, and the node of each node of the trie before (U,)."""
    weights = potentials.weights
    fired = potentials.fired
    trie = weights.trie
    n_labels = weights.n_labels
    patterns = _tuples(strings)
    distinct = list(dict.fromkeys(patterns))
    before = [trie.string(node) for node in range(n_labels, len(trie))]
    longer = PatternTrie([*before, *distinct], n_labels)
    places = np.concatenate([np.arange(n_labels), longer.node_of[: len(trie) - n_labels]])
    node_weights = np.zeros(len(longer))  # those of the strings stay 0
    node_weights[places] = weights.node_weights
    node_of = dict(zip(distinct, longer.node_of[len(trie) - n_labels :].tolist(), strict=True))
    nodes = np.array([node_of[pattern] for pattern in patterns], np.intp)
    more = Fired(strings.first + strings.sizes - 1, nodes, np.zeros(len(nodes)))
    if fired is not None:
        moved = fired._replace(nodes=places[fired.nodes])
        more = Fired(*(np.concatenate(parts) for parts in zip(moved, more, strict=True)))
    changed = potentials._replace(weights=Weights(weights.trans, longer, node_weights), fired=more)
    return changed, places


def _tuples(strings: LabelStrings) -> list[tuple[int, ...]]:
    """The labels of each string."""
    if not len(strings.first):
        return []
    rows = np.split(strings.labels, np.cumsum(strings.sizes)[:-1])
    return [tuple(row.tolist()) for row in rows]


def feature_sums(potentials: Potentials, tuning: Tuning) -> Sums:
    """log Z, -inf where there is no path, and E[f] of all features; of complex scores, with their
    derivatives (`with_costs`). potentials: checked. RAISES ValueError [HS038, HS097]."""
    total = _zeros(potentials)
    configured = configured_sequences(potentials)
    others = np.setdiff1d(np.arange(len(potentials.lengths)), configured, assume_unique=True)
    for sequences, has_configurations in ((others, False), (configured, True)):
        if len(sequences):
            part = potentials.select(sequences)
            sums = None
            if not has_configurations:
                sums = _by_messages(part.potentials, tuning)
            if sums is None:  # digits would be lost
                sums = exclusive(part.potentials, tuning)
            _add(total, part, sums)
    return total


def exclusive(potentials: Potentials, tuning: Tuning) -> Sums:
    """Over exclusive states, in logarithms."""
    total = _zeros(potentials)
    for lattice, part in lattices_of(potentials, tuning):
        _add(total, part, exclusive_sums(lattice, part.potentials))
    return total


def _by_messages(potentials: Potentials, tuning: Tuning) -> Sums | None:
    """Sums by inclusive messages. RETURNS None if they lose digits."""
    if potentials.edge_scores is not None or not keeps_digits(potentials):
        return None
    trie = potentials.weights.trie
    fired = potentials.fired
    inner = trie.prepared(InnerNodes)
    messages: type[InclusiveMessages] = NodeMessages
    n_nodes = len(trie)
    # products of matrices take many calls, which several sequences share
    is_small = len(potentials.lengths) > 1 and inner.n_cells <= tuning.matrix_cells * len(trie)
    if is_small and (fired is None or not len(fired.tokens)):
        messages = MatrixMessages
        n_nodes = len(inner.nodes)
    total = _zeros(potentials)
    for part in potentials.parts(len(potentials.lengths), tuning.sum_cells // n_nodes):
        sums = inclusive_sums(part.potentials, messages)
        if sums is None:
            return None
        _add(total, part, sums)
    return total


def _zeros(potentials: Potentials) -> Sums:
    """To add to."""
    dtype = np.result_type(potentials.scores, np.float64)
    counts = potentials.numbers.map(lambda part: np.zeros(part.shape, dtype))
    return Sums(np.zeros(len(potentials.lengths)), counts)


def _add(total: Sums, part: Selection, sums: Sums) -> None:
    """Into total, those of a part of the batch."""
    total.log_z[part.sequences] = sums.log_z
    places: Any = (part.tokens, ..., ..., part.fired, part.configurations, part.tokens)
    for field, counts, place in zip(total.counts, sums.counts, places, strict=True):
        if field is not None and field.size:
            field[place] += counts
