"""Sums over a batch with label patterns and configurations, part by part: expected counts E[f] of
all features, or covariances with costs.

Sequences in which configurations fire are summed one by one, the others together.
"""

from typing import Iterator, NamedTuple, Optional, Type

import numpy as np

from ...arrays import Ints
from ..chain import chain_posterior
from ..patterns import (
    ConfigurationLattice,
    InclusiveWalk,
    InnerNodes,
    LongestMatch,
    MatrixWalk,
    PatternWalk,
    exclusive_sums,
    inclusive_sums,
    keeps_digits,
)
from ..problem import (
    Potentials,
    PotentialsGradient,
    Selection,
    Sums,
    Tuning,
    make_layout,
    parts_of,
)


def feature_sums(
    potentials: Potentials,
    costs: Optional[Potentials],
    tuning: Tuning,
    labels_alone: bool = False,
) -> Sums:
    """E[f] of all features; with costs their covariances with c(y) = score(x, y) under `costs`,
    which differ in scores and in what fires. labels_alone (bool): of labels; others may be left 0.
    potentials: checked. log_z is -inf where there is no path. RAISES ValueError [HS038, HS097]."""
    total = no_sums(potentials)
    for part, request in parts_to_sum(potentials, costs, tuning, labels_alone):
        add_sums(total, part, _sums_of(request))
    return total


class SumsRequest(NamedTuple):
    """potentials: of one sequence in which configurations fire, or of several in which none do,
    checked. costs: of the same sequences, which differ in scores and in what fires: asked for are
    covariances with c(y) = score(x, y) under them; None = expectations. labels_alone: other counts
    may be left 0."""

    potentials: Potentials
    costs: Optional[Potentials]
    tuning: Tuning
    labels_alone: bool = False

    @property
    def has_configurations(self) -> bool:
        configurations = self.potentials.configurations
        return configurations is not None and len(configurations.first) > 0

    @property
    def is_chain(self) -> bool:
        return not self.potentials.weights.has_patterns

    @property
    def keeps_digits(self) -> bool:
        """Whether inclusive messages do."""
        return self.potentials.edge_scores is None and keeps_digits(self.potentials)

    @property
    def fits_matrices(self) -> bool:
        """Whether products of matrices take less time than the nodes: they take many calls, which
        several sequences share."""
        trie = self.potentials.weights.trie
        fired = self.potentials.fired
        fires = fired is not None and len(fired.tokens) > 0
        if fires or len(self.potentials.lengths) < 2:
            return False
        return trie.prepared(InnerNodes).n_cells <= self.tuning.matrix_cells * len(trie)


class SumsPart(NamedTuple):
    """A part of a batch that one algorithm sums. part: where it comes from."""

    part: Selection
    request: SumsRequest


def _sums_of(request: SumsRequest) -> Sums:
    """By the cheapest algorithm for its features. Where others lose digits, in logarithms."""
    if request.has_configurations:
        return configuration_sums(request)
    trie = request.potentials.weights.trie
    sums = None
    if request.is_chain:
        sums = chain_sums(request)
    elif request.keeps_digits:
        if request.fits_matrices:
            sums = message_sums(request, MatrixWalk, len(trie.prepared(InnerNodes).nodes))
        if sums is None:
            sums = message_sums(request, PatternWalk, len(trie))
    return exclusive(*request) if sums is None else sums


def spanned_sequences(potentials: Potentials) -> Ints:
    """Sequences in which configurations fire. RETURNS (n,)."""
    configurations = potentials.configurations
    if configurations is None:
        return np.zeros(0, np.intp)
    return np.unique(
        np.searchsorted(np.cumsum(potentials.lengths), configurations.first, side="right")
    )


def parts_to_sum(
    potentials: Potentials, costs: Optional[Potentials], tuning: Tuning, labels_alone: bool
) -> Iterator[SumsPart]:
    """A checked batch in parts, each of which one algorithm can sum."""
    spanned = spanned_sequences(potentials)
    rest = np.setdiff1d(np.arange(len(potentials.lengths)), spanned, assume_unique=True)
    n_inner = len(potentials.weights.trie.prepared(InnerNodes).nodes)
    lengths = potentials.lengths[rest]
    groups = [rest[some] for some in parts_of(lengths, len(rest), tuning.sum_cells // n_inner)]
    groups += [np.array([sequence]) for sequence in spanned.tolist()]
    for sequences in groups:
        part = potentials.select(sequences)
        of_costs = None if costs is None else costs.select(sequences).potentials
        yield SumsPart(part, SumsRequest(part.potentials, of_costs, tuning, labels_alone))


def chain_sums(request: SumsRequest) -> Optional[Sums]:
    """RETURNS None if scaled probabilities would lose digits."""
    potentials, costs = request[:2]
    chain = chain_posterior(potentials, potentials.lengths)
    if chain is None:
        return None
    return Sums(chain.log_z, chain.expected if costs is None else chain.backprop(costs.scores))


def message_sums(request: SumsRequest, walk: Type[InclusiveWalk], n_nodes: int) -> Optional[Sums]:
    """By inclusive messages to so many nodes. RETURNS None if they lose digits."""
    potentials, costs, tuning, labels_alone = request
    total = no_sums(potentials)
    for part in potentials.parts(len(potentials.lengths), tuning.sum_cells // n_nodes):
        of_costs = None if costs is None else costs.select(part.sequences).potentials
        sums = inclusive_sums(part.potentials, of_costs, walk, labels_alone=labels_alone)
        if sums is None:
            return None
        add_sums(total, part, sums)
    return total


def exclusive(
    potentials: Potentials,
    costs: Optional[Potentials],
    tuning: Tuning,
    labels_alone: bool = False,
) -> Sums:
    """Over longest matches; without patterns these are the labels. labels_alone: as `feature_sums`,
    but all are summed."""
    total = no_sums(potentials)
    trie = potentials.weights.trie
    columns = max(1, tuning.arc_cells // (len(trie) * trie.n_labels))
    for part in potentials.parts(columns, tuning.sum_cells // len(trie)):
        layout = make_layout(part.potentials.lengths, len(part.tokens))
        of_costs = None
        if costs is not None:
            of_costs = LongestMatch(costs.select(part.sequences).potentials, layout)
        lattice = LongestMatch(part.potentials, layout)
        add_sums(total, part, exclusive_sums(lattice, part.potentials, layout, of_costs))
    return total


def configuration_sums(request: SumsRequest) -> Sums:
    """Of one sequence. Costs have the same labels allowed, so that their lattice has the same
    states."""
    potentials, costs = request[:2]
    layout = make_layout(potentials.lengths, len(potentials.scores))
    of_costs = None
    if costs is not None:
        of_costs = ConfigurationLattice(costs._replace(allowed=potentials.allowed))
    return exclusive_sums(ConfigurationLattice(potentials), potentials, layout, of_costs)


def no_sums(potentials: Potentials) -> Sums:
    """To add to."""
    weights = potentials.weights
    fired = potentials.fired
    configurations = potentials.configurations
    counts = PotentialsGradient(
        np.zeros(potentials.scores.shape),
        np.zeros(potentials.trans.shape),
        np.zeros(len(weights.trie) if weights.has_patterns else 0),
        np.zeros(0 if fired is None else len(fired.tokens)),
        np.zeros(0 if configurations is None else len(configurations.first)),
        None if potentials.edge_scores is None else np.zeros(potentials.edge_scores.shape),
    )
    return Sums(np.zeros(len(potentials.lengths)), counts)


def add_sums(total: Sums, part: Selection, sums: Sums) -> None:
    """Into total, those of a part of the batch."""
    log_z, counts = sums
    total.log_z[part.sequences] = log_z
    total.counts.scores[part.tokens] = counts.scores
    total.counts.trans[:] += counts.trans
    if len(counts.node_weights):
        total.counts.node_weights[:] += counts.node_weights
    total.counts.fired_weights[part.fired] = counts.fired_weights
    total.counts.configuration_weights[part.configurations] = counts.configuration_weights
    if total.counts.edge_scores is not None:
        total.counts.edge_scores[part.tokens] = counts.edge_scores
