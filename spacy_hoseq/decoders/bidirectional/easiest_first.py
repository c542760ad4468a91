"""Easiest-first decoding (Tsuruoka & Tsujii 2005, section 2.2), of whole batches.

    repeat until every token has a label:
        i = argmax over tokens i without label, max_y p(y_i | o, labels so far within k tokens of i)
        y_i = argmax_y p(y_i | ...)

A decision changes the probabilities within k tokens only. So two open tokens with at least k
decided tokens between them will never hear of each other: what happens on one side does not depend
on when it happens on the other. A REGION is a run of open tokens without such a gap. Each round
decides the easiest token of every region of every sequence, and only its neighbours are classified
again. A token whose neighbours within k are all decided is a region of its own and has nobody to
tell, so when it is decided makes no difference: all such tokens are classified at the end,
together. The definition takes as many rounds as the longest sequence has tokens; this takes a few
dozen for sentences, and for one sequence of n tokens about log n at order 1 and sqrt n at order 2
(measured on random scores; as many as tokens if each decision makes the next). Labels and
probabilities are those of the definition; `decision_order` gives the order back, in which regions
take turns by probability. Tests compare both with the definition, one sentence and one decision at
a time.
"""

import heapq
from typing import List, Optional

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts
from ..problem import TUNING, Tuning
from .local import (
    OFFSETS,
    EasiestPath,
    Floats,
    Ints,
    LocalScores,
    Mask,
    best_labels,
    check_local,
    edge_contexts,
)
from .short_text import EQUAL, decide_short


def decode_easiest_first(
    local: LocalScores,
    lengths: AnyInts,
    order: int,
    *,
    allowed: Optional[Mask] = None,
    hardest: bool = False,
    tuning: Tuning = TUNING,
) -> EasiestPath:
    """Label the easiest token first, then the easiest of the others, and so on.

    local: the classifiers. lengths (S,): tokens of each sequence. order (int): 1 or 2.
    allowed (N, L) bool: labels permitted at each token, probabilities are among these; None = all.
    hardest (bool): always decide the least probable of the tokens' best labels ("easiest-last", for
        comparison).
    RETURNS (EasiestPath). Ties: the first token, its lowest label. Two tokens tie if their log
    probabilities are equal but for rounding (EQUAL): a sum over labels depends on their order in
    its last digits.
    RAISES ValueError [HS020, HS022, HS024, HS027].

    Time: at most 2k + 1 classifications a token; of a short text up to 4^k in one call
        (`short_text.py`).
    """
    check_local(local, lengths, order, allowed)
    if 0 < local.n_tokens << 2 * order <= tuning.short_queries:
        return decide_short(local, lengths, order, allowed, hardest=hardest)
    sequence = np.repeat(np.arange(len(lengths)), lengths.astype(np.intp))
    # (N,) sequences lie apart: no token hears another one's
    place = np.arange(len(sequence)) + order * (1 + sequence)
    visible, contexts = edge_contexts(lengths, order, local.n_labels)
    labels = np.zeros(len(place), np.int32)
    best = np.zeros(len(place))  # log probability of the best label, given what is decided
    earlier = np.full(len(place), -1, np.intp)
    everything = (1 << 2 * order) - 1  # the mask of a token that knows all neighbours
    changed = np.flatnonzero(visible != everything)
    last = [np.flatnonzero(visible == everything)]  # have nobody to tell
    is_open = np.zeros(len(place) + order * (2 + len(lengths)), bool)  # by place
    is_open[place[changed]] = True
    open_ = changed
    while len(open_):
        _classify(local, changed, visible, contexts, allowed, labels, best, tuning)
        # where a region begins
        first = np.flatnonzero(np.append(True, np.diff(place[open_]) > order))
        sizes = np.diff(np.append(first, len(open_)))
        chosen = open_[_best_of_regions(-best[open_] if hardest else best[open_], first, sizes)]
        before = earlier[chosen]
        earlier[open_] = np.repeat(chosen, sizes)
        earlier[chosen] = before
        is_open[place[chosen]] = False
        told = _tell_neighbours(chosen, labels, is_open, place, order, visible, contexts)
        changed = told[visible[told] != everything]
        last.append(told[visible[told] == everything])
        is_open[place[last[-1]]] = False
        open_ = open_[is_open[place[open_]]]
    _classify(
        local, np.sort(np.concatenate(last)), visible, contexts, allowed, labels, best, tuning
    )
    return EasiestPath(labels, best, earlier)


def decision_order(path: EasiestPath, *, hardest: bool = False) -> NDArray[np.int32]:
    """When each token was decided: 1 for the first of its sequence. RETURNS (N,) int32.

    A region's next decision can only follow its last one, so those to choose from are a heap:
    taking one out puts in those that it set free.
    """
    n_tokens = len(path.earlier)
    ranks = _ranks(path.log_probabilities if hardest else -path.log_probabilities)
    keys = (ranks * n_tokens + np.arange(n_tokens)).tolist()  # of equal ones the first token
    order = [0] * n_tokens
    freed: List[List[int]] = [[] for _ in keys]
    heads: List[int] = []
    for token, before in enumerate(path.earlier.tolist()):
        (heads if before < 0 else freed[before]).append(keys[token])
    for head in heads:
        heap = [head]
        n = 0
        while heap:
            token = heapq.heappop(heap) % n_tokens
            n += 1
            order[token] = n
            for other in freed[token]:
                heapq.heappush(heap, other)
    return np.array(order, np.int32)


def _ranks(values: Floats) -> Ints:
    """Places in ascending order, one for all that are equal. values (N,). RETURNS (N,)."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    ranks = np.zeros(len(values), np.intp)
    ranks[order[1:]] = np.cumsum(np.diff(ascending) > EQUAL * np.abs(ascending[1:]))
    return ranks


def _classify(
    local: LocalScores,
    tokens: Ints,
    visible: Ints,
    contexts: Ints,
    allowed: Optional[Mask],
    labels: NDArray[np.int32],
    best: Floats,
    tuning: Tuning,
) -> None:
    """Put the best label of each token into `labels`, and its log probability into `best`."""
    for start in range(0, len(tokens), tuning.block_tokens):
        block = tokens[start : start + tuning.block_tokens]
        scores = local(block, visible[block], np.arange(len(block)), contexts[block])
        labels[block], best[block] = best_labels(scores, block, allowed)


def _best_of_regions(values: Floats, first: Ints, sizes: Ints) -> Ints:
    """Index of the largest value of each region, the first of equal ones. RETURNS (regions,)."""
    largest = np.maximum.reduceat(values, first)
    at = np.flatnonzero(values >= np.repeat(largest - EQUAL * np.abs(largest), sizes))
    if len(at) > len(first):
        region = np.searchsorted(first, at, side="right")
        at = at[np.append(True, np.diff(region) > 0)]
    return at


def _tell_neighbours(
    chosen: Ints,
    labels: NDArray[np.int32],
    is_open: Mask,
    place: Ints,
    order: int,
    visible: Ints,
    contexts: Ints,
) -> Ints:
    """Put the labels of decided tokens into the slots of their open neighbours. RETURNS these
    neighbours (distinct: two decisions of a round lie in different regions)."""
    told: List[Ints] = []
    for slot, offset in enumerate(OFFSETS[order]):  # a neighbour sees the chosen token at `offset`
        here = chosen[is_open[place[chosen] - offset]]
        neighbour = here - offset
        visible[neighbour] |= 1 << slot
        contexts[neighbour, slot] = labels[here]
        told.append(neighbour)
    return np.concatenate(told)
