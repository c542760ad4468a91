"""Scores of word types, kept from batch to batch: what all templates about one word say, for each
place of the word.

    scores[o][w] = sum over templates k about the word at offset o of table[row(k, w)]

The sum is made once for a word type, template by template, so it is the same number whether it is
kept or made anew, and results do not depend on what was tagged before. Words of which no feature is
known at an offset, most words two places away, share a row. Checked in
tests/layers/test_type_scores.py.
"""

from typing import Any, List, NamedTuple, Tuple

import numpy as np

from ..arrays import Floats32, Ints, Rows
from ..features.extract import Columns, FeatureExtractor
from ..features.index import GrowingTable, Index
from ..kept import are_same
from .shim import sum_rows

SCORE_BYTES = 1 << 23  # of scores that are kept from batch to batch


class OfTypes(NamedTuple):
    """scores (R, L). rows (W * O,): of each word type at each of O offsets. first (P,): place in
    `rows` of the word at each place of the batch, at the first offset."""

    scores: Floats32
    rows: Rows
    first: Ints


class TypeScores:
    """Scores of the word types seen so far, under one table of weights."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._kept = KeptScores((), np.zeros((1, 0), np.float32), [])

    def __len__(self) -> int:
        """Word types."""
        return len(self._kept)

    def __reduce__(self) -> Any:
        return TypeScores, ()

    def of(
        self, extractor: FeatureExtractor, index: Index, table: Floats32, columns: Columns
    ) -> OfTypes:
        """Of the words of a batch. table (F + 1, L): finished weights, which never change."""
        offsets = list(extractor.of_one_word.values())
        row_bytes = table.dtype.itemsize * table.shape[1]
        kept = self._kept
        made_from = (table, columns.numbering)
        if not are_same(kept.made_from, made_from):
            self._kept = kept = KeptScores(made_from, table, [*map(len, offsets)])

        def make(types: Rows) -> Rows:
            templates = [k for of_offset in offsets for k in of_offset]
            return kept.added(table, index.lookup(extractor.type_keys(columns, templates, types)))

        first, rows = kept.of(columns.types, make)
        if kept.n_scores * row_bytes > SCORE_BYTES:
            self.clear()
        return OfTypes(kept.scores, rows.reshape(-1), first * np.intp(len(offsets)))


class KeptScores(GrowingTable):
    """For each word type its rows of `scores` at O offsets. n_templates: of each offset.

    scores (R, L), and room for more: first those of a word without known features, at each offset.
    """

    def __init__(self, made_from: Tuple[Any, ...], table: Floats32, n_templates: List[int]) -> None:
        super().__init__(np.zeros((0, len(n_templates)), np.int32))
        self.made_from = made_from
        self._begin = np.cumsum([0, *n_templates])[:-1]
        self.n_scores = len(n_templates)
        self.scores: Floats32 = np.zeros((len(n_templates), table.shape[1]), table.dtype)

    def added(self, table: Floats32, features: Rows) -> Rows:
        """features (K, n): of other word types, one offset after the other. RETURNS (n, O)."""
        is_known = np.logical_or.reduceat(features != len(table) - 1, self._begin, axis=0)
        rows = self.n_scores - 1 + np.cumsum(is_known).reshape(is_known.shape)  # (O, n)
        n_rows = self.n_scores + int(is_known.sum())
        if n_rows > len(self.scores):
            # by doubling; others may still read the old array
            grown = np.empty((max(n_rows, 2 * len(self.scores)), table.shape[1]), table.dtype)
            grown[: self.n_scores] = self.scores[: self.n_scores]
            self.scores = grown
        for known, of_offset in zip(is_known, np.split(features, self._begin[1:]), strict=False):
            some = of_offset[:, known]
            sum_rows([(table, some)], self.scores[self.n_scores :][: some.shape[1]])
            self.n_scores += some.shape[1]
        return np.where(is_known, rows, np.arange(len(rows))[:, None]).T.astype(np.int32)
