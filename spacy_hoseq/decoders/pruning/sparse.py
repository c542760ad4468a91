"""The recurrence of `nonnegative.py` over candidate labels only: exact, at a cost that does not
grow with L or U.

After pruning few labels are left at a token (`pruned.py`), and of the trie's nodes only those whose
labels are all candidates at their tokens can match. These pairs (token, node) are the CELLS of a
lattice, and everything that links them is found for all tokens of the batch at once, level by level
of the trie:

    parent(c)   the cell of the node without its last label, one token earlier
    fail(c)     the cell of the longest proper suffix at the same token, whose labels are candidates, too

Then one pass in time order computes own(c) and V(c), a second one backwards reads off the labels.
Checked label by label against `decode_nonnegative` and against enumeration in
tests/decoders/pruning/test_sparse.py.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints
from ..problem import Fired, Layout, Paths, PatternTrie, Weights, make_layout, ranges
from .candidates import Candidates
from .sparse_viterbi import Edges, edges_between, read_back, tokens_before


def decode_sparse(
    candidates: Candidates, weights: Weights, fired: Optional[Fired], lengths: AnyInts
) -> Paths:
    """Best label sequence among the candidates, for a batch of sequences.

    As `decode_nonnegative` with the candidates as `allowed`; meant for few candidates a token. No
    weight of a pattern may be negative. Of labellings with the same score another may be chosen
    than there; which one does not depend on the rest of the batch.

    Time and memory O(sum_t c_t c_{t-1} + cells) for c_t candidates at t.
    """
    trie = weights.trie
    trans = weights.precise_trans
    layout = make_layout(lengths, len(candidates.first) - 1)
    packed = candidates.of(layout.tokens)
    before = tokens_before(layout)
    cells = _make_cells(packed, before, trie)
    edges = edges_between(packed, before, trans)
    label = trie.label[cells.node]
    gain = packed.scores[cells.single]  # (C,)
    deep = slice(len(packed.labels), len(gain))
    gain[deep] += trans[label[cells.parent[deep]], label[deep]]
    gain[deep] += _psi(cells, weights, fired, layout)[deep]
    own, v, via = _forward(cells, gain, edges, layout)
    previous = _before(cells, own, v, via, gain, edges)
    return read_back(packed.first, v, label, previous, layout)


class PatternCells(NamedTuple):
    """All cells, level by level (single labels first), within a level in packed token order.

    token (C,): packed token. node (C,): of the trie. parent, fail (C,): cells; those of single
        labels count for nothing.
    single (C,): the cell of the last label alone. levels: slice of the cells of each depth.
    """

    token: Ints
    node: Ints
    parent: Ints
    fail: Ints
    single: Ints
    levels: List[slice]

    def at(self, token: Ints, node: Ints, n_nodes: int) -> Ints:
        """The cells of nodes of two or more labels at tokens, -1 where there are none. RETURNS
        (n,)."""
        n_singles = self.levels[0].stop
        keys = np.append(self.token[n_singles:] * n_nodes + self.node[n_singles:], -1)
        order = np.argsort(keys)
        wanted = token * n_nodes + node
        at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
        return np.where(keys[at] == wanted, n_singles + at, -1)


def _make_cells(packed: Candidates, before: Ints, trie: PatternTrie) -> PatternCells:
    after = np.full(len(before), -1, np.intp)
    after[before[before >= 0]] = np.flatnonzero(before >= 0)
    n_singles = len(packed.labels)
    token = packed.tokens
    node = packed.labels
    levels = [slice(0, n_singles)]
    tokens = [token]
    nodes = [node]
    parents = [np.full(n_singles, -1)]
    singles = [np.arange(n_singles)]
    while len(levels) < trie.max_length and len(node):
        # each cell of the last level by each candidate of the next token
        following = after[token]
        counts = np.where(following >= 0, packed.counts[following], 0)
        source = np.repeat(np.arange(len(node)), counts)
        single = ranges(packed.first[following], counts)
        child = trie.child(node[source], packed.labels[single])
        exists = np.flatnonzero(child >= 0)
        parents.append(levels[-1].start + source[exists])
        singles.append(single[exists])
        token = packed.tokens[single[exists]]
        node = child[exists]
        tokens.append(token)
        nodes.append(node)
        levels.append(slice(levels[-1].stop, levels[-1].stop + len(node)))
    token = np.concatenate(tokens)
    node = np.concatenate(nodes)
    parent = np.concatenate(parents)
    single = np.concatenate(singles)
    cells = PatternCells(token, node, parent, single.copy(), single, levels)
    longer = np.flatnonzero(trie.fail[node] >= trie.n_labels)  # others fail to their last label
    cells.fail[longer] = cells.at(token[longer], trie.fail[node[longer]], len(trie))
    return cells


def _psi(cells: PatternCells, weights: Weights, fired: Optional[Fired], layout: Layout) -> Floats:
    """Weights of all patterns that end at each cell. RETURNS (C,)."""
    psi = weights.psi[cells.node]
    if fired is None or not len(fired.tokens):
        return psi
    # patterns without a cell cannot match
    at = cells.at(layout.place[fired.tokens], fired.nodes, len(weights.trie))
    extra = np.bincount(at[at >= 0], fired.weights[at >= 0], minlength=len(psi))
    for level in cells.levels[1:]:
        extra[level] += extra[cells.fail[level]]
    return np.asarray(psi + extra)


def _forward(
    cells: PatternCells, gain: Floats, edges: Edges, layout: Layout
) -> Tuple[Floats, Floats, Ints]:
    """own and V of all cells, and the longer cell that V came from (itself, if from own)."""
    v = gain.copy()
    own = gain.copy()
    via = np.arange(len(v))
    bounds = [
        np.searchsorted(cells.token[level], layout.offset) + level.start for level in cells.levels
    ]
    for t in range(1, len(layout.size_at_t)):
        a = bounds[0][t]
        b = bounds[0][t + 1]
        e = edges.first[a]
        f = edges.first[b]
        own[a:b] += np.maximum.reduceat(
            v[edges.source[e:f]] + edges.trans[e:f], edges.first[a:b] - e
        )
        v[a:b] = own[a:b]
        for bound in bounds[1:]:
            level = slice(bound[t], bound[t + 1])
            v[level] += v[cells.parent[level]]
        for bound in reversed(bounds[1:]):
            here = np.arange(bound[t], bound[t + 1])
            suffix = cells.fail[here]
            np.maximum.at(v, suffix, v[here])
            equal = v[suffix] == v[here]
            via[suffix[equal]] = here[equal]
    return own, v, via


def _before(
    cells: PatternCells, own: Floats, v: Floats, via: Ints, gain: Floats, edges: Edges
) -> Ints:
    """The cell at the token before that V of each cell was built on. RETURNS (C,)."""
    while True:  # follow the longer matches to the end
        further = via[via]
        if (further == via).all():
            break
        via = further
    target = np.repeat(np.arange(cells.levels[0].stop), np.diff(edges.first))
    best_edge = np.flatnonzero(v[edges.source] + edges.trans + gain[target] == own[target])[::-1]
    previous = cells.parent.copy()
    # the lowest label wins: it is assigned last
    previous[target[best_edge]] = edges.source[best_edge]
    return np.asarray(previous[via])
