"""p(y | x) with label patterns or configurations, and of chains whose scores are too far apart for
other sums.

A string of labels that ends at a token is a pattern that fires there with weight 0: added to the
trie, its expected count is its probability. Where configurations fire, it is a configuration of
weight 0 whose sets are single labels. So pairs of labels, and whole segments, need no algorithm of
their own; and a cost of pairs is the weight of such patterns.

Checked against enumeration and finite differences in tests/decoders/test_posterior.py.
"""

from functools import cached_property
from typing import Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..patterns import (
    STEP,
    lattice_entropies,
    lattices_of,
    with_costs,
)
from ..problem import (
    TUNING,
    LabelPairs,
    NoPath,
    Posterior,
    Potentials,
    PotentialsGradient,
    Sums,
    Tuning,
    check_gradient,
)
from .label_strings import LabelStrings, with_patterns
from .pattern_sums import feature_sums


class PatternPosterior(Posterior):
    """Nothing but log Z and expected counts is kept: pairs, segments and gradients are sums of
    their own.

    potentials: checked. When sums are asked for: RAISES ValueError [HS023]; as `feature_sums`.
    """

    def __init__(self, potentials: Potentials, *, tuning: Tuning = TUNING) -> None:
        self._potentials = potentials
        self._tuning = tuning
        self.lengths = potentials.lengths

    @cached_property
    def log_z(self) -> Floats:  # type: ignore[override]
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
        self, first: AnyInts, sizes: AnyInts, labels: AnyInts, continues: Optional[Mask]
    ) -> Floats:
        """p(segment) less the sum of p(segment and one more label with which it goes on)."""
        strings = LabelStrings(first.astype(np.intp), sizes.astype(np.intp), labels)
        longer, which = self._continued(strings, continues)
        p = self._probabilities(strings.joined(longer))
        whole = p[: len(first)]
        further = np.bincount(which, p[len(first) :], minlength=len(first))
        return np.asarray(np.maximum(whole - further, 0.0))

    def conditional_entropies(self) -> Floats:
        """Time O(U L) a token, for U nodes of the trie. RAISES ValueError [HS038, HS097]."""
        entropies = np.zeros(len(self._potentials.scores))
        for lattice, part in lattices_of(self._potentials, self._tuning):
            entropies[part.tokens[lattice.layout.tokens]] = lattice_entropies(lattice)
        return entropies

    def backprop(
        self,
        d_nodes: AnyFloats,
        arcs: Optional[LabelPairs] = None,
        d_arcs: Optional[AnyFloats] = None,
    ) -> PotentialsGradient:
        check_gradient(d_nodes, self._potentials.scores.shape)
        potentials = self._potentials
        weights = potentials.weights
        places = np.arange(len(weights.trie) if weights.has_patterns else 0)
        n_nodes = len(places)
        n_fired = 0 if potentials.fired is None else len(potentials.fired.tokens)
        cost = np.zeros(0)
        if arcs is not None and d_arcs is not None and len(d_arcs):
            follows, strings = self._strings(arcs)
            potentials, places = with_patterns(potentials, strings)
            cost = d_arcs[follows].astype(np.float64)
        counts = feature_sums(with_costs(potentials, d_nodes, cost), self._tuning).counts
        edges = counts.edge_scores
        return PotentialsGradient(
            (counts.scores.imag / STEP).astype(d_nodes.dtype),
            counts.trans.imag / STEP,
            counts.node_weights[places[:n_nodes]].imag / STEP,
            counts.fired_weights[:n_fired].imag / STEP,
            counts.configuration_weights.imag / STEP,
            None if edges is None else (edges.imag / STEP).astype(d_nodes.dtype),
        )

    def _strings(self, arcs: LabelPairs) -> Tuple[Ints, LabelStrings]:
        """Which arcs have an earlier token, and their two labels."""
        lengths = self._potentials.lengths
        follows = np.flatnonzero(~np.isin(arcs.tokens, np.cumsum(lengths) - lengths))
        labels = np.stack([arcs.earlier[follows], arcs.later[follows]], axis=1).reshape(-1)
        sizes = np.full(len(follows), 2)
        return follows, LabelStrings(arcs.tokens[follows] - 1, sizes, labels)

    def _continued(
        self, strings: LabelStrings, continues: Optional[Mask]
    ) -> Tuple[LabelStrings, Ints]:
        """LabelStrings with each label with which they go on, and which they are."""
        nothing = np.zeros(0, np.intp)
        if continues is None or not len(strings.first):
            return LabelStrings(nothing, nothing, nothing), nothing
        end = strings.first + strings.sizes
        ends = np.cumsum(self._potentials.lengths)
        last = strings.labels[np.cumsum(strings.sizes) - 1]
        which, more = np.nonzero(continues[last] & ~np.isin(end, ends)[:, None])
        some = strings.chosen(which)
        labels = np.insert(some.labels, np.cumsum(some.sizes), more)
        return LabelStrings(some.first, some.sizes + 1, labels), which

    def _probabilities(self, strings: LabelStrings) -> Floats:
        """RETURNS (C,)."""
        p: Floats = np.zeros(len(strings.first))
        single = strings.sizes == 1
        starts = np.cumsum(strings.sizes) - strings.sizes
        p[single] = self.nodes[strings.first[single], strings.labels[starts[single]]]
        longer = np.flatnonzero(~single)
        if len(longer):
            potentials, _ = with_patterns(self._potentials, strings.chosen(longer))
            p[longer] = feature_sums(potentials, self._tuning).counts.fired_weights[-len(longer) :]
        return p
