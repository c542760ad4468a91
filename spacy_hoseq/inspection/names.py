"""Features of a model in words: "lower[-1] = the + upstream[0] = DT (0.95)"."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from thinc.api import Model

from ..arrays import Keys
from ..features.attributes import lexical_attribute, token_values
from ..features.sequences import sequence_lengths
from ..features.templates import Part
from ..layers.listener import own_layers
from ..layers.scorer import Feature, TemplateFeature, scorer_of


class FeatureNames:
    """Names of the features that fire in some docs. docs: without white space."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        lengths = sequence_lengths(docs)
        self._tokens = [(doc, i) for doc in docs for i in range(len(doc))]
        self._sentence_of = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
        self._values: dict[tuple[Doc, str], Any] = {}

    def named(self, feature: Feature | TemplateFeature) -> Feature:
        """The feature with its name, and the words that it looks at."""
        if isinstance(feature, Feature):
            return feature
        given = feature.given or {}
        pieces = []
        looks_at = []
        for part in feature.parts:
            value = given.get(part) or self.value(part, feature.word)
            pieces.append(f"{part} = {value}" if value else str(part))
            if part.attribute != "bias" and self._is_inside(part, feature.word):
                looks_at.append(feature.word + part.offset)
        name = " + ".join(pieces)
        if feature.value != 1.0:
            name += f" ({feature.value:.2f})"
        words = tuple(dict.fromkeys(looks_at))
        return Feature(name, feature.word, words, feature.weights, feature.key)

    def value(self, part: Part, word: int) -> str:
        """The value of a part of a template at a word, as text."""
        if part.attribute == "bias":
            return ""
        if not self._is_inside(part, word):
            return "<s>" if part.offset < 0 else "</s>"
        doc, token = self._tokens[word + part.offset]
        strings: Any = doc.vocab.strings
        attribute = lexical_attribute(part.attribute)
        if attribute is not None:
            value = attribute.value(doc.vocab[doc[token].orth])
            # hashes of strings are random numbers of 64 bits; others are small
            is_hash = isinstance(value, int) and value > 1 << 32 and value in strings
            return shown(strings[value] if is_hash else value)
        key = doc, part.attribute
        if key not in self._values:
            self._values[key] = token_values(*key)
        number = int(self._values[key][token])
        # flags and counts are small numbers, which are also those of spaCy's own symbols
        is_name = number in strings and part.attribute not in ("spacy", "sent_start", "ent_iob")
        return shown(strings[number]) if is_name else str(number)

    def _is_inside(self, part: Part, word: int) -> bool:
        """True if the part looks at a word of the same sentence."""
        place = word + part.offset
        sentences = self._sentence_of
        return 0 <= place < len(sentences) and sentences[place] == sentences[word]


def names_by_key(model: Model[Any, Any], docs: list[Doc], keys: Keys) -> dict[int, str]:
    """Names of features with some keys, where they fire in some docs."""
    names = FeatureNames(docs)
    found = {}
    for layer in own_layers(model):
        scorer = scorer_of(layer)
        if next(scorer.keyed_weights(), None) is None:
            continue
        for feature in scorer.features_with(docs, keys):
            if isinstance(feature, TemplateFeature):
                feature = feature._replace(value=1.0)  # the name of a feature is without its value
            found[feature.key] = names.named(feature).name
    return found


def shown(value: object) -> str:
    """Text on one line; characters that cannot be seen become an open box."""
    text = str(value)
    if text.isprintable() and " " not in text:
        return text
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in text)
