"""Emission scores from the labels of an earlier component: features with their probabilities as
values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. A template may also name words: then the feature is the n-gram together with
these words.
"""

from functools import partial
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import NumpyOps
from thinc.types import Floats2d

from ...arrays import AnyFloats, Keys, Mask, Rows
from ...errors import Errors
from ...features.index import ExactIndex, KeyCounter
from ...features.upstream_templates import UPSTREAM
from ...learning.parameter import Parameter
from ..named_features import Feature, Names
from ..scorer import Emissions, FlatScores, Scorer, TrainingTexts, no_backprop, scoring_layer
from ..tuning import Tuning
from ..weights.shim import WeightsShim, sum_rows
from ..weights.storage import keys_problem
from .listener import Heard, LabelsModel, heard_names, own_labels
from .marginal_features import Active, CertainBatch, HeardBatch, MarginalFeatures


def MarginalLinear(
    upstream: LabelsModel, templates: List[str], min_count: int = 1, nO: Optional[int] = None
) -> Emissions:
    """Linear emission scores over labels of an earlier component.

    upstream: `spacy_hoseq.MarginalListener.v1`; or a tagger's model, where spaCy has replaced the
        listener by it.
    templates: such as "upstream[-1]+upstream[0]" (features/upstream_templates.py).
    min_count (int): features seen fewer times in the training data have no weight.
    nO (int): number of labels; found in initialization.
    RAISES ValueError [HS010-HS013, HS019]: bad templates; [HS017]: `min_count`.
    """
    if min_count < 1:
        raise ValueError(Errors.HS017.format(min_count=min_count))
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
            "tables": [] if features.words is None else features.words.tables,
        },
        shims=[WeightsShim("marginal_linear", _problem, {"templates": features.names})],
    )


class MarginalScorer(Scorer):
    """Of `MarginalLinear`."""

    @property
    def features(self) -> MarginalFeatures:
        return self.model.attrs["features"]

    def scores(self, docs: List[Doc], *, is_train: bool) -> FlatScores:
        """Of all tokens, end to end, and the way back to the labels of the layer below."""
        shim = self.shim
        features = self.features
        index = features.index(shim.extra)
        table = shim.values("table", is_train=is_train)
        labels, backprop_upstream = self.model.layers[0](docs, is_train)
        if not is_train:
            return self._predicted(docs, labels, index, table)
        batch = features.batch(docs, labels)
        active = features.active(batch, index, 0, sum(map(len, docs)), table.dtype)
        drop = self.model.attrs["dropout_rate"]
        if drop:  # feature dropout: each template at each token is left out with probability `drop`
            dropped = shim.rng.random(active.rows.shape, dtype=np.float32) < drop
            active = _left_out(active, dropped, index.n_rows)
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        scores = _scores(table, active, features.tuning)
        scores *= scale
        backprop = partial(
            _backprop, shim, features, batch, active, table, scale, backprop_upstream
        )
        return FlatScores(scores, batch.lengths, backprop)

    def _predicted(
        self, docs: List[Doc], labels: Heard, index: ExactIndex, table: AnyFloats
    ) -> FlatScores:
        features = self.features
        tuning = features.tuning
        # sums of rows count the last one, too, which is zero wherever it was learnt
        certain = None if table[-1].any() else features.certain(docs, labels)
        batch = certain or features.batch(docs, labels)
        n_tokens = sum(map(len, docs))
        scores = np.empty((n_tokens, table.shape[1]), table.dtype)
        for start in range(0, n_tokens, tuning.key_tokens):
            stop = min(start + tuning.key_tokens, n_tokens)
            block = scores[start:stop]
            if isinstance(batch, CertainBatch):
                sum_rows([(table, features.certain_rows(batch, index, start, stop))], block)
            else:
                active = features.active(batch, index, start, stop, table.dtype)
                block[:] = _scores(table, active, tuning)
        return FlatScores(scores, batch.lengths, no_backprop)

    @property
    def reach(self) -> int:
        words = self.features.words
        of_labels = [
            abs(offset)
            for template in self.features.templates.labels
            for offset in template.offsets
        ]
        return max([0 if words is None else words.reach, *of_labels])

    def features_at(self, docs: List[Doc], words: Sequence[int]) -> Iterator[Feature]:
        features = self.features
        keys = self.shim.extra["keys"]
        table = self.shim.values("table", is_train=False)
        source = self.model.layers[0]
        labels = source.predict(docs)
        batch = features.batch(docs, labels)
        n_tokens = sum(map(len, docs))
        active = features.active(batch, features.index(self.shim.extra), 0, n_tokens, table.dtype)
        names = Names(docs)
        label_names = heard_names(source)
        places = np.sort(np.array(words, np.intp))
        templates = features.templates.labels
        used_features = features.used(active, batch.lattice, places, len(table) - 1)
        for template, used in zip(templates, used_features, strict=True):
            parts = features.templates.parts(template)
            of_labels = [part for part in parts if part.attribute == UPSTREAM]
            cells = active.strings[used.shape].ngrams.cells
            columns = (column.tolist() for column in used[1:])
            for ngram, word, row, value in zip(*columns, strict=True):
                heard = [int(labels.keys[batch.ids[of_place[ngram]]]) for of_place in cells]
                given = {
                    part: label_names.get(key, f"label {key:x}")
                    for part, key in zip(of_labels, heard, strict=True)
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

    def index(self, batches: Iterable[Tuple[List[Doc], Heard]]) -> None:
        """Number the features of the training texts. batches: docs with the labels of the earlier
        component."""
        counter = KeyCounter()
        for docs, labels in batches:
            for keys in self.features.keys(self.features.batch(docs, labels)):
                counter.add(keys)
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
        if self.features.words is not None:
            self.features.words.forget_words()


def _left_out(active: Active, dropped: Mask, nothing: int) -> Active:
    """dropped (K, n): templates at tokens. nothing (int): the last row of the table."""
    kept = np.flatnonzero(~dropped[active.others.templates, active.others.tokens])
    rows: Rows = np.where(dropped, np.int32(nothing), active.rows)
    return active._replace(rows=rows, others=active.others.at(kept))


def _scores(table: AnyFloats, active: Active, tuning: Tuning) -> AnyFloats:
    """RETURNS (n, L).

    Most tokens have one n-gram of a template: their rows, one for each template, are multiplied by
    their values in one product a token. What else a token has is added row by row. Both depend on
    the token alone."""
    rows = active.rows.T.copy()
    values = active.values.T.copy()
    values *= rows < len(table) - 1  # whatever the last row holds
    scores = np.empty((len(rows), table.shape[1]), table.dtype)
    for first in range(0, len(rows), tuning.product_tokens):
        block = slice(first, first + tuning.product_tokens)
        scores[block] = _products(table, rows[block], values[block])
    others = active.others
    ops = NumpyOps()
    tokens = others.tokens.astype(np.int32)
    weights = others.values.astype(table.dtype)
    for first in range(0, len(tokens), tuning.added_rows):
        block = slice(first, first + tuning.added_rows)
        more = table.take(others.rows[block], axis=0)
        more *= weights[block, None]
        ops.scatter_add(scores, tokens[block], more)
    return scores


def _products(table: AnyFloats, rows: Rows, values: AnyFloats) -> AnyFloats:
    """sum_k values[n, k] * table[rows[n, k]]. rows, values (n, K). RETURNS (n, L)."""
    gathered = table.take(rows.reshape(-1), axis=0).reshape(*rows.shape, table.shape[1])
    return np.asarray(np.matmul(values[:, None, :], gathered)[:, 0])


def _backprop(
    shim: WeightsShim,
    features: MarginalFeatures,
    batch: HeardBatch,
    active: Active,
    table: AnyFloats,
    scale: np.float32,
    backprop_upstream: Callable[..., Any],
    d_scores: AnyFloats,
) -> None:
    gradient = d_scores * scale
    taught = np.flatnonzero(gradient.any(axis=1))
    used = list(features.used(active, batch.lattice, taught, len(table) - 1))
    distinct, place = np.unique(
        np.concatenate([of_template.rows for of_template in used]), return_inverse=True
    )
    summed = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    places = np.split(
        place.reshape(-1).astype(np.int32),
        np.cumsum([len(of_template.rows) for of_template in used]),
    )
    d_values = {shape: np.zeros(len(of.which)) for shape, of in active.strings.items()}
    ops = NumpyOps()
    for (shape, ngrams, tokens, rows, values), at in zip(used, places, strict=False):
        at_token = gradient.take(tokens, axis=0)
        d_values[shape][ngrams] += np.einsum("ml,ml->m", table.take(rows, axis=0), at_token)
        at_token *= values[:, None].astype(gradient.dtype)
        ops.scatter_add(summed, at, at_token)
    shim.add_gradient("table", (distinct, summed))
    backprop_upstream(
        batch.lattice.backprop([(active.strings[shape].ngrams, d) for shape, d in d_values.items()])
    )


def _problem(shim: WeightsShim) -> str:
    """What is wrong with loaded weights: the features must be those of the table's rows."""
    keys = shim.extra.get("keys")
    shape = shim.parameters["table"].shape if "table" in shim.parameters else None
    problem = "" if keys is None else keys_problem(keys)
    if problem:
        return problem
    if shape is not None and (keys is None or shape[:-1] != (len(keys) + 1,)):
        return f"a table of shape {shape} does not fit {0 if keys is None else len(keys)} features"
    return ""
