"""Scores of word types, kept from batch to batch: what all templates about one word say, for each
place of the word.

    scores[o][w] = sum over templates k about the word at offset o of table[row(k, w)]

The sum is made once for a word type, template by template, so it is the same number whether it is
kept or made anew, and results do not depend on what was tagged before. Checked in
tests/layers/emissions/test_type_scores.py.
"""

from typing import List, NamedTuple

import numpy as np

from ...arrays import Floats32, Ints, Rows
from ...features.extract import Columns, FeatureExtractor
from ...features.index import GrowingTable, Index
from ..tuning import TUNING, Tuning
from ..weights.shim import Summands, add_rows


class OfTypes(NamedTuple):
    """scores (W * O, L): of each word at each of O offsets. rows (P,): of the word at each place of
    the batch, at the first offset."""

    scores: Floats32
    rows: Ints


class TypeScores:
    """Scores of the word types seen so far, under one table of weights."""

    def __init__(self, tuning: Tuning = TUNING) -> None:
        self._tuning = tuning
        self.clear()

    def clear(self) -> None:
        self._kept = GrowingTable((), np.zeros((0, 0, 0), np.float32))

    def __len__(self) -> int:
        """Word types."""
        return len(self._kept)

    def of(
        self, extractor: FeatureExtractor, index: Index, table: Summands, columns: Columns
    ) -> OfTypes:
        """Of the words of a batch. table (F + 1, L): finished weights, which never change."""
        places = list(extractor.of_one_word)
        n_labels = table.shape[1]
        most = self._tuning.score_bytes // (table.dtype.itemsize * n_labels * max(1, len(places)))
        kept = self._kept
        made_from = (table, columns.numbering)
        if not kept.serves(made_from, most):
            nothing = np.zeros((0, len(places), n_labels), table.dtype)
            self._kept = kept = GrowingTable(made_from, nothing)

        def make(types: Rows) -> Floats32:
            return _scores(
                extractor, index, table, columns, types, list(extractor.of_one_word.values())
            )

        rows, scores = kept.of(columns.types, make)  # scores (W, places, L)
        return OfTypes(scores.reshape(-1, n_labels), rows * np.intp(len(places)))


def _scores(
    extractor: FeatureExtractor,
    index: Index,
    table: Summands,
    columns: Columns,
    types: Rows,
    of_one_word: List[List[int]],
) -> Floats32:
    """Of some word types, made anew. of_one_word: templates, by place. RETURNS (len(types), places,
    L)."""
    scores = np.empty((len(types), len(of_one_word), table.shape[1]), table.dtype)
    rows = index.lookup(
        extractor.type_keys(columns, [k for templates in of_one_word for k in templates], types)
    )
    stop = 0
    for place, templates in enumerate(of_one_word):
        start = stop
        stop = stop + len(templates)
        scores[:, place] = add_rows(table, rows[start:stop])
    return scores
