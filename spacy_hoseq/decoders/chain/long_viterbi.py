"""The best labels of one long sequence, from pieces of it that are decoded together: a step then
serves all of them, and no lattice is as long as the sequence.

As in `pieces.py`, each piece looks at some more tokens on both sides, and what it finds is compared
with its neighbours. With V_t(y) of `viterbi.py`, and d(V, V') = max_y (V(y) - V'(y)) - min_y (V(y)
- V'(y)), no step makes d larger (a maximum of sums is monotone, and adding a constant to V adds it
to the next one). So the V of a piece differ from those of the sequence, but for a constant, by at
most the sum of the distances that are measured where pieces begin. If each piece decodes the first
token of the next one to the label that it has there, all labels together are one way back along
these V: a labelling whose score is the best one but for that sum, which has to be below
`piece_tolerance`.

Checked against `viterbi` and enumeration in tests/decoders/chain/test_long_viterbi.py.
"""

from typing import NamedTuple, Optional

import numpy as np

from ...arrays import Floats, Ints, Labels
from ..problem import TUNING, NoPath, Potentials, Tuning, make_layout, packed_scores, ranges
from .arrivals import Arrivals
from .pieces import distances
from .viterbi import unpack_paths, way_back, way_forward


def long_viterbi(potentials: Potentials, *, tuning: Tuning = TUNING) -> Optional[Labels]:
    """The labels of one sequence of a chain. RETURNS (T,) int32, or None if pieces do not agree.
    Time O(T L^2), memory O(T)."""
    arriving = Arrivals(potentials.weights.precise_trans, tuning)
    firsts = np.arange(0, len(potentials.scores), tuning.piece_tokens)
    try:
        parts = [
            _decoded(potentials, firsts[i : i + tuning.pieces_together], arriving, tuning)
            for i in range(0, len(firsts), tuning.pieces_together)
        ]
    except NoPath:
        return None
    labels, following, before, behind = map(np.concatenate, zip(*parts, strict=True))
    distance = distances(before[1:], behind[:-1]).sum()
    agree = np.array_equal(labels[firsts[1:]], following[:-1])
    return labels if distance <= tuning.piece_tolerance and agree else None


class _Pieces(NamedTuple):
    """Some pieces that were decoded together. labels: of their own tokens, end to end. following
    (P,): the label of the first token of each next piece. before, behind (P, L): V at the last token
    before each piece, and at its own last token."""

    labels: Labels
    following: Labels
    before: Floats
    behind: Floats


def _decoded(potentials: Potentials, first: Ints, arriving: Arrivals, tuning: Tuning) -> _Pieces:
    """first (P,): where the pieces begin. RAISES NoPath: one of them has none."""
    end = len(potentials.scores)
    last = np.minimum(first + tuning.piece_tokens, end)
    left = np.maximum(first - tuning.warm_up, 0)
    sizes = np.minimum(last + tuning.warm_up, end) - left
    tokens = ranges(left, sizes)
    start = np.cumsum(sizes) - sizes
    layout = make_layout(sizes, len(tokens))
    packed = packed_scores(potentials.scores, potentials.allowed, layout, tokens)
    history = way_forward(packed, arriving, layout, 0, len(layout.size_at_t), None)
    best_packed = np.zeros(len(tokens), np.int32)
    best = np.zeros(len(sizes))
    trans = potentials.weights.precise_trans
    way_back(history, trans, layout, 0, np.zeros(0, np.int32), best_packed, best)
    labels = unpack_paths(best_packed, best, layout).labels
    rank = np.argsort(layout.order)
    before, behind = (
        np.array([history[t][:, r] for t, r in zip(side.tolist(), rank, strict=True)])
        for side in (np.maximum(first - 1, 0) - left, last - 1 - left)
    )
    return _Pieces(
        labels[ranges(first - left + start, last - first)],
        labels[np.minimum(last, end - 1) - left + start],
        before,
        behind,
    )
