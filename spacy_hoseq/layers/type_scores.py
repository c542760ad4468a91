"""Scores of word types: sums of the weights of all templates about one word.

Most templates look at a single word, and texts repeat words. So their sum is made once for each
word type and place of the word (the token itself, the one before ...), and gathered at each token.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyFloats, Floats32, Ints, Keys, Rows, distinct
from ..caches import IdentityCache
from ..features.extract import Columns
from ..features.index import ExactIndex
from ..features.keys import bits_of
from ..features.type_cache import TypeCache
from ..learning.used_rows import UsedRows
from .sparse_features import Features
from .sums import add_cells, add_rows

TYPE_SCORE_BYTES = 1 << 23


class UsedFeatures(NamedTuple):
    """Features with a weight that is not zero, often less than half of all. rows: from keys to rows
    of the table of `weights` (U + 1, L), whose last row is that of no feature."""

    rows: Callable[[Keys], Rows]
    weights: UsedRows

    @property
    def table(self) -> AnyFloats:
        return self.weights.table

    def scores(self, keys: Keys) -> AnyFloats:
        """Sums of the weights of features. keys (K, n). RETURNS (n, L)."""
        rows = self.rows(keys)
        if self.weights.cells is None:
            return add_rows(self.table, rows)
        return add_cells(self.weights.cells, rows)


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
        self._scores: IdentityCache[TypeCache] = IdentityCache()

    def used(self, known: dict[str, Any], weights: UsedRows) -> UsedFeatures:
        """Features that predict. weights: finished ones, which never change."""

        def make() -> UsedFeatures:
            if not self._features.is_indexed(known):
                keys = known["keys"]
                index = ExactIndex(keys[weights.rows], bits_of(keys))
                return UsedFeatures(index.lookup, weights)
            # in training the index of all features exists: to number its rows anew takes less time
            # than a second index
            index = self._features.index(known)
            n_used = len(weights.rows)
            row_of = np.full(index.n_rows + 1, n_used, np.int32)
            row_of[weights.rows] = np.arange(n_used, dtype=np.int32)
            return UsedFeatures(lambda keys: row_of.take(index.lookup(keys)), weights)

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

        def empty() -> TypeCache:
            max_rows = TYPE_SCORE_BYTES // used.table[:1].nbytes
            return TypeCache(used.table.shape[1], used.table.dtype, max_rows)

        cache = self._scores.of((used.table, columns.words.numbering), empty)
        rows, table = cache.of(
            codes, lambda new: self._new_scores(used, columns, codes.reshape(-1)[new])
        )
        return table, rows

    def _new_scores(self, used: UsedFeatures, columns: Columns, codes: Ints) -> Floats32:
        """codes (n,): word type * O + place. RETURNS (n, L).

        Templates are added one after the other, in the same order for every batch: so scores are
        the same numbers, to the bit, whether they are cached or made anew.
        """
        table = used.table
        words, place_of = np.divmod(codes, len(self.places))
        types = distinct(words)
        number = types.searchsorted(words)  # (n,) of the type
        templates = [k for place in self.places for k in place]
        rows = used.rows(self._features.extractor.type_keys(columns, templates, types))  # (K, V)
        scores = np.zeros((len(codes), table.shape[1]), table.dtype)
        ends = np.cumsum([len(place) for place in self.places])
        for place, place_rows in enumerate(np.split(rows, ends[:-1])):
            # words none of whose features has a weight keep a score of zero
            is_known = np.asarray((place_rows < len(table) - 1).any(axis=0))  # (V,)
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
