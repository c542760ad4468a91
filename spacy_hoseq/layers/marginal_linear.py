"""Emission scores from the labels of an earlier component: features with their probabilities as
values.

    scores[n] = sum over n-grams of labels g around token n, and templates k, of q(g) * the weight row of k with g

q as in `label_ngrams`. Each n-gram of probable labels around a token fires in every template of its
shape: a template says at which offsets it looks at labels, and perhaps at words; then the feature
is the n-gram together with these words.
"""

from collections.abc import Iterable, Sequence
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
from ..features.index import ExactIndex, KeyCounter, check_min_count
from ..features.keys import ABSENT, AFTER_SENTENCE, BEFORE_SENTENCE, bits_of, mix
from ..features.sequences import by_doc, sequence_lengths
from ..features.templates import parse_templates, split_templates
from ..learning.gradients import RowGradient
from ..learning.parameter import Parameter
from .listener import LabelsModel, own_labels, upstream_names
from .scorer import (
    AnyFeatures,
    Backprop,
    Emissions,
    FlatScores,
    Scorer,
    TemplateFeature,
    TrainingTexts,
    no_backprop,
    scoring_layer,
)
from .sums import dropout_scale, row_gradient
from .upstream import UpstreamLabels
from .weights import WeightsShim

Offsets = tuple[int, ...]  # at which a template looks at labels
NGRAM_BLOCK_TOKENS = 2_048


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
    check_min_count(min_count)
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
    which n-gram, counted over all shapes. values (M,): its probability. keys (M,): the key of the
    feature; or its row in the table."""

    templates: Ints
    tokens: Ints
    ngrams: Ints
    values: Floats
    keys: NDArray[Any]

    def at(self, places: Ints) -> "Fired":
        """Some of them. places (m,): numbers from 0 to below M."""
        columns: Any = (column.take(places) for column in self)
        return Fired(*columns)


class TokenNGrams(NamedTuple):
    """N-grams seen from tokens. tokens, ngrams, values (M,): as in `Fired`. labels: of each place
    (M,)."""

    tokens: Ints
    ngrams: Ints
    values: Floats
    labels: list[Keys]


class MarginalFeatures:
    """Extracts features, and holds the index that belongs to the weights in use.

    labels: the templates. shapes: where they look at labels, counted from the first of these.
    """

    def __init__(self, templates: list[str]) -> None:
        parsed = parse_templates(templates)
        self.names = sorted(map(str, parsed))
        _, words, labels = split_templates(parsed, "upstream")
        self.words = FeatureExtractor(words)
        self.labels = labels
        self.shapes = [*dict.fromkeys(shape_of(template.offsets) for template in labels)]
        # templates of most parts first, for `_folded`
        self._order = sorted(range(len(labels)), key=lambda k: -len(labels[k].parts))
        self._seeds = np.array([template.seed for template in labels], np.uint64)
        self._margin = max(max(map(abs, template.offsets)) for template in labels)
        self._index: IdentityCache[ExactIndex] = IdentityCache()

    def index(self, known: dict[str, Any]) -> ExactIndex:
        """known: what the weights save of their features. RAISES ValueError [HS052]: no features
        yet."""
        if "keys" not in known:
            raise ValueError(Errors.HS052.format(problem="the training texts were not searched"))
        keys = known["keys"]
        return self._index.of((known,), lambda: ExactIndex(keys, bits_of(keys)))

    def batch(self, docs: Sequence[Doc], labels: UpstreamLabels) -> UpstreamBatch:
        """The batch as templates see it."""
        lengths = sequence_lengths(docs)
        lattice = LabelLattice(
            labels.probable, lengths, self._margin, (BEFORE_SENTENCE, AFTER_SENTENCE)
        )
        return UpstreamBatch(lattice, labels.threshold, self.words.keys(docs))

    def ngrams(self, batch: UpstreamBatch) -> list[NGrams]:
        """N-grams of each shape that are probable enough."""
        return [batch.lattice.ngrams(shape, batch.threshold) for shape in self.shapes]

    def fired(self, batch: UpstreamBatch) -> Fired:
        """Features of all templates, with their keys."""
        by_offsets = self._ngrams_by_offsets(batch)
        seen = []
        columns = []  # of each template, what its keys are made of: (M_k,) for each part
        for template in [self.labels[k] for k in self._order]:
            ngrams = by_offsets[template.offsets]
            seen.append(ngrams)
            if template.word >= 0:
                columns.append([batch.words[template.word].take(ngrams.tokens), *ngrams.labels])
            else:
                columns.append(ngrams.labels)
        templates = np.array(self._order).repeat([len(ngrams.tokens) for ngrams in seen])
        return Fired(
            templates,
            np.concatenate([ngrams.tokens for ngrams in seen]),
            np.concatenate([ngrams.ngrams for ngrams in seen]),
            np.concatenate([ngrams.values for ngrams in seen]),
            _folded(self._seeds.take(templates), columns),
        )

    def _ngrams_by_offsets(self, batch: UpstreamBatch) -> dict[Offsets, TokenNGrams]:
        """N-grams of all templates, seen from the tokens at whose offsets they are.

        Templates of one shape share their n-grams: "upstream[-1]" at a token is "upstream[0]" at the
        token before.
        """
        lattice = batch.lattice
        all_ngrams = self.ngrams(batch)
        first = np.cumsum([0, *(len(ngrams.values) for ngrams in all_ngrams)])  # by shape
        seen = {}
        for offsets in {template.offsets for template in self.labels}:
            shape = self.shapes.index(shape_of(offsets))
            ngrams = all_ngrams[shape]
            tokens = lattice.tokens_at(ngrams.places - offsets[0])
            inside = (tokens >= 0).nonzero()[0]  # of a token, not of a place outside
            labels = [lattice.labels.take(cells.take(inside)) for cells in ngrams.cells]
            values = ngrams.values.take(inside)
            seen[offsets] = TokenNGrams(tokens.take(inside), inside + first[shape], values, labels)
        return seen

    def weighted(self, batch: UpstreamBatch, index: ExactIndex) -> Fired:
        """Features that have a row in the table, with their rows."""
        fired = self.fired(batch)
        rows = index.lookup(fired.keys)
        return fired._replace(keys=rows).at(np.flatnonzero(rows < index.n_rows))


def _folded(keys: Keys, columns: list[list[Keys]]) -> Keys:
    """Keys of features from their parts. keys (M,): seeds. columns: of each template, its parts
    (M_k,); templates of most parts first.

    A key is mixed with one part after the other. This is done for all templates at once: those that
    have a part of some depth come before those that have not.
    """
    for depth in range(len(columns[0])):
        column = np.concatenate([parts[depth] for parts in columns if len(parts) > depth])
        keys[: len(column)] = mix(keys[: len(column)], column)
    # the word part comes first; where it does not fire, the feature does not either
    first = np.concatenate([parts[0] for parts in columns])
    keys[first == ABSENT] = ABSENT
    return keys


def shape_of(offsets: Offsets) -> Offsets:
    """Offsets counted from the first of them."""
    return tuple(offset - offsets[0] for offset in offsets)


class MarginalScorer(Scorer):
    """Scores of `MarginalLinear`."""

    @property
    def features(self) -> MarginalFeatures:
        return self.model.attrs["features"]

    @property
    def extractor(self) -> FeatureExtractor:
        return self.features.words

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """Scores of all tokens, and the way back to the labels of the layer below."""
        index = self.features.index(self.shim.extra)
        table = self.shim.values("table", is_train=is_train)
        lengths = sequence_lengths(docs)
        scores = np.zeros((int(lengths.sum()), table.shape[1]), table.dtype)  # (N, L)
        if not index.n_rows:
            return FlatScores(scores, lengths, no_backprop)
        labels, backprop_upstream = self.model.layers[0](docs, is_train)
        batch = self.features.batch(docs, labels)
        if is_train:
            backprop = self._train(scores, table, batch, index, backprop_upstream)
            return FlatScores(scores, lengths, backprop)
        self._predict(scores, table, batch, index)
        return FlatScores(scores, lengths, no_backprop)

    def _predict(
        self, scores: AnyFloats, table: AnyFloats, batch: UpstreamBatch, index: ExactIndex
    ) -> None:
        """Fill in scores (N, L), in blocks of tokens: long texts have many n-grams."""
        for start in range(0, len(scores), NGRAM_BLOCK_TOKENS):
            stop = min(start + NGRAM_BLOCK_TOKENS, len(scores))
            block = batch._replace(lattice=batch.lattice.between(start, stop))
            _add_rows(scores, table, self.features.weighted(block, index))

    def _train(
        self,
        scores: AnyFloats,
        table: AnyFloats,
        batch: UpstreamBatch,
        index: ExactIndex,
        backprop_upstream: Backprop,
    ) -> Backprop:
        """Fill in scores (N, L), with feature dropout. RETURNS the way back."""
        features = self.features
        shim = self.shim
        fired = features.weighted(batch, index)
        drop = self.model.attrs["dropout_rate"]
        if drop:
            # each template at each token is left out with probability `drop`, with all its n-grams
            shape = (len(features.labels), len(scores))
            stays = shim.rng.random(shape, dtype=np.float32) >= drop
            fired = fired.at(np.flatnonzero(stays[fired.templates, fired.tokens]))
        scale = dropout_scale(drop)
        _add_rows(scores, table, fired)
        scores *= scale
        ngrams = features.ngrams(batch)

        def backprop(d_scores: AnyFloats) -> None:
            values = [shape.values for shape in ngrams]
            n_ngrams = sum(map(len, values))
            d_table, d_values = _gradients(table, fired, d_scores * scale, n_ngrams)
            shim.add_gradient("table", d_table)
            # from probabilities of n-grams to those of labels and pairs, and on to the layer below
            d_ngrams = zip(ngrams, by_doc(d_values, values), strict=True)
            backprop_upstream(batch.lattice.backprop([*d_ngrams]))

        return backprop

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> AnyFeatures:
        features = self.features
        source = self.model.layers[0]
        batch = features.batch(docs, source.predict(docs))
        fired = features.weighted(batch, features.index(self.shim.extra))
        fired = fired.at(np.flatnonzero(np.isin(fired.tokens, words)))
        label_names = upstream_names(source)
        names: list[list[str]] = []  # of the labels of each n-gram
        for shape in features.ngrams(batch):
            labels = batch.lattice.labels[np.stack(shape.cells, axis=1)]  # (M, n)
            for keys in labels.tolist():
                names.append([label_names.get(key, f"label {key:x}") for key in keys])
        feature_keys = self.shim.extra["keys"]
        table = self.shim.values("table", is_train=False)
        columns = (column.tolist() for column in fired)
        for template, word, ngram, value, row in zip(*columns, strict=True):
            parts = features.labels[template].parts
            label_parts = parts[-len(names[ngram]) :]  # they come after the word parts
            given = dict(zip(label_parts, names[ngram], strict=True))
            weights = table[row].astype(np.float64) * value
            yield TemplateFeature(parts, word, weights, int(feature_keys[row]), given, value)

    def define(self, texts: TrainingTexts) -> None:
        self.index(texts.upstream(self.model.layers[0]))

    def index(self, batches: Iterable[tuple[list[Doc], UpstreamLabels]]) -> None:
        """Number the features of the training texts. batches: docs with the labels of the earlier
        component."""
        counter = KeyCounter()
        for docs, labels in batches:
            counter.add(self.features.fired(self.features.batch(docs, labels)).keys)
        self.shim.extra = {"keys": counter.frequent(self.model.attrs["min_count"])}

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Set the weights of the features found by `index` to zero."""
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


def _add_rows(scores: AnyFloats, table: AnyFloats, fired: Fired) -> None:
    """scores[token] += value * table[row] of each feature, one after the other. scores (N, L)."""
    rows = table.take(fired.keys, axis=0)  # (M, L)
    rows *= fired.values.astype(table.dtype)[:, None]
    NumpyOps().scatter_add(scores, fired.tokens.astype(np.int32), rows)


def _gradients(
    table: AnyFloats, fired: Fired, d_scores: AnyFloats, n_ngrams: int
) -> tuple[RowGradient, Floats]:
    """Gradients of the table, and of the values of n-grams (n_ngrams,). d_scores (N, L).

    d_row = value * d_scores; d_value = row . d_scores, summed over where they fire.
    """
    # tokens without a gradient (a margin: most of them) change nothing
    fired = fired.at(np.flatnonzero(d_scores.any(axis=1).take(fired.tokens)))
    d_fired = d_scores.take(fired.tokens, axis=0)  # (M, L)
    d_values = np.einsum("ml,ml->m", table.take(fired.keys, axis=0), d_fired)
    # (`bincount` of nothing gives whole numbers)
    d_ngrams = np.bincount(fired.ngrams, d_values, minlength=n_ngrams).astype(np.float64)
    d_fired *= fired.values.astype(d_scores.dtype)[:, None]
    return row_gradient(fired.keys[None], d_fired, len(table) - 1), d_ngrams
