"""Lexical attribute values, computed once per word type and then looked up by `orth` for whole batches."""

from typing import Dict, List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.vocab import Vocab

from .attributes import lexical_attribute
from .keys import Keys
from .known_tags import known_tag_table

MAX_WORD_TYPES = 1_000_000  # forget all beyond this many, so that a stream of any length runs in bounded memory


class Lexicon:
    """Table of (word types, attributes) uint64. Values depend on the word alone (those of known tags also on the
    vocabulary's table of them), so forgetting only costs time.

    attributes: names of lexical attributes; column a of every result belongs to attributes[a].
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        functions = [lexical_attribute(name) for name in attributes]
        self._functions = [f for f in functions if f is not None]
        self._reads_tags = any(name.startswith("known_tag") for name in attributes)
        self._tags: object = None
        self._row_of: Dict[int, int] = {}
        self._table = np.zeros((0, len(attributes)), np.uint64)

    def values(self, vocab: Vocab, orths: Keys) -> Keys:
        """Attribute values of each token. orths (N,) uint64. RETURNS (N, A) uint64."""
        if self._reads_tags and known_tag_table(vocab) is not self._tags:
            self.clear()
            self._tags = known_tag_table(vocab)
        types, inverse = np.unique(orths, return_inverse=True)
        type_list = types.tolist()
        if len(self._row_of) + len(type_list) > MAX_WORD_TYPES:
            self.clear()
        unknown = [orth for orth in type_list if orth not in self._row_of]
        if unknown:
            self._learn(vocab, unknown)
        rows = np.fromiter(map(self._row_of.__getitem__, type_list), np.intp, count=len(type_list))
        result: NDArray[np.uint64] = self._table[rows[inverse]]
        return result

    def clear(self) -> None:
        self._row_of.clear()
        self._table = self._table[:0]

    def _learn(self, vocab: Vocab, orths: List[int]) -> None:
        first = len(self._row_of)
        new = np.zeros((len(orths), self._table.shape[1]), np.uint64)
        for i, orth in enumerate(orths):
            lexeme = vocab[orth]
            new[i] = [f(lexeme) & 0xFFFFFFFFFFFFFFFF for f in self._functions]
            self._row_of[orth] = first + i
        if first + len(orths) > len(self._table):  # grow by doubling
            grown = np.zeros((max(2 * len(self._table), first + len(orths)), new.shape[1]), np.uint64)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first : first + len(orths)] = new
