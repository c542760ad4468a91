"""Scores of word types under local classifiers, kept from batch to batch.

    own[o, v][w] = sum over templates k about the word at offset o of table[row(v, k, w)]        (classifier v, word w)

The sum is made once for a word type, place and classifier, when it is first asked for, template by template: it is the
same number whether it is kept or made anew. Checked in tests/layers/local/test_type_scores.py.
"""

from threading import Lock
from typing import Dict, List, NamedTuple, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats32, Ints, Mask
from ...features.extract import Columns, FeatureExtractor
from ...features.index import ExactIndex, Rows

MAX_BYTES = 1 << 26  # of kept scores; beyond, all are forgotten
MAX_TYPES = 200_000  # beyond, the types are forgotten, too


class StackedWeights(NamedTuple):
    """All classifiers in one table, without rows of zeros, so that tokens that ask different ones are done together.

    table (R, L) float32: row 0 is zero. rows (masks, F): row in the table of each feature; 0 where a classifier has no
    weights for it. labels (int): number of the first feature of label templates; the one before it and the last one
    stand for "no such feature". trained (masks,) bool: which classifiers there are.
    """

    table: Floats32
    rows: NDArray[np.int32]
    labels: int
    trained: Mask


class LocalTypeScores:
    """Of the word types seen so far, under one table of weights. index: of the features of words."""

    def __init__(
        self, weights: StackedWeights, extractor: FeatureExtractor, index: ExactIndex, n_plain: int, numbering: object
    ) -> None:
        """n_plain (int): the templates of the extractor that are asked for, the first ones. numbering: of the word
        types, as their `Columns` have it."""
        own = {o: [k for k in templates if k < n_plain] for o, templates in extractor.of_one_word.items()}
        self.templates: Dict[int, List[int]] = {o: templates for o, templates in own.items() if templates}
        self._weights, self._extractor, self._index, self._numbering = weights, extractor, index, numbering
        self._lock = Lock()
        self._n_known = 0
        self._number_of = np.zeros(0, np.intp)  # of each word type; -1 = not yet
        ends = np.cumsum([len(templates) for templates in self.templates.values()])
        self._parts = [slice(end - len(t), end) for end, t in zip(ends.tolist(), self.templates.values(), strict=True)]
        self._features = np.zeros((0, int(sum(map(len, self.templates.values())))), np.int32)  # (types, templates)
        self._places = np.zeros((0, len(self.templates), len(weights.rows)), np.int32)  # row of scores; -1 = not yet
        self._forget_scores()

    def _forget_scores(self) -> None:
        self._places[:] = -1
        self._scores = np.zeros((1, self._weights.table.shape[1]), np.float32)  # row 0: nothing adds up to zero
        self._n_scores = 1

    def are_of(self, weights: StackedWeights, numbering: object) -> bool:
        """Whether they can be used further: for other weights, or when words were forgotten, they are others."""
        return self._weights is weights and self._numbering is numbering and self._n_known <= MAX_TYPES

    def codes(self, columns: Columns) -> Ints:
        """What `rows` asks for each token: the word types at each offset. RETURNS (offsets, N)."""
        with self._lock:
            n_more = int(columns.types.max(initial=-1)) + 1 - len(self._number_of)
            if n_more > 0:
                self._number_of = np.append(self._number_of, np.full(max(n_more, len(self._number_of)), -1))
            new = np.unique(columns.types[self._number_of.take(columns.types) < 0])
            if len(new):
                self._learn(new, columns)
            numbers = self._number_of.take(columns.types)
        _, n_offsets, n_masks = self._places.shape
        codes = np.empty((n_offsets, columns.n_tokens), np.intp)
        for j, offset in enumerate(self.templates):
            np.take((numbers * n_offsets + j) * n_masks, columns.positions + offset, out=codes[j], mode="clip")
        return codes

    def rows(self, codes: Ints, visible: Ints) -> Tuple[Floats32, NDArray[np.int32]]:
        """codes (offsets, n): of some tokens. visible (n,): the classifier asked. RETURNS scores (R, L), and which of
        them add up to those of each token (offsets, n)."""
        asked = codes + visible
        with self._lock:
            rows = self._places.reshape(-1).take(asked)
            if rows.min(initial=0) < 0:
                new = np.unique(asked[rows < 0])
                n_most = MAX_BYTES // (4 * self._scores.shape[1])
                if self._n_scores > 1 and self._n_scores + len(new) > n_most:
                    self._forget_scores()
                    new = np.unique(asked)
                self._add_up(new)
                rows = self._places.reshape(-1).take(asked)
            return self._scores, rows

    def _learn(self, types: NDArray[np.int32], columns: Columns) -> None:
        first, last = self._n_known, self._n_known + len(types)
        if last > len(self._features):  # grow by doubling
            size = max(2 * first, last)
            features = np.zeros((size, self._features.shape[1]), np.int32)
            places = np.full((size, *self._places.shape[1:]), -1, np.int32)
            features[:first], places[:first] = self._features[:first], self._places[:first]
            self._features, self._places = features, places
        for part, templates in zip(self._parts, self.templates.values(), strict=True):
            keys = self._extractor.type_keys(columns, templates, types)
            self._features[first:last, part] = self._index.lookup(keys).T
        self._number_of[types] = np.arange(first, last)
        self._n_known = last

    def _add_up(self, codes: Ints) -> None:
        """codes (n,): distinct, each of a type, an offset and a classifier."""
        _, n_offsets, n_masks = self._places.shape
        types, offsets, visible = codes // (n_offsets * n_masks), codes // n_masks % n_offsets, codes % n_masks
        places = self._places.reshape(-1)
        for j, part in enumerate(self._parts):
            at = np.flatnonzero(offsets == j)
            fresh = sum_rows(self._weights.table, self._weights.rows[visible[at], self._features[types[at], part].T])
            some = fresh.any(axis=1)
            first, last = self._n_scores, self._n_scores + int(some.sum())
            if last > len(self._scores):  # grow by doubling; others may still read the old array
                grown = np.zeros((max(2 * first, last), fresh.shape[1]), np.float32)
                grown[:first] = self._scores[:first]
                self._scores = grown
            self._scores[first:last] = fresh[some]
            self._n_scores = last
            places[codes[at]] = np.where(some, first + np.cumsum(some) - 1, 0)


def sum_rows(table: Floats32, rows: Rows) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], row 0 of the table being zero. rows (K, n). RETURNS (n, L)."""
    if not len(rows):
        return np.zeros((rows.shape[1], table.shape[1]), np.float32)
    scores = table.take(rows[0], axis=0, mode="clip")
    buffer = np.empty_like(scores)
    for row in rows[1:]:
        used = row.nonzero()[0]
        if 4 * len(used) < len(row):
            scores[used] += table[row[used]]
        else:  # adding zeros where there is nothing is cheaper than picking rows
            table.take(row, axis=0, out=buffer, mode="clip")
            scores += buffer
    return scores
