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
from .candidates import Candidates, first_best


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
    packed = candidates if len(layout.order) == 1 else candidates.of(layout.tokens)
    first = packed.first
    edges = edges_between(packed, tokens_before(layout), trans)
    v = packed.scores.copy()
    arrived = edges.trans.copy()
    bounds = first.take(layout.offset).tolist()  # first cell of each step
    arcs = edges.first.take(bounds).tolist()
    for t in range(1, len(layout.size_at_t)):
        here = slice(bounds[t], bounds[t + 1])
        arriving = arrived[arcs[t] : arcs[t + 1]]
        arriving += v.take(edges.source[arcs[t] : arcs[t + 1]])
        v[here] += np.maximum.reduceat(arriving, edges.first[here] - arcs[t])
    # the cell that each was reached from; of several that of the lowest label
    before = np.full(len(v), -1, np.intp)
    # cells from here on are not at the start of a sequence
    if len(bounds) > 1 and bounds[1] < len(v):
        later = bounds[1]
        before[later:] = edges.source.take(first_best(arrived, edges.first[later:]))
    return read_back(first, v, packed.labels, before, layout)


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
    # last token of each rank
    ends = layout.offset[layout.lengths[layout.order] - 1] + np.arange(len(layout.order))
    return unpack_paths(label[cells].astype(np.int32), v[at_end[ends]], layout)
