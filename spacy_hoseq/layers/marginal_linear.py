"""Emission scores from the labels of an earlier component: features with their probabilities as
values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. A template may also name words: then the feature is the n-gram together with
these words.
"""

from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import NumpyOps
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Keys
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.sequences import by_doc, sequence_lengths
from ..features.templates import UPSTREAM
from ..learning.gradients import RowGradient
from ..learning.parameter import Parameter
from .listener import LabelsModel, UpstreamLabels, heard_names, own_labels
from .marginal_features import BLOCK, Fired, HeardBatch, MarginalFeatures
from .scorer import (
    Emissions,
    Feature,
    FlatScores,
    Names,
    Scorer,
    TrainingTexts,
    no_backprop,
    scoring_layer,
)
from .shim import WeightsShim

ADDED_ROWS = 4_096  # of the table that are gathered together


def MarginalLinear(
    upstream: LabelsModel, templates: List[str], min_count: int = 1, nO: Optional[int] = None
) -> Emissions:
    """Linear emission scores over labels of an earlier component.

    upstream: `spacy_hoseq.MarginalListener.v1`; or a tagger's model, where spaCy has replaced the
        listener by it.
    templates: such as "upstream[-1]+upstream[0]" (features/templates.py).
    min_count (int): features seen fewer times in the training data have no weight.
    nO (int): number of labels; found in initialization.
    RAISES ValueError [HS010, HS013, HS027]: bad templates, `min_count`.
    """
    if min_count < 1:
        raise ValueError(
            Errors.HS027.format(name="min_count", value=min_count, expected="1 or more")
        )
    features = MarginalFeatures(templates)
    is_tagger = "replace_listener" in upstream.attrs
    source = own_labels(cast(Any, upstream)) if is_tagger else upstream
    return scoring_layer(
        "marginal_linear",
        MarginalScorer,
        layers=[source],
        nO=nO,
        attrs={
            "features": features,
            "min_count": min_count,
            "dropout_rate": 0.0,
            "tables": features.words.tables,
        },
        shims=[WeightsShim("marginal_linear", {"templates": features.names})],
    )


class MarginalScorer(Scorer):
    """Of `MarginalLinear`."""

    @property
    def features(self) -> MarginalFeatures:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.words

    def scores(self, docs: List[Doc], *, is_train: bool) -> FlatScores:
        """Of all tokens, end to end, and the way back to the labels of the layer below."""
        features = self.features
        shim = self.shim
        index = features.index(shim.extra)
        table = shim.values("table", is_train=is_train)
        if not index.n_rows:
            lengths = sequence_lengths(docs)
            nothing = np.zeros((int(lengths.sum()), table.shape[1]), table.dtype)
            return FlatScores(nothing, lengths, no_backprop)
        labels, backprop_upstream = self.model.layers[0](docs, is_train)
        batch = features.batch(docs, labels)
        if not is_train:
            return self._probable_scores(batch, index, table)
        fired = features.weighted(batch, index)
        n_tokens = int(batch.lengths.sum())
        drop = self.model.attrs["dropout_rate"]
        if drop:  # feature dropout: each template at each token is left out with probability `drop`
            shape = (len(features.templates.labels), n_tokens)
            kept = shim.rng.random(shape, dtype=np.float32) >= drop
            fired = fired.at(np.flatnonzero(kept[fired.templates, fired.tokens]))
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        scores = np.zeros((n_tokens, table.shape[1]), table.dtype)
        _add_up(scores, table, fired)
        scores *= scale
        of_shapes = batch.ngrams(features.shapes)
        of_values = [ngrams.values for ngrams in of_shapes]

        def backprop(d_scores: AnyFloats) -> None:
            n_ngrams = sum(map(len, of_values))
            of_table, d_values = _gradients(table, fired, d_scores * scale, n_ngrams)
            shim.add_gradient("table", of_table)
            parts = zip(of_shapes, by_doc(d_values, of_values), strict=True)
            backprop_upstream(batch.lattice.backprop(list(parts)))

        return FlatScores(scores, batch.lengths, backprop)

    def _probable_scores(
        self, batch: HeardBatch, index: ExactIndex, table: AnyFloats
    ) -> FlatScores:
        """Of a batch of any length, some tokens at a time."""
        n_tokens = int(batch.lengths.sum())
        scores = np.zeros((n_tokens, table.shape[1]), table.dtype)
        for start in range(0, n_tokens, BLOCK):
            part = batch.between(start, min(start + BLOCK, n_tokens))
            _add_up(scores, table, self.features.weighted(part, index))
        return FlatScores(scores, batch.lengths, no_backprop)

    @property
    def reach(self) -> int:
        return self.features.reach

    def features_at(self, docs: List[Doc], words: Sequence[int]) -> Iterator[Feature]:
        features = self.features
        keys = self.shim.extra["keys"]
        table = self.shim.values("table", is_train=False)
        source = self.model.layers[0]
        batch = features.batch(docs, source.predict(docs))
        cell_values = batch.values[batch.lattice.labels]
        names = Names(docs)
        label_names = heard_names(source)
        fired = features.weighted(batch, features.index(self.shim.extra))
        heard = [
            cells
            for ngrams in batch.ngrams(features.shapes)
            for cells in zip(*(at.tolist() for at in ngrams.cells), strict=True)
        ]
        wanted = np.flatnonzero(np.isin(fired.tokens, words))
        columns = (column.tolist() for column in fired.at(wanted))
        for template, word, ngram, value, row in zip(*columns, strict=True):
            parts = features.templates.labels[template].parts
            of_labels = [part for part in parts if part.attribute == UPSTREAM]
            given = {
                part: label_names.get(key, f"label {key:x}")
                for part, key in zip(of_labels, cell_values[[*heard[ngram]]].tolist(), strict=True)
            }
            weights = table[row].astype(np.float64) * value
            feature = names.feature(parts, word, weights, given, value)
            yield feature._replace(key=int(keys[row]))

    def names(self, docs: List[Doc], keys: Keys) -> Dict[int, str]:
        wanted = set(keys.tolist())
        fired = self.features_at(docs, range(sum(map(len, docs))))
        return {feature.key: feature.plain_name for feature in fired if feature.key in wanted}

    def define(self, texts: TrainingTexts) -> None:
        self.index(texts.heard(self.model.layers[0]))

    def index(self, batches: Iterable[Tuple[List[Doc], UpstreamLabels]]) -> None:
        """Number the features of the training texts. batches: docs with the labels of the earlier
        component."""
        features = self.features
        counter = KeyCounter()
        for docs, labels in batches:
            counter.add(features.fired(features.batch(docs, labels)).keys)
        self.shim.extra = {"keys": counter.frequent(self.model.attrs["min_count"])}

    def initialize(self, X: Optional[List[Doc]] = None, Y: Optional[List[Floats2d]] = None) -> None:
        """Zero weights for the features found by `index` before."""
        if Y is None:
            return
        self.model.set_dim("nO", Y[0].shape[1])
        n_rows = self.features.index(self.shim.extra).n_rows
        self.shim.set(Parameter("table", np.zeros((n_rows + 1, Y[0].shape[1]), np.float32)))

    def prepare(self) -> None:
        if "table" in self.shim.parameters:
            self.features.index(self.shim.extra)
            self.shim.values("table", is_train=False)

    def forget_words(self) -> None:
        self.features.words.forget_words()


def _add_up(scores: AnyFloats, table: AnyFloats, fired: Fired) -> None:
    """scores[token] += value * table[row] of each feature, one after the other. scores (N, L)."""
    ops = NumpyOps()
    tokens = fired.tokens.astype(np.int32)
    values = fired.values.astype(table.dtype)
    for first in range(0, len(tokens), ADDED_ROWS):
        block = slice(first, first + ADDED_ROWS)
        rows = table.take(fired.keys[block], axis=0)
        rows *= values[block, None]
        ops.scatter_add(scores, tokens[block], rows)


def _gradients(
    table: AnyFloats, fired: Fired, gradient: AnyFloats, n_ngrams: int
) -> Tuple[RowGradient, Floats]:
    """d row = value * d scores; d value = row . d scores. gradient (N, L). RETURNS that of the
    table, and that of the values of n-grams."""
    fired = fired.at(np.flatnonzero(gradient.any(axis=1).take(fired.tokens)))
    distinct, place = np.unique(fired.keys, return_inverse=True)
    place = place.astype(np.int32)
    values = fired.values.astype(gradient.dtype)
    d_rows = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    d_values = np.empty(len(place))
    ops = NumpyOps()
    for first in range(0, len(place), ADDED_ROWS):
        block = slice(first, first + ADDED_ROWS)
        at_token = gradient.take(fired.tokens[block], axis=0)
        rows = table.take(fired.keys[block], axis=0)
        d_values[block] = np.einsum("ml,ml->m", rows, at_token)
        at_token *= values[block, None]
        ops.scatter_add(d_rows, place[block], at_token)
    d_ngrams: Floats = np.zeros(n_ngrams)
    d_ngrams += np.bincount(fired.ngrams, d_values, minlength=n_ngrams)
    return (distinct, d_rows), d_ngrams
