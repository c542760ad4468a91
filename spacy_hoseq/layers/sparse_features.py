"""Features of `SparseLinear`: which templates fire at a token, and their rows in the table of weights."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..arrays import Lengths, Rows
from ..caches import IdentityCache
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex
from ..features.keys import bits_of
from ..features.sequences import names_and_lengths
from ..features.templates import Template


class TextRows(dict[bytes, Rows]):
    """Rows (K, n) of the features of training texts, which come back every epoch.

    Key: the words and sentence starts of a text, all that lexical features see. Bound: `room`, the
    bytes that are left; a batch that does not fit is not added. It is dropped when the features are
    numbered anew.
    """

    room = 1 << 29


class Features:
    """Extracts features and numbers them.

    `known` is what the weights save of their features ("keys"), always the same
    object as long as they are the same.
    """

    def __init__(self, templates: list[Template]) -> None:
        self.extractor = FeatureExtractor(templates)
        self._index: IdentityCache[ExactIndex] = IdentityCache()
        self._text_rows: IdentityCache[TextRows] = IdentityCache()

    def index(self, known: dict[str, Any]) -> ExactIndex:
        """Rows of all features, for training."""
        return self._index.of((known,), lambda: ExactIndex(known["keys"], bits_of(known["keys"])))

    def is_indexed(self, known: dict[str, Any]) -> bool:
        """True if the index of all features exists already."""
        return self._index.get((known,)) is not None

    def training_rows(self, known: dict[str, Any], docs: Sequence[Doc]) -> tuple[Rows, Lengths]:
        """RETURNS (K, N), a copy, and the lengths of the sequences."""
        index = self.index(known)
        texts, lengths = names_and_lengths(docs)
        if not self.extractor.is_lexical:
            return index.lookup(self.extractor.keys(docs)), lengths
        cached = self._text_rows.of((known,), TextRows)
        new = {text: doc for text, doc in zip(texts, docs, strict=True) if text not in cached}
        new_rows = self._rows_by_text(index, new)
        n_bytes = sum(rows.nbytes for rows in new_rows.values())
        if n_bytes <= cached.room:
            cached.update(new_rows)
            cached.room -= n_bytes
        parts = [new_rows[text] if text in new_rows else cached[text] for text in texts]
        return np.concatenate(parts, axis=1), lengths

    def _rows_by_text(self, index: ExactIndex, docs: dict[bytes, Doc]) -> dict[bytes, Rows]:
        """RETURNS (K, n) of each text."""
        if not docs:
            return {}
        columns = self.extractor.columns([*docs.values()])
        blocks = map(index.lookup, self.extractor.key_blocks(columns))
        rows = np.concatenate([*blocks], axis=1)  # (K, N)
        ends = np.cumsum([len(doc) for doc in docs.values()])
        parts = np.split(rows, ends[:-1], axis=1)
        # copies: a view would keep the rows of all of them alive
        return dict(zip(docs, map(np.ascontiguousarray, parts), strict=True))
