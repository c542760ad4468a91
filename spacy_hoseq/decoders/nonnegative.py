"""Exact decoding with non-negative higher-order label patterns, in time linear in the nodes of their trie.

The problem of Qian & Liu ("Sequence Labeling with Non-Negative Weighted Higher Order Features"), not their Algorithm 1:
that one is quadratic in the patterns and not exact in all cases. With psi_t(u) = the sum of the weights at t of all
patterns that are suffixes of node u, and V_t(u) = the best score of ANY labelling of 1..t that ends with u
("inclusive"):

    own_t(u) = V_{t-1}(parent(u)) + trans[last two labels of u] + scores[t, last label of u] + psi_t(u)
               (single labels: max over all earlier labels, as in Viterbi)
    V_t(u)   = max(own_t(u), max over v with fail(v) = u of V_t(v))                              deepest nodes first

Why it is exact: own_t(u) counts the patterns that end at t and are suffixes of u. A labelling that ends with u may
end with a longer node v as well and then scores psi_t(v) >= psi_t(u), because weights are >= 0: own_t(u) is at most
its true score, and its true score is own_t of the longest node that it ends with, which the second line passes down
to u.
With a negative weight own_t(u) could exceed the true score; such weights are refused.

Checked against enumeration in tests/decoders/test_nonnegative.py.
"""

from typing import Dict, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .layout import Layout, check_scores, make_layout, packed_scores, ranges
from .records import Paths
from .trie import Fired, PatternScores, PatternTrie
from .viterbi import max_plus, unpack_paths

Floats = NDArray[np.float64]


def decode_nonnegative(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    patterns: PatternScores,
    lengths: NDArray[np.integer],
    *,
    allowed: Optional[NDArray[np.bool_]] = None,
) -> Paths:
    """Best label sequence of a chain with non-negative label patterns, for a batch of sequences.

    Maximises  sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t] + sum_t psi_t(longest node that y_1..y_t ends with).

    scores (N, L), trans (L, L), lengths (S,), allowed (N, L) bool: as in `viterbi`; these may have any sign.
    patterns: the trie and the weights of its nodes, all >= 0.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: the node with the lowest number, which is
        deterministic for a sequence and independent of the rest of the batch.
    RAISES ValueError [HS020-HS025] as `viterbi`; [HS032]: a weight is negative or not finite.

    Time O(N (L^2 + U)) for U nodes, O(U) memory a token, in blocks as in `viterbi`. Qian & Liu, "Decoding Algorithm";
    messages and failure links after Takhanov & Kolmogorov (2013), whose subtraction max does not need.
    """
    check_scores(scores, trans, allowed)
    check_weights(patterns)
    trie = patterns.trie
    layout = make_layout(lengths, len(scores))
    lattice = _Lattice(scores, trans, patterns, layout, allowed)
    labels = np.zeros(len(scores), np.int32)  # packed
    best = np.zeros(len(layout.lengths))  # by rank
    blocks = list(layout.blocks(len(trie)))
    entries: List[Optional[Floats]] = [None]  # V before each block
    for first, last in blocks[:-1]:
        entries.append(lattice.forward(first, last, entries[-1])[-1])
    nodes = np.zeros(0, np.intp)  # the node each path is at, at t + 1, whose last label is already written
    for (first, last), entry in zip(reversed(blocks), reversed(entries), strict=False):
        history = lattice.forward(first, last, entry)
        for t in range(last - 1, first - 1, -1):
            v, n_on = history[t - first], len(nodes)
            singles = v[: trie.n_labels]
            best[n_on : v.shape[1]] = singles[:, n_on:].max(axis=0)  # sequences whose last token is t
            here = np.empty(v.shape[1], np.intp)
            here[n_on:] = singles[:, n_on:].argmax(axis=0)
            here[:n_on] = lattice.before(nodes, v)
            labels[layout.step(t)] = trie.label[here]
            nodes = lattice.longest(here, v)
    return unpack_paths(labels, best, layout)


class _Lattice:
    """Scores in the order the walk needs them: node-major, (U, n) at each step."""

    def __init__(
        self,
        scores: NDArray[np.floating],
        trans: NDArray[np.floating],
        patterns: PatternScores,
        layout: Layout,
        allowed: Optional[NDArray[np.bool_]],
    ) -> None:
        trie, fired = patterns.trie, patterns.fired
        self.trie, self.layout = trie, layout
        self.emissions = packed_scores(scores, allowed, layout)  # (L, N)
        self.trans = trans.astype(np.float64)
        deep = slice(trie.n_labels, len(trie))
        psi = trie.suffix_sums(patterns.weights)
        self.bonus = (self.trans[trie.label[trie.parent[deep]], trie.label[deep]] + psi[deep])[:, None]  # (U - L, 1)
        self.parent, self.label = trie.parent[deep], trie.label[deep]
        self.merges = [_merge(trie, level) for level in reversed(trie.levels[1:])]  # deepest first
        self.extra = expand_fired(fired, trie, layout) if fired is not None and len(fired.tokens) else {}
        order = np.argsort(trie.fail[deep], kind="stable") + trie.n_labels
        self.suffix_of = order  # deep nodes grouped by their failure link
        self.first_longer = np.searchsorted(trie.fail[order], np.arange(len(trie) + 1))

    def forward(self, first: int, last: int, entry: Optional[Floats]) -> List[Floats]:
        """V_t (U, size_at_t[t]) for first <= t < last; `entry` = V at first - 1."""
        history = []
        previous = entry
        n_labels = self.trie.n_labels
        for t in range(first, last):
            emissions = self.emissions[:, self.layout.step(t)]  # (L, n)
            n = emissions.shape[1]
            v = np.empty((len(self.trie), n))
            if previous is None:
                v[:n_labels] = emissions
                v[n_labels:] = -np.inf  # no pattern can have matched yet
            else:
                previous = previous[:, :n]
                v[:n_labels] = max_plus(previous[:n_labels], self.trans) + emissions
                deep = v[n_labels:]
                np.take(previous, self.parent, axis=0, out=deep, mode="clip")
                deep += self.bonus
                deep += emissions[self.label]
                if t in self.extra:
                    nodes, columns, weights = self.extra[t]
                    v[nodes, columns] += weights
            for targets, level, starts in self.merges:
                v[targets] = np.maximum(v[targets], np.maximum.reduceat(v[level], starts, axis=0))
            history.append(v)
            previous = v
        return history

    def longest(self, nodes: NDArray[np.intp], v: Floats) -> NDArray[np.intp]:
        """From node u to the node w that ends with u and whose own_t(w) is V_t(u). nodes (n,): one per column of v."""
        nodes = nodes.copy()
        open_ = np.arange(len(nodes))
        while len(open_):
            first, last = self.first_longer[nodes[open_]], self.first_longer[nodes[open_] + 1]
            columns = np.repeat(open_, last - first)
            longer = self.suffix_of[ranges(first, last - first)]
            hits = np.flatnonzero(v[longer, columns] == v[nodes[columns], columns])
            open_, chosen = np.unique(columns[hits], return_index=True)
            nodes[open_] = longer[hits[chosen]]
        return nodes

    def before(self, nodes: NDArray[np.intp], v: Floats) -> NDArray[np.intp]:
        """The node at t - 1 that own_t(u) was built on: the parent, or for a single label the best label before."""
        result = self.trie.parent[nodes]
        single = np.flatnonzero(result < 0)
        trans = self.trans[:, nodes[single]]  # (L, n)
        result[single] = (v[: self.trie.n_labels, single] + trans).argmax(axis=0)
        return result


def _merge(trie: PatternTrie, level: slice) -> Tuple[NDArray[np.intp], slice, NDArray[np.intp]]:
    """Failure links of one level, which is sorted by them: (targets, level, first node of each target in the level)."""
    targets, starts = np.unique(trie.fail[level], return_index=True)
    return targets, level, starts


def expand_fired(
    fired: Fired, trie: PatternTrie, layout: Layout
) -> Dict[int, Tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Weights of fired patterns, for all nodes that end with them. Step -> (nodes, columns, weights), unique."""
    firing, which = np.unique(fired.nodes, return_inverse=True)
    longer = trie.with_suffix(firing)
    counts = np.array([len(nodes) for nodes in longer])[which]
    nodes = np.concatenate([longer[i] for i in which])
    place = np.empty(len(layout.tokens), np.intp)
    place[layout.tokens] = np.arange(len(layout.tokens))
    packed = np.repeat(place[fired.tokens], counts)
    keys, inverse = np.unique(packed * len(trie) + nodes, return_inverse=True)
    weights = np.asarray(np.bincount(inverse, weights=np.repeat(fired.weights, counts)), np.float64)
    packed, nodes = np.divmod(keys, len(trie))
    steps = np.searchsorted(layout.offset, packed, side="right") - 1
    cuts = np.flatnonzero(np.diff(steps, prepend=-1))
    bounds = np.append(cuts, len(steps))
    return {
        int(steps[a]): (nodes[a:b], packed[a:b] - layout.offset[steps[a]], weights[a:b])
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    }


def check_weights(patterns: PatternScores) -> None:
    """RAISES ValueError [HS032]: a weight is negative or not finite; here alone exactness depends on their sign."""
    nodes, weights = np.arange(len(patterns.trie)), patterns.weights
    if patterns.fired is not None:
        nodes = np.concatenate([nodes, patterns.fired.nodes])
        weights = np.concatenate([weights, patterns.fired.weights])
    bad = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(bad):
        string = patterns.trie.string(int(nodes[bad[0]]))
        raise ValueError(Errors.HS032.format(pattern=string, weight=weights[bad[0]]))
