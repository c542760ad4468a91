"""Which labels a token may get: a tag dictionary, and labels that are already set on the Doc."""

from typing import Dict, FrozenSet, List, Optional, Sequence

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Mask
from ..errors import Errors
from ..features.index import ExactIndex
from ..features.sequences import words_and_lengths
from .targets.target import LabelTable
from .targets.token_labels import TokenLabels


class TagDictionary:
    """Words that can have some labels only; all other words can have any.

    entries: word (as written) -> labels. Labels that are unknown are left out of an entry.
    RAISES ValueError [HS063]: an entry without any known label.
    """

    def __init__(self, entries: Dict[str, List[str]], labels: Sequence[str]) -> None:
        ids = {label: i for i, label in enumerate(labels)}
        row_of: Dict[FrozenSet[int], int] = {}  # many words of a lexicon can have the same labels
        rows: List[int] = []
        for word, names in entries.items():
            known = frozenset(ids[name] for name in names if name in ids)
            if not known:
                raise ValueError(
                    Errors.HS063.format(word=word, labels=names, known=", ".join(labels))
                )
            rows.append(row_of.setdefault(known, len(row_of)))
        self._masks = np.ones((len(row_of) + 1, len(labels)), bool)  # last row: any other word
        for known, row in row_of.items():
            self._masks[row] = np.isin(np.arange(len(labels)), list(known))
        self._rows = np.array([*rows, len(row_of)], np.intp)
        self._index = ExactIndex(np.array([get_string_id(word) for word in entries], np.uint64))

    def allowed(self, docs: Sequence[Doc]) -> Mask:
        """RETURNS (N, L) bool."""
        orths, _ = words_and_lengths(docs)
        return self._masks[self._rows[self._index.lookup(orths)]]


def allowed_labels(
    docs: Sequence[Doc],
    table: LabelTable,
    dictionary: Optional[TagDictionary],
    preset: Optional[TokenLabels],
) -> Optional[Mask]:
    """Labels permitted at each token of all docs. RETURNS (N, L) bool, or None if nothing is
    constrained.

    preset: where a label that is set already is the only one permitted (it constrains its
        neighbours), and goes before the dictionary; None = nowhere. A preset string that is no
        label of the component constrains nothing.
    """
    allowed = None if dictionary is None else dictionary.allowed(docs)
    if preset is not None and any(map(preset.is_set, docs)):
        values = np.concatenate([preset.read(doc) for doc in docs])
        fixed = np.isin(values, table.ids)
        if fixed.any():
            masks, _ = table.masks(np.where(fixed, values, 0))
            allowed = masks if allowed is None else np.where(fixed[:, None], masks, allowed)
    return allowed
