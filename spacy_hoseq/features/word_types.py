"""Values that depend on a word alone, computed once per word type and then looked up by `orth` for whole batches."""

from typing import Callable, Dict, List

import numpy as np
from numpy.typing import NDArray
from spacy.vocab import Vocab

from .keys import Keys

MAX_WORD_TYPES = 1_000_000  # forget all beyond this many, so that a stream of any length runs in bounded memory


class WordTypes:
    """Table of (word types, columns) uint64. Forgetting only costs time.

    compute: rows of word types by their `orth`; (types, n_columns) uint64.
    """

    def __init__(self, compute: Callable[[Vocab, List[int]], Keys], n_columns: int) -> None:
        self._compute = compute
        self._row_of: Dict[int, int] = {}
        self._table = np.zeros((0, n_columns), np.uint64)

    def values(self, vocab: Vocab, orths: Keys) -> Keys:
        """The row of each token. orths (N,) uint64. RETURNS (N, n_columns) uint64."""
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
        new = self._compute(vocab, orths)
        self._row_of.update(zip(orths, range(first, first + len(orths)), strict=True))
        if first + len(orths) > len(self._table):  # grow by doubling
            grown = np.zeros((max(2 * len(self._table), first + len(orths)), new.shape[1]), np.uint64)
            grown[:first] = self._table[:first]
            self._table = grown
        self._table[first : first + len(orths)] = new
