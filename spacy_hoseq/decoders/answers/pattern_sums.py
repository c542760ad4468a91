"""Sums over a batch with label patterns and configurations: expected counts E[f] of all features.

Sequences in which configurations fire are summed one by one, the others together.
"""

from typing import Any, List, Optional, Type

import numpy as np

from ..patterns import (
    InclusiveMessages,
    InnerNodes,
    MatrixMessages,
    NodeMessages,
    configured_sequences,
    exclusive_sums,
    inclusive_sums,
    keeps_digits,
    lattices_of,
)
from ..problem import Potentials, PotentialsGradient, Selection, Sums, Tuning


def feature_sums(potentials: Potentials, tuning: Tuning) -> Sums:
    """log Z, -inf where there is no path, and E[f] of all features; of complex scores, with their
    derivatives (`with_costs`). potentials: checked. RAISES ValueError [HS038, HS097]."""
    total = _zeros(potentials)
    configured = configured_sequences(potentials)
    others = np.setdiff1d(np.arange(len(potentials.lengths)), configured, assume_unique=True)
    for sequences, has_configurations in ((others, False), (configured, True)):
        if len(sequences):
            part = potentials.select(sequences)
            sums = None if has_configurations else _by_messages(part.potentials, tuning)
            sums = exclusive(part.potentials, tuning) if sums is None else sums
            _add(total, part, sums)
    return total


def exclusive(potentials: Potentials, tuning: Tuning) -> Sums:
    """Over exclusive states, in logarithms."""
    total = _zeros(potentials)
    for lattice, part in lattices_of(potentials, tuning):
        _add(total, part, exclusive_sums(lattice, part.potentials))
    return total


def _by_messages(potentials: Potentials, tuning: Tuning) -> Optional[Sums]:
    """By inclusive messages. RETURNS None if they lose digits."""
    if potentials.edge_scores is not None or not keeps_digits(potentials):
        return None
    trie = potentials.weights.trie
    fired = potentials.fired
    inner = trie.prepared(InnerNodes)
    messages: Type[InclusiveMessages] = NodeMessages
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
    zeros: List[Any] = []
    for part in potentials.numbers:
        zeros.append(None if part is None else np.zeros(part.shape, dtype))
    return Sums(np.zeros(len(potentials.lengths)), PotentialsGradient(*zeros))


def _add(total: Sums, part: Selection, sums: Sums) -> None:
    """Into total, those of a part of the batch."""
    log_z, counts = sums
    total.log_z[part.sequences] = log_z
    total.counts.scores[part.tokens] = counts.scores
    total.counts.trans[:] += counts.trans
    if len(total.counts.node_weights):
        total.counts.node_weights[:] += counts.node_weights
    total.counts.fired_weights[part.fired] = counts.fired_weights
    if len(part.configurations):
        total.counts.configuration_weights[part.configurations] = counts.configuration_weights
    if total.counts.edge_scores is not None:
        total.counts.edge_scores[part.tokens] = counts.edge_scores
