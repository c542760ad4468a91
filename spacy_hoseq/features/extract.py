"""Docs -> feature keys, a whole batch of sentences at once. In training, those of templates about one word are made
once for each word type, not at each token (checked in tests/features/test_by_type.py against all tokens)."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Lengths, Rows
from .attributes import check_attribute, lexical_attribute, token_values, values_of_docs
from .index import Index
from .keys import AFTER, BEFORE, TemplateKeys
from .lexicon import TYPE_AFTER, TYPE_BEFORE, Lexicon
from .sequences import vocab_of, words_and_lengths
from .templates import Part, Template
from .word_types import MAX_WORD_TYPES


class Columns(NamedTuple):
    """Attribute values of a batch. lengths (S,): of its sequences. positions (N,): where each token lies among places
    that lay sentences apart.

    types (P,): the word type at each place, those before and after sentences among them. numbering: another object as
    soon as a type stands for another word. lexical: attribute -> its value for each type. padded: attribute -> its
    value at each place (P,), for attributes that are not lexical and those that templates about several words read.
    """

    n_tokens: int
    lengths: Lengths
    positions: Ints
    types: Rows
    numbering: object
    lexical: Dict[str, Keys]
    padded: Dict[str, Keys]


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    most_types (int): word types that are remembered.
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template], most_types: int = MAX_WORD_TYPES) -> None:
        self.templates = list(templates)
        names = dict.fromkeys(p.attribute for t in templates for p in t.parts if p.attribute != "bias")
        for name in names:
            check_attribute(name)
        self._lexical = [name for name in names if lexical_attribute(name)]
        self._contextual = [name for name in names if not lexical_attribute(name)]
        self._margin = max((abs(p.offset) for t in templates for p in t.parts), default=0)
        self._lexicon = Lexicon(self._lexical, most_types)
        self.of_one_word: Dict[int, List[int]] = {}  # place of the word -> templates about it alone
        self.of_more: List[int] = []  # all other templates
        for k, template in enumerate(self.templates):
            offsets = {part.offset for part in template.parts}
            lexical = not any(part.attribute in self._contextual for part in template.parts)
            if lexical and len(offsets) == 1:
                self.of_one_word.setdefault(offsets.pop(), []).append(k)
            else:
                self.of_more.append(k)
        read = {part.attribute for k in self.of_more for part in self.templates[k].parts}
        self._paired = [name for name in self._lexical if name in read]
        self._makers: Dict[Tuple[int, ...], TemplateKeys] = {}

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
        orths, lengths = words_and_lengths(docs)
        positions = _positions(lengths, self._margin)
        if not len(orths):
            return Columns(0, lengths, positions, np.zeros(0, np.int32), object(), {}, {})
        rows, table, numbering = self._lexicon.of(vocab_of(docs), orths)
        types = self._pad(rows, positions, lengths, (TYPE_BEFORE, TYPE_AFTER))
        lexical = dict(zip(self._lexical, table.T, strict=True))
        padded = {name: lexical[name].take(types) for name in self._paired}
        contextual = values_of_docs(docs, self._contextual)
        for name in self._contextual:
            padded[name] = self._pad(contextual[name], positions, lengths, (BEFORE, AFTER))
        return Columns(len(orths), lengths, positions, types, numbering, lexical, padded)

    def keys_between(self, columns: Columns, start: int, stop: int, templates: Optional[List[int]] = None) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K, n) uint64."""
        places = columns.positions[start:stop]
        if not len(places):
            return np.zeros((len(self.templates if templates is None else templates), 0), np.uint64)
        maker = self._maker(range(len(self.templates)) if templates is None else templates)

        def value(part: Part) -> Keys:
            at = places + part.offset
            if part.attribute in columns.padded:
                return columns.padded[part.attribute].take(at)
            return columns.lexical[part.attribute].take(columns.types.take(at))

        return maker.keys([value(part) for part in maker.parts], len(places))

    def type_keys(self, columns: Columns, templates: List[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n) uint64."""
        maker = self._maker(templates)
        if not len(types):
            return np.zeros((len(templates), 0), np.uint64)
        return maker.keys([columns.lexical[part.attribute].take(types) for part in maker.parts], len(types))

    def _maker(self, templates: Sequence[int]) -> TemplateKeys:
        chosen = tuple(templates)
        if chosen not in self._makers:
            self._makers[chosen] = TemplateKeys([self.templates[k] for k in chosen])
        return self._makers[chosen]

    def contextual_values(self, doc: Doc) -> List[Keys]:
        """Values of the attributes that are not lexical, as the Doc has them now."""
        return [token_values(doc, name) for name in self._contextual]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        self._lexicon.clear()

    def _pad(self, values: NDArray[Any], positions: Ints, lengths: Lengths, outside: Tuple[Any, Any]) -> NDArray[Any]:
        """Lay sentences apart by `margin` places that hold what stands before and after them."""
        margin = self._margin
        if len(lengths) == 1:
            alone = np.empty(len(values) + 2 * margin, values.dtype)
            alone[:margin], alone[margin + len(values) :] = outside
            alone[margin : margin + len(values)] = values
            return alone
        padded = np.full(len(values) + 2 * margin * len(lengths), outside[1], values.dtype)
        starts = positions[np.cumsum(lengths) - lengths]  # (S,) place of each first token
        padded[(starts[:, None] - np.arange(1, margin + 1)).reshape(-1)] = outside[0]
        padded[positions] = values
        return padded


def _positions(lengths: Lengths, margin: int) -> Ints:
    """Where each token lies when every sentence has `margin` free cells on both sides. RETURNS (N,) intp."""
    if len(lengths) == 1:
        return np.arange(margin, margin + int(lengths[0]))
    sentence = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
    return np.arange(len(sentence)) + margin * (2 * sentence + 1)


class Counted(NamedTuple):
    """keys (K, n). counts (n,): how often each column stands in the text; None = once."""

    keys: Keys
    counts: Optional[NDArray[np.int64]]


def counted_keys(extractor: FeatureExtractor, columns: Columns) -> Iterator[Counted]:
    """All keys of a batch, some at a time."""
    types, place = np.unique(columns.types, return_inverse=True)
    for offset, templates in extractor.of_one_word.items():
        counts = np.bincount(place.take(columns.positions + offset), minlength=len(types))
        here = np.flatnonzero(counts)
        yield Counted(extractor.type_keys(columns, templates, types.take(here)), counts.take(here))
    if extractor.of_more:
        yield Counted(extractor.keys_between(columns, 0, columns.n_tokens, extractor.of_more), None)


def rows_of(extractor: FeatureExtractor, index: Index, columns: Columns) -> Rows:
    """Row of each template at each token of a batch. RETURNS (K, N)."""
    rows = np.empty((len(extractor.templates), columns.n_tokens), np.int32)
    types, place = np.unique(columns.types, return_inverse=True)
    for offset, templates in extractor.of_one_word.items():
        at = place.take(columns.positions + offset)
        for template, row in zip(templates, index.lookup(extractor.type_keys(columns, templates, types)), strict=True):
            row.take(at, out=rows[template], mode="clip")
    if extractor.of_more:
        keys = extractor.keys_between(columns, 0, columns.n_tokens, extractor.of_more)
        rows[extractor.of_more] = index.lookup(keys)
    return rows
