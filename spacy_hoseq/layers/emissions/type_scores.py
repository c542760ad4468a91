"""Scores of word types, kept from batch to batch: what all templates about one word say, for each place of the word.

    own[o][w] = sum over templates k about the word at offset o of table[row(k, w)]

The sum is made once for a word type, template by template, so it is the same number whether it is kept or made anew,
and results do not depend on what was tagged before. Checked in tests/layers/emissions/test_type_scores.py.
"""

from threading import Lock
from typing import Any, Dict, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats32, Ints
from ...features.extract import Columns, FeatureExtractor
from ...features.index import Index
from ..weights.row_sums import add_rows

MAX_BYTES = 1 << 26  # of kept scores; beyond, all are forgotten


class OfTypes(NamedTuple):
    """own: offset -> (W, L) scores of the words at this place. rows (P,): of the word at each place of the batch."""

    own: Dict[int, Floats32]
    rows: Ints


class TypeScores:
    """Scores of the word types seen so far, under one table of weights."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forget(None, None)

    def _forget(self, table: Any, numbering: Any) -> None:
        self._made_from = table, numbering
        self._n_kept = 0
        self._row_of = np.zeros(0, np.intp)  # of each word type, -1 = not kept
        self._own: Dict[int, Floats32] = {}

    def of(self, extractor: FeatureExtractor, index: Index, table: Floats32, columns: Columns) -> OfTypes:
        """Of the words of a batch. table (F + 1, L): finished weights, which never change."""
        row_bytes = table.itemsize * table.shape[1] * max(1, len(extractor.of_one_word))
        with self._lock:
            if self._made_from[0] is not table or self._made_from[1] is not columns.numbering:
                self._forget(table, columns.numbering)
            rows = self._rows(columns)
            new = np.unique(columns.types[rows < 0])
            if (self._n_kept + len(new)) * row_bytes > MAX_BYTES:
                self._forget(table, columns.numbering)
                new = np.unique(columns.types)
            if not len(new):
                return OfTypes(dict(self._own), rows)
            scores = _scores(extractor, index, table, columns, new)
            if len(new) * row_bytes > MAX_BYTES:
                return OfTypes(scores, np.searchsorted(new, columns.types))
            self._learn(new, scores)
            return OfTypes(dict(self._own), self._rows(columns))

    def _rows(self, columns: Columns) -> Ints:
        """RETURNS (P,), -1 for types that are not kept."""
        self._make_room(int(columns.types.max(initial=-1)) + 1)
        return self._row_of.take(columns.types)

    def _make_room(self, n_types: int) -> None:
        if n_types > len(self._row_of):
            more = max(n_types, 2 * len(self._row_of)) - len(self._row_of)
            self._row_of = np.append(self._row_of, np.full(more, -1))

    def _learn(self, types: NDArray[np.int32], scores: Dict[int, Floats32]) -> None:
        """types (n,): ascending."""
        first, last = self._n_kept, self._n_kept + len(types)
        for offset, fresh in scores.items():
            kept = self._own.get(offset)
            if kept is None or last > len(kept):  # grow by doubling; others may still read the old array
                grown = np.zeros((max(2 * first, last), fresh.shape[1]), fresh.dtype)
                if kept is not None:
                    grown[:first] = kept[:first]
                self._own[offset] = kept = grown
            kept[first:last] = fresh
        self._make_room(int(types[-1]) + 1)
        self._row_of[types] = np.arange(first, last)
        self._n_kept = last

    def __getstate__(self) -> Dict[str, Any]:
        return {}

    def __setstate__(self, state: Dict[str, Any]) -> None:  # another process makes its own
        self.__init__()  # type: ignore[misc]


def _scores(
    extractor: FeatureExtractor, index: Index, table: Floats32, columns: Columns, types: NDArray[np.int32]
) -> Dict[int, Floats32]:
    """Of some word types, made anew. RETURNS offset -> (len(types), L)."""
    return {
        offset: add_rows(table, index.lookup(extractor.type_keys(columns, templates, types)))
        for offset, templates in extractor.of_one_word.items()
    }
