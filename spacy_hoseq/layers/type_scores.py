"""Scores of word types: sums of the weights of all templates about one word.

Most templates look at a single word, and texts repeat words. So their sum is made once for each
word type and place of the word (the token itself, the one before ...), and gathered at each token.
"""

from typing import Any, NamedTuple

import numpy as np

from ..arrays import Floats32, Ints, Rows, distinct
from ..caches import IdentityCache
from ..features.extract import Columns
from ..features.index import ExactIndex, GrowingTable, Index, SomeRows
from ..features.keys import bits_of
from ..learning.used_rows import UsedRows
from .sparse_features import Features
from .sums import add_rows

TYPE_SCORE_BYTES = 1 << 23


class UsedFeatures(NamedTuple):
    """Features with a weight that is not zero, often less than half of all. rows: key -> row of
    `table` (U + 1, L), whose last row is that of no feature."""

    rows: Index
    table: Floats32


class TypeScores:
    """What prediction makes of finished weights: features in use, and scores of word types.

    Key: the weights; for scores, the numbering of word types, too. Bound: one index and table of the
    features in use, and `TYPE_SCORE_BYTES` of scores. It forgets them when weights change, and
    scores at the end of a memory zone.

    places: templates about one word, one list for each place of the word. offsets (O, 1): the places.
    """

    def __init__(self, features: Features) -> None:
        by_offset = features.extractor.of_one_word
        self.places = list(by_offset.values())
        self.offsets = np.array([*by_offset], np.intp)[:, None]
        self._features = features
        self._used: IdentityCache[UsedFeatures] = IdentityCache()
        self._scores: IdentityCache[GrowingTable] = IdentityCache()

    def used(self, known: dict[str, Any], weights: UsedRows) -> UsedFeatures:
        """Features that predict. weights: finished ones, which never change."""

        def make() -> UsedFeatures:
            rows = weights.rows
            # in training the index of all features exists: rows of it take less than a second index
            if "hash_rows" in known or self._features.is_indexed(known):
                return UsedFeatures(SomeRows(self._features.index(known), rows), weights.table)
            keys = known["keys"]
            return UsedFeatures(ExactIndex(keys[rows], bits_of(keys)), weights.table)

        return self._used.of((known, weights), make)

    def scores(
        self, used: UsedFeatures, columns: Columns, start: int, stop: int
    ) -> tuple[Floats32, Rows]:
        """Scores of the words around the tokens start <= n < stop. RETURNS a table (R, L), and the
        rows of it (O, n) that add up to the score of each token."""
        types = columns.types.take(columns.positions[start:stop] + self.offsets)  # (O, n)
        # word type and place as one number, which has a row
        n_places = len(self.places)
        codes = types.astype(np.intp) * n_places + np.arange(n_places)[:, None]

        def begin() -> GrowingTable:
            return GrowingTable(np.zeros((1, used.table.shape[1]), used.table.dtype))

        cached = self._scores.of((used.table, columns.words.numbering), begin)
        rows, table = cached.of(codes, lambda new: self._new_scores(used, columns, new))
        # this batch still has its table; the next one begins another
        if len(cached) * table[:1].nbytes > TYPE_SCORE_BYTES:
            self.forget_words()
        return table, rows

    def _new_scores(self, used: UsedFeatures, columns: Columns, codes: Ints) -> Floats32:
        """codes (n,): word type * O + place. RETURNS (n, L).

        Templates are added one after the other, in the same order for every batch: so scores are
        the same numbers, to the bit, whether they are cached or made anew.
        """
        index, table = used
        words, place_of = np.divmod(codes, len(self.places))
        types = distinct(words)
        number = types.searchsorted(words)  # (n,) of the type
        templates = [k for place in self.places for k in place]
        rows = index.lookup(self._features.extractor.type_keys(columns, templates, types))  # (K, V)
        scores = np.zeros((len(codes), table.shape[1]), table.dtype)
        ends = np.cumsum([len(place) for place in self.places])
        for place, place_rows in enumerate(np.split(rows, ends[:-1])):
            # words none of whose features has a weight keep a score of zero
            is_known = np.asarray((place_rows < index.n_rows).any(axis=0))  # (V,)
            at = np.flatnonzero((place_of == place) & is_known[number])
            scores[at] = add_rows(table, place_rows.take(number[at], axis=1))
        return scores

    def forget_words(self) -> None:
        """Drop scores of word types."""
        self._scores.forget()

    def forget(self) -> None:
        """Drop all that is made of finished weights: with many labels it is as large as they are."""
        self._used.forget()
        self._scores.forget()
