"""Docs -> feature keys, a whole batch of sentences at once."""

from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.strings import get_string_id
from spacy.tokens import Doc

from .attributes import check_attribute, lexical_attribute, token_values
from .keys import ABSENT, Keys, mix
from .lexicon import Lexicon
from .sequences import sequence_lengths
from .templates import Part, Template

BEFORE, AFTER = np.uint64(get_string_id("<s>")), np.uint64(get_string_id("</s>"))  # values beyond the sentence's ends


class Columns(NamedTuple):
    """Attribute values of a batch. positions (N,): where each token lies among places that lay sentences apart.

    orths (T,): the batch's word types. types (P,): the word type at each place, numbered within the batch; the places
    before and after sentences have two numbers of their own, the last ones. lexical: attribute -> its value for each
    type (T + 2,). padded: attribute that is not lexical -> its value at each place (P,).
    """

    n_tokens: int
    n_types: int  # T + 2
    orths: Keys
    positions: NDArray[np.intp]
    types: NDArray[np.intp]
    lexical: Dict[str, Keys]
    padded: Dict[str, Keys]


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = list(templates)
        names = dict.fromkeys(p.attribute for t in templates for p in t.parts if p.attribute != "bias")
        for name in names:
            check_attribute(name)
        self._lexical = [name for name in names if lexical_attribute(name)]
        self._contextual = [name for name in names if not lexical_attribute(name)]
        self._margin = max((abs(p.offset) for t in templates for p in t.parts), default=0)
        self._lexicon = Lexicon(self._lexical)
        self.of_one_word: Dict[int, List[int]] = {}  # place of the word -> templates about it alone
        self.of_more: List[int] = []  # all other templates
        for k, template in enumerate(self.templates):
            offsets = {part.offset for part in template.parts}
            lexical = not any(part.attribute in self._contextual for part in template.parts)
            if lexical and len(offsets) == 1:
                self.of_one_word.setdefault(offsets.pop(), []).append(k)
            else:
                self.of_more.append(k)

    @property
    def is_lexical(self) -> bool:
        """Whether the features depend on the words and sentence boundaries alone (then they may be cached)."""
        return not self._contextual

    def keys(self, docs: Sequence[Doc]) -> Keys:
        """RETURNS (K, N) uint64: key of each template at each token of the docs, in order; 0 where it does not fire."""
        columns = self.columns(docs)
        return self.keys_between(columns, 0, columns.n_tokens)

    def columns(self, docs: Sequence[Doc]) -> Columns:
        """Attribute values of all tokens, from which keys are made block by block."""
        lengths = sequence_lengths(docs)
        n_tokens = int(lengths.sum())
        positions = _positions(lengths, self._margin)
        if n_tokens == 0:
            return Columns(0, 0, np.zeros(0, np.uint64), positions, np.zeros(0, np.intp), {}, {})
        orths = np.concatenate([doc.to_array(["ORTH"]).reshape(len(doc)) for doc in docs])
        distinct, number = np.unique(orths, return_inverse=True)
        values = self._lexicon.values(docs[0].vocab, distinct)
        outside = np.array([BEFORE, AFTER], np.uint64)
        lexical = {name: np.concatenate([values[:, a], outside]) for a, name in enumerate(self._lexical)}
        types = self._pad(number.reshape(-1), positions, lengths, (len(distinct), len(distinct) + 1))
        padded = {}
        for name in self._contextual:
            column = np.concatenate([token_values(doc, name) for doc in docs])
            padded[name] = self._pad(column, positions, lengths, (BEFORE, AFTER))
        return Columns(n_tokens, len(distinct) + 2, distinct, positions, types, lexical, padded)

    def keys_between(self, columns: Columns, start: int, stop: int, templates: Optional[List[int]] = None) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K, n) uint64."""
        places = columns.positions[start:stop]

        def value(part: Part) -> Keys:
            at = places + part.offset
            if part.attribute in columns.padded:
                return columns.padded[part.attribute][at]
            return columns.lexical[part.attribute][columns.types[at]]

        chosen = self.templates if templates is None else [self.templates[k] for k in templates]
        return self._keys(chosen, value, len(places))

    def type_keys(self, columns: Columns, templates: List[int], types: NDArray[np.intp]) -> Keys:
        """Keys of templates about one word for some word types of the batch (those before and after sentences among
        them). types (n,). RETURNS (K, n) uint64."""
        chosen = [self.templates[k] for k in templates]
        return self._keys(chosen, lambda part: columns.lexical[part.attribute][types], len(types))

    @property
    def words_seen(self) -> object:
        """Changes when words are forgotten, and may have other values of their attributes from then on."""
        return self._lexicon.words_seen

    def contextual_values(self, doc: Doc) -> List[Keys]:
        """Values of the attributes that are not lexical, as the Doc has them now."""
        return [token_values(doc, name) for name in self._contextual]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        self._lexicon.clear()

    def _pad(
        self, values: NDArray[Any], positions: NDArray[np.intp], lengths: NDArray[np.int32], outside: Tuple[Any, Any]
    ) -> NDArray[Any]:
        """Lay sentences apart by `margin` places that hold what stands before and after them."""
        margin = self._margin
        padded = np.full(len(values) + 2 * margin * len(lengths), outside[1], values.dtype)
        starts = positions[np.cumsum(lengths) - lengths]  # (S,) place of each first token
        padded[(starts[:, None] - np.arange(1, margin + 1)).reshape(-1)] = outside[0]
        padded[positions] = values
        return padded

    @staticmethod
    def _keys(templates: List[Template], value: Callable[[Part], Keys], n: int) -> Keys:
        """value: of a part of a template, (n,). RETURNS (K, n), 0 where a part has no value."""
        keys = np.zeros((len(templates), n), np.uint64)
        for k, template in enumerate(templates if n else []):
            state = np.array([get_string_id(str(template))], np.uint64)
            fires = np.ones(n, bool)
            for part in template.parts:
                values = np.ones(n, np.uint64) if part.attribute == "bias" else value(part)
                fires &= values != ABSENT
                state = mix(state, values)
            keys[k] = np.where(fires, state, ABSENT)
        return keys


def _positions(lengths: NDArray[np.int32], margin: int) -> NDArray[np.intp]:
    """Where each token lies when every sentence has `margin` free cells on both sides. RETURNS (N,) intp."""
    sentence = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
    return np.arange(len(sentence)) + margin * (2 * sentence + 1)
