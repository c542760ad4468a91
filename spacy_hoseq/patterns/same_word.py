"""Skip-chain features: two mentions of one word are likely to have similar labels (Sutton &
McCallum 2004)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Labels
from .matchers import TokenMatcher, problem_of_tokens
from .sources import (
    FiredRules,
    PatternFeatures,
    PatternSource,
    fired_spans,
    refused,
    sequences_of,
)


class SameWordPairs(PatternSource):
    """Two neighbouring mentions of a word: one weight for each label set that has the labels of
    both.

    The configurations are Z x any* x Z (Qian et al. 2009, section 2). Pairs lie within one
    sequence: use Docs without sentence boundaries, or one Doc for a paragraph, to reach further.

    label_sets: for example [["B-PER", "I-PER"], ["B-ORG", "I-ORG"]].
    token: spaCy `Matcher` description of the words that count, for example {"IS_TITLE": true}; {} =
        every word.
    max_distance (int): most tokens from one mention to the next, >= 1. Every pair that is open at a
        token can double its states; several sets multiply them more.
    RAISES ValueError [HS034]: settings that cannot work.
    """

    n_rules = 1

    def __init__(
        self, label_sets: list[list[str]], token: dict[str, Any], max_distance: int = 20
    ) -> None:
        problem = problem_of_tokens([token])
        if not label_sets or not all(label_sets):
            problem = "`label_sets` needs at least one set of labels, none of them empty"
        elif max_distance < 1:
            problem = f"`max_distance` must be at least 1, got {max_distance}"
        if problem:
            raise refused("same_word_pairs", problem)
        self.label_sets = label_sets
        self.max_distance = max_distance
        self._matcher = TokenMatcher({0: [token]})

    def define(self, labels: Sequence[str], sequences: list[Labels]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a label that the component does not have."""
        unknown = sorted(set().union(*self.label_sets).difference(labels))
        if unknown:
            raise refused("same_word_pairs", f'the label "{unknown[0]}" is unknown')
        n_labels = len(labels)
        n_sets = len(self.label_sets)
        # a row for each label set, and one of all labels for the words between
        sets = np.ones((n_sets + 1, n_labels), bool)
        sets[:-1] = [np.isin(labels, names) for names in self.label_sets]
        between = n_labels + n_sets
        patterns = [(y, between, y) for y in range(n_labels, between)]
        return PatternFeatures(patterns, np.arange(n_sets), np.zeros(n_sets, np.intp), sets)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        matches: list[tuple[int, int, int]] = []  # token, rule, size
        slots: list[int] = []
        for before, words in sequences_of(docs):
            latest: dict[int, int] = {}  # mention of each word
            mentions: set[int] = set()
            for (_, start, end), _ in self._matcher.matches(words):
                mentions.update(range(start, end))
            for i in sorted(mentions):
                orth = words[i].orth
                distance = i - latest.get(orth, -self.max_distance - 1)
                latest[orth] = i
                if distance <= self.max_distance:
                    matches.append((before + i, 0, distance + 1))
                    # the first mention, the words between, the second mention
                    slots += [0, *[1] * (distance - 1), 2]
        return fired_spans(matches, slots)
