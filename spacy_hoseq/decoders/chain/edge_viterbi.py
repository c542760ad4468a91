"""The best label sequence where pairs of labels have scores that differ from token to token.

    V_t(y) = scores[t, y] + max_a (V_{t-1}(a) + trans[a, y] + edge_scores[t, a, y])

Checked against enumeration in tests/decoders/chain/test_edge_scores.py.
"""

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ..problem import Layout, Paths, Potentials, make_layout, packed_edge_scores, packed_scores
from .viterbi import unpack_paths


def edge_viterbi(potentials: Potentials) -> Paths:
    """As `viterbi`, with edge_scores (N, L, L) on top of trans (None = 0); those of first tokens
    count for nothing.
    potentials: checked.

    RAISES ValueError [HS023]. Time O(N L^2), memory O(N L^2).
    """
    scores = potentials.scores
    edge_scores = potentials.edge_scores
    if edge_scores is None:
        edge_scores = np.zeros((*scores.shape, scores.shape[1]))
    layout = make_layout(potentials.lengths, len(scores))
    emissions = packed_scores(scores, potentials.allowed, layout).T  # (N, L)
    both = packed_edge_scores(edge_scores, layout) + potentials.trans  # (N, L, L)
    v = emissions.copy()
    back = np.zeros(emissions.shape, np.int32)
    for t in range(1, len(layout.size_at_t)):
        here = layout.step(t)
        start = int(layout.offset[t - 1])
        before = v[start : start + here.stop - here.start]
        candidates = before[:, :, None] + both[here]  # (n, earlier, later)
        back[here] = candidates.argmax(axis=1)
        v[here] += candidates.max(axis=1)
    return _read_back(v, back, layout)


def _read_back(v: Floats, back: NDArray[np.int32], layout: Layout) -> Paths:
    """v (N, L): packed. back (N, L): the label before each. RAISES ValueError [HS023]."""
    labels = np.zeros(len(v), np.int32)
    best = np.zeros(len(layout.lengths))
    following = np.zeros(0, np.int32)  # labels at t + 1
    for t in range(len(layout.size_at_t) - 1, -1, -1):
        here = layout.step(t)
        n_on = len(following)
        # sequences whose last token is t
        best[n_on : here.stop - here.start] = v[here][n_on:].max(axis=1)
        chosen = v[here].argmax(axis=1).astype(np.int32)
        if n_on:
            after = layout.step(t + 1)
            chosen[:n_on] = back[after][np.arange(n_on), following]
        labels[here] = following = chosen
    return unpack_paths(labels, best, layout)
