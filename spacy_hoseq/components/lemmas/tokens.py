"""Tokens that were seen before, with their labels.

If no feature looks beyond a word and its analysis, and no label at its neighbours, the label of a
token follows from its form and analysis. Texts repeat these, so each is decoded once. Checked
against decoding of whole texts in tests/components/test_lemmatizer.py.
"""

from typing import Callable

import numpy as np
from spacy.attrs import IDS, ORTH
from spacy.tokens import Doc
from thinc.api import Model

from ...arrays import Keys, Labels
from ...features.extract import FeatureExtractor
from ...features.index import GrowingTable
from ...features.keys import row_keys
from ...features.sequences import WordDocs, words_of
from ...layers.emissions.sparse_linear import SparseScorer
from ...layers.scorer import scorer_of
from ...layers.weights.shim import weights_of

MOST_TOKENS = 200_000  # that are remembered
NO_LABELS = np.zeros((0, 1), np.int32)
ANALYSIS = ("pos", "tag", "morph")  # what features may look at, beside the form


class KnownTokens:
    """Labels of forms with analyses, under one state of the weights."""

    def __init__(self) -> None:
        self._labels = GrowingTable((), NO_LABELS, hashed=True)

    @staticmethod
    def serve(model: Model) -> bool:
        """Whether the labels of a model follow from form and analysis."""
        head = scorer_of(model)
        if len(model.layers) != 1 or head.source is not None or head.structure.label_pairs:
            return False
        emissions = head.emissions
        if not isinstance(emissions, SparseScorer):
            return False
        return not emissions.reach and set(_extractor(model).contextual) <= set(ANALYSIS)

    def labels(self, model: Model, docs: WordDocs, decode: Callable[[WordDocs], Labels]) -> Labels:
        """Label ids of all tokens (N,). decode: finds those of tokens that are not known."""
        # the same object until they change
        weights = weights_of(model.layers[0]).used_rows("table")
        if not self._labels.serves((weights,), MOST_TOKENS):
            self._labels = GrowingTable((weights,), NO_LABELS, hashed=True)
        columns = [ORTH, *(IDS[name.upper()] for name in _extractor(model).contextual)]
        tokens = np.concatenate([doc.to_array(columns).reshape(-1, len(columns)) for doc in docs])
        keys = row_keys(list(tokens.T))

        def make(new: Keys) -> Labels:
            distinct, first = np.unique(keys, return_index=True)
            types = tokens[first.take(np.searchsorted(distinct, new))]
            strings = docs[0].vocab.strings
            words = [strings[key] for key in types[:, 0].tolist()]
            doc = Doc(docs[0].vocab, words=words, sent_starts=[True] * len(words))
            doc.from_array(columns[1:], np.ascontiguousarray(types[:, 1:]))  # type: ignore[arg-type]
            return decode(words_of([doc]))[:, None]

        rows, labels = self._labels.of(keys, make)
        return labels[:, 0].take(rows)


def _extractor(model: Model) -> FeatureExtractor:
    emissions: SparseScorer = scorer_of(model.layers[0])
    return emissions.features.extractor
