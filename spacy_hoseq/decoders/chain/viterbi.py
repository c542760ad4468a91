"""First-order chain: the best label sequence (Viterbi 1967; Rabiner 1989, section III.B), also where
scores of label pairs differ from token to token.

    V_t(y) = scores[t, y] + max_a (V_{t-1}(a) + trans[a, y] + edge_scores[t, a, y])

Checked against enumeration in tests/decoders/chain/test_viterbi.py.
"""

from itertools import pairwise
from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Labels, Mask
from ..problem import (
    Layout,
    NoPath,
    Paths,
    Potentials,
    Weights,
    make_layout,
    masked,
    packed_edge_scores,
    packed_scores,
)
from .arrivals import Arrivals


def viterbi(
    scores: AnyFloats,
    trans: AnyFloats,
    lengths: AnyInts,
    *,
    allowed: Optional[Mask] = None,
    edge_scores: Optional[AnyFloats] = None,
) -> Paths:
    """Best label sequence of a first-order chain, for a batch of sequences.

    Maximises  sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t]  for each sequence.

    scores (N, L) float32 or float64: emission scores of all sequences end to end; N may be 0.
    trans (L, L): first index is the earlier token; -inf forbids a transition.
    lengths (S,) int: tokens of each sequence, all >= 1.
    allowed (N, L) bool: labels permitted at each token; None = all.
    edge_scores (N, L, L): on top of trans, of the token before and each token; None = 0.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: lowest label id, decided right to
    left.
    RAISES ValueError [HS020, HS022, HS023, HS024, HS027].

    Time O(N L^2); memory O(N L).
    """
    weights = Weights(trans)
    potentials = Potentials(scores, weights, lengths, edge_scores=edge_scores, allowed=allowed)
    return best_paths(potentials.check())


def best_paths(potentials: Potentials) -> Paths:
    """`viterbi` of a batch that has been checked."""
    scores, weights, lengths = potentials[:3]
    layout = make_layout(lengths, len(scores))
    trans = weights.precise_trans
    if len(layout.lengths) == 1 and potentials.edge_scores is None:
        return best_path(masked(scores, potentials.allowed), trans)
    v = packed_scores(scores, potentials.allowed, layout)  # (L, N): emissions, then V
    if potentials.edge_scores is not None:
        edge_scores = packed_edge_scores(potentials.edge_scores, layout)
        arriving: AnyArrivals = EdgeArrivals(edge_scores + trans, layout)
    else:
        arriving = weights.prepared(Arrivals.of)
    n_steps = len(layout.size_at_t)
    before = v[:, : len(layout.order)]
    for t in range(1, n_steps):
        here = v[:, layout.step(t)]
        before = arriving(before[:, : here.shape[1]], t) + here
        here[:] = before
    labels = v.argmax(axis=0).astype(np.int32)  # packed, right where a sequence ends
    for t in range(n_steps - 1, 0, -1):
        earlier = layout.before(t)
        moved = arriving.from_each(labels[layout.step(t)], t)
        labels[earlier] = (v[:, earlier] + moved).argmax(axis=0)
    return unpack_paths(labels, v[labels[layout.ends], layout.ends], layout)


class EdgeArrivals:
    """As `Arrivals`, of trans and edge_scores (N, L, L), packed."""

    def __init__(self, both: Floats, layout: Layout) -> None:
        self._both = both
        self._layout = layout

    def __call__(self, v: Floats, t: int) -> Floats:
        return np.asarray((v.T[:, :, None] + self._both[self._layout.step(t)]).max(axis=1).T)

    def from_each(self, following: Labels, t: int) -> Floats:
        here = self._both[self._layout.step(t)]
        return np.asarray(here[np.arange(len(following)), :, following].T)


AnyArrivals = Union[Arrivals, EdgeArrivals]


def best_path(emissions: Floats, trans: Floats) -> Paths:
    """Of one sequence: what the walk of a batch finds, to the last bit, in half a dozen calls a
    token. emissions (T, L), T > 0, which it changes. RAISES NoPath."""
    arriving = np.empty_like(trans)
    largest = np.empty(len(trans))
    v = list(emissions)
    for before, here in pairwise(v):
        np.add(trans, before[:, None], out=arriving)
        np.maximum.reduce(arriving, axis=0, out=largest)
        np.add(largest, here, out=here)
    label = int(v[-1].argmax())
    score = float(v[-1][label])
    if score == -np.inf:
        raise NoPath(0)
    labels = [label]
    for before in reversed(v[:-1]):
        label = int(np.add(trans[:, label], before, out=largest).argmax())
        labels.append(label)
    return Paths(np.array(labels[::-1], np.int32), np.array([score]))


def unpack_paths(labels: NDArray[np.int32], best: Floats, layout: Layout) -> Paths:
    """Packed labels and scores by rank -> the given order. RAISES ValueError [HS023]: a sequence has
    no path."""
    flat = np.empty_like(labels)
    flat[layout.tokens] = labels
    scores = np.empty_like(best)
    scores[layout.order] = best
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(scores.argmin()))
    return Paths(flat, scores)
