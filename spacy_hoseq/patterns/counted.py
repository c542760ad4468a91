"""Label patterns counted in the training data: frequent ones that fire everywhere, and those of
words."""

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc

from ..arrays import AnyInts, Floats, Ints, Keys, Labels
from ..decoders.problem import Pattern, ranges
from ..features.sequences import words_and_lengths
from .sources import (
    EVERYWHERE,
    FiredRules,
    PatternFeatures,
    PatternSource,
    check_number,
    fired_rules,
)

# of the number of a word's rule: a word is taken for one of 1,000 others once in 270,000 words
WORD_RULE_BITS = 28


class FrequentTransitions(PatternSource):
    """Every label sequence of order 2 to `max_order` that was seen at least `min_count` times, with
    one weight each (Qian & Liu, "Experiments").

    (The transition matrix holds order 1, with weights of any sign.)

    max_order (int): longest patterns, 2 to 20; order 3 is four labels. min_count (int): how often
        each must occur in training, >= 1; lower: more patterns, slower.
    RAISES ValueError [HS027].
    """

    def __init__(self, max_order: int = 3, min_count: int = 10) -> None:
        check_number("max_order", max_order, 2, 20)
        check_number("min_count", min_count, 1)
        self.max_order = max_order
        self.min_count = min_count

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        patterns: list[Pattern] = []
        for length in range(3, self.max_order + 2):
            _, windows = _windows(sequences, length)
            strings, counts = np.unique(windows, axis=0, return_counts=True)
            patterns += [tuple(string) for string in strings[counts >= self.min_count].tolist()]
        n = len(patterns)
        return PatternFeatures(patterns, np.arange(n), np.full(n, EVERYWHERE, np.intp))


class WordPatterns(PatternSource):
    """Label patterns tied to words: "at this word, these labels around it".

    A rule is a word and its place in a window of n tokens, 2 <= n <= max_order + 1; its patterns are
    strings y_1 ... y_n of labels of the window, one weight each. A candidate occurs at least
    `min_count` times in the training text with its rule. The `most` candidates with the largest
    gain > 0 become patterns:

        gain = N(y_1 ... y_n) log [ N(y_1 ... y_n) N(y_2 ... y_{n-1}) / (N(y_1 ... y_{n-1}) N(y_2 ... y_n)) ]

    N counts strings in windows of the rule. The gain is what the string says at this word beyond its
    parts.

    The number of a rule is a hash of word and place, so that nothing but the features is saved.

    max_order (int): longest patterns, 1 to 8; order 1 is two labels. min_count (int): how often the
        word and the labels must occur together in training. most (int): how many patterns at most;
        more are slower.
    RAISES ValueError [HS027]: settings out of range.
    """

    n_rules = 1 << WORD_RULE_BITS

    def __init__(self, max_order: int = 2, min_count: int = 5, most: int = 1000) -> None:
        check_number("max_order", max_order, 1, 8)
        check_number("min_count", min_count, 1)
        check_number("most", most, 1)
        self.max_order = max_order
        self.min_count = min_count
        self.most = most
        self._words: list[Keys] = []

    def see(self, docs: Sequence[Doc]) -> None:
        self._words.append(words_and_lengths(docs)[0])

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        words = np.concatenate([np.zeros(0, np.uint64), *self._words])
        self._words = []
        gains = [np.zeros(0)]
        rules = [np.zeros(0, np.intp)]
        patterns: list[Pattern] = []
        for length in range(2, self.max_order + 2):
            ends, windows = _windows(sequences, length)
            for j in range(length):
                rows = np.column_stack([_rules(words[ends - j], j), windows])
                candidates, n, gain = _counted(rows)
                chosen = (n >= self.min_count) & (gain > 0)
                gains.append(gain[chosen])
                rules.append(candidates[chosen, 0])
                patterns += [tuple(row) for row in candidates[chosen, 1:].tolist()]
        # a stable sort: of equal gains, the shorter pattern comes first
        best = np.argsort(-np.concatenate(gains), kind="stable")[: self.most]
        rule_of = np.concatenate(rules)[best]
        return PatternFeatures([patterns[i] for i in best.tolist()], np.arange(len(best)), rule_of)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """All rules that a feature can have, at all tokens."""
        words, lengths = words_and_lengths(docs)
        places = _places(lengths)
        tokens = []
        rules = []
        for j in range(self.max_order + 1):
            last = np.flatnonzero(places >= j)
            tokens.append(last)
            rules.append(_rules(words[last - j], j))
        return fired_rules(np.concatenate(tokens), np.concatenate(rules))


def _windows(sequences: list[Labels], length: int) -> tuple[Ints, Ints]:
    """All strings of `length` known labels. RETURNS the last token of each (W,), and the strings (W,
    length)."""
    gold = np.concatenate([np.zeros(0, np.intp), *sequences])
    places = _places(np.array([len(sequence) for sequence in sequences], np.intp))
    ends = np.flatnonzero(places >= length - 1)
    windows = gold[ends[:, None] + np.arange(1 - length, 1)]
    is_known = (windows >= 0).all(axis=1)
    return ends[is_known], windows[is_known]


def _places(lengths: AnyInts) -> Ints:
    """Places of tokens in their sequences, from 0."""
    return ranges(np.zeros_like(lengths), lengths)


def _rules(words: Keys, place: int) -> Ints:
    """Numbers of the rules of words that are `place` tokens before the end of a window."""
    # the highest bits of a product are a hash (Knuth, "The Art of Computer Programming", 6.4)
    mixed = (words + np.uint64(place)) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(64 - WORD_RULE_BITS)).astype(np.intp)


def _counted(rows: Ints) -> tuple[Ints, Ints, Floats]:
    """Distinct rows, how often each is there, and its gain. rows (M, 1 + n): rule and labels."""
    distinct, first, n = np.unique(rows, axis=0, return_index=True, return_counts=True)
    string = _counts_of(rows)[first]
    without_last = _counts_of(rows[:, :-1])[first]
    without_first = _counts_of(np.delete(rows, 1, axis=1))[first]
    middle = _counts_of(np.delete(rows[:, :-1], 1, axis=1))[first]
    return distinct, n, np.log(string * middle / (without_last * without_first)) * string


def _counts_of(rows: Ints) -> Floats:
    """How often each row is among all rows."""
    _, inverse, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return counts[inverse.reshape(-1)].astype(np.float64)
