"""Values that depend on a word alone, computed once per word type and then looked up by `orth` for
whole batches."""

from typing import Any, Callable, List, NamedTuple

import numpy as np
from spacy.vocab import Vocab

from ..arrays import Keys, Rows
from .index import GrowingTable

MAX_WORD_TYPES = (
    1_000_000  # forget all beyond this many, so that a stream of any length runs in bounded memory
)
_ONE = np.uint64(1)


class TypesOf(NamedTuple):
    """Word types of some tokens. rows (N,): of each token in the table. table (at least max(rows) +
    1, columns).
    numbering: another object as soon as a row stands for another word."""

    rows: Rows
    table: Keys
    numbering: object


class WordTypes:
    """Table of (word types, columns) uint64. What a word is depends on the vocabulary (norms and
    stop words, for two), so words of another one are learnt anew.

    compute: rows of word types by their `orth`; (types, columns) uint64. first (n, columns): rows
    that stand before those of words. most (int): word types that are remembered.
    """

    def __init__(
        self, compute: Callable[[Vocab, List[int]], Keys], first: Keys, most: int = MAX_WORD_TYPES
    ) -> None:
        self._compute = compute
        self._most = most
        self._types = GrowingTable((), first, hashed=True)
        self._first = first

    def of(self, vocab: Vocab, orths: Keys, *tables: Any) -> TypesOf:
        """orths (N,) uint64. tables: what else values depend on."""
        types = self._types
        made_from = (vocab, *tables)
        if not types.serves(made_from, self._most):
            self._types = types = GrowingTable(made_from, self._first, hashed=True)
        # 0, the empty word, is no key
        rows, table = types.of(
            orths + _ONE, lambda keys: self._compute(vocab, (keys - _ONE).tolist())
        )
        return TypesOf(rows, table, types)

    def __len__(self) -> int:
        """Words that are known."""
        return len(self._types)

    def clear(self) -> None:
        self._types = GrowingTable((), self._first, hashed=True)
