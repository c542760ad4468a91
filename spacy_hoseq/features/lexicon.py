"""Lexical attribute values, computed once per word type."""

from typing import List, Sequence

import numpy as np
from spacy.vocab import Vocab

from .attributes import lexical_attribute
from .keys import AFTER, BEFORE, Keys
from .known_tags import known_tag_table
from .word_types import TypesOf, WordTypes

TYPE_BEFORE, TYPE_AFTER = 0, 1  # rows that stand for what is before and after a sentence


class Lexicon:
    """Table of (word types, attributes) uint64. Values depend on the word alone, those of known tags also on the
    vocabulary's table of them.

    attributes: names of lexical attributes; column a of every result belongs to attributes[a].
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        functions = [lexical_attribute(name) for name in attributes]
        self._functions = [f for f in functions if f is not None]
        self._reads_tags = any(name.startswith("known_tag") for name in attributes)
        self._tags: object = None
        outside = np.array([[BEFORE], [AFTER]], np.uint64).repeat(len(attributes), axis=1)
        self._types = WordTypes(self._attributes_of, len(attributes), outside)

    def of(self, vocab: Vocab, orths: Keys) -> TypesOf:
        """Where the attribute values of each token are. orths (N,) uint64."""
        if self._reads_tags and known_tag_table(vocab) is not self._tags:
            self.clear()
            self._tags = known_tag_table(vocab)
        return self._types.of(vocab, orths)

    def clear(self) -> None:
        self._types.clear()

    def _attributes_of(self, vocab: Vocab, orths: List[int]) -> Keys:
        result = np.zeros((len(orths), len(self._functions)), np.uint64)
        for i, orth in enumerate(orths):
            lexeme = vocab[orth]
            result[i] = [f(lexeme) & 0xFFFFFFFFFFFFFFFF for f in self._functions]
        return result
