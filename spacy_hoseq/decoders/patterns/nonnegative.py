"""Exact decoding with non-negative higher-order label patterns, in time linear in the nodes of
their trie.

The problem of Qian & Liu ("Sequence Labeling with Non-Negative Weighted Higher Order Features"),
not their Algorithm 1: that one is quadratic in the patterns and not exact in all cases. With
psi_t(u) = the sum of the weights at t of all patterns that are suffixes of node u, and V_t(u) = the
best score of ANY labelling of 1..t that ends with u ("inclusive"):

    own_t(u) = V_{t-1}(parent(u)) + trans[last two labels of u] + scores[t, last label of u] + psi_t(u)
               (single labels: max over all earlier labels, as in Viterbi)
    V_t(u)   = max(own_t(u), max over v with fail(v) = u of V_t(v))                              deepest nodes first

Why it is exact: own_t(u) counts the patterns that end at t and are suffixes of u. A labelling that
ends with u may end with a longer node v as well and then scores psi_t(v) >= psi_t(u), because
weights are >= 0: own_t(u) is at most its true score, and its true score is own_t of the longest
node that it ends with, which the second line passes down to u.
With a negative weight own_t(u) could exceed the true score; such weights are refused.

Checked against enumeration in tests/decoders/patterns/test_nonnegative.py.
"""

import numpy as np

from ...arrays import Floats, Ints
from ..chain import Arrivals
from ..problem import (
    TUNING,
    Paths,
    PatternTrie,
    Potentials,
    Tuning,
    Weights,
    expand_fired,
    make_layout,
    packed_scores,
)
from .lattice import Lattice, decode_lattices


def decode_nonnegative(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """Best label sequences of a chain with non-negative label patterns, for a batch of sequences.

    Maximises  sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t] + sum_t psi_t(longest node that y_1..y_t ends with).

    potentials: checked. Scores and trans may have any sign, weights of patterns are >= 0.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: the longer match, of several the
        first in the trie's preorder; then the lowest label. That depends on the sequence alone, not
        on the rest of the batch.
    RAISES ValueError [HS023].

    Time O(N (L^2 + U)) for U nodes, O(U) memory a token, in blocks as in `viterbi`. Qian & Liu,
    "Decoding Algorithm"; messages and failure links after Takhanov & Kolmogorov (2013), whose
    subtraction max does not need.
    """
    columns = max(tuning.min_columns, tuning.column_cells // len(potentials.weights.trie))
    parts = potentials.parts(columns, tuning.history_cells)
    lattices = ((_Messages(part.potentials, tuning), part) for part in parts)
    return decode_lattices(potentials, lattices, tuning)


class _Messages(Lattice):
    """States are rows: nodes in the trie's preorder. They are not exclusive; a path has any of those
    that it may be in."""

    def __init__(self, potentials: Potentials, tuning: Tuning) -> None:
        weights = potentials.weights
        layout = make_layout(potentials.lengths, len(potentials.scores))
        self.trie = weights.trie
        self.layout = layout
        self._n_labels = weights.n_labels
        self.n_final = weights.n_labels
        self._emissions = packed_scores(potentials.scores, potentials.allowed, layout)  # (L, N)
        self._trans = weights.precise_trans
        self._arrivals = weights.prepared(Arrivals)
        self._fired = expand_fired(potentials.fired, weights.trie, layout)
        self._rows = weights.trie.prepared(_Rows)
        self._bonus = weights.prepared(_bonus)

    def labels(self, t: int) -> Ints:
        return self._rows.label

    def forward(self, t: int, before: Floats | None) -> Floats:
        rows = self._rows
        n_labels = self._n_labels
        emissions = self._emissions[:, self.layout.step(t)]  # (L, n)
        v = np.empty((len(rows.label), emissions.shape[1]))  # (U, n)
        deep = v[n_labels:]  # of two or more labels, a view
        if before is None:
            v[:n_labels] = emissions
            deep[:] = -np.inf  # no pattern can have matched yet
            return v
        before = before[:, : emissions.shape[1]]
        # the first line of the recurrence: single labels after any label, others after their parent
        v[:n_labels] = self._arrivals(before[:n_labels]) + emissions
        np.take(before, rows.parent[n_labels:], axis=0, out=deep, mode="clip")
        deep += self._bonus
        # much faster than an index, for few columns
        deep += emissions.take(rows.label[n_labels:], 0)
        if t in self._fired:
            nodes, columns, weights = self._fired[t]
            v[rows.row[nodes], columns] += weights
        # the second line of the recurrence. A call of `reduceat` pays for every group and column, so
        # it is used for the few large groups, the single labels; other links go in rounds
        for longer, suffixes in rows.rounds:
            v[suffixes] = np.maximum(v.take(suffixes, 0), v.take(longer, 0))
        if len(rows.starts):
            longest = np.maximum.reduceat(deep, rows.starts, axis=0)
            v[rows.ending] = np.maximum(v[rows.ending], longest)
        return v

    def back(self, t: int, states: Ints, v: Floats, before: Floats) -> Ints:
        """The parent of the longest match, or of a single label the best label before."""
        longest = self._longest(states, v)  # (n,)
        result = self._rows.parent[longest]
        single = np.flatnonzero(result < 0)  # any label can come before these
        arriving = before[: self._n_labels, single] + self._trans[:, longest[single]]
        result[single] = arriving.argmax(axis=0)
        return result

    def _longest(self, states: Ints, v: Floats) -> Ints:
        """For each node u a node w that ends with u and whose own_t(w) is V_t(u). states (n,): one per
        column of v.

        V_t falls along failure links, so nodes of the same value as u are linked: w is the last of
        the first such line in preorder, which ends where the next node of that value does not end
        with the one before it.
        """
        rows = self._rows
        state = np.arange(len(states))
        # u itself is put in front of the others
        first = rows.first.take(states) + (states >= self._n_labels)
        sizes = rows.end.take(states) - first + 1
        stop = sizes.cumsum()
        columns = state.repeat(sizes)
        candidates = np.arange(len(columns)) + (first - 1 - stop + sizes).take(columns)
        candidates[stop - sizes] = states  # (C,): all nodes that end with each state
        flat = v.reshape(-1)
        values = flat.take(candidates * v.shape[1] + columns)
        # those that have the value of their state, in preorder
        hits = (values == flat.take(states * v.shape[1] + state).take(columns)).nonzero()[0]
        candidates = candidates.take(hits)
        columns = columns.take(hits)
        # a line stops where the next node does not end with this one
        stops = np.ones(len(hits), bool)
        stops[:-1] = (columns[1:] != columns[:-1]) | (
            candidates[1:] >= rows.end.take(candidates[:-1])
        )
        lines = stops.nonzero()[0]
        return np.asarray(candidates.take(lines.take(columns.take(lines).searchsorted(state))))


class _Rows:
    """Nodes as rows of the trie's preorder: what the walk needs of the trie alone. row (U,): of
    each node. label, parent, first, end (U,): of each row; parent -1 of single labels. rounds:
    failure links between rows of two or more labels, longest first: in a round no row receives
    twice. ending (n,): single labels that longer nodes end with; starts (n,): where these begin
    behind the single labels."""

    def __init__(self, trie: PatternTrie) -> None:
        self.row, node, first, end = trie.preorder
        self.label = trie.label[node]
        self.parent = np.where(trie.parent[node] >= 0, self.row[trie.parent[node]], -1)
        self.first = first[node]
        self.end = end[node]
        self.ending = np.flatnonzero((end > first)[: trie.n_labels])
        self.starts = first[self.ending] - trie.n_labels
        self.rounds: list[tuple[Ints, Ints]] = []
        for nodes, fail, targets, starts in reversed(trie.links[1:]):
            sizes = np.diff(starts, append=len(fail))
            for k in range(sizes.max()):
                groups = np.flatnonzero(sizes > k)
                longer = self.row[nodes][starts[groups] + k]
                self.rounds.append((longer, self.row[targets[groups]]))


def _bonus(weights: Weights) -> Floats:
    """trans and psi of the nodes of two or more labels, by row. RETURNS (U - L, 1)."""
    trie = weights.trie
    deep = trie.preorder.node[weights.n_labels :]
    trans = weights.precise_trans[trie.label[trie.parent[deep]], trie.label[deep]]
    return np.asarray(trans + weights.psi[deep])[:, None]
