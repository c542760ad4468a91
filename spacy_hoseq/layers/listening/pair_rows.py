"""Rows of features that are made of one word and one label, kept from batch to batch.

    rows[w, k, y] = row of template k with the word type w and the label y

A row is looked up once for a pair. To make a key and find it among all others takes far longer than
to look into a table of pairs, where those of frequent words lie together. Checked in
tests/layers/listening/test_pair_rows.py.
"""

from typing import Callable, NamedTuple, Tuple, Union

import numpy as np

from ...arrays import AnyInts, Ints, Keys, Rows
from ...features.extract import Columns
from ...features.growing_table import GrowingTable
from ...features.index import Index
from ..tuning import TUNING, Tuning

UNKNOWN = np.int32(-1)
ONE = np.uint64(1)  # no label at all is 0, which is no key


class KeptRows(NamedTuple):
    """What is kept, for one batch. rows (W, K, C): UNKNOWN = not looked up yet. words (P,): of the
    word at each place of the batch, which of these. columns (n,): of each label that was asked
    for."""

    rows: Rows
    words: AnyInts
    columns: Ints

    def of(
        self, k: Union[int, Ints], places: AnyInts, labels: Ints, find: Callable[[Ints], Rows]
    ) -> Rows:
        """Of template k, or of templates k (m,). places, labels (m,): of words, and numbers of
        labels that were asked for. find: looks up some of the m. RETURNS (m,)."""
        _, n_templates, n_columns = self.rows.shape
        kept = self.rows.reshape(-1)
        cells = self.words.take(places) * np.intp(n_templates * n_columns) + self.columns.take(
            labels
        )
        cells += k * n_columns
        rows: Rows = kept.take(cells)
        unknown = np.flatnonzero(rows == UNKNOWN)
        if len(unknown):
            rows[unknown] = find(unknown)
            kept[cells.take(unknown)] = rows.take(
                unknown
            )  # into an old array, perhaps, which only costs time
        return rows


class PairRows:
    """Rows under one index and one numbering of word types. n_templates (int): K."""

    def __init__(self, n_templates: int, tuning: Tuning = TUNING) -> None:
        self._n_templates = n_templates
        self._tuning = tuning
        self._tables = self._begin((), 0)

    def __len__(self) -> int:
        """Word types."""
        return len(self._tables[0])

    def of(self, index: Index, columns: Columns, labels: Keys) -> KeptRows:
        """For a batch of these words. labels (n,): all that may be asked for."""
        made_from = index, columns.numbering
        kept, names = self._tables
        n_columns = kept.first.shape[2]
        most = self._tuning.pair_bytes // (4 * max(1, self._n_templates * n_columns))
        if not kept.serves(made_from, most):
            n_columns = len(labels)
            self._tables = kept, names = self._begin(made_from, n_columns)
        numbers, _ = names.of(labels + ONE, _no_values)
        if len(names) > n_columns:
            self._tables = kept, names = self._begin(made_from, 2 * len(names))
            numbers, _ = names.of(labels + ONE, _no_values)
        shape = kept.first.shape[1:]
        words, rows = kept.of(columns.types, lambda types: np.full((len(types), *shape), UNKNOWN))
        return KeptRows(rows, words, numbers.astype(np.intp))

    def _begin(
        self, made_from: Tuple[object, ...], n_columns: int
    ) -> Tuple[GrowingTable, GrowingTable]:
        """The rows, and the numbers of labels."""
        rows = GrowingTable(made_from, np.zeros((0, self._n_templates, n_columns), np.int32))
        return rows, GrowingTable((), np.zeros((0, 0), np.int32), hashed=True)


def _no_values(keys: Keys) -> Rows:
    return np.zeros((len(keys), 0), np.int32)
