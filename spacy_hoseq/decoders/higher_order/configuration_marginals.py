"""Marginals of labels and of segments where general configurations fire (configurations.py), for chunks.

A segment is a configuration of weight 0 whose sets are single labels: its expected count is its probability. One more
set, of the labels with which it would go on, gives what to take away. Sequences without configurations are summed
together, as if there were none.

Checked against enumeration in tests/decoders/higher_order/test_configuration_marginals.py.
"""

from typing import List, Optional, Union, cast

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from ..posterior.marginals import Marginals, marginals_of
from ..problem.configurations import Configurations
from ..problem.layout import check_segments
from ..problem.potentials import Potentials
from .configurations import ConfigurationLattice, configuration_posterior


class ConfigurationMarginals:
    """Of a batch in which configurations fire. log_z (S,). nodes (N, L): p(y_t = y | x).

    RAISES ValueError as `exact_posterior`.
    """

    def __init__(self, potentials: Potentials, *, allowed: Optional[Mask] = None) -> None:
        potentials = potentials if allowed is None else potentials._replace(allowed=allowed)
        self._potentials = potentials
        lengths = potentials.lengths
        first = np.zeros(0, np.intp) if potentials.configurations is None else potentials.configurations.first
        self._spanned = np.unique(np.searchsorted(np.cumsum(lengths), first, side="right"))
        rest = np.setdiff1d(np.arange(len(lengths)), self._spanned, assume_unique=True)
        self.log_z, self.nodes = np.zeros(len(lengths)), np.zeros(potentials.scores.shape)
        part = potentials.select(rest)
        tokens = part.tokens
        self._rest = marginals_of(part.potentials._replace(configurations=None), allowed=part.potentials.allowed)
        self.log_z[rest], self.nodes[tokens] = self._rest.log_z, self._rest.nodes
        self._place = np.full(len(potentials.scores), -1)  # of each token among those of the rest
        self._place[tokens] = np.arange(len(tokens))
        for i in self._spanned.tolist():
            part = potentials.select(np.array([i]))
            found = configuration_posterior(ConfigurationLattice(part.potentials), part.potentials.patterns)
            self.log_z[i], self.nodes[part.tokens] = found.log_z[0], found.marginals

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        goes_on: Optional[Mask] = None,
    ) -> Floats:
        """As `ChainMarginals.segments`."""
        sequence = check_segments(first, sizes, self._potentials.lengths)
        bounds = np.cumsum(sizes) - sizes
        result = np.zeros(len(first))
        alone = np.flatnonzero(self._place[first] >= 0)
        if len(alone):
            own = np.concatenate([labels[bounds[i] : bounds[i] + sizes[i]] for i in alone.tolist()])
            result[alone] = self._rest.segments(self._place[first[alone]], sizes[alone], own, goes_on)
        for number in self._spanned.tolist():
            which = np.flatnonzero(sequence == number)
            if len(which):
                strings = [labels[bounds[i] : bounds[i] + sizes[i]].astype(np.intp) for i in which.tolist()]
                part = self._potentials.select(np.array([number]))
                result[which] = self._inside(part.potentials, first[which] - part.tokens[0], strings, goes_on)
        return result

    def _inside(self, one: Potentials, first: AnyInts, strings: List[Ints], goes_on: Optional[Mask]) -> Floats:
        """Segments of one sequence. first (n,): their first tokens within it."""
        n_tokens, n_labels = one.scores.shape
        known = cast(Configurations, one.configurations)
        sets = [known.sets, np.eye(n_labels, dtype=bool)]
        sets += [] if goes_on is None else [goes_on]
        single, follow = len(known.sets), len(known.sets) + n_labels  # rows of the sets of one label, and of goes_on
        starts, slots, signs, which = [], [], [], []
        for i, (begin, string) in enumerate(zip(first.tolist(), strings, strict=True)):
            slot_rows = [single + string]
            if goes_on is not None and begin + len(string) < n_tokens:
                slot_rows.append(np.append(single + string, follow + string[-1]))
            starts += [begin] * len(slot_rows)
            slots += slot_rows
            signs += [1.0, -1.0][: len(slot_rows)]
            which += [i] * len(slot_rows)
        added = Configurations(
            np.concatenate([known.first, starts]).astype(np.intp),
            np.concatenate([known.sizes, [len(way) for way in slots]]).astype(np.intp),
            np.concatenate([known.slots, *slots]).astype(np.intp),
            np.concatenate(sets),
            np.concatenate([known.weights, np.zeros(len(slots))]),
            known.max_states,
        )
        found = configuration_posterior(ConfigurationLattice(one._replace(configurations=added)), one.patterns)
        counts = found.configuration_counts[len(known.first) :] * np.array(signs)
        return np.asarray(np.bincount(which, counts, minlength=len(first)), np.float64)


SpanMarginals = Union[Marginals, ConfigurationMarginals]


def span_marginals(potentials: Potentials, *, allowed: Optional[Mask] = None) -> SpanMarginals:
    """Marginals of labels and segments, with whatever features there are. RAISES ValueError as the classes."""
    if potentials.configurations is None or not len(potentials.configurations.first):
        return marginals_of(potentials, allowed=allowed)
    potentials.refuse_edge_scores("marginals")
    return ConfigurationMarginals(potentials, allowed=allowed)
