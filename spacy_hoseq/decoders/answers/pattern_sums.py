"""Sums over a batch with label patterns and configurations: which walk sums which sequences,
decided beforehand.

    label patterns, weights that keep digits        inclusive messages, scaled     O(U + L^2) a token
    label patterns of any size and sign             exclusive states, logarithms   O(U L)
    label patterns, scores of label pairs           the same
    a chain of which scaled messages lose digits    the same; states are labels    O(L^2)
    sequences in which configurations fire          states made on the fly         O(S L)

Ranges of transitions and weights tell which it is. Only where transitions are forbidden, shares can
vanish that ranges say nothing of; then the walk of inclusive messages has no result, and its
sequences are summed as in the second row.
"""

from typing import Callable, Optional

import numpy as np

from ...arrays import Ints
from ..chain import chain_posterior
from ..patterns import (
    ConfigurationLattice,
    LongestMatch,
    exclusive_sums,
    inclusive_sums,
    keeps_digits,
)
from ..problem import Potentials, PotentialsGradient, Selection, Sums, Tuning, make_layout

Walk = Callable[[Potentials, Optional[Potentials], Tuning], Sums]


def feature_sums(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    """E[f] of all features; with costs their covariances with c(y) = score(x, y) under `costs`,
    which differ in scores and in what fires. potentials: checked. log_z is -inf where there is no
    path. RAISES ValueError [HS038, HS097]."""
    spanned = spanned_sequences(potentials)
    if not len(spanned):
        return _contiguous(potentials, costs, tuning)
    total = _no_sums(potentials)
    rest = np.setdiff1d(np.arange(len(potentials.lengths)), spanned, assume_unique=True)
    if len(rest):
        _add(total, potentials.select(rest), costs, _without_configurations, tuning)
    for sequence in spanned.tolist():
        _add(total, potentials.select(np.array([sequence])), costs, _with_configurations, tuning)
    return total


def spanned_sequences(potentials: Potentials) -> Ints:
    """Sequences in which configurations fire. RETURNS (n,)."""
    configurations = potentials.configurations
    if configurations is None:
        return np.zeros(0, np.intp)
    return np.unique(
        np.searchsorted(np.cumsum(potentials.lengths), configurations.first, side="right")
    )


def _without_configurations(
    potentials: Potentials, costs: Optional[Potentials], tuning: Tuning
) -> Sums:
    """The sequences in which none fire, where others have some: a chain as long as it keeps its
    digits."""
    chain = None
    if not potentials.weights.has_patterns:
        chain = chain_posterior(potentials, potentials.lengths)
    if chain is None:
        return _contiguous(potentials, costs, tuning)
    return Sums(chain.log_z, chain.expected if costs is None else chain.backprop(costs.scores))


def _contiguous(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    """Without configurations."""
    needs_states = potentials.edge_scores is not None or not potentials.weights.has_patterns
    if needs_states or not keeps_digits(potentials):
        return exclusive(potentials, costs, tuning)
    total = _no_sums(potentials)
    for part in potentials.parts(
        len(potentials.lengths), tuning.sum_cells // len(potentials.weights.trie)
    ):
        _add(total, part, costs, _inclusive, tuning)
    return total


def _inclusive(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    sums = inclusive_sums(potentials, costs)
    return exclusive(potentials, costs, tuning) if sums is None else sums


def exclusive(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    """Over longest matches; without patterns these are the labels."""
    total = _no_sums(potentials)
    trie = potentials.weights.trie
    columns = max(1, tuning.arc_cells // (len(trie) * trie.n_labels))
    for part in potentials.parts(columns, tuning.sum_cells // len(trie)):
        _add(total, part, costs, _longest_matches, tuning)
    return total


def _longest_matches(potentials: Potentials, costs: Optional[Potentials], tuning: Tuning) -> Sums:
    layout = make_layout(potentials.lengths, len(potentials.scores))
    of_costs = None if costs is None else LongestMatch(costs, layout)
    return exclusive_sums(LongestMatch(potentials, layout), potentials, layout, of_costs)


def _with_configurations(
    potentials: Potentials, costs: Optional[Potentials], tuning: Tuning
) -> Sums:
    """Of one sequence. Costs have the same labels allowed, so that their lattice has the same
    states."""
    layout = make_layout(potentials.lengths, len(potentials.scores))
    of_costs = (
        None if costs is None else ConfigurationLattice(costs._replace(allowed=potentials.allowed))
    )
    return exclusive_sums(ConfigurationLattice(potentials), potentials, layout, of_costs)


def _no_sums(potentials: Potentials) -> Sums:
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


def _add(
    total: Sums, part: Selection, costs: Optional[Potentials], walk: Walk, tuning: Tuning
) -> None:
    """Into total, what a walk over a part of the batch finds."""
    of_costs = None if costs is None else costs.select(part.sequences).potentials
    log_z, counts = walk(part.potentials, of_costs, tuning)
    total.log_z[part.sequences] = log_z
    total.counts.scores[part.tokens] = counts.scores
    total.counts.trans[:] += counts.trans
    if len(counts.node_weights):
        total.counts.node_weights[:] += counts.node_weights
    total.counts.fired_weights[part.fired] = counts.fired_weights
    total.counts.configuration_weights[part.configurations] = counts.configuration_weights
    if total.counts.edge_scores is not None:
        total.counts.edge_scores[part.tokens] = counts.edge_scores
