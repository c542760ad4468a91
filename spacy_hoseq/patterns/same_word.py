"""Skip-chain features: two mentions of one word are likely to have similar labels (Sutton &
McCallum 2004)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from .matchers import TokenMatcher, problem_of_tokens
from .sources import FiredRules, PatternFeatures, PatternSource, refused, sequences_of

NAME = "same_word_pairs"


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
            raise refused(NAME, problem)
        self.label_sets = label_sets
        self.max_distance = max_distance
        self._matcher = TokenMatcher({0: [token]})

    def define(self, labels: Sequence[str], sequences: list[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a label that the component does not have."""
        unknown = sorted({name for names in self.label_sets for name in names} - set(labels))
        if unknown:
            raise refused(NAME, f'the label "{unknown[0]}" is unknown')
        n = len(self.label_sets)
        sets = [[label in names for label in labels] for names in (*self.label_sets, labels)]
        gap = len(labels) + n
        patterns = [(y, gap, y) for y in range(len(labels), gap)]
        return PatternFeatures(patterns, np.arange(n), np.zeros(n, np.intp), np.array(sets))

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        rows: list[list[int]] = []  # token, rule, size
        slots: list[int] = []
        for before, words in sequences_of(docs):
            seen: dict[int, int] = {}  # word -> its last mention
            matches = self._matcher.matches(words)
            for i in sorted({i for (_, *stretch), _ in matches for i in range(*stretch)}):
                orth = words[i].orth
                distance = i - seen.get(orth, -self.max_distance - 1)
                seen[orth] = i
                if distance <= self.max_distance:
                    rows.append([before + i, 0, distance + 1])
                    slots += [0, *[1] * (distance - 1), 2]
        tokens, rules, sizes = np.array(rows, np.intp).reshape(-1, 3).T.copy()
        return FiredRules(tokens, rules, sizes, np.array(slots, np.intp))
