"""First-order chain: the best label sequence (Viterbi 1967; Rabiner 1989, section III.B), also where
scores of label pairs differ from token to token.

    V_t(y) = scores[t, y] + max_a (V_{t-1}(a) + trans[a, y] + edge_scores[t, a, y])

Checked against enumeration in tests/decoders/chain/test_viterbi.py.
"""

from itertools import pairwise
from typing import List, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Labels, Mask
from ..problem import (
    TUNING,
    Layout,
    NoPath,
    Paths,
    Potentials,
    Tuning,
    Weights,
    check_scores,
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
    tuning: Tuning = TUNING,
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

    Time O(N L^2); memory O(N L), of which the lattice takes at most `tuning.history_cells` at once
    (longer batches are walked in blocks of steps, each computed a second time on the way back).
    """
    check_scores(scores, trans, allowed)
    weights = Weights(trans)
    potentials = Potentials(scores, weights, lengths, edge_scores=edge_scores, allowed=allowed)
    return best_paths(potentials, tuning)


def best_paths(potentials: Potentials, tuning: Tuning = TUNING) -> Paths:
    """`viterbi` of a batch that has been checked."""
    scores, weights, lengths = potentials[:3]
    allowed = potentials.allowed
    layout = make_layout(lengths, len(scores))
    trans = weights.precise_trans
    is_short = scores.size <= tuning.history_cells and trans.size <= tuning.step_cells
    if len(layout.lengths) == 1 and is_short and potentials.edge_scores is None:
        return best_path(masked(scores, allowed), trans)
    if potentials.edge_scores is not None:
        edge_scores = packed_edge_scores(potentials.edge_scores, layout)
        arriving: AnyArrivals = EdgeArrivals(edge_scores + trans, layout)
    else:
        arriving = weights.prepared(Arrivals.of)
        if tuning is not TUNING:
            arriving = Arrivals(trans, tuning)
    emissions = packed_scores(scores, allowed, layout)  # (L, N)
    labels = np.zeros(len(scores), np.int32)  # packed
    best = np.zeros(len(layout.lengths))  # by rank
    blocks = list(layout.blocks(scores.shape[1], tuning.history_cells))
    entries: List[Optional[Floats]] = [None]  # V before each block
    for first, last in blocks[:-1]:
        entries.append(way_forward(emissions, arriving, layout, first, last, entries[-1])[-1])
    following = np.zeros(0, np.int32)  # labels at t + 1
    for (first, last), entry in zip(reversed(blocks), reversed(entries), strict=False):
        history = way_forward(emissions, arriving, layout, first, last, entry)
        following = way_back(history, arriving, layout, first, following, labels, best)
    return unpack_paths(labels, best, layout)


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


def way_forward(
    emissions: Floats,
    arrivals: AnyArrivals,
    layout: Layout,
    first: int,
    last: int,
    entry: Optional[Floats],
) -> List[Floats]:
    """V_t (L, size_at_t[t]) for first <= t < last; `entry` = V at first - 1."""
    history = []
    v = entry
    for t in range(first, last):
        here = emissions[:, layout.step(t)]  # (L, n)
        v = here if v is None else arrivals(v[:, : here.shape[1]], t) + here
        history.append(v)
    return history


def way_back(
    history: List[Floats],
    arrivals: AnyArrivals,
    layout: Layout,
    first: int,
    following: NDArray[np.int32],
    labels: NDArray[np.int32],
    best: Floats,
) -> NDArray[np.int32]:
    """Write the labels of the steps from `first` on, and the scores of sequences that end there.
    history: V of these steps. following: labels at the step after them. labels (N,), packed; best
    (S,), by rank. RETURNS the labels at `first`."""
    for t in range(first + len(history) - 1, first - 1, -1):
        v = history[t - first]
        n_on = len(following)
        best[n_on : v.shape[1]] = v[:, n_on:].max(axis=0)  # sequences whose last token is t
        here = np.empty(v.shape[1], np.int32)
        here[n_on:] = v[:, n_on:].argmax(axis=0)
        if n_on:
            here[:n_on] = (v[:, :n_on] + arrivals.from_each(following, t + 1)).argmax(axis=0)
        labels[layout.step(t)] = following = here
    return following


def unpack_paths(labels: NDArray[np.int32], best: Floats, layout: Layout) -> Paths:
    """`in_order`. RAISES ValueError [HS023]: a sequence has no path."""
    paths = in_order(labels, best, layout)
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(paths.scores.argmin()))
    return paths


def in_order(labels: NDArray[np.int32], best: Floats, layout: Layout) -> Paths:
    """Packed labels and scores by rank -> the given order."""
    flat = np.empty_like(labels)
    flat[layout.tokens] = labels
    scores = np.empty_like(best)
    scores[layout.order] = best
    return Paths(flat, scores)
