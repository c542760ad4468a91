"""Easiest-first decoding (Tsuruoka & Tsujii 2005, section 2.2), of whole batches.

    repeat until every token has a label:
        i = argmax over tokens i without label, max_y p(y_i | o, labels so far within k tokens of i)
        y_i = argmax_y p(y_i | ...)

A decision changes the probabilities within k tokens only. So two open tokens with at least k
decided tokens between them never influence each other: what happens on one side does not depend
on when it happens on the other. A REGION is a run of open tokens without such a gap. Each round
decides the easiest token of every region of every sequence, and only its neighbours are classified
again. A token whose neighbours within k are all decided is a region of its own and changes no
other, so when it is decided makes no difference: all such tokens are classified at the end,
together. The definition takes as many rounds as the longest sequence has tokens; this takes a few
dozen for sentences, and for one sequence of n tokens about log n at order 1 and sqrt n at order 2
(measured on random scores; as many as tokens if each decision makes the next). Labels and
probabilities are those of the definition; `decision_order` gives the order back, in which regions
take turns by probability. Tests compare both with the definition, one sentence and one decision at
a time.
"""

import heapq

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

# log probabilities that differ by less, of their size, are one sum of the same terms in two orders
EQUAL = 1e-12


def decode_easiest_first(
    local: LocalScores,
    lengths: AnyInts,
    order: int,
    *,
    allowed: Mask | None = None,
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

    Time: at most 2k + 1 classifications a token; of a short text up to 4^k in one call.
    """
    check_local(local, lengths, order, allowed)
    sequence = np.repeat(np.arange(len(lengths)), lengths.astype(np.intp))
    # (N,) sequences lie apart: no token is a neighbour of another one's
    place = np.arange(len(sequence)) + order * (1 + sequence)
    text = _Text(local, lengths, order, allowed, tuning)
    visible = text.visible
    earlier = np.full(len(place), -1, np.intp)
    everything = (1 << 2 * order) - 1  # the mask of a token that knows all neighbours
    open_ = changed = np.flatnonzero(visible != everything)
    last = [np.flatnonzero(visible == everything)]  # whose labels change nothing
    is_open = np.zeros(len(place) + order * (2 + len(lengths)), bool)  # by place
    is_open[place[changed]] = True
    while len(open_):
        text.classify(changed)
        first, sizes = _regions(place[open_], order)
        ease = -text.best[open_] if hardest else text.best[open_]
        chosen = open_[_best_of_regions(ease, first, sizes)]
        before = earlier[chosen]
        earlier[open_] = np.repeat(chosen, sizes)
        earlier[chosen] = before
        is_open[place[chosen]] = False
        neighbours = text.decide(chosen, place[chosen], is_open)
        knows_all = visible[neighbours] == everything
        changed = neighbours[~knows_all]
        last.append(neighbours[knows_all])
        is_open[place[last[-1]]] = False
        open_ = open_[is_open[place[open_]]]
    text.classify(np.sort(np.concatenate(last)))
    return EasiestPath(text.labels, text.best, earlier)


class _Text:
    """A batch while it is labelled. labels, best (N,): the best label of each token given the labels
    of its visible neighbours, and its log probability. visible (N,): slots that are known, as a mask.

    In rounds, a sentence calls the classifiers ten times, about a few tokens each time, and most of
    the time goes into calls. So for a short text they are called once for the labels of tokens that
    see no neighbour, GUESSES of what will be decided, and once for all sets of visible neighbours
    at every token, with these guesses for labels: far more than needed, in one call. A token with
    another label beside it than the guess is classified again. Its scores do not depend on the
    other queries of a call, so labels and probabilities are the same, to the bit.
    """

    def __init__(
        self,
        local: LocalScores,
        lengths: AnyInts,
        order: int,
        allowed: Mask | None,
        tuning: Tuning,
    ) -> None:
        self._local = local
        self._allowed = allowed
        self._offsets = OFFSETS[order]
        self._block = tuning.block_tokens
        self.visible, self._contexts = edge_contexts(lengths, order, local.n_labels)
        self.labels = np.zeros(local.n_tokens, np.int32)
        self.best = np.zeros(local.n_tokens)
        n_masks = 1 << 2 * order
        self._is_short = 0 < local.n_tokens * n_masks <= tuning.short_queries
        if self._is_short:
            tokens = np.arange(local.n_tokens)
            guesses, _ = self._classified(tokens, np.zeros_like(tokens), self._contexts)
            self._guessed = self._contexts.copy()
            for slot, offset in enumerate(self._offsets):
                unknown = np.flatnonzero(self._guessed[:, slot] < 0)
                self._guessed[unknown, slot] = guesses[unknown + offset]
            every = np.tile(tokens, n_masks)
            masks = np.repeat(np.arange(n_masks), len(tokens))
            self._answers = self._classified(every, masks, self._guessed.take(every, axis=0))

    def classify(self, tokens: Ints) -> None:
        """The best labels of tokens, and their log probabilities."""
        if self._is_short:
            contexts = self._contexts.take(tokens, axis=0)
            differs = (contexts != self._guessed.take(tokens, axis=0)) & (contexts >= 0)
            answer = self.visible.take(tokens) * len(self.labels) + tokens
            self.labels[tokens] = self._answers[0].take(answer)
            self.best[tokens] = self._answers[1].take(answer)
            tokens = tokens[differs.any(axis=1)]
        for start in range(0, len(tokens), self._block):
            block = tokens[start : start + self._block]
            answers = self._classified(block, self.visible[block], self._contexts[block])
            self.labels[block], self.best[block] = answers

    def decide(self, chosen: Ints, places: Ints, is_open: Mask) -> Ints:
        """Put the labels of decided tokens into the slots of their open neighbours. places (n,): of
        the tokens. is_open: by place. RETURNS these neighbours (distinct: two decisions of a round
        lie in different regions)."""
        neighbours: list[Ints] = []
        for slot, offset in enumerate(self._offsets):  # a neighbour sees the chosen one at `offset`
            here = chosen[is_open[places - offset]]
            neighbour = here - offset
            self.visible[neighbour] |= 1 << slot
            self._contexts[neighbour, slot] = self.labels[here]
            neighbours.append(neighbour)
        return np.concatenate(neighbours)

    def _classified(self, tokens: Ints, visible: Ints, contexts: Ints) -> tuple[Ints, Floats]:
        scores = self._local(tokens, visible, np.arange(len(tokens)), contexts)
        return best_labels(scores, tokens, self._allowed)


def decision_order(path: EasiestPath, *, hardest: bool = False) -> NDArray[np.int32]:
    """When each token was decided: 1 for the first of its sequence. RETURNS (N,) int32.

    A region's next decision can only follow its last one, so those to choose from are a heap:
    taking one out puts in those that it set free.
    """
    n_tokens = len(path.earlier)
    ranks = _ranks(path.log_probabilities if hardest else -path.log_probabilities)
    keys = (ranks * n_tokens + np.arange(n_tokens)).tolist()  # of equal ones the first token
    order = [0] * n_tokens
    freed: list[list[int]] = [[] for _ in keys]
    heads: list[int] = []
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


def _regions(places: Ints, order: int) -> tuple[Ints, Ints]:
    """Where each region begins among the open tokens, and how many it has. places (n,): of these."""
    first = np.flatnonzero(np.append(True, np.diff(places) > order))
    return first, np.diff(np.append(first, len(places)))


def _best_of_regions(values: Floats, first: Ints, sizes: Ints) -> Ints:
    """Index of the largest value of each region, the first of equal ones. RETURNS (regions,)."""
    largest = np.maximum.reduceat(values, first)
    at = np.flatnonzero(values >= np.repeat(largest - EQUAL * np.abs(largest), sizes))
    if len(at) > len(first):
        region = np.searchsorted(first, at, side="right")
        at = at[np.append(True, np.diff(region) > 0)]
    return at
