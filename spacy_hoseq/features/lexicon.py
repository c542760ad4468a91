"""Lexical attribute values, computed once per word type."""

from typing import List, Sequence

import numpy as np
from spacy.vocab import Vocab

from .attributes import lexical_attribute, text_attribute
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
        self._of_text = [(a, f) for a, f in enumerate(map(text_attribute, attributes)) if f is not None]
        known = {a for a, _ in self._of_text}
        others = [(a, lexical_attribute(name)) for a, name in enumerate(attributes) if a not in known]
        self._of_lexeme = [(a, f) for a, f in others if f is not None]
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
        lexemes = [vocab[orth] for orth in orths]
        result = np.zeros((len(orths), len(self._of_text) + len(self._of_lexeme)), np.uint64)
        if self._of_lexeme:  # word by word: some make all that is asked of one word at once
            columns = [a for a, _ in self._of_lexeme]
            values = (f(lexeme) & 0xFFFFFFFFFFFFFFFF for lexeme in lexemes for _, f in self._of_lexeme)
            found = np.fromiter(values, np.uint64, len(lexemes) * len(columns))
            result[:, columns] = found.reshape(len(lexemes), len(columns))
        texts = [lexeme.text for lexeme in lexemes]
        for a, function in self._of_text:
            result[:, a] = np.fromiter(map(function, texts), np.uint64, len(texts))
        return result
