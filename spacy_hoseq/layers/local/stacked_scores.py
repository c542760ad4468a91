"""Scores of word types under local classifiers, kept from batch to batch.

    scores[o, v][w] = sum over templates k about the word at offset o of table[row(v, k, w)]    (classifier v, word w)

The sum is made once for a word type, place and classifier, when it is first asked for, template by
template: it is the same number whether it is kept or made anew. Checked in
tests/layers/local/test_stacked_scores.py.
"""

from typing import Dict, List, NamedTuple, Tuple

import numpy as np

from ...arrays import Floats32, Ints, Mask, Rows
from ...features.extract import Columns, FeatureExtractor
from ...features.index import ExactIndex, GrowingTable
from ..tuning import TUNING, Tuning


class StackedWeights(NamedTuple):
    """All classifiers in one table, without rows of zeros, so that tokens that ask different ones
    are done together.

    table (R, L) float32: row 0 is zero. rows (masks, F): row in the table of each feature; 0 where
    a classifier has no weights for it. labels (int): number of the first feature of label
    templates; the one before it and the last one stand for "no such feature". trained (masks,)
    bool: which classifiers there are.
    """

    table: Floats32
    rows: Rows
    labels: int
    trained: Mask


class LocalTypeScores:
    """Of the word types seen so far, under one table of weights. index: of the features of
    words."""

    def __init__(
        self,
        weights: StackedWeights,
        extractor: FeatureExtractor,
        index: ExactIndex,
        n_plain: int,
        tuning: Tuning = TUNING,
    ) -> None:
        """n_plain (int): the templates of the extractor that are asked for, the first ones."""
        of_words = {
            o: [k for k in templates if k < n_plain]
            for o, templates in extractor.of_one_word.items()
        }
        self.templates: Dict[int, List[int]] = {
            o: templates for o, templates in of_words.items() if templates
        }
        self._weights = weights
        self._extractor = extractor
        self._index = index
        self._tuning = tuning
        ends = np.cumsum([len(templates) for templates in self.templates.values()])
        self._parts = [
            slice(end - len(t), end)
            for end, t in zip(ends.tolist(), self.templates.values(), strict=True)
        ]
        n_templates = int(sum(map(len, self.templates.values())))
        self._features = GrowingTable((), np.zeros((0, n_templates), np.int32))
        self._scores = self._no_scores()

    def _no_scores(self) -> GrowingTable:
        return GrowingTable(
            (), np.zeros((1, self._weights.table.shape[1]), np.float32), merged_zeros=True
        )

    @property
    def is_full(self) -> bool:
        """Whether others are to be begun."""
        return len(self._features) > self._tuning.scored_types

    def codes(self, columns: Columns) -> Ints:
        """What `rows` asks for each token: the word types at each offset. RETURNS (offsets, N)."""

        def make(types: Rows) -> Rows:
            keys = [
                self._extractor.type_keys(columns, templates, types)
                for templates in self.templates.values()
            ]
            features = [self._index.lookup(of_offset).T for of_offset in keys]
            return np.concatenate([np.zeros((len(types), 0), np.int32), *features], axis=1)

        words, _ = self._features.of(columns.types, make)
        n_offsets = len(self.templates)
        n_masks = len(self._weights.rows)
        codes = np.empty((n_offsets, columns.n_tokens), np.intp)
        for j, offset in enumerate(self.templates):
            of_word = (words * np.intp(n_offsets) + j) * n_masks
            np.take(of_word, columns.positions + offset, out=codes[j], mode="clip")
        return codes

    def rows(self, codes: Ints, visible: Ints) -> Tuple[Floats32, Rows]:
        """codes (offsets, n): of some tokens. visible (n,): the classifier asked. RETURNS scores
        (R, L), and which of them add up to those of each token (offsets, n)."""
        scores = self._scores
        if not scores.serves((), self._tuning.score_bytes // (4 * self._weights.table.shape[1])):
            self._scores = scores = self._no_scores()
        rows, table = scores.of(codes + visible, self._added_up)
        return table, rows

    def _added_up(self, codes: Ints) -> Floats32:
        """codes (n,): distinct, each of a type, an offset and a classifier. RETURNS (n, L)."""
        n_offsets = len(self.templates)
        n_masks = len(self._weights.rows)
        words = codes // (n_offsets * n_masks)
        offsets = codes // n_masks % n_offsets
        visible = codes % n_masks
        scores = np.zeros((len(codes), self._weights.table.shape[1]), np.float32)
        features = self._features.table
        for j, part in enumerate(self._parts):
            at = np.flatnonzero(offsets == j)
            rows = self._weights.rows[visible[at], features[words[at], part].T]
            scores[at] = sum_stacked(self._weights.table, rows)
        return scores


def sum_stacked(table: Floats32, rows: Rows) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], row 0 of the table being zero. rows (K, n). RETURNS (n,
    L)."""
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
