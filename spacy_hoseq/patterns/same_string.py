"""Skip-chain features of strings of tokens: what is a chunk at one of its mentions is likely to be
one at the next.

Where tokens are characters, a name that is mentioned twice is a string, of which a single token
says little. The
configurations are B I .. I L  x  any*  x  B I .. I L (Qian et al. 2009, section 2; Sutton & McCallum 2004 for words).
"""

from typing import Dict, List, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors
from ..features.sequences import sentence_starts
from .chunk_words import LETTERS
from .sources import ConfigurationFeatures, FiredRules, PatternFeatures

NONE = np.zeros(0, np.intp)
SLOTS = 4  # first, inner and last token of a mention, and the gap


class Pair(NamedTuple):
    """Two mentions: their first tokens, and the tokens of each."""

    first: int
    second: int
    size: int


class SameStringPairs:
    """Two neighbouring mentions of a string of tokens: one weight for each type of chunk that both
    are.

    types: such as ["ORG"]; the tags must be of "bilou" or "start_end".
    min_size, max_size (int): tokens of a string, from 2. Only the longest strings that both
        mentions have count.
    max_distance (int): most tokens between two mentions, from 0. Every pair that is open at a token
        can double its states.
    RAISES ValueError [HS034]: settings that cannot work.
    """

    n_rules = 1

    def __init__(
        self, types: List[str], min_size: int = 2, max_size: int = 12, max_distance: int = 40
    ) -> None:
        if not types:
            raise ValueError(_message("`types` needs at least one type"))
        if not 2 <= min_size <= max_size or max_distance < 0:
            got = (min_size, max_size, max_distance)
            raise ValueError(
                _message(f"2 <= min_size <= max_size and 0 <= max_distance are needed, got {got}")
            )
        self.types = types
        self.min_size = min_size
        self.max_size = max_size
        self.max_distance = max_distance

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        """RAISES ValueError [HS034]: the component has no tags of such chunks."""
        sets = [[True] * len(labels)]
        slots: List[int] = []
        for name in self.types:
            letters = next((some for some in LETTERS if f"{some[3]}-{name}" in labels), None)
            if letters is None:
                raise ValueError(_message(f'no tags of {name} as "bilou" or "start_end" have them'))
            slots += [len(sets), len(sets) + 1, len(sets) + 2, 0]
            sets += [[label == f"{letter}-{name}" for label in labels] for letter in letters[1:]]
        n = len(self.types)
        number = np.arange(n)
        spanning = ConfigurationFeatures(
            np.array(sets, bool), np.array(slots), np.full(n, SLOTS), number, np.zeros(n, np.intp)
        )
        return PatternFeatures([], NONE, NONE, spanning)

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        tokens: List[int] = []
        sizes: List[int] = []
        slots: List[int] = []
        shift = 0
        for doc in docs:
            starts = np.flatnonzero(sentence_starts(doc)).tolist()
            words: List[int] = doc.to_array("ORTH").tolist()
            for start, end in zip(starts, [*starts[1:], len(doc)], strict=False):
                for first, second, size in self._pairs(words[start:end]):
                    mention = [0, *[1] * (size - 2), 2]
                    tokens.append(shift + start + second + size - 1)
                    sizes.append(second + size - first)
                    slots += [*mention, *[3] * (second - first - size), *mention]
            shift += len(doc)
        rules = np.zeros(len(tokens), np.intp)
        return FiredRules(
            np.array(tokens, np.intp), rules, np.array(sizes, np.intp), np.array(slots, np.intp)
        )

    def _pairs(self, words: List[int]) -> List[Pair]:
        """All pairs of neighbouring mentions of a sentence, by their places: strings that cannot
        both begin earlier or end later, and that do not overlap."""
        pairs = []
        places: Dict[Tuple[int, ...], int] = {}  # string of min_size -> its last mention
        for second in range(len(words) - self.min_size + 1):
            key = tuple(words[second : second + self.min_size])
            first = places.get(key, -1)
            places[key] = second
            if first < 0 or first > 0 and words[first - 1] == words[second - 1]:
                continue
            size = self.min_size
            while second + size < len(words) and words[first + size] == words[second + size]:
                size += 1
            gap = second - first - size
            if size <= self.max_size and 0 <= gap <= self.max_distance:
                pairs.append(Pair(first, second, size))
        return pairs


def _message(problem: str) -> str:
    return Errors.HS034.format(rule="same_string_pairs", problem=problem)
