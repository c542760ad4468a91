"""Easiest-first decoding of a short text: two questions to the classifiers, and the decisions in
plain Python.

In rounds (`easiest_first.py`) a sentence of 23 tokens asks the classifiers ten times, about a few
tokens each time, and most of the time goes into calls. Here they are asked once for the labels of
tokens that know no neighbour, GUESSES of what will be decided, and once for all sets of visible
neighbours at every token, with these guesses for labels: far more than needed, in one call. Open
neighbours of a token whose label is not the guess ask again; there are few, since tokens whose
labels are hard to guess are decided last. Scores of a token do not depend on what else is asked, so
labels and probabilities are those of the rounds, to the bit; tests compare both with the
definition.
"""

from typing import List, Optional, Sequence, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from .local import OFFSETS, EasiestPath, LocalScores, best_labels, edge_contexts

# log probabilities that differ by less, of their size, are one sum of the same terms in two orders
EQUAL = 1e-12


def decide_short(
    local: LocalScores, lengths: AnyInts, order: int, allowed: Optional[Mask], *, hardest: bool
) -> EasiestPath:
    """Arguments as `decode_easiest_first` has them."""
    text = _ShortText(local, lengths, order, allowed)
    everything = (1 << 2 * order) - 1
    earlier = [-1] * local.n_tokens
    last = [token for token, visible in enumerate(text.visible) if visible == everything]
    # sequences lie apart: no token hears another one's
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    place = (np.arange(len(sequence)) + order * sequence).tolist()
    tokens = [token for token, visible in enumerate(text.visible) if visible != everything]
    # open tokens, ascending; the decision before
    regions = [(region, -1) for region in _regions(tokens, place, order)]
    text.close(last)
    while regions:
        region, before = regions.pop()
        chosen = _easiest(text.best, region, hardest)
        earlier[chosen] = before
        text.close([chosen])
        told = text.tell(chosen)
        alone = [token for token in told if text.visible[token] == everything]
        for token in alone:
            earlier[token] = chosen
        text.close(alone)
        last += alone
        text.ask([token for token in told if text.is_open[token]])
        tokens = [token for token in region if text.is_open[token]]
        regions += [(rest, chosen) for rest in _regions(tokens, place, order)]
    text.ask(last)
    labels = np.array(text.labels, np.int32)
    return EasiestPath(labels, np.array(text.best), np.array(earlier, np.intp))


def _regions(tokens: List[int], place: List[int], order: int) -> List[List[int]]:
    """Open tokens, ascending, in runs of those that hear of each other."""
    regions: List[List[int]] = []
    for token in tokens:
        if not regions or place[token] - place[regions[-1][-1]] > order:
            regions.append([])
        regions[-1].append(token)
    return regions


def _easiest(best: List[float], region: List[int], hardest: bool) -> int:
    """The token whose label is most (or least) probable, the first of equal ones."""
    values = [-best[token] for token in region] if hardest else [best[token] for token in region]
    largest = max(values)
    least = largest - EQUAL * abs(largest)
    return next(token for token, value in zip(region, values, strict=True) if value >= least)


class _ShortText:
    """A text while it is labelled. labels, best: the best label of each token
    given the labels of its visible neighbours, and its log probability. visible: slots that are
    known, as a mask."""

    def __init__(
        self, local: LocalScores, lengths: AnyInts, order: int, allowed: Optional[Mask]
    ) -> None:
        self._local = local
        self._allowed = allowed
        self._offsets = OFFSETS[order]
        visible, self._contexts = edge_contexts(lengths, order, local.n_labels)
        tokens = np.arange(local.n_tokens)
        guesses, _ = self._answers(tokens, np.zeros_like(tokens), self._contexts)
        contexts = self._contexts.copy()
        for slot, offset in enumerate(self._offsets):
            unknown = np.flatnonzero(contexts[:, slot] < 0)
            contexts[unknown, slot] = guesses[unknown + offset]
        n_masks = 1 << 2 * order
        every = np.tile(tokens, n_masks)
        labels, best = self._answers(
            every, np.repeat(np.arange(n_masks), len(tokens)), contexts.take(every, axis=0)
        )
        self._guessed: List[int] = guesses.tolist()
        self._labels: List[int] = labels.tolist()  # mask by mask, as guessed
        self._best: List[float] = best.tolist()
        self.visible: List[int] = visible.tolist()
        self.labels = self._guessed.copy()
        self.best = [0.0] * len(tokens)
        self.is_open = [True] * len(tokens)
        self._as_guessed = [True] * len(tokens)
        self.ask(range(len(tokens)))

    def close(self, tokens: List[int]) -> None:
        """They are told nothing more."""
        for token in tokens:
            self.is_open[token] = False

    def tell(self, chosen: int) -> List[int]:
        """Put the label of a decided token into the slots of its open neighbours, which are
        returned."""
        told = []
        label = self.labels[chosen]
        as_guessed = label == self._guessed[chosen]
        for slot, offset in enumerate(self._offsets):
            token = chosen - offset  # sees the chosen one at `offset`
            if (
                0 <= token < len(self.is_open)
                and self.is_open[token]
                and not self.visible[token] >> slot & 1
            ):
                self.visible[token] |= 1 << slot
                self._contexts[token, slot] = label
                self._as_guessed[token] &= as_guessed
                told.append(token)
        return told

    def ask(self, tokens: Sequence[int]) -> None:
        """The best labels of tokens that were told something."""
        n_tokens = len(self.labels)
        surprised = []
        for token in tokens:
            if self._as_guessed[token]:
                answer = self.visible[token] * n_tokens + token
                self.labels[token] = self._labels[answer]
                self.best[token] = self._best[answer]
            else:
                surprised.append(token)
        if surprised:
            at = np.array(surprised)
            labels, best = self._answers(
                at, np.array([self.visible[token] for token in surprised]), self._contexts[at]
            )
            for token, label, value in zip(surprised, labels.tolist(), best.tolist(), strict=True):
                self.labels[token] = label
                self.best[token] = value

    def _answers(self, tokens: Ints, visible: Ints, contexts: Ints) -> Tuple[Ints, Floats]:
        scores = self._local(tokens, visible, np.arange(len(tokens)), contexts)
        return best_labels(scores, tokens, self._allowed)
