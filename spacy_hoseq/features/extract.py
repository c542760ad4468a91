"""Docs -> feature keys, a whole batch of sentences at once. In training, those of templates about
one word are made once for each word type, not at each token (checked in
tests/features/test_extract.py against all tokens)."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Lengths, Rows
from ..kept import Kept
from .attributes import (
    TABLES_OF_DOCS,
    check_attribute,
    lexical_attribute,
    values_of_docs,
)
from .index import Index
from .keys import AFTER, BEFORE, KeyFolds
from .lexicon import TYPE_AFTER, TYPE_BEFORE, Lexicon, WordValues, lexicon_of
from .sequences import vocab_of, words_and_lengths
from .templates import Template


class Columns(NamedTuple):
    """Attribute values of a batch. lengths (S,): of its sequences. positions (N,): where each token
    lies among P places that lay sentences apart.

    types (P,): the word type at each place, those before and after sentences among them. words: the
    table of word types. of_docs (D, P): values at each place, of attributes that are not lexical.
    """

    lengths: Lengths
    positions: Ints
    types: Rows
    words: WordValues
    of_docs: Keys

    @property
    def n_tokens(self) -> int:
        return len(self.positions)

    @property
    def numbering(self) -> object:
        """Another object as soon as a type stands for another word."""
        return self.words.numbering

    def of_types(self, attributes: Ints, types: Rows) -> Keys:
        """Values of word types, in one call that reads these cells alone. attributes (A, 1): numbers
        of the extractor's. types (n,) or (A, n). RETURNS (A, n) uint64."""
        starts = self.words.rows.take(attributes) * self.words.table.shape[1]
        values: Keys = self.words.table.reshape(-1).take(starts + types)
        return values


class Maker(NamedTuple):
    """Keys of some templates, and where the values of their parts stand: those of words, then those
    of the Doc. words, docs (P, 1): number of the attribute of each part. offsets, doc_offsets (P,
    1)."""

    keys: KeyFolds
    words: Ints
    offsets: Ints
    docs: Ints
    doc_offsets: Ints


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    contextual (List[str]): attributes that are read from the Doc, not from the word.
    reach (int): how many words away templates look, at most.
    of_one_word: place of a word -> templates about it alone. of_more: all other templates.
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = list(templates)
        parts = [p for t in templates for p in t.parts if p.attribute != "bias"]
        attributes = {part.attribute: lexical_attribute(part.attribute) for part in parts}
        for name in attributes:
            check_attribute(name)
        self.attributes = [known for known in attributes.values() if known is not None]
        self._lexicon: Kept[Lexicon] = Kept()
        self._lexical = [name for name, known in attributes.items() if known is not None]
        self.contextual = [name for name, known in attributes.items() if known is None]
        self.reach = max((abs(part.offset) for part in parts), default=0)
        self.of_one_word: Dict[int, List[int]] = {}
        self.of_more: List[int] = []
        for k, template in enumerate(self.templates):
            offsets = {part.offset for part in template.parts}
            reads_docs = any(part.attribute in self.contextual for part in template.parts)
            is_of_one = len(offsets) == 1 and not reads_docs
            group = self.of_one_word.setdefault(offsets.pop(), []) if is_of_one else self.of_more
            group.append(k)
        self._makers: Dict[Tuple[int, ...], Maker] = {}

    @property
    def is_lexical(self) -> bool:
        """True if features depend on words and sentence boundaries alone (then they may be cached)."""
        return not self.contextual

    @property
    def tables(self) -> List[str]:
        """Names of the vocabulary's tables on which the features depend."""
        of_words = [attribute.table for attribute in self.attributes]
        of_docs = [TABLES_OF_DOCS.get(name) for name in self.contextual]
        return sorted({table for table in (*of_words, *of_docs) if table is not None})

    def keys(self, docs: Sequence[Doc]) -> Keys:
        """RETURNS (K, N) uint64: key of each template at each token of the docs, in order; 0 where
        it does not fire."""
        columns = self.columns(docs)
        return self.keys_between(columns, 0, columns.n_tokens)

    def columns(self, docs: Sequence[Doc]) -> Columns:
        """Attribute values of all tokens, from which keys are made block by block."""
        orths, lengths = words_and_lengths(docs)
        words = self._values(docs, orths)
        positions = positions_of(lengths, self.reach)
        layout = positions, lengths, self.reach
        types = laid_apart(words.types, *layout, (TYPE_BEFORE, TYPE_AFTER))
        of_docs = np.zeros((len(self.contextual), len(types)), np.uint64)
        if len(orths) and self.contextual:
            values = values_of_docs(docs, self.contextual)
            for row, name in zip(of_docs, self.contextual, strict=True):
                row[:] = laid_apart(values[name], *layout, (BEFORE, AFTER))
        return Columns(lengths, positions, types, words, of_docs)

    def _values(self, docs: Sequence[Doc], orths: Keys) -> WordValues:
        if not len(orths):
            nothing = np.zeros((len(self.attributes), 0), np.uint64)
            return WordValues(np.zeros(0, np.int32), nothing, np.arange(len(nothing)), nothing)
        vocab = vocab_of(docs)
        lexicon = self._lexicon.of((vocab.lookups,), lambda: lexicon_of(vocab))
        return lexicon.of(vocab, self, orths)

    def keys_between(
        self, columns: Columns, start: int, stop: int, templates: Optional[List[int]] = None
    ) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K,
        n) uint64."""
        places = columns.positions[start:stop]
        maker = self._maker(range(len(self.templates)) if templates is None else templates)
        if not len(places):
            return np.zeros((len(maker.keys), 0), np.uint64)
        values = columns.of_types(maker.words, columns.types.take(places + maker.offsets))
        if len(maker.docs):
            cells = maker.docs * len(columns.types) + places + maker.doc_offsets
            values = np.concatenate([values, columns.of_docs.reshape(-1).take(cells)])
        return maker.keys.keys(values)

    def type_keys(self, columns: Columns, templates: List[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n)
        uint64."""
        maker = self._maker(templates)
        return maker.keys.keys(columns.of_types(maker.words, types))

    def distinct_keys(self, columns: Columns) -> Iterator[Tuple[List[int], Keys, Ints]]:
        """All keys of a batch, those of templates about one word once for each word type. RETURNS
        templates (K,), their keys (K, n), and which of these each token has (N,)."""
        types, place = np.unique(columns.types, return_inverse=True)
        for offset, templates in self.of_one_word.items():
            at = place.take(columns.positions + offset)
            yield templates, self.type_keys(columns, templates, types), at
        if self.of_more:
            keys = self.keys_between(columns, 0, columns.n_tokens, self.of_more)
            yield self.of_more, keys, np.arange(columns.n_tokens)

    def _maker(self, templates: Sequence[int]) -> Maker:
        chosen = tuple(templates)
        if chosen not in self._makers:
            asked = [self.templates[k] for k in chosen]
            parts = dict.fromkeys(p for t in asked for p in t.parts if p.attribute != "bias")
            of_words = [part for part in parts if part.attribute in self._lexical]
            of_docs = [part for part in parts if part.attribute in self.contextual]
            row_of = {part: row for row, part in enumerate([*of_words, *of_docs])}
            keys = KeyFolds(
                [get_string_id(str(template)) for template in asked],
                [[row_of.get(part, len(row_of)) for part in template.parts] for template in asked],
            )
            places = []
            for names, some in ((self._lexical, of_words), (self.contextual, of_docs)):
                places.append(np.array([[names.index(part.attribute)] for part in some], np.intp))
                places.append(np.array([[part.offset] for part in some], np.intp))
            self._makers[chosen] = Maker(keys, *(place.reshape(-1, 1) for place in places))
        return self._makers[chosen]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        if self._lexicon.latest is not None:
            self._lexicon.latest.clear()


def laid_apart(
    values: NDArray[Any], positions: Ints, lengths: Lengths, margin: int, outside: Tuple[Any, Any]
) -> NDArray[Any]:
    """Values of all tokens (N,), with `margin` places before and after each sequence for what stands
    outside. positions: those of `positions_of`."""
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


def positions_of(lengths: Lengths, margin: int) -> Ints:
    """Where each token lies when every sentence has `margin` free cells on both sides. RETURNS (N,)
    intp."""
    if len(lengths) == 1:
        return np.arange(margin, margin + int(lengths[0]))
    sentence = np.repeat(np.arange(len(lengths)), lengths)  # (N,)
    return np.arange(len(sentence)) + margin * (2 * sentence + 1)


def counted_keys(extractor: FeatureExtractor, columns: Columns) -> Iterator[Tuple[Keys, Ints]]:
    """All keys of a batch, some at a time: (K, n), and how often each column stands in the text
    (n,)."""
    for _, keys, at in extractor.distinct_keys(columns):
        counts = np.bincount(at, minlength=keys.shape[1])
        here = np.flatnonzero(counts)
        yield keys.take(here, axis=1), counts.take(here)


def rows_of(extractor: FeatureExtractor, index: Index, columns: Columns) -> Rows:
    """Row of each template at each token of a batch. RETURNS (K, N)."""
    rows = np.empty((len(extractor.templates), columns.n_tokens), np.int32)
    for templates, keys, at in extractor.distinct_keys(columns):
        for template, row in zip(templates, index.lookup(keys), strict=True):
            row.take(at, out=rows[template], mode="clip")
    return rows
