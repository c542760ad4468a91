"""Easiest-first decoding (Tsuruoka & Tsujii 2005, section 2.2), of whole batches.

    repeat until every token has a label:
        i = argmax over tokens i without label, max_y p(y_i | o, labels so far within k tokens of i)
        y_i = argmax_y p(y_i | ...)

A decision changes the probabilities within k tokens only. So two open tokens with at least k decided tokens between
them will never hear of each other: what happens on one side does not depend on when it happens on the other. A REGION
is a run of open tokens without such a gap. Each round decides the easiest token of every region of every sequence, and
only its neighbours are classified again. The definition takes as many rounds as the longest sequence has tokens; this
takes a few dozen for sentences, and for one sequence of n tokens about log n at order 1 and sqrt n at order 2 (measured
on random scores; as many as tokens if each decision makes the next). Labels and probabilities are those of the
definition; `decision_order` gives the order back, in which regions take turns by probability. Tests compare both with
the definition, one sentence and one decision at a time.
"""

import heapq
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from .local import OFFSETS, Floats, Ints, LocalScores, Mask, check_local, edge_contexts, log_probabilities

BLOCK_TOKENS = 4096  # tokens classified together: their scores then stay in the processor's cache


class EasiestPath(NamedTuple):
    """Labels and how they were found, all sequences end to end.

    labels (N,) int32. log_probabilities (N,) float64: log p(y_i | the labels of decided neighbours), when i was
    decided. earlier (N,): the decision before in the region of i, a token; -1 if i was the first of its sequence.
    """

    labels: NDArray[np.int32]
    log_probabilities: Floats
    earlier: Ints


def decode_easiest_first(
    local: LocalScores,
    lengths: NDArray[np.integer],
    order: int,
    *,
    allowed: Optional[Mask] = None,
    hardest: bool = False,
) -> EasiestPath:
    """Label the easiest token first, then the easiest of the others, and so on.

    local: the classifiers. lengths (S,): tokens of each sequence. order (int): 1 or 2.
    allowed (N, L) bool: labels permitted at each token, probabilities are among these; None = all.
    hardest (bool): always decide the least probable of the tokens' best labels ("easiest-last", for comparison).
    RETURNS (EasiestPath). Ties: the first token, its lowest label.
    RAISES ValueError [HS020, HS022, HS024, HS025, HS090].

    Time: at most 2k + 1 classifications a token.
    """
    check_local(local, lengths, order, allowed)
    sequence = np.repeat(np.arange(len(lengths)), lengths.astype(np.intp))  # (N,)
    visible, contexts = edge_contexts(lengths, order, local.n_labels)
    labels = np.zeros(len(sequence), np.int32)
    best = np.zeros(len(sequence))  # log probability of the best label, given what is decided
    earlier = np.full(len(sequence), -1, np.intp)
    is_open = np.ones(len(sequence), bool)
    open_ = changed = np.arange(len(sequence))
    while len(open_):
        for start in range(0, len(changed), BLOCK_TOKENS):
            block = changed[start : start + BLOCK_TOKENS]
            labels[block], best[block] = _classify(local, block, visible, contexts, allowed)
        first = _region_starts(open_, sequence, order)
        easiest = _best_of_regions(-best[open_] if hardest else best[open_], first)
        chosen = open_[easiest]
        before = earlier[chosen]
        earlier[open_] = np.repeat(chosen, np.diff(np.append(first, len(open_))))
        earlier[chosen] = before
        is_open[chosen] = False
        changed = _tell_neighbours(chosen, labels, is_open, sequence, order, visible, contexts)
        open_ = open_[is_open[open_]]
    return EasiestPath(labels, best, earlier)


def decision_order(path: EasiestPath, lengths: NDArray[np.integer], *, hardest: bool = False) -> NDArray[np.int32]:
    """When each token was decided: 1 for the first of its sequence. RETURNS (N,) int32.

    A region's next decision can only follow its last one, so those to choose from are a heap: taking one out puts in
    those that it set free.
    """
    key = path.log_probabilities if hardest else -path.log_probabilities
    order = np.zeros(len(key), np.int32)
    freed: List[List[int]] = [[] for _ in range(len(key))]
    heads: List[int] = []
    for token, before in enumerate(path.earlier.tolist()):
        (heads if before < 0 else freed[before]).append(token)
    keys = key.tolist()
    for head in heads:
        heap: List[Tuple[float, int]] = [(keys[head], head)]
        n = 0
        while heap:
            _, token = heapq.heappop(heap)
            n += 1
            order[token] = n
            for other in freed[token]:
                heapq.heappush(heap, (keys[other], other))
    return order


def _classify(
    local: LocalScores, tokens: Ints, visible: Ints, contexts: Ints, allowed: Optional[Mask]
) -> "tuple[Ints, Floats]":
    """The best label of each token, and its log probability: -log(1 + sum of exp(score - best score) of the others),
    which keeps apart probabilities near 1."""
    scores = local(tokens, visible[tokens], np.arange(len(tokens)), contexts[tokens])
    wide = log_probabilities(scores, tokens, allowed)
    label = wide.argmax(axis=1)
    rows = np.arange(len(tokens))
    wide -= wide[rows, label][:, None]
    np.exp(wide, out=wide)
    wide[rows, label] = 0
    return label, -np.log1p(wide.sum(axis=1))


def _region_starts(open_: Ints, sequence: Ints, order: int) -> Ints:
    """Where among the open tokens (ascending) a region begins."""
    cut = np.ones(len(open_), bool)
    cut[1:] = (np.diff(open_) > order) | (sequence[open_[1:]] != sequence[open_[:-1]])
    return np.flatnonzero(cut)


def _best_of_regions(values: Floats, first: Ints) -> Ints:
    """Index of the largest value of each region, the first of equal ones. RETURNS (regions,)."""
    sizes = np.diff(np.append(first, len(values)))
    at = np.flatnonzero(values == np.repeat(np.maximum.reduceat(values, first), sizes))
    region = np.searchsorted(first, at, side="right")
    best: Ints = at[np.append(True, np.diff(region) > 0)]
    return best


def _tell_neighbours(
    chosen: Ints,
    labels: NDArray[np.int32],
    is_open: Mask,
    sequence: Ints,
    order: int,
    visible: Ints,
    contexts: Ints,
) -> Ints:
    """Put the labels of decided tokens into the slots of their open neighbours. RETURNS these neighbours (distinct:
    two decisions of a round lie in different regions)."""
    told: List[Ints] = []
    for slot, offset in enumerate(OFFSETS[order]):
        neighbour = chosen - offset  # which sees the chosen token at `offset`
        inside = (neighbour >= 0) & (neighbour < len(sequence))
        here, neighbour = chosen[inside], neighbour[inside]
        hears = is_open[neighbour] & (sequence[neighbour] == sequence[here])
        here, neighbour = here[hears], neighbour[hears]
        visible[neighbour] |= 1 << slot
        contexts[neighbour, slot] = labels[here]
        told.append(neighbour)
    return np.concatenate(told)
