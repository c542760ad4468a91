"""The k best label sequences, with label patterns of any sign.

States are the nodes of the trie, each standing for "the LONGEST node that the labels so far end with": these states
are exclusive, so every labelling is exactly one path and patterns count in full, whatever their sign. With no
patterns the states are the labels and this is the k-best Viterbi algorithm (Schwartz & Chow 1990; Huang & Chiang
2005, algorithm 2).

Checked against enumeration in tests/decoders/test_kbest.py.
"""

from typing import List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .layout import check_scores
from .records import KBest, NoPath
from .trie import Fired, PatternScores, PatternTrie

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]


def k_best(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    k: int,
    *,
    patterns: Optional[PatternScores] = None,
    allowed: Optional[NDArray[np.bool_]] = None,
) -> KBest:
    """The k label sequences of highest score, of one sequence.

    Maximises the objective of `decode_nonnegative`; weights of patterns may be negative.

    scores (T, L), trans (L, L), allowed (T, L): one sequence; T may be 0 (one empty labelling of score 0).
    RETURNS (KBest): labels (m, T) int32, scores (m,) float64, best first, m <= k; distinct. Ties: lowest state.
    RAISES ValueError [HS020, HS021, HS022, HS023, HS024, HS026].

    Time O(T U L k log(U L k)) for U nodes, memory O(T U k).
    """
    if k < 1:
        raise ValueError(Errors.HS026.format(k=k))
    check_scores(scores, trans, allowed)
    n_tokens, n_labels = scores.shape
    if n_tokens == 0:
        return KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    trie, weights, fired = patterns or PatternScores(PatternTrie([], n_labels), np.zeros(n_labels))
    emissions = scores.astype(np.float64)  # (T, L)
    if allowed is not None:
        emissions = np.where(allowed, emissions, -np.inf)
    source, target = _edges(trie)
    trans_of = trans.astype(np.float64)[trie.label[source], trie.label[target]]  # (E,)
    best = np.full((len(trie), k), -np.inf)  # best scores of each state, sorted
    best[:n_labels, 0] = emissions[0]
    back: List[Tuple[Ints, Ints]] = []  # state and rank before, (U, k) each
    for t in range(1, n_tokens):
        psi = trie.suffix_sums(_weights_at(t, weights, fired))
        gain = trans_of + psi[target] + emissions[t, trie.label[target]]  # (E,)
        candidates = best[source] + gain[:, None]  # (E, k)
        best, edge, rank = _top_k(candidates, target, len(trie))
        back.append((source[edge], rank))
    return _trace(best, back, trie, k)


def _edges(trie: PatternTrie) -> Tuple[Ints, Ints]:
    """All moves (state, state after one more label), sorted by target. RETURNS source (E,), target (E,), E = U L."""
    n_labels = trie.n_labels
    after = np.empty((len(trie), n_labels), np.intp)
    labels = np.arange(n_labels)
    for u in range(len(trie)):  # ancestors by failure come first, so their row is known
        shorter = labels if trie.fail[u] < 0 else after[trie.fail[u]]
        longer = trie.child(np.full(n_labels, u), labels)
        after[u] = np.where(longer >= 0, longer, shorter)
    target = after.reshape(-1)
    order = np.argsort(target, kind="stable")
    return np.repeat(np.arange(len(trie)), n_labels)[order], target[order]


def _weights_at(t: int, weights: Floats, fired: Optional[Fired]) -> Floats:
    if fired is None:
        return weights
    here = fired.tokens == t
    return weights + np.bincount(fired.nodes[here], weights=fired.weights[here], minlength=len(weights))


def _top_k(candidates: Floats, target: Ints, n_states: int) -> Tuple[Floats, Ints, Ints]:
    """The k best candidates of each target. RETURNS scores, edges, ranks, (U, k) each; scores -inf where none."""
    k = candidates.shape[1]
    flat = candidates.reshape(-1)
    order = np.lexsort((-flat, np.repeat(target, k)))
    first = np.searchsorted(target, np.arange(n_states + 1)) * k
    take = first[:-1, None] + np.arange(k)  # (U, k)
    exists = take < first[1:, None]
    chosen = order[np.where(exists, take, 0)]
    scores = np.where(exists, flat[chosen], -np.inf)
    return scores, chosen // k, chosen % k


def _trace(best: Floats, back: List[Tuple[Ints, Ints]], trie: PatternTrie, k: int) -> KBest:
    order = np.argsort(-best.reshape(-1), kind="stable")[:k]
    order = order[np.isfinite(best.reshape(-1)[order])]
    if not len(order):
        raise NoPath(0)
    state, rank = np.divmod(order, k)
    scores = best[state, rank]
    labels = [trie.label[state]]
    for states_before, ranks_before in reversed(back):
        state, rank = states_before[state, rank], ranks_before[state, rank]
        labels.append(trie.label[state])
    return KBest(np.stack(labels[::-1], axis=1).astype(np.int32), scores)


def combine(parts: List[KBest], k: int) -> KBest:
    """The k best labellings of independent sequences, laid end to end. RETURNS (KBest): labels (m, N).

    RAISES ValueError [HS026].
    """
    if k < 1:
        raise ValueError(Errors.HS026.format(k=k))
    whole = KBest(np.zeros((1, 0), np.int32), np.zeros(1))
    for part in parts:
        total = (whole.scores[:, None] + part.scores).reshape(-1)
        order = np.argsort(-total, kind="stable")[:k]
        left, right = np.divmod(order, len(part.scores))
        whole = KBest(np.concatenate([whole.labels[left], part.labels[right]], axis=1), total[order])
    return whole
