"""What the emissions of a text are made of: each feature that fires, by name, with its weight for every label.

Features are hashes in a model; their names come from the templates and the text at hand.
"""

from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Floats, Keys
from ..features.attributes import Attribute, lexical_attribute, token_values
from ..features.extract import FeatureExtractor
from ..features.label_templates import LABEL
from ..features.templates import Part, Template
from ..features.upstream_templates import UPSTREAM
from ..layers.emissions.flat import flat_scores
from ..layers.label_parts import is_of_parts, parts_in
from ..layers.listening.listener import MarginalListener
from ..layers.weights.row_sums import add_rows
from ..layers.weights.shim import weights_of
from .reading import Words

NETWORK = "network"
SMALL = 1 << 32  # numbers above are hashes of strings


class Feature(NamedTuple):
    """A feature that fires at a word. name: "lower[-1] = the". word: where it fires, among all N. looks_at: at which
    words. weights (L,): what it adds to the score of each label, with its value. key: its hash in the model, 0 = none.
    """

    name: str
    word: int
    looks_at: Tuple[int, ...]
    weights: Floats
    key: int = 0


def names_of(layer: Any, text: Words, keys: Keys) -> Dict[int, str]:
    """What some features are called, where they fire in a text. keys: hashes."""
    found: Dict[int, str] = {}
    if is_of_parts(layer):
        return names_of(layer.layers[0], text, keys)
    if layer.name == "sum_emissions":
        return {key: name for part in layer.layers for key, name in names_of(part, text, keys).items()}
    if layer.name == "marginal_linear":
        some, every = set(keys.tolist()), range(len(text.sentence_of))
        found = {f.key: f.name.partition(" (")[0] for f in _marginal(layer, text, every) if f.key in some}
    if layer.name == "sparse_linear":
        names, extractor = Names(text), layer.attrs["features"].extractor
        there = extractor.keys_between(extractor.columns(text.words), 0, len(text.sentence_of))
        templates, words = np.nonzero(np.isin(there, keys))
        _, first = np.unique(there[templates, words], return_index=True)
        for template, word in zip(templates[first].tolist(), words[first].tolist(), strict=True):
            parts = extractor.templates[template].parts
            found[int(there[template, word])] = names.feature(parts, word, np.zeros(0)).name
    return found


def features_at(layer: Any, text: Words, words: Sequence[int]) -> List[Feature]:
    """All features of a layer of emissions that fire at some words and have a weight. Their weights add up to its
    scores; what a layer of another kind says is one feature, "network". They are kept with the text."""
    known = text.features.setdefault(id(layer), {})
    missing = sorted(set(words) - known.keys())
    if missing:
        known.update({word: [] for word in missing})
        for feature in _features(layer, text, missing):
            known[feature.word].append(feature)
    return [feature for word in words for feature in known[word]]


def _features(layer: Any, text: Words, words: Sequence[int]) -> Iterable[Feature]:
    if is_of_parts(layer):
        matrix, of_parts = parts_in(layer).matrix, _features(layer.layers[0], text, words)
        return (feature._replace(weights=feature.weights @ matrix) for feature in of_parts)
    if layer.name == "sum_emissions":
        return (feature for part in layer.layers for feature in _features(part, text, words))
    if layer.name == "sparse_linear":
        return _sparse(layer, text, words)
    if layer.name == "marginal_linear":
        return _marginal(layer, text, words)
    scores = flat_scores(layer, text.words, False).scores
    return (Feature(NETWORK, word, (word,), scores[word].astype(np.float64)) for word in words)


def _sparse(layer: Any, text: Words, words: Sequence[int]) -> Iterator[Feature]:
    shim, features = weights_of(layer), layer.attrs["features"]
    extractor: FeatureExtractor = features.extractor
    index, table = features.used(shim.extra, shim.used_rows("table"))[:2]
    columns, names = extractor.columns(text.words), Names(text)
    for word in words:
        keys = extractor.keys_between(columns, word, word + 1)[:, 0]
        rows = index.lookup(keys).tolist()
        for template, row, key in zip(extractor.templates, rows, keys.tolist(), strict=True):
            (weights,) = add_rows(table, np.full((1, 1), row))
            if row < len(table) - 1 and weights.any():
                yield names.feature(template.parts, word, weights.astype(np.float64))._replace(key=key)


def _marginal(layer: Any, text: Words, words: Sequence[int]) -> Iterator[Feature]:
    shim, features, names = weights_of(layer), layer.attrs["features"], Names(text)
    table, labels = shim.values("table", is_train=False), layer.layers[0].predict(text.words)
    batch = features.batch(text.words, labels)
    active = features.active(batch, features.index(shim.extra), 0, len(text.sentence_of), table.dtype)
    known = _upstream_names(layer.layers[0])
    parts_of = [_parts(template, features.templates.words) for template in features.templates.labels]
    some, nothing = np.sort(np.array(words, np.intp)), len(table) - 1
    for parts, used in zip(parts_of, features.used(active, batch.lattice, some, nothing), strict=True):
        of_shape = active.strings[used.shape]
        for ngram, word, row, value in zip(*(column.tolist() for column in used[1:]), strict=True):
            keys = [int(labels.keys[batch.ids[cells[ngram]]]) for cells in of_shape.ngrams.cells]
            given = dict(zip([part for part in parts if part.attribute == UPSTREAM], keys, strict=True))
            said = {part: known.get(key, f"label {key:x}") for part, key in given.items()}
            feature = names.feature(parts, word, table[row].astype(np.float64) * value, said, value)
            yield feature._replace(key=int(shim.extra["keys"][row]))


def _parts(template: Any, words: List[Template]) -> Tuple[Part, ...]:
    """Of a template of labels, those about words first."""
    of_words = words[template.word].parts if template.word >= 0 else ()
    return (*of_words, *(Part(UPSTREAM, offset) for offset in template.offsets))


def _upstream_names(source: Any) -> Dict[int, str]:
    sender = source.sender if isinstance(source, MarginalListener) else None
    labels = source.attrs.get("labels", []) if sender is None else sender.tags
    named = {get_string_id(f"{LABEL}={label}"): label for label in labels}
    return {**named, get_string_id("<s>"): "<s>", get_string_id("</s>"): "</s>"}


class Names:
    """Names of features in a text."""

    def __init__(self, text: Words) -> None:
        self._text = text
        self._sentence = text.sentence_of
        self._values: Dict[Tuple[int, str], Any] = {}

    def feature(
        self,
        parts: Sequence[Part],
        word: int,
        weights: Floats,
        said: Optional[Dict[Part, str]] = None,
        value: float = 1.0,
    ) -> Feature:
        """said: values of parts that are no words. value: of the feature, as it is multiplied with its weights."""
        values = [(said or {}).get(part) or self.value(part, word) for part in parts]
        said_of = zip(parts, values, strict=True)
        name = " + ".join(f"{part} = {text}" if text else str(part) for part, text in said_of)
        looks_at = [word + part.offset for part in parts if part.attribute != "bias" and self._inside(word, part)]
        share = "" if value == 1.0 else f" ({value:.2f})"
        return Feature(name + share, word, tuple(dict.fromkeys(looks_at)), weights)

    def value(self, part: Part, word: int) -> str:
        """What stands at the place of a part, in words."""
        if part.attribute == "bias":
            return ""
        if not self._inside(word, part):
            return "<s>" if part.offset < 0 else "</s>"
        doc, token = self._text.place(word + part.offset)
        attribute = lexical_attribute(part.attribute)
        if attribute is not None:
            return shown(_lexical(attribute, doc, token))
        return self._contextual(part.attribute, doc, token)

    def _inside(self, word: int, part: Part) -> bool:
        at = word + part.offset
        return 0 <= at < len(self._sentence) and self._sentence[at] == self._sentence[word]

    def _contextual(self, name: str, doc: Doc, token: int) -> str:
        key = (id(doc), name)
        if key not in self._values:
            self._values[key] = token_values(doc, name)
        value = int(self._values[key][token])
        return str(doc.vocab.strings[value]) if value in doc.vocab.strings else str(value)  # type: ignore[operator]


def _lexical(attribute: Attribute, doc: Doc, token: int) -> Any:
    word, strings = doc[token], doc.vocab.strings
    value = attribute.value(doc.vocab[word.orth])
    is_hash = isinstance(value, int) and value > SMALL and value in strings  # type: ignore[operator]
    return strings[value] if is_hash else value


def shown(value: Any) -> str:
    """On one line; what cannot be seen becomes an open box."""
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in str(value))
