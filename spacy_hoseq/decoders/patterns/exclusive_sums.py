"""Expected counts of all features from sums over exclusive states.

What a path of states has of each feature is a sum over its states and arcs.
"""

import numpy as np

from ...arrays import Floats
from ..chain import finite_range
from ..problem import Groups, Potentials, PotentialsGradient, Sums, binned, largest
from .lattice import Lattice
from .lattice_sums import EPSILON, TOLERANCE, lattice_sums


def exclusive_sums(lattice: Lattice, potentials: Potentials) -> Sums:
    """log Z and expected counts of the sequences of a lattice. RAISES ValueError as `lattice_sums`.

    Memory O(S + U) a token, and that of edge_scores.
    """
    counts = _Counts(lattice, potentials)
    by_rank = lattice_sums(lattice, counts.add, measured=not is_small(potentials))
    log_z = np.empty(len(by_rank))
    log_z[lattice.layout.order] = by_rank
    return Sums(log_z, counts.result(potentials))


def is_small(potentials: Potentials) -> bool:
    """Rounding can do nothing: in T tokens, sums of at most T of the ranges of a step are added up
    less than 4 T times."""
    weights = potentials.weights
    numbers = potentials.numbers
    reach = largest(potentials.scores.real) + largest(weights.psi) + finite_range(weights.trans)
    reach += np.abs(numbers.fired_weights).sum() + np.abs(numbers.configuration_weights).sum()
    reach += 0.0 if numbers.edge_scores is None else largest(numbers.edge_scores)
    n_tokens = float(potentials.lengths.max(initial=0))
    return bool(8 * EPSILON * n_tokens * n_tokens * reach < TOLERANCE)


class _Counts:
    """Expected counts, added up token by token."""

    def __init__(self, lattice: Lattice, potentials: Potentials) -> None:
        n_labels = lattice.trie.n_labels
        n_tokens = len(potentials.scores)
        n_configurations = len(potentials.numbers.configuration_weights)
        dtype = np.result_type(potentials.scores, np.float64)
        self._lattice = lattice
        self._longest = np.zeros((len(lattice.trie), n_tokens), dtype)  # packed
        self._pairs = np.zeros(n_labels * n_labels, dtype)
        self._configurations = np.zeros(n_configurations, dtype)
        has_edges = potentials.edge_scores is not None
        self._edges = np.zeros((n_labels * n_labels, n_tokens if has_edges else 0), dtype)

    def add(self, t: int, states: Floats, arcs: Floats) -> None:
        lattice = self._lattice
        here = lattice.layout.step(t)
        nodes = Groups(lattice.nodes(t))
        self._longest[nodes.keys, here] = nodes.added(states)
        ended, done = lattice.completed(t)
        if len(ended):
            self._configurations[ended] = (arcs if t else states)[:, 0] @ done
        if t > 0:
            into = lattice.step(t).arcs
            earlier = lattice.labels(t - 1)[into.source]
            pairs = earlier * lattice.trie.n_labels + lattice.labels(t)[into.target]
            self._pairs += binned(pairs, arcs.sum(axis=1), len(self._pairs))
            if self._edges.size:
                groups = Groups(pairs)
                self._edges[groups.keys, here] = groups.added(arcs)

    def result(self, potentials: Potentials) -> PotentialsGradient:
        trie = self._lattice.trie
        n_labels = trie.n_labels
        fired = potentials.fired
        place = self._lattice.layout.place
        matched = trie.matched(self._longest)[:, place]  # (U, N)
        nodes = np.zeros(0)
        if potentials.weights.has_patterns:
            nodes = matched.sum(axis=1)
            nodes[:n_labels] = 0.0
        edges = None
        if potentials.edge_scores is not None:
            edges = self._edges[:, place].T.reshape(-1, n_labels, n_labels)
        return PotentialsGradient(
            np.ascontiguousarray(matched[:n_labels].T),
            self._pairs.reshape(n_labels, n_labels),
            nodes,
            np.zeros(0) if fired is None else matched[fired.nodes, fired.tokens],
            self._configurations,
            edges,
        )
