"""What this package asks of a layer of scores beside thinc's interface: its `Scorer`.

Any thinc `Model[List[Doc], List[Floats2d]]` gives scores of labels, as a network of spaCy's does,
and needs nothing else. A layer that can do more has a subclass of `Scorer`, and is made by
`scoring_layer`. It may give all scores of a batch in one array, name its features, look at the
training texts, and keep what it knows of words. A layer of another package does so in a few lines
(tests/layers/test_scorer.py):

    class Lengths(Scorer):
        def scores(self, docs, *, is_train):
            ...
            return FlatScores(scores, sequence_lengths(docs), backprop)

    model = scoring_layer("lengths", Lengths)

A scorer is a view of its model, as light as a bound method, and holds nothing else. Weights are in
the layer's shim or parameters, and settings in its `attrs`: so thinc copies and saves layers as it
always does. `scorer_of(model)` is the view of any layer; where its kind is known, the class makes
it: `SparseScorer(model).extractor`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, cast

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Keys, Labels, Lengths
from ..errors import Errors
from ..features.extract import FeatureExtractor
from ..features.keys import lowest_bits
from ..features.sequences import by_doc, sequence_lengths
from ..features.templates import Part
from .sums import LabelParts
from .upstream import UpstreamLabels
from .weights import WeightsShim, weights_of

Emissions = Model[list[Doc], list[Floats2d]]
Backprop = Callable[[Any], Any]  # takes d_scores (N, L)


class Feature(NamedTuple):
    """A feature that fires at a word. name: "lower[-1] = the". word: where it fires, among all N.
    looks_at: at which words. weights (L,): what it adds to the score of each label, with its value.
    key: its hash in the model, 0 = none.
    """

    name: str
    word: int
    looks_at: tuple[int, ...]
    weights: Floats
    key: int = 0


class TemplateFeature(NamedTuple):
    """A feature of a template, as layers give it: `inspection.names` makes a `Feature` of it.

    parts: of the template. word, weights, key: as in `Feature`. given: values of parts that are not
    words, as labels. value (float): the feature's, with which its weights are multiplied.
    """

    parts: Sequence[Part]
    word: int
    weights: Floats
    key: int = 0
    given: Mapping[Part, str] | None = None
    value: float = 1.0


AnyFeatures = Iterator[Feature | TemplateFeature]


class FlatScores(NamedTuple):
    """scores (N, L): of all tokens. lengths (S,): of the sequences that the docs consist of.
    backprop: takes d_scores (N, L)."""

    scores: AnyFloats
    lengths: Lengths
    backprop: Backprop


class TrainingTexts(ABC):
    """The examples of a component, as its layers see them before training. labels: names, by id.
    gold: label ids of each sequence, -1 where not known."""

    labels: Sequence[str]
    gold: Sequence[Labels]

    @abstractmethod
    def docs(self) -> Iterator[list[Doc]]:
        """The words, batch by batch."""

    @abstractmethod
    def annotated(self) -> list[Iterator[list[Doc]]]:
        """The words twice: with the gold annotation, and as the components before annotate them,
        which may not be trained yet."""

    @abstractmethod
    def upstream(self, source: Model[list[Doc], Any]) -> Iterator[tuple[list[Doc], UpstreamLabels]]:
        """The words with the labels of an earlier component. source: the layer that gives them."""


class Scorer:
    """Scores of labels by one layer. model: the layer. This class is the scorer of any thinc layer
    that gives an array for each Doc.

    A layer has to give `scores`. Each other method has a default, for a layer without features:

        training      define, initialize
        prediction    prepare, forget_words, sees_sentences_alone
        features      extractor, features_at, features_with, keyed_weights
        labels        parts
    """

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model

    @property
    def shim(self) -> WeightsShim:
        """The layer's weights. RAISES ValueError [HS051]: they are of another kind."""
        return weights_of(self.model)

    @property
    def extractor(self) -> FeatureExtractor | None:
        """The features that the layer reads itself."""
        return None

    @property
    def parts(self) -> LabelParts | None:
        """Columns of the layer below that labels share. None: each label has its own."""
        return None

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """Scores of all tokens of a batch, end to end, with the way back if `is_train`."""
        ops = self.model.ops
        doc_scores, backprop_docs = self.model(docs, is_train)
        arrays = [ops.to_numpy(scores) for scores in doc_scores]
        if len(arrays) == 1:
            scores = arrays[0]  # one long Doc is not copied
        else:
            scores = np.concatenate(arrays or [np.zeros((0, 0))])

        def backprop(d_scores: AnyFloats) -> Any:
            d_docs: list[Any] = by_doc(d_scores, doc_scores)
            return backprop_docs([ops.asarray(d_doc) for d_doc in d_docs])

        return FlatScores(scores, sequence_lengths(docs), backprop)

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> AnyFeatures:
        """The features that fire at some words, counted over all docs, and have a weight.

        Their weights add up to the scores. Scores that are not made of features are one feature:
        "network".
        """
        scores = self.scores(docs, is_train=False).scores
        for word in words:
            yield Feature("network", word, (word,), scores[word].astype(np.float64))

    def features_with(self, docs: list[Doc], keys: Keys) -> AnyFeatures:
        """Features of `keyed_weights` with one of these keys that fire in some docs: each at least
        once."""
        wanted = set(keys.tolist())
        for feature in self.features_at(docs, range(sum(map(len, docs)))):
            if feature.key in wanted:
                yield feature

    def keyed_weights(self) -> Iterator[tuple[Keys, AnyFloats]]:
        """Keys (F,) and finished weights (F, L) of the features that have a row of their own."""
        for shim in self.model.shims:
            if isinstance(shim, WeightsShim) and "keys" in shim.extra and shim.feature_weights():
                # the last row stands for no feature
                yield shim.extra["keys"], shim.values("table", is_train=False)[:-1]

    @property
    def annotation(self) -> list[int]:
        """spaCy's attributes of tokens that features read, here and in layers below."""
        read = [] if self.extractor is None else self.extractor.annotation
        below = (scorer_of(layer).annotation for layer in self.model.layers)
        return [*read, *chain.from_iterable(below)]

    @property
    def sees_sentences_alone(self) -> bool:
        """True if scores of a sentence are the same without the text around it."""
        layers = self.model.layers
        return bool(layers) and all(scorer_of(layer).sees_sentences_alone for layer in layers)

    def define(self, texts: TrainingTexts) -> None:
        """Find in the training texts what has a weight. Called before `initialize`."""

    def initialize(self, X: list[Doc] | None = None, Y: list[Floats2d] | None = None) -> None:
        """Set weights to zero; thinc's `init`."""
        for layer in self.model.layers:
            layer.initialize(X, Y)
        if Y is not None:
            self.model.set_dim("nO", Y[0].shape[1])

    def prepare(self) -> None:
        """Make what prediction needs of weights just loaded, so that the first text takes no longer
        than others."""

    def forget_words(self) -> None:
        """Drop what is cached of words (at the end of a memory zone)."""


def scorer_of(model: Model[Any, Any]) -> Scorer:
    """The scorer of any layer, of the layer's own kind."""
    kind: type[Scorer] = model.attrs.get("scorer", Scorer)
    return kind(model)


def template_features_with(
    extractor: FeatureExtractor, docs: list[Doc], keys: Keys, bits: int = 64
) -> Iterator[TemplateFeature]:
    """Features with some keys that fire in some docs, each where it first does; without weights.
    bits: of which the keys have the lowest."""
    fired = extractor.keys(docs) & lowest_bits(bits)  # (K, N)
    templates, words = np.nonzero(np.isin(fired, keys))
    found, first = np.unique(fired[templates, words], return_index=True)
    for key, i in zip(found.tolist(), first.tolist(), strict=True):
        parts = extractor.templates[templates[i]].parts
        yield TemplateFeature(parts, int(words[i]), np.zeros(0), key)


def scoring_layer(
    name: str,
    scorer: type[Scorer],
    *,
    layers: Sequence[Model[Any, Any]] = (),
    nO: int | None = None,
    attrs: dict[str, Any] | None = None,
    shims: Sequence[Any] = (),
) -> Emissions:
    """A thinc layer with a scorer. attrs: settings, which thinc saves, and what else the scorer
    needs."""
    return Model(
        name,
        forward,
        init=initialize,
        layers=layers,
        dims={"nO": nO},
        attrs={"scorer": scorer, **(attrs or {})},
        shims=list(shims),
    )


def forward(model: Emissions, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Backprop]:
    """thinc's interface of a layer with a scorer: an array for each Doc."""
    flat = scorer_of(model).scores(docs, is_train=is_train)

    def backprop(d_scores: list[Floats2d]) -> list[Doc]:
        # (of no docs there is no array to take the width and the type from)
        nothing = np.zeros((0, flat.scores.shape[1]), flat.scores.dtype)
        flat.backprop(np.concatenate([nothing, *cast(Any, d_scores)]))
        return docs

    return cast(list[Floats2d], by_doc(flat.scores, docs)), backprop


def initialize(
    model: Model[Any, Any], X: list[Doc] | None = None, Y: list[Floats2d] | None = None
) -> None:
    """thinc's `init` of a layer with a scorer."""
    scorer_of(model).initialize(X, Y)


def flat_scores(
    layer: Emissions, docs: list[Doc], is_train: bool, n_columns: int, name: str = "emissions"
) -> FlatScores:
    """Scores (N, L) of any layer. RAISES ValueError [HS024]: another width."""
    flat = scorer_of(layer).scores(docs, is_train=is_train)
    if not len(docs):
        return flat._replace(scores=np.zeros((0, n_columns), flat.scores.dtype))
    if flat.scores.shape[1] != n_columns:
        got = flat.scores.shape
        raise ValueError(Errors.HS024.format(name=name, got=got, expected=("any", n_columns)))
    return flat


def no_backprop(d_scores: AnyFloats) -> None:
    """The way back of a prediction: nothing learns from it."""
