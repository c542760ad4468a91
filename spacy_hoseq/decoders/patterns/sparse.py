"""The recurrences of `best_path.py` and `nonnegative.py` over candidate labels only: exact, at a cost
that does not grow with L or U.

The candidates of all tokens are CELLS of a lattice, and EDGES lead from every candidate of a token
to every one of the next. Of a trie's longer nodes only those whose labels are all candidates at
their tokens can match. They are cells, too, and everything that links them is found for all tokens
of the batch at once, level by level of the trie:

    parent(c)   the cell of the node without its last label, one token earlier
    fail(c)     the cell of the longest proper suffix at the same token, whose labels are candidates, too

Then one pass in time order computes V(c), a second one backwards reads off the labels. Checked label
by label against the decoders of all labels in tests/decoders/patterns/test_sparse.py.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints
from ..problem import (
    Candidates,
    Fired,
    Layout,
    Paths,
    PatternTrie,
    Weights,
    make_layout,
    ranges,
    unpack_paths,
)


class Edges(NamedTuple):
    """Arcs between candidates, by target. source (E,): cells. trans (E,). first (C + 1,): of each
    target."""

    source: Ints
    trans: Floats
    first: Ints


def decode_sparse(
    candidates: Candidates,
    weights: Weights,
    lengths: AnyInts,
    *,
    fired: Fired | None = None,
    with_patterns: bool = True,
) -> Paths:
    """Best label sequence among the candidates, for a batch of sequences.

    As `viterbi` with the candidates as `allowed`, ties included; with patterns as
    `decode_nonnegative`: no weight of a pattern may be negative, and of labellings with the same
    score another may be chosen than there. Which one does not depend on the rest of the batch.
    RAISES ValueError [HS023]. Time and memory O(sum_t c_t c_{t-1} + cells) for c_t candidates at t.
    """
    layout = make_layout(lengths, len(candidates.first) - 1)
    packed = candidates if len(layout.order) == 1 else candidates.of(layout.tokens)
    before = tokens_before(layout)
    edges = edges_between(packed, before, weights.precise_trans)
    longer: LongerCells | None = None
    v = packed.scores.copy()  # (C,) V of each cell, in the end
    if with_patterns and weights.has_patterns:
        longer = LongerCells(packed, before, weights, fired, layout)
        v = longer.gain.copy()
    bounds = packed.first.take(layout.offset).tolist()  # first candidate of each step
    arrived = _walk(v, edges, bounds, longer)
    # the cell that each was reached from; of several that of the lowest label
    previous = np.full(len(v), -1, np.intp)
    if len(bounds) > 1 and bounds[1] < bounds[-1]:
        later = slice(bounds[1], bounds[-1])  # not at the start of a sequence
        previous[later] = edges.source.take(first_best(arrived, edges.first[bounds[1] :]))
    labels = packed.labels
    if longer is not None:
        previous = longer.previous(previous)
        labels = weights.trie.label[longer.node]
    return read_back(packed.first, v, labels, previous, layout)


def _walk(v: Floats, edges: Edges, bounds: list[int], longer: "LongerCells | None") -> Floats:
    """Fill in V, step by step. v (C,): what each cell adds to those before it. bounds (T + 1,): first
    candidate of each step. RETURNS the score that arrives by each edge (E,)."""
    arrived: Floats = edges.trans.copy()
    arcs = edges.first.take(bounds).tolist()
    for t in range(1, len(bounds) - 1):
        here = slice(bounds[t], bounds[t + 1])
        arriving = arrived[arcs[t] : arcs[t + 1]]  # a view
        arriving += v.take(edges.source[arcs[t] : arcs[t + 1]])
        v[here] += np.maximum.reduceat(arriving, edges.first[here] - arcs[t])
        if longer is not None:
            longer.carry(t, v)
    return arrived


def tokens_before(layout: Layout) -> Ints:
    """Packed token before each packed token, -1 at the start of a sequence. RETURNS (N,)."""
    n_first = len(layout.order)
    before = np.arange(len(layout.tokens))
    before[:n_first] = -1
    before[n_first:] -= layout.size_at_t[:-1].repeat(layout.size_at_t[1:])
    return before


def edges_between(packed: Candidates, before: Ints, trans: AnyFloats) -> Edges:
    """packed: candidates by packed token. before (N,): as `tokens_before`."""
    counts_here = packed.counts
    n_before = counts_here.take(before)
    n_before[before < 0] = 0
    counts = n_before.repeat(counts_here)
    source = ranges(packed.first.take(before).repeat(counts_here), counts)
    move = packed.labels.repeat(counts)
    move += (packed.labels * len(trans)).take(source)
    arcs: Floats = trans.reshape(-1).take(move).astype(np.float64, copy=False)
    first = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=first[1:])
    return Edges(source, arcs, first)


def read_back(first: Ints, v: Floats, label: Ints, before: Ints, layout: Layout) -> Paths:
    """Labels from the last tokens to the first. first (N + 1,): cells of each packed token, at
    which paths can end.

    v, label, before, by cell: score of the best path to it, its label, the cell at the token
    before. Of paths with the same score the one that ends with the lowest label.
    """
    at_end = first_best(v[: first[-1]], first)  # (N,) if a sequence ended here
    cells = np.empty(len(layout.tokens), np.intp)
    cell = cells[:0]
    offset = layout.offset.tolist()
    for t in range(len(offset) - 2, -1, -1):
        here = cells[offset[t] : offset[t + 1]]
        before.take(cell, out=here[: len(cell)], mode="clip")
        here[len(cell) :] = at_end[offset[t] + len(cell) : offset[t + 1]]
        cell = here
    return unpack_paths(label[cells].astype(np.int32), v[at_end[layout.ends]], layout)


def first_best(values: AnyFloats, first: Ints) -> Ints:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    starts = first[:-1]
    group = np.arange(len(starts)).repeat(first[1:] - starts)
    is_best = (values == np.maximum.reduceat(values, starts).take(group)).nonzero()[0]
    return np.asarray(is_best.take(group.take(is_best).searchsorted(np.arange(len(starts)))))


class Level(NamedTuple):
    """Cells of nodes of one depth. token (n,): packed, of the last label. node (n,). parent (n,): the
    cell of the node without its last label, -1 of single labels. single (n,): the cell of the last
    label alone."""

    token: Ints
    node: Ints
    parent: Ints
    single: Ints


def _level_after(cells: Level, packed: Candidates, after: Ints, trie: PatternTrie) -> Level:
    """The cells one label longer: each cell by each candidate of the next token, where that is a
    node. RETURNS parents as places in `cells`."""
    following = after[cells.token]
    counts = np.where(following >= 0, packed.counts[following], 0)
    source = np.repeat(np.arange(len(cells.node)), counts)
    single = ranges(packed.first[following], counts)
    child = trie.child(cells.node[source], packed.labels[single])
    exists = np.flatnonzero(child >= 0)
    single = single[exists]
    return Level(packed.tokens[single], child[exists], source[exists], single)


class LongerCells:
    """The cells of nodes of two or more labels, behind those of single labels; level by level,
    within a level in packed token order.

    node (C,): of all cells. gain (C,): what each adds to its parent; of single labels their scores.
    """

    def __init__(
        self,
        packed: Candidates,
        before: Ints,
        weights: Weights,
        fired: Fired | None,
        layout: Layout,
    ) -> None:
        trie = weights.trie
        self._n_singles = len(packed.labels)
        levels = self._make(packed, before, trie)
        starts = np.cumsum([self._n_singles, *map(len, levels)])
        deep = slice(self._n_singles, len(self.node))
        label = trie.label[self.node]
        self.gain: Floats = packed.scores[self._single]
        moves = label[self._parent[deep]], label[deep]
        self.gain[deep] += weights.precise_trans[moves] + weights.psi[self.node[deep]]
        # first cell of each step, of each level
        self._bounds = [
            np.searchsorted(tokens, layout.offset) + start
            for tokens, start in zip(levels, starts, strict=False)
        ]
        if fired is not None and len(fired.tokens):
            # patterns without a cell cannot match
            at = self._at(layout.place[fired.tokens], fired.nodes, len(trie))
            extra = np.bincount(at[at >= 0], fired.weights[at >= 0], minlength=len(self.gain))
            for start, stop in zip(starts[:-1], starts[1:], strict=True):
                extra[start:stop] += extra[self._fail[start:stop]]
            self.gain += extra
        self._via = np.arange(len(self.gain))  # the longer cell that V came from

    def carry(self, t: int, v: Floats) -> None:
        """V of the longer cells of a step, and of single labels that they end with."""
        for bound in self._bounds:
            level = slice(bound[t], bound[t + 1])
            v[level] += v[self._parent[level]]
        for bound in reversed(self._bounds):
            here = np.arange(bound[t], bound[t + 1])
            suffix = self._fail[here]
            np.maximum.at(v, suffix, v[here])
            equal = v[suffix] == v[here]
            self._via[suffix[equal]] = here[equal]

    def previous(self, of_singles: Ints) -> Ints:
        """The cell at the token before that V of each cell was built on. RETURNS (C,)."""
        via = self._via
        while (via[via] != via).any():  # follow the longer matches to the end
            via = via[via]
        return np.where(np.arange(len(via)) < self._n_singles, of_singles, self._parent)[via]

    def _make(self, packed: Candidates, before: Ints, trie: PatternTrie) -> list[Ints]:
        """Find the cells, level by level. RETURNS the packed tokens of each level."""
        after = np.full(len(before), -1, np.intp)  # token behind each token
        after[before[before >= 0]] = np.flatnonzero(before >= 0)
        cells = Level(
            packed.tokens,
            packed.labels,
            np.full(len(packed.labels), -1),
            np.arange(len(packed.labels)),
        )
        levels = [cells]
        start = 0
        while len(levels) < trie.max_length and len(cells.node):
            following = _level_after(cells, packed, after, trie)
            levels.append(following._replace(parent=start + following.parent))
            start += len(cells.node)
            cells = following
        self._token, self.node, self._parent, self._single = (
            np.concatenate(parts) for parts in zip(*levels, strict=True)
        )
        self._fail = self._single.copy()
        suffix = trie.fail[self.node]
        longer = np.flatnonzero(suffix >= trie.n_labels)  # others fail to their last label
        self._fail[longer] = self._at(self._token[longer], suffix[longer], len(trie))
        return [level.token for level in levels[1:]]

    def _at(self, token: Ints, node: Ints, n_nodes: int) -> Ints:
        """The cells of nodes of two or more labels at tokens, -1 where there are none. RETURNS
        (n,)."""
        deep = slice(self._n_singles, len(self.node))
        keys = np.append(self._token[deep] * n_nodes + self.node[deep], -1)
        order = np.argsort(keys)
        wanted = token * n_nodes + node
        at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
        return np.where(keys[at] == wanted, self._n_singles + at, -1)
