"""First-order chain: the best label sequence (Viterbi 1967; Rabiner 1989, section III.B), also where
scores of label pairs differ from token to token.

    V_t(y) = scores[t, y] + max_a (V_{t-1}(a) + trans[a, y] + edge_scores[t, a, y])

Checked against enumeration and a plain twin in tests/decoders/chain/test_viterbi.py, with
edge_scores in tests/decoders/chain/test_edge_scores.py.
"""

from itertools import pairwise
from typing import List, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Mask
from ..problem import (
    TUNING,
    Layout,
    NoPath,
    Paths,
    Potentials,
    Tuning,
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
    arrivals: Optional[Arrivals] = None,
    tuning: Tuning = TUNING,
) -> Paths:
    """Best label sequence of a first-order chain, for a batch of sequences.

    Maximises  sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t]  for each sequence.

    scores (N, L) float32 or float64: emission scores of all sequences end to end; N may be 0.
    trans (L, L): first index is the earlier token; -inf forbids a transition.
    lengths (S,) int: tokens of each sequence, all >= 1.
    allowed (N, L) bool: labels permitted at each token; None = all.
    arrivals: those of trans, if they are there.
    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: lowest label id, decided right to
    left.
    RAISES ValueError [HS020, HS022, HS023, HS024, HS027].

    Time O(N L^2); memory O(N L), of which the lattice takes at most `tuning.history_cells` at once
    (longer batches are walked in blocks of steps, each computed a second time on the way back).
    """
    check_scores(scores, trans, allowed)
    layout = make_layout(lengths, len(scores))
    if (
        len(layout.lengths) == 1
        and scores.size <= tuning.history_cells
        and trans.size <= tuning.step_cells
    ):
        path = best_path(masked(scores, allowed), np.ascontiguousarray(trans.T, np.float64))
        if path is None:
            raise NoPath(0)
        return Paths(np.array(path.labels, np.int32), np.array([path.score]))
    emissions = packed_scores(scores, allowed, layout)  # (L, N)
    precise: Floats = trans.astype(np.float64)
    arriving = Arrivals(precise, tuning) if arrivals is None else arrivals
    labels = np.zeros(len(scores), np.int32)  # packed
    best = np.zeros(len(layout.lengths))  # by rank
    blocks = list(layout.blocks(scores.shape[1], tuning.history_cells))
    entries: List[Optional[Floats]] = [None]  # V before each block
    for first, last in blocks[:-1]:
        entries.append(way_forward(emissions, arriving, layout, first, last, entries[-1])[-1])
    following = np.zeros(0, np.int32)  # labels at t + 1
    for (first, last), entry in zip(reversed(blocks), reversed(entries), strict=False):
        history = way_forward(emissions, arriving, layout, first, last, entry)
        following = way_back(history, precise, layout, first, following, labels, best)
    return unpack_paths(labels, best, layout)


class BestPath(NamedTuple):
    """labels (T,) of one sequence."""

    labels: List[int]
    score: float


def best_path(emissions: Floats, turned: Floats) -> Optional[BestPath]:
    """Of one sequence: what `viterbi` finds, to the last bit, in half a dozen calls a token.
    emissions (T, L), T > 0, which it changes. turned (L, L): trans, the later label first. RETURNS
    None if there is no path."""
    arriving = np.empty_like(turned)
    largest = np.empty(len(turned))
    v = list(emissions)
    for before, here in pairwise(v):
        np.add(turned, before, out=arriving)
        np.maximum.reduce(arriving, axis=1, out=largest)
        np.add(largest, here, out=here)
    label = int(v[-1].argmax())
    score = float(v[-1][label])
    labels = [label]
    for before in reversed(v[:-1]):
        label = int(np.add(turned[label], before, out=largest).argmax())
        labels.append(label)
    return None if score == -np.inf else BestPath(labels[::-1], score)


def way_forward(
    emissions: Floats,
    arriving: Arrivals,
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
        v = here if v is None else arriving(v[:, : here.shape[1]]) + here
        history.append(v)
    return history


def way_back(
    history: List[Floats],
    trans: Floats,
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
        here[:n_on] = (v[:, :n_on] + trans[:, following]).argmax(axis=0)
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
            chosen[:n_on] = back[layout.step(t + 1)][np.arange(n_on), following]
        labels[here] = following = chosen
    return unpack_paths(labels, best, layout)
