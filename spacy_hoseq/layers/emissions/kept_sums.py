"""Sums of templates that see the same few values of a Doc, a word with its tag or the tags of three
words: made once for each combination, and kept from batch to batch.

    sums[v] = sum over templates k of a group of table[row(k, v)]

For tables of many columns (`CellTable`), whose rows take long to add up: of parts of labels with
their tags, two thirds of the rows, and nine tenths of the cells, are in such groups. A sum is the
same number whether it is kept or made anew. Checked in tests/layers/emissions/test_kept_sums.py.
"""

from typing import Dict, List, NamedTuple, Optional, Set

import numpy as np

from ...arrays import Floats32, Keys
from ...features.extract import Columns, FeatureExtractor
from ...features.index import GrowingTable, Index
from ...features.templates import Part
from ...learning.cell_table import CellTable
from ..tuning import TUNING, Tuning
from ..weights.shim import Term, add_rows

MOST_PARTS = 3  # of a window: more are seldom the same again


class Group(NamedTuple):
    """templates: their numbers. parts: what they read of the Doc. place: of the word that they see,
    if they see one."""

    templates: List[int]
    parts: List[Part]
    place: Optional[int]


class KeptSums:
    """Of one extractor, under one table of weights."""

    def __init__(self, extractor: FeatureExtractor, tuning: Tuning = TUNING) -> None:
        self._extractor = extractor
        self._tuning = tuning
        self._groups = groups_of(extractor)
        grouped = {k for group in self._groups for k in group.templates}
        self.others = [k for k in extractor.of_more if k not in grouped]
        self._kept: Dict[int, GrowingTable] = {}

    def clear(self) -> None:
        self._kept = {}

    def terms(self, index: Index, table: CellTable, columns: Columns) -> List[Term]:
        """Of all tokens of a batch. table (F + 1, L): finished weights, which never change."""
        return [self._term(i, index, table, columns) for i in range(len(self._groups))]

    def _term(self, i: int, index: Index, table: CellTable, columns: Columns) -> Term:
        group = self._groups[i]
        row_bytes = table.dtype.itemsize * table.shape[1] * len(self._groups)
        made_from = (table, columns.numbering)
        kept = self._kept.get(i)
        if kept is None or not kept.serves(made_from, self._tuning.score_bytes // row_bytes):
            nothing = np.zeros((0, table.shape[1]), table.dtype)
            self._kept[i] = kept = GrowingTable(made_from, nothing, hashed=True)
        keys = self._extractor.combinations(columns, group.parts, group.place)

        def make(new: Keys) -> Floats32:
            distinct, first = np.unique(keys, return_index=True)
            places = columns.positions.take(first.take(np.searchsorted(distinct, new)))
            features = self._extractor.keys_at(columns, places, group.templates)
            return add_rows(table, index.lookup(features))

        rows, sums = kept.of(keys, make)
        return sums, rows[None]


def groups_of(extractor: FeatureExtractor) -> List[Group]:
    """Groups of at least two templates: those that see one word and the Doc's attributes there;
    then those that see such attributes alone, at most `MOST_PARTS` of them together."""
    read = extractor.parts_of_docs
    words: Dict[int, List[int]] = {}
    windows: List[int] = []
    for k in extractor.of_more:
        of_doc = read(k)
        places = {part.offset for part in extractor.templates[k].parts if part.attribute != "bias"}
        is_of_doc = all(
            part.attribute == "bias" or part in of_doc for part in extractor.templates[k].parts
        )
        if is_of_doc:
            windows.append(k)
        elif of_doc and len(places) == 1:
            words.setdefault(places.pop(), []).append(k)
    groups = []
    for place, templates in words.items():
        here = [k for k in windows if {part.offset for part in read(k)} == {place}]
        windows = [k for k in windows if k not in here]
        groups.append(_group(extractor, [*here, *templates], place))
    together: List[Set[Part]] = []
    members: List[List[int]] = []
    for k in sorted(windows, key=lambda k: -len(read(k))):
        parts = set(read(k))
        home = next((i for i, others in enumerate(together) if parts <= others), len(together))
        if home == len(together) and len(parts) <= MOST_PARTS:
            together.append(parts)
            members.append([])
        if home < len(together):
            members[home].append(k)
    groups += [_group(extractor, sorted(templates), None) for templates in members]
    return [group for group in groups if len(group.templates) > 1]


def _group(extractor: FeatureExtractor, templates: List[int], place: Optional[int]) -> Group:
    parts = dict.fromkeys(part for k in templates for part in extractor.parts_of_docs(k))
    return Group(templates, list(parts), place)
