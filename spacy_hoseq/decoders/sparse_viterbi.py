"""The recurrence of `viterbi.py` over candidate labels only: exact, at a cost that does not grow with L.

The candidates of all tokens are the CELLS of a lattice, and the EDGES lead from every candidate of a token to every one
of the next. Checked label by label against `viterbi` in tests/decoders/test_sparse_viterbi.py.
"""

from typing import Callable, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidates, first_best
from .layout import Layout, make_layout, ranges
from .records import Paths
from .viterbi import unpack_paths

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


class Edges(NamedTuple):
    """Moves between cells, by target. source (E,): cells. trans (E,). first (C + 1,): of each target."""

    source: Ints
    trans: Floats
    first: Ints


def sparse_viterbi(candidates: Candidates, trans: NDArray[np.floating], lengths: NDArray[np.integer]) -> Paths:
    """Best label sequence of a first-order chain among the candidates, for a batch of sequences.

    As `viterbi` with the candidates as `allowed`, ties included. trans (L, L). lengths (S,).
    RAISES ValueError [HS023]. Time and memory O(sum_t c_t c_{t-1}) for c_t candidates at t.
    """
    layout = make_layout(lengths, len(candidates.first) - 1)
    packed = candidates.of(layout.tokens)
    edges = edges_between(packed, tokens_before(layout), trans)
    v, arrived = packed.scores.copy(), edges.trans.copy()
    bounds = packed.first[layout.offset]  # first cell of each step
    for t in range(1, len(layout.size_at_t)):
        a, b = bounds[t], bounds[t + 1]
        e, f = edges.first[a], edges.first[b]
        arrived[e:f] += v.take(edges.source[e:f])
        v[a:b] += np.maximum.reduceat(arrived[e:f], edges.first[a:b] - e)

    def before(cells: Ints) -> Ints:
        """The cells they were reached from; of several the lowest label."""
        counts = edges.first[cells + 1] - edges.first[cells]
        some = ranges(edges.first[cells], counts)
        first = np.concatenate([[0], np.cumsum(counts)])
        return edges.source[some[first_best(arrived[some], first)]]

    return read_back(packed.first, v, packed.labels, before, layout)


def tokens_before(layout: Layout) -> Ints:
    """Packed token before each packed token, -1 at the start of a sequence. RETURNS (N,)."""
    before = np.full(len(layout.tokens), -1, np.intp)
    for t in range(1, len(layout.size_at_t)):
        here = layout.step(t)
        before[here] = np.arange(layout.offset[t - 1], layout.offset[t - 1] + layout.size_at_t[t])
    return before


def edges_between(packed: Candidates, before: Ints, trans: NDArray[np.floating]) -> Edges:
    """packed: candidates by packed token. before (N,): as `tokens_before`."""
    previous = before[packed.tokens]
    counts = np.where(previous >= 0, packed.counts[previous], 0)
    source = ranges(packed.first[previous], counts)
    move = np.repeat(packed.labels, counts)
    move += (packed.labels * len(trans)).take(source)
    moves: Floats = trans.reshape(-1).take(move).astype(np.float64, copy=False)
    return Edges(source, moves, np.concatenate([[0], np.cumsum(counts)]))


def read_back(first: Ints, v: Floats, label: Ints, before: Callable[[Ints], Ints], layout: Layout) -> Paths:
    """Labels from the last tokens to the first. first (N + 1,): cells of each packed token, at which paths can end.

    v, label, by cell: score of the best path to it, its label. before: the cells at the token before.
    """
    labels = np.zeros(len(layout.tokens), np.int32)
    best = np.zeros(len(layout.lengths))
    cell = np.zeros(0, np.intp)
    for t in range(len(layout.size_at_t) - 1, -1, -1):
        here = layout.step(t)
        n_on = len(cell)
        if here.start + n_on < here.stop:  # sequences whose last token is t
            some = first[here.start + n_on : here.stop + 1]
            chosen = first_best(v[some[0] : some[-1]], some - some[0]) + some[0]  # the lowest label
            best[n_on : n_on + len(chosen)] = v[chosen]
            cell = np.concatenate([cell, chosen])
        labels[here] = label[cell]
        cell = before(cell) if t else cell
    return unpack_paths(labels, best, layout)
