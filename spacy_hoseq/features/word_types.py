"""Values that depend on a word alone, computed once per word type and then looked up by `orth` for whole batches."""

from threading import Lock
from typing import Any, Callable, Dict, List, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray
from spacy.vocab import Vocab

from .index import ExactIndex
from .keys import Keys

MAX_WORD_TYPES = 1_000_000  # forget all beyond this many, so that a stream of any length runs in bounded memory
_ONE = np.uint64(1)


class TypesOf(NamedTuple):
    """Word types of some tokens. rows (N,): of each token in the table. table (at least max(rows) + 1, columns).
    numbering: another object as soon as a row stands for another word."""

    rows: NDArray[np.int32]
    table: Keys
    numbering: object


class WordTypes:
    """Table of (word types, columns) uint64. Forgetting only costs time. What a word is depends on the vocabulary
    (norms and stop words, for two), so words of another one are learnt anew.

    compute: rows of word types by their `orth`; (types, n_columns) uint64. first (n, n_columns): rows that stand before
    those of words; None = there are none.
    """

    def __init__(
        self, compute: Callable[[Vocab, List[int]], Keys], n_columns: int, first: Optional[Keys] = None
    ) -> None:
        self._compute = compute
        self._first = np.zeros((0, n_columns), np.uint64) if first is None else first
        self._lock = Lock()
        self._vocab: Optional[Vocab] = None
        self._forget()

    def of(self, vocab: Vocab, orths: Keys) -> TypesOf:
        """orths (N,) uint64."""
        with self._lock:
            if vocab is not self._vocab:
                self._forget()
                self._vocab = vocab
            keys = orths + _ONE  # 0, the empty word, is no key
            rows = self._index.lookup(keys)
            is_new = rows == self._index.n_rows
            if is_new.any():
                new = np.unique(orths[is_new])
                if self._index.n_rows and self._index.n_rows + len(new) > MAX_WORD_TYPES:
                    self._forget()
                    new = np.unique(orths)
                self._learn(vocab, new)
                rows = self._index.lookup(keys)
            return TypesOf(rows + np.int32(len(self._first)), self._table, self._numbering)

    def __len__(self) -> int:
        """Words that are known."""
        return self._index.n_rows

    def clear(self) -> None:
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._index = ExactIndex(np.zeros(0, np.uint64))
        self._table = self._first  # a new array: others may still read the old one
        self._numbering = object()

    def _learn(self, vocab: Vocab, orths: Keys) -> None:
        start = len(self._first) + self._index.n_rows
        new = self._compute(vocab, orths.tolist())
        if start + len(new) > len(self._table):  # grow by doubling
            grown = np.zeros((max(2 * len(self._table), start + len(new)), new.shape[1]), np.uint64)
            grown[:start] = self._table[:start]
            self._table = grown
        self._table[start : start + len(new)] = new
        self._index.add(orths + _ONE)

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name in ("_compute", "_first")}

    def __setstate__(self, state: Dict[str, Any]) -> None:  # another process learns its own
        self.__dict__.update(state, _lock=Lock(), _vocab=None)
        self._forget()
