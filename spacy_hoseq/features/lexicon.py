"""Lexical attribute values, computed once per word type."""

from collections import defaultdict
from typing import Any, Callable, Dict, List, Sequence

import numpy as np
from spacy.vocab import Vocab

from ..arrays import Keys
from .attributes import Word, as_keys, lexical_attribute
from .keys import AFTER, BEFORE
from .word_types import MAX_WORD_TYPES, TypesOf, WordTypes

# rows that stand for what is before and after a sentence
TYPE_BEFORE = 0
TYPE_AFTER = 1


class Lexicon:
    """Table of (word types, attributes) uint64. Values depend on the word alone, some also on a
    table of the vocabulary's lookups.

    attributes: names of lexical attributes; column a of every result belongs to attributes[a]. most
    (int): word types that are remembered. tables (List[str]): names of the tables that they depend
    on.
    """

    def __init__(self, attributes: Sequence[str], most: int = MAX_WORD_TYPES) -> None:
        chosen = {
            a: known
            for a, known in enumerate(map(lexical_attribute, attributes))
            if known is not None
        }
        self._functions: Dict[Word, Dict[int, Callable[..., Any]]] = defaultdict(
            dict
        )  # by what they are given
        for a, known in chosen.items():
            self._functions[known.word][a] = known.function
        self.tables = sorted({known.table for known in chosen.values() if known.table is not None})
        outside = np.array([[BEFORE], [AFTER]], np.uint64).repeat(len(attributes), axis=1)
        self._types = WordTypes(self._values_of, outside, most)

    def of(self, vocab: Vocab, orths: Keys) -> TypesOf:
        """Where the attribute values of each token are. orths (N,) uint64."""
        return self._types.of(
            vocab, orths, *(vocab.lookups.get_table(name, None) for name in self.tables)
        )

    def clear(self) -> None:
        self._types.clear()

    def _values_of(self, vocab: Vocab, orths: List[int]) -> Keys:
        lexemes = [vocab[orth] for orth in orths]
        texts = [lexeme.text for lexeme in lexemes]
        values = np.zeros((len(orths), sum(map(len, self._functions.values()))), np.uint64)
        for kind, functions in self._functions.items():
            words = texts if kind in ("text", "texts") else lexemes
            if kind in ("texts", "lexemes"):
                for a, function in functions.items():
                    values[:, a] = as_keys(function(words))
            else:  # word by word: some make all that is asked of one word at once
                answers = [function(word) for word in words for function in functions.values()]
                values[:, [*functions]] = as_keys(answers).reshape(len(words), len(functions))
        return values
