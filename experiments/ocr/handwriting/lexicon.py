"""Letter sequences of a list of words as patterns, whether training has seen them or not."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from spacy.util import registry

from spacy_hoseq.decoders.problem import Pattern
from spacy_hoseq.patterns import PatternFeatures, PatternSource
from spacy_hoseq.patterns.sources import EVERYWHERE

FIRST = 3  # letters of the shortest patterns: pairs are what the transition matrix holds


class LexiconTransitions(PatternSource):
    """Every sequence of 3 to `max_order` + 1 letters within at least `min_count` words of a list. One weight for each
    length, so that a sequence which training has not seen earns what the others of its length do.

    path: a word a line. n_words (int): so many from the beginning, 0 = all.
    """

    def __init__(
        self, path: Path, n_words: int = 0, max_order: int = 7, min_count: int = 1
    ) -> None:
        words = Path(path).read_text(encoding="utf8").split()
        self.words = words[: n_words or None]
        self.max_order = max_order
        self.min_count = min_count

    def define(self, labels: Sequence[str], sequences: list[NDArray[np.int32]]) -> PatternFeatures:
        ids = {label: i for i, label in enumerate(labels)}
        counts: Counter[Pattern] = Counter()
        for word in self.words:
            if set(word) <= set(ids):
                letters = tuple(ids[letter] for letter in word)
                counts.update(self._parts(letters))
        patterns = sorted(pattern for pattern, n in counts.items() if n >= self.min_count)
        lengths = np.array([len(pattern) for pattern in patterns], np.intp)
        return PatternFeatures(
            patterns, lengths - FIRST, np.full(len(patterns), EVERYWHERE, np.intp)
        )

    def _parts(self, letters: Pattern) -> "set[Pattern]":
        sizes = range(FIRST, min(self.max_order + 1, len(letters)) + 1)
        return {letters[i : i + size] for size in sizes for i in range(len(letters) - size + 1)}


@registry.misc("spacy_hoseq.lexicon_transitions.v1")
def lexicon_transitions(
    path: str, n_words: int = 0, max_order: int = 7, min_count: int = 1
) -> LexiconTransitions:
    return LexiconTransitions(Path(path), n_words, max_order, min_count)
