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

from typing import Callable, List, Optional

import numpy as np

from ...arrays import Floats, Ints
from ...errors import Errors
from ..chain import Arrivals, in_order
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
    packed_scores,
)


def decode_nonnegative(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """Best label sequence of a chain with non-negative label patterns, for a batch of sequences.

    Maximises  sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t] + sum_t psi_t(longest node that y_1..y_t ends with).

    potentials: scores and trans may have any sign, weights of patterns must be >= 0.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: the longer match, of several the
        first in the trie's preorder; then the lowest label. That depends on the sequence alone, not
        on the rest of the batch.
    RAISES ValueError [HS020-HS025] as `viterbi`; [HS032]: a weight is negative or not finite;
        [HS039], [HS099]: there are general configurations, or scores of label pairs at each token.

    Time O(N (L^2 + U)) for U nodes, O(U) memory a token, in blocks as in `viterbi`. Qian & Liu,
    "Decoding Algorithm"; messages and failure links after Takhanov & Kolmogorov (2013), whose
    subtraction max does not need.
    """
    potentials.refuse_configurations("decode_nonnegative")
    check_weights(potentials)
    return every_node(potentials.check(), tuning)


def every_node(potentials: Potentials, tuning: Tuning) -> Paths:
    """`decode_nonnegative` of a batch that has been checked. RAISES ValueError [HS023]."""
    cells = max(tuning.min_columns * len(potentials.weights.trie), tuning.column_cells)
    return decoded_in_parts(potentials, cells, _decode, tuning)


def decoded_in_parts(
    potentials: Potentials,
    cells: int,
    decode: Callable[[Potentials, Tuning], Paths],
    tuning: Tuning,
) -> Paths:
    """By `decode`, whose scores are -inf where there is no path. cells: of one step of the
    sequences that are walked together, nodes x sequences. RAISES ValueError [HS023]."""
    labels = np.zeros(len(potentials.scores), np.int32)
    best = np.zeros(len(potentials.lengths))
    columns = max(1, cells // len(potentials.weights.trie))
    for part in potentials.parts(columns, tuning.history_cells):
        labels[part.tokens], best[part.sequences] = decode(part.potentials, tuning)
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(best.argmin()))
    return Paths(labels, best)


def _decode(potentials: Potentials, tuning: Tuning) -> Paths:
    """The same for sequences that are walked together; scores are -inf where there is no path."""
    n_tokens = len(potentials.scores)
    layout = make_layout(potentials.lengths, n_tokens)
    lattice = _Lattice(potentials, layout, tuning)
    labels = np.zeros(n_tokens, np.int32)  # packed
    best = np.zeros(len(layout.lengths))  # by rank
    blocks = list(layout.blocks(len(potentials.weights.trie), tuning.history_cells))
    entries: List[Optional[Floats]] = [None]  # V before each block
    for first, last in blocks[:-1]:
        entries.append(lattice.forward(first, last, entries[-1])[-1])
    # the row each path is at, at t + 1, whose last label is already written
    rows = np.zeros(0, np.intp)
    for (first, last), entry in zip(reversed(blocks), reversed(entries), strict=False):
        history = lattice.forward(first, last, entry)
        for t in range(last - 1, first - 1, -1):
            v = history[t - first]
            n_on = len(rows)
            here = np.empty(v.shape[1], np.intp)
            if n_on < v.shape[1]:  # sequences whose last token is t
                singles = v[: lattice.n_labels, n_on:]
                best[n_on : v.shape[1]] = singles.max(axis=0)
                here[n_on:] = singles.argmax(axis=0)
            if n_on:
                here[:n_on] = lattice.before(rows, v)
            labels[layout.step(t)] = lattice.label[here]
            rows = lattice.longest(here, v)
    return in_order(labels, best, layout)


class _Rows:
    """What the walk needs of the weights alone, by rows of the trie's preorder. label, parent,
    first, end (U,); parent -1 of single labels. bonus (U - L, 1): trans and psi of the nodes of two
    or more labels."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        n_labels = weights.n_labels
        row, node, first, end = trie.preorder
        deep = node[n_labels:]  # node of each row behind the single labels
        bonus = (
            weights.precise_trans[trie.label[trie.parent[deep]], trie.label[deep]]
            + weights.psi[deep]
        )
        self.bonus = bonus[:, None]
        self.label = trie.label[node]
        self.parent = np.where(trie.parent[node] >= 0, row[trie.parent[node]], -1)
        # single labels that longer nodes end with
        self.ending = np.flatnonzero((end > first)[:n_labels])
        self.starts = first[self.ending] - n_labels
        self.first = first[node]
        self.end = end[node]


class _Lattice:
    """Scores in the order the walk needs them: (U, n) at each step, rows in the trie's preorder.

    The second line of the recurrence carries values down the failure links. A call of NumPy's
    `reduceat` pays for every group and column, so it is used for the few large groups, the single
    labels; all other links are taken in rounds.
    """

    def __init__(self, potentials: Potentials, layout: Layout, tuning: Tuning) -> None:
        weights = potentials.weights
        fired = potentials.fired
        rows = weights.prepared(_Rows)
        self.trie = weights.trie
        self.layout = layout
        self.n_labels = weights.n_labels
        self.tuning = tuning
        self.emissions = packed_scores(potentials.scores, potentials.allowed, layout)  # (L, N)
        self.trans = weights.precise_trans
        self.bonus = rows.bonus
        self.arriving = Arrivals(self.trans, tuning)
        self.row = self.trie.preorder.row
        self.label = rows.label
        self.parent = rows.parent
        self.ending = rows.ending
        self.starts = rows.starts
        self.first = rows.first
        self.end = rows.end
        self.extra = (
            expand_fired(fired, self.trie, layout)
            if fired is not None and len(fired.tokens)
            else {}
        )
        self.rounds = self.trie.row_rounds

    def forward(self, first: int, last: int, entry: Optional[Floats]) -> List[Floats]:
        """V_t (U, size_at_t[t]) for first <= t < last; `entry` = V at first - 1."""
        history = []
        previous = entry
        n_labels = self.n_labels
        n_rows = len(self.label)
        for t in range(first, last):
            emissions = self.emissions[:, self.layout.step(t)]  # (L, n)
            n = emissions.shape[1]
            v = np.empty((n_rows, n))
            if previous is None:
                v[:n_labels] = emissions
                v[n_labels:] = -np.inf  # no pattern can have matched yet
                history.append(v)
                previous = v
                continue
            previous = previous[:, :n]
            v[:n_labels] = self.arriving(previous[:n_labels]) + emissions
            deep = v[n_labels:]
            np.take(previous, self.parent[n_labels:], axis=0, out=deep, mode="clip")
            deep += self.bonus
            # much faster than an index, for few columns
            deep += emissions.take(self.label[n_labels:], 0)
            if t in self.extra:
                fired, columns, weights = self.extra[t]
                v[self.row[fired], columns] += weights
            # longer ones cannot have matched
            for nodes, suffixes in self.rounds[min(t + 1, self.trie.max_length)]:
                v[suffixes] = np.maximum(v.take(suffixes, 0), v.take(nodes, 0))
            if len(self.starts):
                v[self.ending] = np.maximum(
                    v[self.ending], np.maximum.reduceat(deep, self.starts, axis=0)
                )
            history.append(v)
            previous = v
        return history

    def longest(self, rows: Ints, v: Floats) -> Ints:
        """From node u to a node w that ends with u and whose own_t(w) is V_t(u). rows (n,): one per
        column of v.

        V_t falls along failure links, so nodes of the same value as u are linked: w is the last of
        the first such line in preorder, which ends where the next node of that value does not end
        with the one before it.
        """
        each = np.arange(len(rows))
        # u itself is put in front of the others
        first = self.first.take(rows) + (rows >= self.n_labels)
        sizes = self.end.take(rows) - first + 1
        stop = sizes.cumsum()
        columns = each.repeat(sizes)
        candidates = np.arange(len(columns)) + (first - 1 - stop + sizes).take(columns)
        candidates[stop - sizes] = rows
        flat = v.reshape(-1)
        values = flat.take(candidates * v.shape[1] + columns)
        hits = (values == flat.take(rows * v.shape[1] + each).take(columns)).nonzero()[0]
        candidates = candidates.take(hits)
        columns = columns.take(hits)
        stops = np.ones(len(hits), bool)
        stops[:-1] = (columns[1:] != columns[:-1]) | (
            candidates[1:] >= self.end.take(candidates[:-1])
        )
        lines = stops.nonzero()[0]
        return np.asarray(candidates.take(lines.take(columns.take(lines).searchsorted(each))))

    def before(self, rows: Ints, v: Floats) -> Ints:
        """The row at t - 1 that own_t(u) was built on: the parent's, or for a single label the best
        label before."""
        result = self.parent[rows]
        single = np.flatnonzero(result < 0)
        result[single] = (v[: self.n_labels, single] + self.trans[:, rows[single]]).argmax(axis=0)
        return result


def check_weights(potentials: Potentials) -> None:
    """RAISES ValueError [HS032]: a weight is negative or not finite; here alone exactness depends
    on their sign."""
    weights = potentials.weights
    fired = potentials.fired
    entries = [(np.arange(len(weights.trie)), weights.node_weights)]
    if fired is not None:
        entries.append((fired.nodes, fired.weights))
    for nodes, of_nodes in entries:
        bad = np.flatnonzero(~((of_nodes >= 0) & np.isfinite(of_nodes)))
        if len(bad):
            raise ValueError(
                Errors.HS032.format(
                    pattern=weights.trie.string(int(nodes[bad[0]])), weight=of_nodes[bad[0]]
                )
            )
