"""Labels that a word can have, known before anything is scored: no other label is scored at all.

A morphologizer's candidates are the labels that training saw with the tag of the word: ten of 386,
say. The words of one tag have a table of their own, with a column for each of their labels, and with
rows for features that have a weight for one of them: most weights of a table are zero.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import AnyFloats, AnyInts, Ints, Keys, Labels
from ..features.extract import KEY_TOKENS
from ..features.index import ExactIndex
from ..features.keys import lowest_bits, mix
from .sums import add_rows


class CandidateLists:
    """Lists of labels. labels (M, C): ascending, then the first one again as often as there is room.
    sizes (M,): of the lists, at least 1."""

    def __init__(self, lists: Sequence[AnyInts]) -> None:
        self.sizes = np.array([len(labels) for labels in lists], np.intp)
        self.labels = np.empty((len(lists), int(self.sizes.max(initial=1))), np.intp)
        for row, labels in zip(self.labels, lists, strict=True):
            row[: len(labels)] = labels
            row[len(labels) :] = labels[0]


class NarrowTable(NamedTuple):
    """Weights of lists of like sizes. lists: which. first: the number of its first row. table (R + 1,
    C): a column for each label; the last row is that of features without weights."""

    lists: Ints
    first: int
    table: AnyFloats


class NarrowTables:
    """The weights of a table, for lists of labels.

    keys (F,), table (F + 1, L): of the features. bits (int): of keys, that are compared.
    """

    def __init__(self, lists: CandidateLists, keys: Keys, table: AnyFloats, bits: int) -> None:
        self.lists = lists
        self._compared = lowest_bits(bits)
        self._tables: list[NarrowTable] = []
        list_keys = [np.zeros(0, np.uint64)]
        # the word's list is a part of its features' keys: then one look-up finds the row of both
        n_rows = 0
        width = 1
        while width < lists.labels.shape[1]:
            is_like = (lists.sizes > width) & (lists.sizes <= 2 * width)
            numbers = np.flatnonzero(is_like)
            width *= 2
            rows = [np.zeros((0, min(width, lists.labels.shape[1])), table.dtype)]
            for number in numbers.tolist():
                columns = table[:-1].take(lists.labels[number, :width], axis=1)
                used = np.flatnonzero(columns.any(axis=1))
                list_keys.append(self._of_list(keys[used], np.array(number)))
                rows.append(columns[used])
            rows.append(np.zeros_like(rows[0], shape=(1, rows[0].shape[1])))
            self._tables.append(NarrowTable(numbers, n_rows, np.concatenate(rows)))
            n_rows += len(self._tables[-1].table) - 1
        self._index = ExactIndex(np.concatenate(list_keys))

    def _of_list(self, keys: Keys, numbers: AnyInts) -> Keys:
        """Keys of features at words with these lists."""
        return mix(keys & self._compared, numbers.astype(np.uint64) + 1)

    def best(self, list_of: Ints, keys_at: Callable[[Ints], Keys]) -> Labels:
        """The label of each word that has the largest sum of weights, of those on its list (N,); of
        equal ones the first. list_of (N,): numbers of lists. keys_at: keys (K, n) of the features of
        some words (n,)."""
        labels = self.lists.labels
        best = labels[:, 0].take(list_of).astype(np.int32)
        for lists, first, table in self._tables:
            is_here = np.zeros(len(labels), bool)
            is_here[lists] = True
            words = np.flatnonzero(is_here.take(list_of))
            for start in range(0, len(words), KEY_TOKENS):
                part = words[start : start + KEY_TOKENS]
                numbers = list_of.take(part)
                rows = self._index.lookup(self._of_list(keys_at(part), numbers)) - first
                scores = add_rows(table, np.minimum(rows, len(table) - 1))
                best[part] = labels[numbers, scores.argmax(axis=1)]
        return best
