"""The recurrence of `viterbi.py` over candidate labels only: exact, at a cost that does not grow
with L.

The candidates of all tokens are the CELLS of a lattice, and the EDGES lead from every candidate of
a token to every one of the next. Checked label by label against `viterbi` in
tests/decoders/pruning/test_sparse_viterbi.py.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints
from ..chain import unpack_paths
from ..problem import Layout, Paths, make_layout, ranges
from .bounds import Candidates, first_best


class Edges(NamedTuple):
    """Arcs between cells, by target. source (E,): cells. trans (E,). first (C + 1,): of each
    target."""

    source: Ints
    trans: Floats
    first: Ints


def sparse_viterbi(candidates: Candidates, trans: AnyFloats, lengths: AnyInts) -> Paths:
    """Best label sequence of a first-order chain among the candidates, for a batch of sequences.

    As `viterbi` with the candidates as `allowed`, ties included. trans (L, L). lengths (S,).
    RAISES ValueError [HS023]. Time and memory O(sum_t c_t c_{t-1}) for c_t candidates at t.
    """
    layout = make_layout(lengths, len(candidates.first) - 1)
    packed = candidates.of(layout.tokens)
    edges = edges_between(packed, tokens_before(layout), trans)
    v = packed.scores.copy()
    arrived = edges.trans.copy()
    bounds = packed.first[layout.offset]  # first cell of each step
    for t in range(1, len(layout.size_at_t)):
        a = bounds[t]
        b = bounds[t + 1]
        e = edges.first[a]
        f = edges.first[b]
        arrived[e:f] += v.take(edges.source[e:f])
        v[a:b] += np.maximum.reduceat(arrived[e:f], edges.first[a:b] - e)
    # the cell that each was reached from; of several that of the lowest label
    before = np.full(len(v), -1, np.intp)
    # cells from here on are not at the start of a sequence
    later = int(bounds[min(1, len(bounds) - 1)])
    if later < len(v):
        before[later:] = edges.source[first_best(arrived, edges.first[later:])]
    return read_back(packed.first, v, packed.labels, before, layout)


def tokens_before(layout: Layout) -> Ints:
    """Packed token before each packed token, -1 at the start of a sequence. RETURNS (N,)."""
    before = np.full(len(layout.tokens), -1, np.intp)
    for t in range(1, len(layout.size_at_t)):
        here = layout.step(t)
        before[here] = np.arange(layout.offset[t - 1], layout.offset[t - 1] + layout.size_at_t[t])
    return before


def edges_between(packed: Candidates, before: Ints, trans: AnyFloats) -> Edges:
    """packed: candidates by packed token. before (N,): as `tokens_before`."""
    previous = before[packed.tokens]
    counts = np.where(previous >= 0, packed.counts[previous], 0)
    source = ranges(packed.first[previous], counts)
    move = np.repeat(packed.labels, counts)
    move += (packed.labels * len(trans)).take(source)
    arcs: Floats = trans.reshape(-1).take(move).astype(np.float64, copy=False)
    return Edges(source, arcs, np.concatenate([[0], np.cumsum(counts)]))


def read_back(first: Ints, v: Floats, label: Ints, before: Ints, layout: Layout) -> Paths:
    """Labels from the last tokens to the first. first (N + 1,): cells of each packed token, at
    which paths can end.

    v, label, before, by cell: score of the best path to it, its label, the cell at the token
    before. Of paths with the same score the one that ends with the lowest label.
    """
    at_end = first_best(v[: first[-1]], first)  # (N,) if a sequence ended here
    cells = np.empty(len(layout.tokens), np.intp)
    cell = cells[:0]
    for t in range(len(layout.size_at_t) - 1, -1, -1):
        here = layout.step(t)
        cell = np.concatenate([before.take(cell), at_end[here.start + len(cell) : here.stop]])
        cells[here] = cell
    # last token of each rank
    ends = layout.offset[layout.lengths[layout.order] - 1] + np.arange(len(layout.order))
    return unpack_paths(label[cells].astype(np.int32), v[at_end[ends]], layout)
