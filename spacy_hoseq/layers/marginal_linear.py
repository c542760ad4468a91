"""Emission scores from the labels of an earlier component: features with their probabilities as
values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. Each n-gram of probable labels around a token fires in every template of its
shape: a template says at which offsets it looks at labels, and perhaps at words; then the feature
is the n-gram together with these words.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc
from thinc.api import NumpyOps
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Ints, Keys
from ..caches import IdentityCache
from ..decoders.answers import LabelLattice, NGrams
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.index import ExactIndex, KeyCounter
from ..features.keys import ABSENT, AFTER, BEFORE, bits_of, mix
from ..features.sequences import by_doc, sequence_lengths
from ..features.templates import UPSTREAM, parse_templates, split_templates
from ..learning.gradients import RowGradient
from ..learning.parameter import Parameter
from .listener import LabelsModel, own_labels, upstream_names
from .scorer import (
    Emissions,
    Feature,
    FlatScores,
    Names,
    Scorer,
    no_backprop,
    scoring_layer,
)
from .upstream import UpstreamLabels
from .weights import WeightsShim

Offsets = tuple[int, ...]  # at which a template looks at labels
BLOCK = 2_048  # tokens of a long text that are worked on together


def MarginalLinear(
    upstream: LabelsModel, templates: list[str], min_count: int = 1, nO: int | None = None
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


class UpstreamBatch(NamedTuple):
    """What templates see of a batch. lattice: of the labels, as they are in keys. threshold
    (float): the least probability of an n-gram. words (P, N): keys of the word parts of
    templates."""

    lattice: LabelLattice
    threshold: float
    words: Keys


class Fired(NamedTuple):
    """Features, template by template. templates, tokens (M,): where each fires. ngrams (M,): of
    which n-gram, counted over all shapes. values (M,): its probability. keys (M,): what stands for
    the feature; or its row in the table."""

    templates: Ints
    tokens: Ints
    ngrams: Ints
    values: Floats
    keys: NDArray[Any]

    def at(self, places: Ints) -> "Fired":
        """places (m,): numbers from 0 to below M."""
        columns: Any = (column.take(places) for column in self)
        return Fired(*columns)


class MarginalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use.

    labels: the templates. shapes: where they look at labels, seen from
    the first of these. reach (int): how many words away templates look.
    """

    def __init__(self, templates: list[str]) -> None:
        parsed = parse_templates(templates)
        self.names = sorted(map(str, parsed))
        _, words, labels = split_templates(parsed, UPSTREAM)
        self.words = FeatureExtractor(words)
        self.labels = labels
        self._order = sorted(range(len(labels)), key=lambda k: -len(labels[k].parts))
        self._seeds = np.array([template.seed for template in labels], np.uint64)
        self.shapes = [*dict.fromkeys(shape_of(template.offsets) for template in labels)]
        self._margin = max(abs(offset) for template in labels for offset in template.offsets)
        self.reach = max(self.words.reach, self._margin)
        self._index: IdentityCache[ExactIndex] = IdentityCache()

    def index(self, known: dict[str, Any]) -> ExactIndex:
        """known: what the weights save of their features. RAISES ValueError [HS052]: no features
        yet."""
        if "keys" not in known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        keys = known["keys"]
        return self._index.of((known,), lambda: ExactIndex(keys, bits_of(keys)))

    def batch(self, docs: Sequence[Doc], labels: UpstreamLabels) -> UpstreamBatch:
        lengths = sequence_lengths(docs)
        lattice = LabelLattice(labels.probable, lengths, self._margin, (BEFORE, AFTER))
        return UpstreamBatch(lattice, labels.threshold, self.words.keys(docs))

    def ngrams(self, batch: UpstreamBatch) -> list[NGrams]:
        """Those of each shape that are probable enough."""
        return [batch.lattice.ngrams(shape, batch.threshold) for shape in self.shapes]

    def fired(self, batch: UpstreamBatch) -> Fired:
        """Of all templates."""
        seen = self._seen(batch)
        ordered = [self.labels[k] for k in self._order]  # those of most parts first
        of_templates = [seen[template.offsets] for template in ordered]
        parts = []
        for template, (tokens, _, _, *labels) in zip(ordered, of_templates, strict=True):
            of_words = [batch.words[template.word].take(tokens)] if template.word >= 0 else []
            parts.append([*of_words, *labels])
        templates = np.array(self._order).repeat([len(tokens) for tokens, *_ in of_templates])
        keys = self._seeds.take(templates)
        for depth in range(len(parts[0])):
            column = np.concatenate([of[depth] for of in parts if len(of) > depth])
            keys[: len(column)] = mix(keys[: len(column)], column)
        keys[np.concatenate([of[0] for of in parts]) == ABSENT] = ABSENT
        tokens, ngrams, values = map(
            np.concatenate, zip(*(of[:3] for of in of_templates), strict=True)
        )
        return Fired(templates, tokens, ngrams, values, keys)

    def _seen(self, batch: UpstreamBatch) -> dict[Offsets, list[NDArray[Any]]]:
        """N-grams seen from tokens at some offsets: tokens, ngrams and values (M,), as `Fired` has
        them, and the label at each offset (M,)."""
        lattice = batch.lattice
        of_shapes = self.ngrams(batch)
        first = np.cumsum([0, *(len(ngrams.values) for ngrams in of_shapes)])
        seen = {}
        for offsets in dict.fromkeys(template.offsets for template in self.labels):
            shape = self.shapes.index(shape_of(offsets))
            ngrams = of_shapes[shape]
            tokens = lattice.tokens_at(ngrams.places - offsets[0])
            there = (tokens >= 0).nonzero()[0]
            labels = [lattice.labels.take(cells.take(there)) for cells in ngrams.cells]
            seen[offsets] = [
                tokens.take(there),
                there + first[shape],
                ngrams.values.take(there),
                *labels,
            ]
        return seen

    def weighted(self, batch: UpstreamBatch, index: ExactIndex) -> Fired:
        """Those that have a row in the table."""
        fired = self.fired(batch)
        rows = index.lookup(fired.keys)
        return fired._replace(keys=rows).at(np.flatnonzero(rows < index.n_rows))


def shape_of(offsets: Offsets) -> Offsets:
    return tuple(offset - offsets[0] for offset in offsets)


class MarginalScorer(Scorer):
    """Of `MarginalLinear`."""

    @property
    def features(self) -> MarginalFeatures:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.words

    @property
    def reach(self) -> int:
        return self.features.reach

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """Of all tokens, end to end, and the way back to the labels of the layer below."""
        features = self.features
        shim = self.shim
        index = features.index(shim.extra)
        table = shim.values("table", is_train=is_train)
        lengths = sequence_lengths(docs)
        scores = np.zeros((int(lengths.sum()), table.shape[1]), table.dtype)
        if not index.n_rows:
            return FlatScores(scores, lengths, no_backprop)
        labels, backprop_upstream = self.model.layers[0](docs, is_train)
        batch = features.batch(docs, labels)
        if not is_train:
            for start in range(0, len(scores), BLOCK):
                lattice = batch.lattice.between(start, min(start + BLOCK, len(scores)))
                _add_up(scores, table, features.weighted(batch._replace(lattice=lattice), index))
            return FlatScores(scores, lengths, no_backprop)
        fired = features.weighted(batch, index)
        drop = self.model.attrs["dropout_rate"]
        if drop:  # feature dropout: each template at each token is left out with probability `drop`
            shape = (len(features.labels), len(scores))
            kept = shim.rng.random(shape, dtype=np.float32) >= drop
            fired = fired.at(np.flatnonzero(kept[fired.templates, fired.tokens]))
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        _add_up(scores, table, fired)
        scores *= scale
        ngrams = features.ngrams(batch)

        def backprop(d_scores: AnyFloats) -> None:
            of_values = [of_shape.values for of_shape in ngrams]
            n_ngrams = sum(map(len, of_values))
            of_table, d_values = _gradients(table, fired, d_scores * scale, n_ngrams)
            shim.add_gradient("table", of_table)
            of_ngrams = zip(ngrams, by_doc(d_values, of_values), strict=True)
            backprop_upstream(batch.lattice.backprop([*of_ngrams]))

        return FlatScores(scores, lengths, backprop)

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> Iterator[Feature]:
        features = self.features
        source = self.model.layers[0]
        batch = features.batch(docs, source.predict(docs))
        fired = features.weighted(batch, features.index(self.shim.extra))
        at_words = fired.at(np.flatnonzero(np.isin(fired.tokens, words)))
        ngrams = [
            labels
            for of_shape in features.ngrams(batch)
            for labels in batch.lattice.labels[np.stack(of_shape.cells, axis=1)].tolist()
        ]
        keys = self.shim.extra["keys"]
        table = self.shim.values("table", is_train=False)
        names = Names(docs)
        label_names = upstream_names(source)
        columns = (column.tolist() for column in at_words)
        for template, word, ngram, value, row in zip(*columns, strict=True):
            parts = features.labels[template].parts
            gram_names = [label_names.get(key, f"label {key:x}") for key in ngrams[ngram]]
            given = dict(zip(parts[-len(gram_names) :], gram_names, strict=True))
            weights = table[row].astype(np.float64) * value
            feature = names.feature(parts, word, weights, given, value)
            yield feature._replace(key=int(keys[row]))

    def names(self, docs: list[Doc], keys: Keys) -> dict[int, str]:
        wanted = set(keys.tolist())
        fired = self.features_at(docs, range(sum(map(len, docs))))
        return {
            feature.key: feature.name.partition(" (")[0]
            for feature in fired
            if feature.key in wanted
        }

    def define(self, texts: Any) -> None:
        self.index(texts.upstream(self.model.layers[0]))

    def index(self, batches: Iterable[tuple[list[Doc], UpstreamLabels]]) -> None:
        """Number the features of the training texts. batches: docs with the labels of the earlier
        component."""
        counter = KeyCounter()
        for docs, labels in batches:
            counter.add(self.features.fired(self.features.batch(docs, labels)).keys)
        self.shim.extra = {"keys": counter.frequent(self.model.attrs["min_count"])}

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
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
        self.extractor.forget_words()


def _add_up(scores: AnyFloats, table: AnyFloats, fired: Fired) -> None:
    """scores[token] += value * table[row] of each feature, one after the other. scores (N, L)."""
    rows = table.take(fired.keys, axis=0)
    rows *= fired.values.astype(table.dtype)[:, None]
    NumpyOps().scatter_add(scores, fired.tokens.astype(np.int32), rows)


def _gradients(
    table: AnyFloats, fired: Fired, gradient: AnyFloats, n_ngrams: int
) -> tuple[RowGradient, Floats]:
    """d row = value * d scores; d value = row . d scores. gradient (N, L). RETURNS that of the
    table, and that of the values of n-grams."""
    fired = fired.at(np.flatnonzero(gradient.any(axis=1).take(fired.tokens)))
    at_tokens = gradient.take(fired.tokens, axis=0)
    d_values = np.einsum("ml,ml->m", table.take(fired.keys, axis=0), at_tokens)
    # (of none they are whole numbers)
    d_ngrams = np.bincount(fired.ngrams, d_values, minlength=n_ngrams).astype(np.float64)
    at_tokens *= fired.values.astype(gradient.dtype)[:, None]
    distinct, place = np.unique(fired.keys, return_inverse=True)
    d_rows = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    NumpyOps().scatter_add(d_rows, place.astype(np.int32), at_tokens)
    return (distinct, d_rows), d_ngrams
