"""Expected counts of all features, and their covariances with a cost, from sums over exclusive
states.

What a path of states has of each feature is a sum over its states and arcs, so that one way of
adding up serves both.
"""

from typing import Optional, Protocol, Tuple

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..chain import finite_range
from ..problem import Layout, PatternTrie, Potentials, PotentialsGradient, Sums, largest
from .lattice import Lattice, Step
from .lattice_sums import EPSILON, TOLERANCE, lattice_sums


class FeatureLattice(Lattice, Protocol):
    """A lattice whose states are the longest match in a trie, and more.

    nodes(t): of each state (S,). completed(t): configurations that end at the token (m,), and
    whether each arc (at the first token: each state) completes them (E, m).
    """

    trie: PatternTrie

    def nodes(self, t: int) -> Ints: ...

    def completed(self, t: int) -> Tuple[Ints, Mask]: ...


def exclusive_sums(
    lattice: FeatureLattice, potentials: Potentials, layout: Layout, costs: Optional[Lattice] = None
) -> Sums:
    """Of sequences walked together. potentials: that the lattice is made of, with their layout.
    costs: the lattice of costs in the place of scores. RAISES ValueError as `lattice_sums`.

    Memory O(S + U) a token, and that of edge_scores.
    """
    collected = _Counts(lattice, potentials, layout)
    by_rank = lattice_sums(lattice, collected.add, costs, measured=not is_small(potentials))
    log_z = np.empty(len(by_rank))
    log_z[layout.order] = by_rank
    return Sums(log_z, collected.counts(potentials))


def is_small(potentials: Potentials) -> bool:
    """Whether rounding can do nothing: in T tokens, sums of at most T of the ranges of a step are
    added up less than 4 T times."""
    weights = potentials.weights
    fired = potentials.fired
    configurations = potentials.configurations
    reach = largest(potentials.scores) + largest(weights.psi) + finite_range(weights.trans)
    reach += 0.0 if fired is None else np.abs(fired.weights).sum()
    reach += 0.0 if configurations is None else np.abs(configurations.weights).sum()
    reach += 0.0 if potentials.edge_scores is None else largest(potentials.edge_scores)
    n_tokens = float(potentials.lengths.max(initial=0))
    return bool(8 * EPSILON * n_tokens * n_tokens * reach < TOLERANCE)


class _Counts:
    """What states and arcs add up to."""

    def __init__(self, lattice: FeatureLattice, potentials: Potentials, layout: Layout) -> None:
        n_labels = lattice.trie.n_labels
        configurations = potentials.configurations
        self._lattice = lattice
        self._layout = layout
        self._longest = np.zeros((len(lattice.trie), len(layout.tokens)))  # packed
        self._trans = np.zeros((n_labels, n_labels))
        self._configurations = np.zeros(0 if configurations is None else len(configurations.first))
        self._edges: Optional[Floats] = None
        if potentials.edge_scores is not None:
            self._edges = np.zeros((len(layout.tokens), n_labels * n_labels))

    def add(self, t: int, states: Floats, arcs: Floats) -> None:
        here = self._layout.step(t)
        step = self._lattice.step(t)
        _add_rows(self._longest[:, here], self._lattice.nodes(t), states)
        ended, done = self._lattice.completed(t)
        if len(ended):
            self._configurations[ended] = (arcs if t else states)[:, 0] @ done
        if t > 0:
            self._add_pairs(here, step, self._lattice.step(t - 1).label, arcs)

    def _add_pairs(self, here: slice, step: Step, labels_before: Ints, arcs: Floats) -> None:
        n_labels = len(self._trans)
        pairs = labels_before[step.source] * n_labels + np.repeat(step.label, np.diff(step.first))
        if self._edges is not None:
            _add_rows(self._edges[here].T, pairs, arcs)
        by_pair = np.bincount(pairs, weights=arcs.sum(axis=1), minlength=n_labels * n_labels)
        self._trans += by_pair.reshape(self._trans.shape)

    def counts(self, potentials: Potentials) -> PotentialsGradient:
        trie = self._lattice.trie
        fired = potentials.fired
        tokens = self._layout.tokens
        place = np.empty(len(tokens), np.intp)
        place[tokens] = np.arange(len(tokens))
        matched = push_down(trie, self._longest)[:, place]  # (U, N)
        nodes = np.zeros(0)
        fired_counts = np.zeros(0)
        if potentials.weights.has_patterns:
            nodes = matched.sum(axis=1)
            nodes[: trie.n_labels] = 0.0
        if fired is not None:
            fired_counts = matched[fired.nodes, fired.tokens]
        edges = None if self._edges is None else self._edges[place].reshape(-1, *self._trans.shape)
        scores = np.ascontiguousarray(matched[: trie.n_labels].T)
        return PotentialsGradient(
            scores, self._trans, nodes, fired_counts, self._configurations, edges
        )


def _add_rows(total: Floats, rows: Ints, values: Floats) -> None:
    """Add values (m, n) to some rows (m,) of total, in place."""
    if values.shape[1] == 1:
        total[:, 0] += np.bincount(rows, values[:, 0], minlength=len(total))
    elif len(rows):
        order = np.argsort(rows, kind="stable")
        distinct, starts = np.unique(rows[order], return_index=True)
        total[distinct] += np.add.reduceat(values[order], starts, axis=0)


def push_down(trie: PatternTrie, longest: Floats) -> Floats:
    """From p(u is the longest match) to p(u is matched): a match of v is a match of all its
    suffixes. (U, n)."""
    matched: Floats = longest.copy()
    for level in reversed(trie.levels[1:]):
        # levels are sorted by fail
        targets, starts = np.unique(trie.fail[level], return_index=True)
        matched[targets] += np.add.reduceat(matched[level], starts, axis=0)
    return matched
