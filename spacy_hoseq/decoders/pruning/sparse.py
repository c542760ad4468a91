"""The recurrence of `nonnegative.py` over candidate labels only: exact, at a cost that does not
grow with L or U.

After pruning few labels are left at a token (`pruned.py`), and of the trie's nodes only those whose
labels are all candidates at their tokens can match. These pairs (token, node) are the CELLS of a
lattice, and everything that links them is found for all tokens of the batch at once, level by level
of the trie:

    parent(c)   the cell of the node without its last label, one token earlier
    fail(c)     the cell of the longest proper suffix at the same token: fail(u y) is the longest v y with v on the
                failure chain of u, and v's extension by y was looked up when v's own cell was extended

Then one pass in time order computes own(c) and V(c), a second one backwards reads off the labels.
Checked label by label against `decode_nonnegative` and against enumeration in
tests/decoders/pruning/test_sparse.py.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints
from ..problem import Fired, Layout, Paths, PatternTrie, Weights, make_layout, ranges
from .bounds import Candidates
from .sparse_viterbi import Edges, edges_between, read_back, tokens_before


class PatternCells(NamedTuple):
    """All cells, level by level (single labels first), within a level in packed token order.

    token (C,): packed token. node (C,): of the trie. parent, fail (C,): cells, -1 for single
        labels.
    single (C,): the cell of the last label alone. levels: slice of the cells of each depth.
    """

    token: Ints
    node: Ints
    parent: Ints
    fail: Ints
    single: Ints
    levels: List[slice]


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
    gain = np.empty(len(cells.node))  # (C,)
    singles = cells.levels[0]
    deep = slice(cells.levels[0].stop, len(cells.node))
    gain[singles] = packed.scores
    gain[deep] = packed.scores[cells.single[deep]]
    gain[deep] += (
        trans[label[cells.parent[deep]], label[deep]] + _psi(cells, weights, fired, layout)[deep]
    )
    own, v, via = _forward(cells, gain, edges, layout)
    previous = _before(cells, own, v, via, gain, edges)
    return read_back(packed.first, v, label, previous, layout)


def _make_cells(packed: Candidates, before: Ints, trie: PatternTrie) -> PatternCells:
    token = packed.tokens
    node = packed.labels
    singles = packed.first
    after = np.full(len(before), -1, np.intp)
    after[before[before >= 0]] = np.flatnonzero(before >= 0)
    tokens = [token]
    nodes = [node]
    alone = [np.arange(len(token))]
    parents = [np.full(len(token), -1, np.intp)]
    fails = [np.full(len(token), -1, np.intp)]
    levels = [slice(0, len(token))]
    # cell that (cell, candidate of the next token) leads to, -1 if it is no node
    extension = np.zeros(0, np.intp)
    first_extension = np.zeros(0, np.intp)
    fail_of = fails[0]
    for _ in range(1, trie.max_length):
        level = levels[-1]
        cell = np.arange(level.start, level.stop)
        following = after[tokens[-1]]  # (cells of the level,)
        counts = np.where(following >= 0, singles[following + 1] - singles[following], 0)
        source = np.repeat(cell, counts)
        ends = np.cumsum(counts)
        target = ranges(singles[following], counts)  # single cells
        child = trie.child(np.repeat(nodes[-1], counts), node[target])
        exists = np.flatnonzero(child >= 0)
        first = level.stop
        levels.append(slice(first, first + len(exists)))
        links = np.full(len(source), -1, np.intp)
        links[exists] = first + np.arange(len(exists))
        first_extension = np.concatenate([first_extension, len(extension) + ends - counts])
        extension = np.concatenate([extension, links])
        tokens.append(token[target[exists]])
        alone.append(target[exists])
        nodes.append(child[exists])
        parents.append(source[exists])
        rank = target[exists] - singles[tokens[-1]]  # which candidate of its token was added
        fails.append(
            _find_fails(source[exists], rank, target[exists], fail_of, extension, first_extension)
        )
        fail_of = np.concatenate([fail_of, fails[-1]])
        if not len(exists):
            break
    parent = np.concatenate(parents)
    return PatternCells(
        np.concatenate(tokens),
        np.concatenate(nodes),
        parent,
        fail_of,
        np.concatenate(alone),
        levels,
    )


def _find_fails(
    parent: Ints, rank: Ints, single: Ints, fail_of: Ints, extension: Ints, first_extension: Ints
) -> Ints:
    """Failure cells of new cells: along the failure chain of the parent, the first cell that has
    the same extension."""
    result: Ints = single.copy()  # at the end of the chain: the single label
    open_ = np.arange(len(parent))
    at = parent
    while len(open_):
        at = fail_of[at]
        going_on = at >= 0
        open_ = open_[going_on]
        at = at[going_on]
        extended = extension[first_extension[at] + rank[open_]]
        hit = extended >= 0
        result[open_[hit]] = extended[hit]
        open_ = open_[~hit]
        at = at[~hit]
    return result


def _psi(cells: PatternCells, weights: Weights, fired: Optional[Fired], layout: Layout) -> Floats:
    """Weights of all patterns that end at each cell. RETURNS (C,)."""
    psi = weights.psi[cells.node]
    if fired is None or not len(fired.tokens):
        return psi
    extra = _fired_at(cells, fired, weights.trie, layout)
    for level in cells.levels[1:]:
        extra[level] += extra[cells.fail[level]]
    return np.asarray(psi + extra)


def _fired_at(cells: PatternCells, fired: Fired, trie: PatternTrie, layout: Layout) -> Floats:
    """Weight that fired patterns give to exactly their own cell; patterns without a cell cannot
    match. RETURNS (C,)."""
    keys = cells.token * len(trie) + cells.node
    order = np.argsort(keys)
    place = np.empty(len(layout.tokens), np.intp)
    place[layout.tokens] = np.arange(len(layout.tokens))
    wanted = place[fired.tokens] * len(trie) + fired.nodes
    at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]
    present = keys[at] == wanted
    return np.asarray(
        np.bincount(at[present], weights=fired.weights[present], minlength=len(keys)), np.float64
    )


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
