"""Skip-chain features: two mentions of one word are likely to have similar labels (Sutton &
McCallum 2004)."""

from typing import Any, Dict, List, Sequence, Set

import numpy as np
from numpy.typing import NDArray
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..errors import Errors
from ..features.sequences import sentence_starts
from ..kept import Kept
from .sources import ConfigurationFeatures, FiredRules, PatternFeatures


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
            raise ValueError(
                _message("`label_sets` needs at least one set of labels, none of them empty")
            )
        if max_distance < 1:
            raise ValueError(_message(f"`max_distance` must be at least 1, got {max_distance}"))
        try:
            Matcher(Vocab(), validate=True).add("word", [[token]])
        except Exception as error:  # a description that spaCy cannot read
            raise ValueError(_message(str(error))) from error
        self.label_sets = label_sets
        self.token = token
        self.max_distance = max_distance
        self._matcher: Kept[Matcher] = Kept()  # which belongs to a vocabulary

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: a label that the component does not have."""
        unknown = sorted({name for names in self.label_sets for name in names} - set(labels))
        if unknown:
            raise ValueError(_message(f'the label "{unknown[0]}" is unknown'))
        named = [[label in names for label in labels] for names in self.label_sets]
        sets = np.array([*named, [True] * len(labels)], bool)
        n = len(self.label_sets)
        anything = np.full(n, n)
        slots = np.stack([np.arange(n), anything, np.arange(n)], axis=1).reshape(
            -1
        )  # mention, gap, mention
        number = np.arange(n)
        spanning = ConfigurationFeatures(sets, slots, np.full(n, 3), number, np.zeros(n, np.intp))
        return PatternFeatures([], np.zeros(0, np.intp), np.zeros(0, np.intp), spanning)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens: List[int] = []
        sizes: List[int] = []
        start = 0
        for doc in docs:
            sequence = np.cumsum(sentence_starts(doc))
            seen: Dict[int, int] = {}  # word -> its last mention
            for i in sorted(self._mentions(doc)):
                before = seen.get(doc[i].orth)
                if (
                    before is not None
                    and i - before <= self.max_distance
                    and sequence[before] == sequence[i]
                ):
                    tokens.append(start + i)
                    sizes.append(i - before + 1)
                seen[doc[i].orth] = i
            start += len(doc)
        size = np.array(sizes, np.intp)
        slots = np.ones(size.sum(), np.intp)
        ends = np.cumsum(size)
        slots[ends - size] = 0
        slots[ends - 1] = 2
        return FiredRules(np.array(tokens, np.intp), np.zeros(len(tokens), np.intp), size, slots)

    def _mentions(self, doc: Doc) -> Set[int]:
        def make() -> Matcher:
            matcher = Matcher(doc.vocab)
            matcher.add("word", [[self.token]])
            return matcher

        matcher = self._matcher.of((doc.vocab,), make)
        return {first for _, first, _ in matcher(doc)}


def _message(problem: str) -> str:
    return Errors.HS034.format(rule="same_word_pairs", problem=problem)
