"""Scores of word types, kept from batch to batch: what all templates about one word say, for each place of the word.

    own[o][w] = sum over templates k about the word at offset o of table[row(k, w)]

The sum is made once for a word type, template by template, so it is the same number whether it is kept or made anew,
and results do not depend on what was tagged before. Checked in tests/layers/test_type_scores.py.
"""

from threading import Lock
from typing import Any, Dict, List, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..features.extract import Columns, FeatureExtractor
from ..features.index import Index, Rows

Floats = NDArray[np.float32]
Ints = NDArray[np.intp]
MAX_BYTES = 1 << 26  # of kept scores; beyond, all are forgotten
BEFORE, AFTER = -1, -2  # in place of the `orth` of what stands before and after sentences


class OfTypes(NamedTuple):
    """own: offset -> (W, L) scores of the words at this place. rows (T + 2,): of each type of the batch."""

    own: Dict[int, Floats]
    rows: Ints


class TypeScores:
    """Scores of the word types seen so far, under one table of weights."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forget(None, None)

    def _forget(self, table: Any, words: Any) -> None:
        self._made_from = table, words
        self._row_of: Dict[int, int] = {}
        self._own: Dict[int, Floats] = {}

    def of(self, extractor: FeatureExtractor, index: Index, table: Floats, columns: Columns) -> OfTypes:
        """Of the types of a batch. table (F + 1, L): finished weights, which never change."""
        types = [*columns.orths.tolist(), BEFORE, AFTER]
        row_bytes = table.itemsize * table.shape[1] * max(1, len(extractor.of_one_word))
        if len(types) * row_bytes > MAX_BYTES:
            every = np.arange(len(types))
            return OfTypes(_scores(extractor, index, table, columns, every), every)
        with self._lock:
            stale = self._made_from[0] is not table or self._made_from[1] is not extractor.words_seen
            if stale or (len(self._row_of) + len(types)) * row_bytes > MAX_BYTES:
                self._forget(table, extractor.words_seen)
            new = [place for place, orth in enumerate(types) if orth not in self._row_of]
            if new:
                self._learn([types[place] for place in new], _scores(extractor, index, table, columns, np.array(new)))
            rows = np.fromiter(map(self._row_of.__getitem__, types), np.intp, count=len(types))
            return OfTypes(dict(self._own), rows)

    def _learn(self, orths: List[int], scores: Dict[int, Floats]) -> None:
        first = len(self._row_of)
        last = first + len(orths)
        for offset, fresh in scores.items():
            kept = self._own.get(offset)
            if kept is None or last > len(kept):  # grow by doubling; others may still read the old array
                grown = np.zeros((max(2 * first, last), fresh.shape[1]), fresh.dtype)
                if kept is not None:
                    grown[:first] = kept[:first]
                self._own[offset] = kept = grown
            kept[first:last] = fresh
        self._row_of.update(zip(orths, range(first, last), strict=True))

    def __getstate__(self) -> Dict[str, Any]:
        return {}

    def __setstate__(self, state: Dict[str, Any]) -> None:  # another process makes its own
        self.__init__()  # type: ignore[misc]


def _scores(
    extractor: FeatureExtractor, index: Index, table: Floats, columns: Columns, types: Ints
) -> Dict[int, Floats]:
    """Of some types of the batch, made anew. RETURNS offset -> (len(types), L)."""
    return {
        offset: add_rows(table, index.lookup(extractor.type_keys(columns, templates, types)))
        for offset, templates in extractor.of_one_word.items()
    }


def add_rows(table: Floats, rows: Rows) -> Floats:
    """scores[n] = sum_k table[rows[k, n]], template by template (faster than gathering all rows). RETURNS (n, L)."""
    scores = np.zeros((rows.shape[1], table.shape[1]), table.dtype)
    buffer = np.empty_like(scores)
    for row in rows:
        np.take(table, row, axis=0, out=buffer, mode="clip")
        scores += buffer
    return scores
