"""Skip-chain features: two mentions of one word are likely to have similar labels (Sutton &
McCallum 2004)."""

from typing import Any, Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..kept import Kept
from .sources import (
    NONE,
    ConfigurationFeatures,
    FiredRules,
    PatternFeatures,
    refused,
    sequences_of,
)

NAME = "same_word_pairs"


class SameWordPairs:
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
        if not label_sets or not all(label_sets):
            raise refused(NAME, "`label_sets` needs at least one set of labels, none of them empty")
        if max_distance < 1:
            raise refused(NAME, f"`max_distance` must be at least 1, got {max_distance}")
        problem = problem_of_tokens([token])
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
        number = np.arange(n)
        slots = np.column_stack([number, np.full(n, n), number])  # mention, gap, mention
        spanning = ConfigurationFeatures(
            np.array(sets), slots.reshape(-1), np.full(n, 3), number, np.zeros(n, np.intp)
        )
        return PatternFeatures([], NONE, NONE, spanning)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens: List[int] = []
        sizes: List[int] = []
        slots: List[int] = []
        for before, doc, start, end in sequences_of(docs):
            seen: Dict[int, int] = {}  # word -> its last mention
            matches = self._matcher_of(doc.vocab)(doc[start:end])
            for place in sorted({first for _, first, _ in matches}):
                i = start + place
                distance = i - seen.get(doc[i].orth, -self.max_distance - 1)
                seen[doc[i].orth] = i
                if distance <= self.max_distance:
                    tokens.append(before + i)
                    sizes.append(distance + 1)
                    slots += [0, *[1] * (distance - 1), 2]
        arrays = [np.array(values, np.intp) for values in (tokens, sizes, slots)]
        return FiredRules(arrays[0], np.zeros(len(tokens), np.intp), arrays[1], arrays[2])

    def _matcher_of(self, vocab: Vocab) -> Matcher:
        def make() -> Matcher:
            matcher = Matcher(vocab)
            matcher.add("word", [[self.token]])
            return matcher

        return self._matcher.of((vocab,), make)


def problem_of_tokens(tokens: List[Dict[str, Any]]) -> str:
    """Why spaCy's `Matcher` cannot read descriptions of tokens; "" = it can."""
    try:
        Matcher(Vocab(), validate=True).add("rule", [tokens])
    except Exception as error:
        return str(error)
    return ""
