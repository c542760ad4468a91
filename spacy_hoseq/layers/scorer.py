"""Interface of a layer of scores, as one object: a `Scorer`, found by
`scorer_of(model)`.

Any thinc `Model[List[Doc], List[Floats2d]]` gives scores of labels, as a network of spaCy's does,
and needs nothing else. A layer that can do more has a subclass of `Scorer`, which makes the layer
by `scoring_layer`: it may give all scores of a batch in one array, name its features, look at the
training texts, and keep what it knows of words. A layer of another package does so in a few lines
(tests/layers/test_scorer.py):

    class Lengths(Scorer):
        def scores(self, docs, *, is_train):
            ...
            return FlatScores(scores, sequence_lengths(docs), backprop)

    model = scoring_layer("lengths", Lengths)

A scorer holds nothing but its model. What a layer learns is in its shim or its parameters, and what
it needs besides in its `attrs`: so thinc copies and saves layers as it always does.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import (
    Any,
    NamedTuple,
    cast,
)

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from ..arrays import AnyFloats, Floats, Keys, Lengths
from ..errors import Errors
from ..features.attributes import lexical_attribute, token_values
from ..features.extract import FeatureExtractor
from ..features.keys import KEY_BITS, lowest_bits
from ..features.sequences import by_doc, sequence_lengths
from ..features.templates import Part
from .weights import WeightsShim, weights_of

Emissions = Model[list[Doc], list[Floats2d]]
Backprop = Callable[[Any], Any]  # takes d_scores (N, L)
NETWORK = "network"
SMALL = 1 << 32  # numbers above are hashes of strings


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


class FlatScores(NamedTuple):
    """scores (N, L): of all tokens. lengths (S,): of the sequences that the docs consist of.
    backprop: takes d_scores (N, L)."""

    scores: AnyFloats
    lengths: Lengths
    backprop: Backprop


class Scorer:
    """Scores of labels by one layer. model: the layer; any other of thinc's that gives an array for
    each Doc has this scorer.

    parts: columns of the layers below, which labels have in common (`LabelParts`); None = each
        label has its own. extractor: the features that the layer reads itself, if any.
    """

    parts: Any = None
    extractor: Any = None

    def __init__(self, model: Model[Any, Any]) -> None:
        self.model = model

    @property
    def shim(self) -> WeightsShim:
        """The layer's weights. RAISES ValueError [HS051]: they are of another kind."""
        return weights_of(self.model)

    def scores(self, docs: list[Doc], *, is_train: bool) -> FlatScores:
        """Of all tokens of a batch, end to end, with the way back if `is_train`."""
        layer = self.model
        parts, backprop_parts = layer(docs, is_train)
        arrays = [layer.ops.to_numpy(part) for part in parts]
        # (one long Doc is not copied)
        scores = arrays[0] if len(arrays) == 1 else np.concatenate(arrays or [np.zeros((0, 0))])

        def backprop(d_scores: AnyFloats) -> Any:
            of_docs: list[Any] = by_doc(d_scores, parts)
            return backprop_parts([layer.ops.asarray(part) for part in of_docs])

        return FlatScores(scores, sequence_lengths(docs), backprop)

    def features_at(self, docs: list[Doc], words: Sequence[int]) -> Iterator[Feature]:
        """The features that fire at some words, counted over all docs, and have a weight. Their
        weights add up to the scores; scores that are made of no features are one feature each,
        "network"."""
        scores = self.scores(docs, is_train=False).scores
        for word in words:
            yield Feature(NETWORK, word, (word,), scores[word].astype(np.float64))

    def names(self, docs: list[Doc], keys: Keys) -> dict[int, str]:
        """Names of features that fire in some docs. keys: those that are asked for. RETURNS
        names by key."""
        return {
            key: name
            for layer in self.model.layers
            for key, name in scorer_of(layer).names(docs, keys).items()
        }

    def keyed_weights(self) -> Iterator[tuple[Keys, AnyFloats]]:
        """Keys (F,) and finished weights (F, L) of the features that have a row of their own."""
        for shim in self.model.shims:
            if isinstance(shim, WeightsShim) and "keys" in shim.extra and shim.feature_weights():
                yield shim.extra["keys"], shim.values("table", is_train=False)[:-1]

    def columns_of(self, label: int) -> list[int]:
        """The columns of `keyed_weights` that add up to the weights of a label."""
        return [label] if self.parts is None else self.parts.of_label(label)

    @property
    def reach(self) -> int:
        """How many words away features look, at most."""
        own = 0 if self.extractor is None else self.extractor.reach
        return max([own, *(scorer_of(layer).reach for layer in self.model.layers)])

    @property
    def annotation(self) -> list[int]:
        """spaCy's attributes of tokens that features read, to be read together."""
        own = [] if self.extractor is None else self.extractor.annotation
        return [
            *own,
            *(each for layer in self.model.layers for each in scorer_of(layer).annotation),
        ]

    @property
    def sees_sentences_alone(self) -> bool:
        """RETURNS whether scores of a sentence are the same without the text around it."""
        layers = self.model.layers
        return bool(layers) and all(scorer_of(layer).sees_sentences_alone for layer in layers)

    def define(self, texts: Any) -> None:
        """Find in the training texts what has a weight. Called before `initialize`. texts: a
        `ComponentTexts`, which has the names of labels, the gold labels, and batches of words as
        layers ask for them."""

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
        """Drop what is remembered of words (at the end of a memory zone)."""


def scorer_of(model: Model[Any, Any]) -> Any:
    """The scorer of any layer. RETURNS (Scorer): of its own kind."""
    return model.attrs.get("scorer", Scorer)(model)


def scoring_layer(
    name: str,
    scorer: type[Scorer],
    *,
    layers: Sequence[Model[Any, Any]] = (),
    nO: int | None = None,
    attrs: dict[str, Any] | None = None,
    shims: Sequence[Any] = (),
) -> Emissions:
    """A layer of scores with a scorer. attrs: settings, which thinc saves, and what else the scorer
    needs."""
    own = {"scorer": scorer, **(attrs or {})}
    return Model(
        name, forward, init=initialize, layers=layers, dims={"nO": nO}, attrs=own, shims=list(shims)
    )


def forward(model: Emissions, docs: list[Doc], is_train: bool) -> tuple[list[Floats2d], Backprop]:
    """thinc's interface of a layer with a scorer: an array for each Doc."""
    flat: FlatScores = scorer_of(model).scores(docs, is_train=is_train)

    def backprop(d_scores: list[Floats2d]) -> list[Doc]:
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
    flat: FlatScores = scorer_of(layer).scores(docs, is_train=is_train)
    if not len(docs):
        return flat._replace(scores=np.zeros((0, n_columns), flat.scores.dtype))
    if flat.scores.shape[1] != n_columns:
        got = flat.scores.shape
        raise ValueError(Errors.HS024.format(name=name, got=got, expected=("any", n_columns)))
    return flat


def no_backprop(d_scores: AnyFloats) -> None:
    """Of prediction."""


class Names:
    """Names of features in some docs. docs: without white space."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        lengths = sequence_lengths(docs)
        self._tokens = [(doc, i) for doc in docs for i in range(len(doc))]
        self._sentence = np.repeat(np.arange(len(lengths)), lengths)  # of each word
        self._values: dict[tuple[Doc, str], Any] = {}

    def feature(
        self,
        parts: Sequence[Part],
        word: int,
        weights: Floats,
        given: dict[Part, str] | None = None,
        value: float = 1.0,
    ) -> Feature:
        """given: values of parts that are no words. value: of the feature, as it is multiplied with
        its weights."""
        values = [(given or {}).get(part) or self.value(part, word) for part in parts]
        pairs = zip(parts, values, strict=True)
        name = " + ".join(f"{part} = {text}" if text else str(part) for part, text in pairs)
        looks_at = [
            word + part.offset
            for part in parts
            if part.attribute != "bias" and self._inside(word, part)
        ]
        share = "" if value == 1.0 else f" ({value:.2f})"
        return Feature(name + share, word, tuple(dict.fromkeys(looks_at)), weights)

    def value(self, part: Part, word: int) -> str:
        """Value at the place of a part, in words."""
        if part.attribute == "bias":
            return ""
        if not self._inside(word, part):
            return "<s>" if part.offset < 0 else "</s>"
        doc, token = self._tokens[word + part.offset]
        strings: Any = doc.vocab.strings
        attribute = lexical_attribute(part.attribute)
        if attribute is not None:
            value = attribute.value(doc.vocab[doc[token].orth])
            is_hash = isinstance(value, int) and value > SMALL and value in strings
            return shown(strings[value] if is_hash else value)
        key = doc, part.attribute
        if key not in self._values:
            self._values[key] = token_values(*key)
        number = int(self._values[key][token])
        return str(strings[number]) if number in strings else str(number)

    def _inside(self, word: int, part: Part) -> bool:
        place = word + part.offset
        return 0 <= place < len(self._sentence) and self._sentence[place] == self._sentence[word]


def names_fired(
    extractor: FeatureExtractor, docs: list[Doc], keys: Keys, bits: int = KEY_BITS
) -> dict[int, str]:
    """Names of features that fire in some docs, by their keys. keys: those that are asked
    for. bits: of which they have the lowest."""
    fired = extractor.keys(docs) & lowest_bits(bits)
    templates, words = np.nonzero(np.isin(fired, keys))
    _, first = np.unique(fired[templates, words], return_index=True)
    names = Names(docs)
    named = {}
    for template, word in zip(templates[first].tolist(), words[first].tolist(), strict=True):
        parts = extractor.templates[template].parts
        named[int(fired[template, word])] = names.feature(parts, word, np.zeros(0)).name
    return named


def shown(value: object) -> str:
    """On one line; what cannot be seen becomes an open box."""
    text = str(value)
    if text.isprintable() and " " not in text:
        return text
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in text)
