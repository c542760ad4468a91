"""First-order chain: the best label sequence (Viterbi 1967; Rabiner 1989, section III.B), also where
scores of label pairs differ from token to token.

    V_t(y) = scores[t, y] + max_a (V_{t-1}(a) + trans[a, y] + edge_scores[t, a, y])

Checked against enumeration in tests/decoders/chain/test_best_path.py.
"""

from itertools import pairwise

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Labels, Mask
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
    unpack_paths,
)

STEP_CELLS = 120_000  # (earlier label, label, sequence) triples that are compared in one call


def viterbi(
    scores: AnyFloats,
    trans: AnyFloats,
    lengths: AnyInts,
    *,
    allowed: Mask | None = None,
    edge_scores: AnyFloats | None = None,
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
        arriving = weights.prepared(Arrivals)
    n_steps = len(layout.size_at_t)
    before = v[:, : len(layout.order)]
    for t in range(1, n_steps):
        here = v[:, layout.step(t)]
        before = arriving(before[:, : here.shape[1]], t) + here  # (L, n)
        here[:] = before
    labels = v.argmax(axis=0).astype(np.int32)  # packed, right where a sequence ends
    # the way back: the best label before the one that was chosen, found once more
    for t in range(n_steps - 1, 0, -1):
        earlier = layout.before(t)
        moved = arriving.from_each(labels[layout.step(t)], t)
        labels[earlier] = (v[:, earlier] + moved).argmax(axis=0)
    return unpack_paths(labels, v[labels[layout.ends], layout.ends], layout)


class Arrivals:
    """One step in the max-plus semiring:  arriving(y) = max_a (V(a) + trans[a, y]).

    Hard constraints forbid most pairs of labels: after an inner label of a kind there is only that
    kind. Labels that the same labels may precede share a block of the table, and only what is
    permitted is added up: the same sums, so the same result to the last bit.

    Of the transitions of some weights: `weights.prepared(Arrivals)`.
    """

    def __init__(self, weights: Weights) -> None:
        trans = self._trans = weights.precise_trans
        # earlier (A,), later (B,), trans (A, B): labels all of which the same ones may precede
        self._blocks: list[tuple[Ints, Ints, Floats]] = []
        # later (M,): the other labels. earlier (K, M): those before, the last ones with -inf in
        # trans (K, M, 1)
        self._few: tuple[Ints, Ints, Floats] | None = None
        permitted = trans > -np.inf
        if permitted.mean() < 0.5:
            self._group(trans, permitted)

    def _group(self, trans: Floats, permitted: Mask) -> None:
        # (G, L): sets of earlier labels
        before, kind = np.unique(permitted.T, axis=0, return_inverse=True)
        sizes = before.sum(axis=1)
        kind = kind.reshape(-1)
        n_few = 4  # labels before a label, up to which it is looked at by itself
        large = np.flatnonzero(sizes > n_few)
        if len(large) > 8:  # the calls for so many blocks cost more than what they save
            return
        for group in large.tolist():
            earlier = np.flatnonzero(before[group])
            later = np.flatnonzero(kind == group)
            self._blocks.append((earlier, later, trans[np.ix_(earlier, later)]))
        later = np.flatnonzero(sizes[kind] <= n_few)
        earlier = np.argsort(~permitted[:, later], axis=0, kind="stable")[:n_few]
        self._few = later, earlier, trans[earlier, later][:, :, None]

    def __call__(self, v: Floats, t: int = 0) -> Floats:
        """v (L, n), the same at each step t. RETURNS (L, n)."""
        if self._few is None:
            return max_plus(v, self._trans)
        result = np.empty(v.shape)
        for earlier, later, trans in self._blocks:
            result[later] = max_plus(v.take(earlier, 0), trans)
        later, earlier, trans = self._few
        result[later] = np.maximum.reduce(v.take(earlier, 0) + trans, axis=0)  # (K, M, n)
        return result

    def from_each(self, following: Labels, t: int = 0) -> Floats:
        """trans of all labels before some (n,). RETURNS (L, n)."""
        return self._trans.take(following, axis=1)


def max_plus(v: Floats, trans: Floats) -> Floats:
    """max_a (v[a, n] + trans[a, y]). v (A, n), trans (A, B). RETURNS (B, n)."""
    at_once = max(1, STEP_CELLS // max(1, v.size))  # later labels
    # of few columns the labels are what lies side by side; a column more costs about five labels
    few = v.shape[1] * 5 <= len(trans)
    parts = []
    for start in range(0, trans.shape[1], at_once):
        later = trans[:, start : start + at_once]
        if few:
            parts.append(np.maximum.reduce(v.T[:, :, None] + later, axis=1).T)  # (n, A, B)
        else:
            parts.append(np.maximum.reduce(v[:, None, :] + later[:, :, None], axis=0))  # (A, B, n)
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros((0, v.shape[1])), *parts])


class EdgeArrivals:
    """The same step with trans and edge_scores (N, L, L), packed."""

    def __init__(self, both: Floats, layout: Layout) -> None:
        self._both = both
        self._layout = layout

    def __call__(self, v: Floats, t: int) -> Floats:
        return np.asarray((v.T[:, :, None] + self._both[self._layout.step(t)]).max(axis=1).T)

    def from_each(self, following: Labels, t: int) -> Floats:
        here = self._both[self._layout.step(t)]
        return np.asarray(here[np.arange(len(following)), :, following].T)


AnyArrivals = Arrivals | EdgeArrivals


def best_path(emissions: Floats, trans: Floats) -> Paths:
    """The best path of one sequence, as the walk of a batch, to the last bit, in half a dozen calls
    a token. emissions (T, L), T > 0, which it changes. RAISES NoPath."""
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
