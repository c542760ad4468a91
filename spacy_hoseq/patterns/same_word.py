"""Skip-chain features: two mentions of one word are likely to have similar labels (Sutton &
McCallum 2004)."""

from functools import partial
from typing import Any, Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..kept import Kept
from .rules import problem_of_tokens
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
        self, label_sets: List[List[str]], token: Dict[str, Any], max_distance: int = 20
    ) -> None:
        problem = problem_of_tokens([token])
        if not label_sets or not all(label_sets):
            problem = "`label_sets` needs at least one set of labels, none of them empty"
        elif max_distance < 1:
            problem = f"`max_distance` must be at least 1, got {max_distance}"
        if problem:
            raise refused(NAME, problem)
        self.label_sets = label_sets
        self.token = token
        self.max_distance = max_distance
        self._matcher: Kept[Matcher] = Kept()  # which belongs to a vocabulary

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a label that the component does not have."""
        unknown = sorted({name for names in self.label_sets for name in names} - set(labels))
        if unknown:
            raise refused(NAME, f'the label "{unknown[0]}" is unknown')
        n = len(self.label_sets)
        sets = [[label in names for label in labels] for names in (*self.label_sets, labels)]
        gap = len(labels) + n
        patterns = [(len(labels) + i, gap, len(labels) + i) for i in range(n)]
        return PatternFeatures(patterns, np.arange(n), np.zeros(n, np.intp), np.array(sets))

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens: List[int] = []
        sizes: List[int] = []
        slots: List[int] = []
        for before, words in sequences_of(docs):
            seen: Dict[int, int] = {}  # word -> its last mention
            matcher = self._matcher.of((words.vocab,), partial(self._make_matcher, words.vocab))
            for i in sorted({first for _, first, _ in matcher(words)}):
                orth = words[i].orth
                distance = i - seen.get(orth, -self.max_distance - 1)
                seen[orth] = i
                if distance <= self.max_distance:
                    tokens.append(before + i)
                    sizes.append(distance + 1)
                    slots += [0, *[1] * (distance - 1), 2]
        last, size, slot = (np.array(values, np.intp) for values in (tokens, sizes, slots))
        return FiredRules(last, np.zeros_like(last), size, slot)

    def _make_matcher(self, vocab: Vocab) -> Matcher:
        matcher = Matcher(vocab)
        matcher.add("word", [[self.token]])
        return matcher
