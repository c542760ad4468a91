"""Lexical attribute values, computed once per word type."""

from typing import List, Sequence

import numpy as np
from spacy.vocab import Vocab

from .attributes import lexical_attribute
from .keys import Keys
from .known_tags import known_tag_table
from .word_types import WordTypes


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
        self._types = WordTypes(self._attributes_of, len(attributes))
        self.words_seen = object()  # another one after `clear`

    def values(self, vocab: Vocab, orths: Keys) -> Keys:
        """Attribute values of each token. orths (N,) uint64. RETURNS (N, A) uint64."""
        if self._reads_tags and known_tag_table(vocab) is not self._tags:
            self.clear()
            self._tags = known_tag_table(vocab)
        return self._types.values(vocab, orths)

    def clear(self) -> None:
        self._types.clear()
        self.words_seen = object()

    def _attributes_of(self, vocab: Vocab, orths: List[int]) -> Keys:
        result = np.zeros((len(orths), len(self._functions)), np.uint64)
        for i, orth in enumerate(orths):
            lexeme = vocab[orth]
            result[i] = [f(lexeme) & 0xFFFFFFFFFFFFFFFF for f in self._functions]
        return result
