"""Features by name, where they fire in a text, with their weights. They are hashes in a model:
their names come from the templates and the text at hand."""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc

from ..arrays import Floats, Ints, Keys
from ..features.attributes import Attribute, lexical_attribute, token_values
from ..features.extract import FeatureExtractor
from ..features.keys import KEY_BITS, lowest_bits
from ..features.sequences import sequence_lengths
from ..features.templates import Part

NETWORK = "network"
SMALL = 1 << 32  # numbers above are hashes of strings


class Feature(NamedTuple):
    """A feature that fires at a word. name: "lower[-1] = the". word: where it fires, among all N.
    looks_at: at which words. weights (L,): what it adds to the score of each label, with its value.
    key: its hash in the model, 0 = none.
    """

    name: str
    word: int
    looks_at: Tuple[int, ...]
    weights: Floats
    key: int = 0

    @property
    def plain_name(self) -> str:
        """Without the value of the feature here."""
        return self.name.partition(" (")[0]


class Names:
    """Names of features in some docs. docs: without white space."""

    def __init__(self, docs: Sequence[Doc]) -> None:
        lengths = sequence_lengths(docs)
        self._docs = docs
        self._first: Ints = np.cumsum([0, *map(len, docs)])[:-1]  # of each Doc
        self._sentence = np.repeat(np.arange(len(lengths)), lengths)  # of each word
        self._values: Dict[Tuple[int, str], Any] = {}

    def feature(
        self,
        parts: Sequence[Part],
        word: int,
        weights: Floats,
        given: Optional[Dict[Part, str]] = None,
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
        """What stands at the place of a part, in words."""
        if part.attribute == "bias":
            return ""
        if not self._inside(word, part):
            return "<s>" if part.offset < 0 else "</s>"
        place = word + part.offset
        i = int(np.searchsorted(self._first, place, side="right")) - 1
        token = place - int(self._first[i])
        attribute = lexical_attribute(part.attribute)
        if attribute is not None:
            return shown(_lexical(attribute, self._docs[i], token))
        return self._contextual(part.attribute, self._docs[i], token)

    def _inside(self, word: int, part: Part) -> bool:
        place = word + part.offset
        return 0 <= place < len(self._sentence) and self._sentence[place] == self._sentence[word]

    def _contextual(self, name: str, doc: Doc, token: int) -> str:
        key = (id(doc), name)
        if key not in self._values:
            self._values[key] = token_values(doc, name)
        value = int(self._values[key][token])
        strings: Any = doc.vocab.strings
        return str(strings[value]) if value in strings else str(value)


def names_fired(
    extractor: FeatureExtractor, docs: List[Doc], keys: Keys, bits: int = KEY_BITS
) -> Dict[int, str]:
    """What features are called that fire in some docs, by their keys. keys: those that are asked
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


def _lexical(attribute: Attribute, doc: Doc, token: int) -> object:
    strings: Any = doc.vocab.strings
    value = attribute.value(doc.vocab[doc[token].orth])
    is_hash = isinstance(value, int) and value > SMALL and value in strings
    return strings[value] if is_hash else value


def shown(value: object) -> str:
    """On one line; what cannot be seen becomes an open box."""
    text = str(value)
    if text.isprintable() and " " not in text:
        return text
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in text)
