"""States for label patterns of ANY sign: the longest matches in the trie.

The state at token t is the longest node that y_1..y_t ends with. States are exclusive, so patterns
count in full whatever their sign: a state earns psi(u), the weights of all patterns that are
suffixes of u. After one more label y the state is the child of u by y, or else the state that
fail(u) goes to (the automaton of Aho & Corasick 1975):

    after(u, y) = child(u, y)  if it is a node,  else  after(fail(u), y);   after(single label a, y) = (a, y) or (y)

These are the forward and backward variables of Ye et al. (2009) and the "state partition" of
contiguous configurations in Qian et al. (2009, section 3.3). A step costs O(U L) arcs, where
inclusive messages (`nonnegative.py`, `inclusive_sums.py`) cost O(U + L^2).

Checked against enumeration in tests/decoders/patterns/test_longest_match.py.
"""

import numpy as np

from ...arrays import Floats, Ints
from ..problem import (
    Layout,
    Potentials,
    Weights,
    expand_fired,
    packed_edge_scores,
    packed_scores,
)
from .lattice import NO_ARCS, Arcs, Lattice, Step


class LongestMatch(Lattice):
    """Lattice over the nodes of a trie, for sequences that are walked together. layout: of their
    lengths. Scores, and weights of what fires, may be complex."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        weights = potentials.weights
        self.trie = weights.trie
        self.layout = layout
        self._emissions = packed_scores(potentials.scores, potentials.allowed, layout)  # (L, N)
        self._psi = weights.psi[:, None]  # (U, 1)
        self._fired = expand_fired(potentials.fired, self.trie, layout)
        self._weights = weights
        self._edge_scores = None
        if potentials.edge_scores is not None:
            packed = packed_edge_scores(potentials.edge_scores, layout)
            self._edge_scores = packed.reshape(len(packed), -1)  # (N, L * L)

    def gain(self, t: int) -> Floats:
        """Score of each node as the longest match. RETURNS (U, n)."""
        gain = self._emissions[:, self.layout.step(t)][self.trie.label] + self._psi
        if t in self._fired:
            nodes, columns, weights = self._fired[t]
            gain[nodes, columns] += weights
        return gain

    def step(self, t: int) -> Step:
        gain = self.gain(t)
        if t == 0:
            gain[self.trie.n_labels :] = -np.inf  # one label cannot end with two
            return Step(self.trie.label, gain, NO_ARCS, np.zeros((0, 1)))
        matches = self._weights.prepared(MatchArcs)
        scores = matches.scores[:, None]
        if self._edge_scores is not None:
            scores = scores + self._edge_scores[self.layout.step(t)].T[matches.pairs]  # (E, n)
        return Step(self.trie.label, gain, matches.arcs, scores)

    def labels(self, t: int) -> Ints:
        return self.trie.label


class MatchArcs:
    """All arcs u -> after(u, y) of the weights' trie. scores (E,): their transitions. pairs (E,):
    their labels, earlier * L + later. A node that no arc leads to (a single label all of whose
    pairs are nodes) gets one, which is forbidden."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        target = trie.after.reshape(-1).astype(np.intp)  # (U * L,)
        source = np.repeat(np.arange(len(trie)), trie.n_labels)
        unreached = np.flatnonzero(np.bincount(target, minlength=len(trie)) == 0)
        target = np.concatenate([target, unreached])
        source = np.concatenate([source, np.zeros(len(unreached), np.intp)])
        # by target, and of one target by source: so that ties fall to the lowest state
        order = np.argsort(target, kind="stable")
        source = source[order]
        target = target[order]
        first = np.searchsorted(target, np.arange(len(trie) + 1))
        self.arcs = Arcs(source, first)
        self.pairs: Ints = trie.label[source] * trie.n_labels + trie.label[target]
        self.scores: Floats = weights.precise_trans.take(self.pairs)
        self.scores[first[unreached]] = -np.inf
