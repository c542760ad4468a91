"""Exact inference with label patterns of ANY sign: states are the longest matches in the trie.

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

from typing import Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..problem import (
    TUNING,
    Layout,
    NoPath,
    Paths,
    Potentials,
    Tuning,
    Weights,
    expand_fired,
    make_layout,
    packed_edge_scores,
    packed_scores,
)
from .lattice import Step, best_paths


class LongestMatch:
    """Lattice over the nodes of a trie, for sequences that are walked together. layout: of their
    lengths."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        weights = potentials.weights
        fired = potentials.fired
        edge_scores = potentials.edge_scores
        self.trie = weights.trie
        self.layout = layout
        self.size_at_t = layout.size_at_t
        self._emissions = packed_scores(potentials.scores, potentials.allowed, layout)  # (L, N)
        self._psi = weights.psi[:, None]  # (U, 1)
        self._extra = (
            expand_fired(fired, self.trie, layout)
            if fired is not None and len(fired.tokens)
            else {}
        )
        self._arcs = weights.prepared(MatchArcs)
        self._edge_scores: Optional[Floats] = None
        if edge_scores is not None:
            packed = packed_edge_scores(edge_scores, layout)
            self._edge_scores = packed.reshape(len(packed), -1)  # (N, L * L)

    def step(self, t: int) -> Step:
        here = self.layout.step(t)
        arcs = self._arcs
        gain = self._emissions[:, here][self.trie.label] + self._psi  # (U, n)
        if t in self._extra:
            nodes, columns, weights = self._extra[t]
            gain[nodes, columns] += weights
        if t == 0:
            gain[self.trie.n_labels :] = -np.inf  # one label cannot end with two
            nothing = np.zeros(0, np.intp)
            return Step(self.trie.label, gain, nothing, nothing, np.zeros(0))
        scores = arcs.scores
        if self._edge_scores is not None:
            scores = scores[:, None] + self._edge_scores[here].T[arcs.pairs]  # (E, n)
        return Step(self.trie.label, gain, arcs.source, arcs.first, scores)

    def nodes(self, t: int) -> Ints:
        return np.arange(len(self.trie))

    def completed(self, t: int) -> Tuple[Ints, Mask]:
        """No configurations."""
        return np.zeros(0, np.intp), np.zeros((0, 0), bool)


class MatchArcs:
    """All arcs u -> after(u, y) of the weights' trie, sorted by target. source (E,), first (U +
    1,), scores (E,): as in `Step`. pairs (E,): their labels, earlier * L + later. A node that no
    arc leads to (a single label all of whose pairs are nodes) gets one, which is forbidden."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        target = trie.after.reshape(-1).astype(np.intp)
        source = np.repeat(np.arange(len(trie)), trie.n_labels)
        unreached = np.flatnonzero(np.bincount(target, minlength=len(trie)) == 0)
        target = np.concatenate([target, unreached])
        source = np.concatenate([source, np.zeros(len(unreached), np.intp)])
        order = np.argsort(target, kind="stable")
        self.source = source[order]
        target = target[order]
        self.first: Ints = np.searchsorted(target, np.arange(len(trie) + 1))
        self.pairs: Ints = trie.label[self.source] * trie.n_labels + trie.label[target]
        self.scores: Floats = weights.precise_trans.take(self.pairs)
        self.scores[self.first[unreached]] = -np.inf


def decode_any_sign(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """Best label sequence of a chain with label patterns of any sign, for a batch of sequences.

    Maximises the objective of `decode_nonnegative`; weights may be negative.
    RETURNS (Paths). Ties: the lowest node, decided right to left.
    RAISES ValueError [HS020-HS025]; [HS036]: a weight is NaN or infinite; [HS039], [HS099]: there
    are general configurations, or scores of label pairs at each token.

    Time O(N U L) for U nodes, memory O(U) a token, in blocks as in `viterbi`.
    """
    potentials.refuse_configurations("any_sign_decoder")
    return any_sign_checked(potentials.check(), tuning=tuning)


def any_sign_checked(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """`decode_any_sign` of a batch that has been checked. RAISES ValueError [HS023]."""
    trie = potentials.weights.trie
    labels = np.zeros(len(potentials.scores), np.int32)
    best = np.zeros(len(potentials.lengths))
    columns = max(1, tuning.arc_cells // (len(trie) * trie.n_labels))
    for part in potentials.parts(columns, tuning.history_cells):
        layout = make_layout(part.potentials.lengths, len(part.tokens))
        paths = best_paths(LongestMatch(part.potentials, layout), tuning=tuning)
        labels[part.tokens[layout.tokens]] = paths.labels
        best[part.sequences[layout.order]] = paths.scores
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(best.argmin()))
    return Paths(labels, best)
