"""Easiest-first decoding of a short text: two questions to the classifiers, and the decisions in plain Python.

In rounds (`easiest_first.py`) a sentence of 23 tokens asks the classifiers ten times, about a few tokens each time, and
most of the time goes into calls. Here they are asked once for the labels of tokens that know no neighbour, GUESSES of
what will be decided, and once for all sets of visible neighbours at every token, with these guesses for labels. That is
more than needed, in one call. A decision that differs from the guess (one token in fifty in English) makes its
neighbours ask again. Scores of a token do not depend on what else is asked, so that labels and probabilities are those
of the rounds, to the bit; tests compare both with the definition.
"""

from typing import Dict, List, NamedTuple, Optional, Set, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from .local import OFFSETS, LocalScores, best_labels, edge_contexts

EQUAL = 1e-12  # log probabilities that differ by less, of their size, are one sum of the same terms in two orders


Answers = Dict[Tuple[int, int], Tuple[int, float]]  # (mask, token) -> label, log probability


class Decisions(NamedTuple):
    """Of each token: its label, log p of it when it was decided, and the decision before in its region, or -1."""

    labels: List[int]
    log_probabilities: List[float]
    earlier: List[int]


def decide_short(
    local: LocalScores, lengths: AnyInts, order: int, allowed: Optional[Mask], *, hardest: bool
) -> Decisions:
    """Arguments as `decode_easiest_first` has them."""
    text = _ShortText(local, lengths, order, allowed)
    everything = (1 << 2 * order) - 1
    start, regions = 0, []
    for length in lengths.tolist():
        open_ = [token for token in range(start, start + length) if text.visible[token] != everything]
        regions.append((open_, -1))
        start += length
    last = [token for token, visible in enumerate(text.visible) if visible == everything]
    while regions:
        open_, before = regions.pop()
        for part in _parts(open_, order):
            chosen = _easiest([-text.best[token] if hardest else text.best[token] for token in part], part)
            text.earlier[chosen] = before
            for token in part:
                if token != chosen:
                    text.earlier[token] = chosen
            told = text.tell(chosen, set(part) - {chosen})
            alone = [token for token in told if text.visible[token] == everything]
            text.ask([token for token in told if text.visible[token] != everything])
            last += alone
            regions.append(([token for token in part if token != chosen and token not in alone], chosen))
    text.ask(last)
    return Decisions(text.labels, text.best, text.earlier)


def _parts(open_: List[int], order: int) -> List[List[int]]:
    """Regions of open tokens, ascending, of one sequence."""
    parts: List[List[int]] = []
    for token in open_:
        if parts and token - parts[-1][-1] <= order:
            parts[-1].append(token)
        else:
            parts.append([token])
    return parts


def _easiest(values: List[float], tokens: List[int]) -> int:
    """The token of the largest value, the first of equal ones."""
    largest = max(values)
    least = largest - EQUAL * abs(largest)
    return next(token for token, value in zip(tokens, values, strict=True) if value >= least)


class _ShortText:
    """What is known of a text while it is labelled. labels, best: the best label of each token given the labels of its
    visible neighbours, and its log probability. visible: slots that are known, as a mask."""

    def __init__(self, local: LocalScores, lengths: AnyInts, order: int, allowed: Optional[Mask]) -> None:
        self._local, self._allowed, self._order = local, allowed, order
        visible, self._contexts = edge_contexts(lengths, order, local.n_labels)
        self.visible: List[int] = visible.tolist()
        guesses, best = self._answers(np.arange(len(visible)), visible, self._contexts)
        self._guesses: List[int] = guesses.tolist()
        self.labels, self.best, self.earlier = guesses.tolist(), best.tolist(), [-1] * len(visible)
        self._as_guessed = [True] * len(visible)
        self._guessed = self._ask_all(visible, guesses)

    def tell(self, chosen: int, open_: Set[int]) -> List[int]:
        """Put the label of a decided token into the slots of its open neighbours, which are returned."""
        told, label = [], self.labels[chosen]
        for slot, offset in enumerate(OFFSETS[self._order]):
            token = chosen - offset  # sees the chosen one at `offset`
            if token in open_:
                self.visible[token] |= 1 << slot
                self._contexts[token, slot] = label
                self._as_guessed[token] &= label == self._guesses[chosen]
                told.append(token)
        return told

    def ask(self, tokens: List[int]) -> None:
        """The best labels of tokens that were told something."""
        surprised = []
        for token in tokens:
            if self._as_guessed[token]:
                self.labels[token], self.best[token] = self._guessed[self.visible[token], token]
            else:
                surprised.append(token)
        if surprised:
            at = np.array(surprised)
            labels, best = self._answers(at, np.array([self.visible[token] for token in surprised]), self._contexts[at])
            for token, label, value in zip(surprised, labels.tolist(), best.tolist(), strict=True):
                self.labels[token], self.best[token] = label, value

    def _ask_all(self, visible: Ints, guesses: Ints) -> Answers:
        """What each token would be, whatever it comes to know, if all neighbours are as guessed."""
        masks = np.arange(1 << 2 * self._order)[:, None]
        mask, token = np.nonzero((visible & ~masks) == 0)
        contexts = self._contexts.copy()
        for slot, offset in enumerate(OFFSETS[self._order]):
            unknown = np.flatnonzero(contexts[:, slot] < 0)
            contexts[unknown, slot] = guesses[unknown + offset]
        labels, best = self._answers(token, mask, contexts[token])
        answers = zip(labels.tolist(), best.tolist(), strict=True)
        return dict(zip(zip(mask.tolist(), token.tolist(), strict=True), answers, strict=True))

    def _answers(self, tokens: Ints, visible: Ints, contexts: Ints) -> Tuple[Ints, Floats]:
        scores = self._local(tokens, visible, np.arange(len(tokens)), contexts)
        return best_labels(scores, tokens, self._allowed)
