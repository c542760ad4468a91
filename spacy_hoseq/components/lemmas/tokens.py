"""Tokens that were seen before, with their labels.

If no feature looks beyond a word and its analysis, and no label at its neighbours, the label of a
token follows from its form and analysis. Texts repeat these, so each is decoded once. Checked
against decoding of whole texts in tests/components/test_lemmatizer.py.
"""

from typing import Any, Callable, Dict, List, Tuple

import numpy as np
from spacy.attrs import IDS, ORTH
from spacy.tokens import Doc
from thinc.api import Model

from ...arrays import Labels
from ...features.extract import FeatureExtractor
from ...features.sequences import WordDocs, words_of
from ...layers.emissions.sparse_linear import SparseScorer
from ...layers.scorer import scorer_of
from ...layers.weights.shim import weights_of

MOST_TOKENS = 200_000  # that are remembered
ANALYSIS = ("pos", "tag", "morph")  # what features may look at, beside the form


class KnownTokens:
    """Labels of forms with analyses, under one state of the weights."""

    def __init__(self) -> None:
        self._weights: Any = None
        self._labels: Dict[Tuple[int, ...], int] = {}

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
        if weights is not self._weights or len(self._labels) > MOST_TOKENS:
            self._weights = weights
            self._labels = {}
        columns = [ORTH, *(IDS[name.upper()] for name in _extractor(model).contextual)]
        tokens = np.concatenate([doc.to_array(columns).reshape(-1, len(columns)) for doc in docs])
        types, type_of = np.unique(tokens, axis=0, return_inverse=True)
        keys: List[Tuple[int, ...]] = list(map(tuple, types.tolist()))
        unknown = [i for i, key in enumerate(keys) if key not in self._labels]
        if unknown:
            strings = docs[0].vocab.strings
            words = [strings[key] for key in types[unknown, 0].tolist()]
            doc = Doc(docs[0].vocab, words=words, sent_starts=[True] * len(words))
            doc.from_array(columns[1:], np.ascontiguousarray(types[unknown, 1:]))  # type: ignore[arg-type]
            found = decode(words_of([doc])).tolist()
            self._labels.update(zip((keys[i] for i in unknown), found, strict=True))
        of_types = np.array([self._labels[key] for key in keys], np.int32)
        return of_types[type_of.reshape(-1)]


def _extractor(model: Model) -> FeatureExtractor:
    emissions: SparseScorer = scorer_of(model.layers[0])
    return emissions.features.extractor
