"""Rows of features that are made of one word and one label, kept from batch to batch.

    rows[k][w, y] = row of template k with the word type w and the label y

A row is looked up once for a pair. To make a key and find it among all others takes far longer than to look into a
table of pairs, where those of frequent words lie together. Checked in tests/layers/listening/test_pair_rows.py.
"""

from threading import Lock
from typing import Any, Callable, Dict, NamedTuple

import numpy as np

from ...arrays import AnyInts, Ints
from ...features.extract import Columns
from ...features.index import Index, Rows
from ...features.keys import Keys

MAX_BYTES = 1 << 26  # of kept rows; words that were first seen later are looked up anew
UNKNOWN = np.int32(-1)


class KeptRows(NamedTuple):
    """What is kept, for one batch. rows (K, T, C): of the first T - 1 word types; UNKNOWN = not looked up yet, as the
    last ones are for good, which stand for all other types. columns (n,): of each label that was asked for."""

    rows: Rows
    columns: Ints

    def of(self, k: int, types: AnyInts, labels: Ints, find: Callable[[Ints], Rows]) -> Rows:
        """Of template k. types, labels (m,): numbers of word types, and of labels that were asked for. find: looks up
        some of the m. RETURNS (m,)."""
        others, n_columns = self.rows.shape[1] - 1, self.rows.shape[2]
        kept = self.rows[k].reshape(-1)
        cells = np.minimum(types, others) * np.intp(n_columns) + self.columns.take(labels)
        rows: Rows = kept.take(cells)
        unknown = np.flatnonzero(rows == UNKNOWN)
        if len(unknown):
            rows[unknown] = find(unknown)
            new = unknown[types.take(unknown) < others]
            kept[cells.take(new)] = rows.take(new)
        return rows


class PairRows:
    """Rows under one index and one numbering of word types. n_templates (int): K."""

    def __init__(self, n_templates: int) -> None:
        self._n_templates = n_templates
        self._lock = Lock()
        self._forget(None, None, 0)

    def _forget(self, index: Any, numbering: Any, n_columns: int) -> None:
        self._made_from = index, numbering
        self._column_of: Dict[int, int] = {}
        self._rows = np.full((self._n_templates, 1, n_columns), UNKNOWN)

    def of(self, index: Index, columns: Columns, labels: Keys) -> KeptRows:
        """For a batch of these words. labels (n,): all that may be asked for."""
        names, n_types = labels.tolist(), int(columns.types.max(initial=-1)) + 1
        with self._lock:
            if self._made_from[0] is not index or self._made_from[1] is not columns.numbering:
                self._forget(index, columns.numbering, len(names))
            if len(self._column_of.keys() | names) > self._rows.shape[2]:
                self._forget(index, columns.numbering, 2 * len(self._column_of.keys() | names))
            found = [self._column_of.setdefault(name, len(self._column_of)) for name in names]
            self._make_room(n_types)
            return KeptRows(self._rows, np.array(found, np.intp))

    def _make_room(self, n_types: int) -> None:
        """By doubling; others may still read and write the old array."""
        n_templates, n_kept, n_columns = self._rows.shape
        n_most = max(1, MAX_BYTES // max(1, n_templates * n_columns * self._rows.itemsize))
        if n_kept <= n_types and n_kept < n_most:
            grown = np.full((n_templates, min(n_most, max(2 * n_kept, n_types + 1)), n_columns), UNKNOWN)
            grown[:, :n_kept] = self._rows
            self._rows = grown

    def __getstate__(self) -> Dict[str, Any]:
        return {"_n_templates": self._n_templates}

    def __setstate__(self, state: Dict[str, Any]) -> None:  # another process makes its own
        self.__init__(**{name[1:]: value for name, value in state.items()})  # type: ignore[misc]
