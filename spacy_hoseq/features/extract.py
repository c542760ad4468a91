"""Docs -> feature keys, a whole batch of sentences at once. In training, those of templates about
one word are made once for each word type, not at each token (checked in
tests/features/test_extract.py against all tokens)."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS
from spacy.lookups import Lookups
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Lengths, Rows
from ..kept import Kept
from .attributes import (
    TABLES_OF_DOCS,
    check_attribute,
    is_read_at_once,
    lexical_attribute,
    values_of_docs,
)
from .index import Index
from .keys import AFTER, BEFORE, KeyFolds
from .lexicon import (
    TYPE_AFTER,
    TYPE_BEFORE,
    Lexicon,
    WordValues,
    lexicon_of,
)
from .sequences import vocab_of, words_and_lengths
from .templates import Template


class Columns(NamedTuple):
    """What templates see of a batch. lengths (S,): of its sequences. positions (N,): where each token
    lies among P places that lay sentences apart.

    types (P,): the word type at each place, those before and after sentences among them. words: the
    table of word types. annotation (D, P): values of what is read from Docs at each place.
    """

    lengths: Lengths
    positions: Ints
    types: Rows
    words: WordValues
    annotation: Keys

    @property
    def n_tokens(self) -> int:
        return len(self.positions)

    @property
    def numbering(self) -> object:
        """Another object as soon as a type stands for something else."""
        return self.words.numbering

    def absent(self, contextual: Sequence[str]) -> List[str]:
        """Contextual attributes that no token of the batch has."""
        values = self.annotation.take(self.positions, axis=1)
        return [name for name, row in zip(contextual, values, strict=True) if not row.any()]

    def values(self, maker: "Maker", places: Ints) -> Keys:
        """Values of all parts of some templates. RETURNS (A, n) uint64."""
        of_words, of_context = maker.offsets
        values = self.values_of_types(maker, self.types.take(places + of_words))
        if not len(of_context):
            return values
        cells = maker.context * len(self.types) + (places + of_context)
        return np.concatenate([values, self.annotation.reshape(-1).take(cells)])

    def values_of_types(self, maker: "Maker", types: Rows) -> Keys:
        """The same of templates about one word, for some types (n,)."""
        table = self.words.table
        cells = self.words.rows.take(maker.words) * table.shape[1] + types
        return table.reshape(-1).take(cells)  # type: ignore[no-any-return]


class Maker(NamedTuple):
    """Keys of some templates, and where the values of their parts stand: those of words, then those
    of annotation. words, context (A, 1): number of the attribute of each part. offsets: of both."""

    keys: KeyFolds
    words: Ints
    context: Ints
    offsets: Tuple[Ints, Ints]


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    contextual (List[str]): attributes that are read from the Doc, not from the word.
    reach (int): how many words away templates look, at most.
    of_one_word: place of a word -> templates about it alone. of_more: all other templates, those
        that read the Doc among them.
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
        # tables of the component itself; None = those of the Docs' vocabulary
        self.own_tables: Optional[Lookups] = None
        self._lexical = [name for name, known in attributes.items() if known is not None]
        self.contextual = [name for name, known in attributes.items() if known is None]
        self.reach = max((abs(part.offset) for part in parts), default=0)
        self.of_one_word: Dict[int, List[int]] = {}
        self.of_more: List[int] = []
        for k, template in enumerate(self.templates):
            first, *others = {part.offset for part in template.parts}
            if others or any(part.attribute in self.contextual for part in template.parts):
                self.of_more.append(k)
            else:
                self.of_one_word.setdefault(first, []).append(k)
        self._makers: Dict[Tuple[int, ...], Maker] = {}

    @property
    def is_lexical(self) -> bool:
        """True if features depend on words and sentence boundaries alone (then they may be cached)."""
        return not self.contextual

    @property
    def annotation(self) -> List[int]:
        """spaCy's attributes that are read from the Doc."""
        return [IDS[name.upper()] for name in self.contextual if is_read_at_once(name)]

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
        positions = positions_of(lengths, self.reach)
        nothing = np.zeros((len(self.contextual), len(positions)), np.uint64)
        if not len(orths):
            types = np.zeros(0, np.int32)
            empty = np.zeros((len(self.attributes), 0), np.uint64)
            words = WordValues(types, empty, np.arange(len(empty)), empty)
            return Columns(lengths, positions, types, words, nothing)
        vocab = vocab_of(docs)
        tables = vocab.lookups if self.own_tables is None else self.own_tables
        lexicon = self._lexicon.of((tables,), lambda: lexicon_of(tables))
        words = lexicon.of(vocab, tables, self, orths)
        types = laid_apart(words.types, positions, lengths, self.reach, (TYPE_BEFORE, TYPE_AFTER))
        annotation = nothing
        if self.contextual:
            values = values_of_docs(docs, self.contextual, tables)
            outside = BEFORE, AFTER
            annotation = np.stack(
                [
                    laid_apart(values[name], positions, lengths, self.reach, outside)
                    for name in self.contextual
                ]
            )
        return Columns(lengths, positions, types, words, annotation)

    def keys_between(
        self, columns: Columns, start: int, stop: int, templates: Optional[List[int]] = None
    ) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K,
        n) uint64."""
        places = columns.positions[start:stop]
        maker = self._maker(range(len(self.templates)) if templates is None else templates)
        if not len(places):
            return np.zeros((len(maker.keys), 0), np.uint64)
        return maker.keys.keys(columns.values(maker, places))

    def type_keys(self, columns: Columns, templates: List[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n)
        uint64."""
        maker = self._maker(templates)
        return maker.keys.keys(columns.values_of_types(maker, types))

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
            of_context = [part for part in parts if part.attribute in self.contextual]
            row_of = {part: row for row, part in enumerate([*of_words, *of_context])}
            keys = KeyFolds(
                [get_string_id(str(template)) for template in asked],
                [[row_of.get(part, len(row_of)) for part in template.parts] for template in asked],
            )
            words = column([self._lexical.index(part.attribute) for part in of_words])
            context = column([self.contextual.index(part.attribute) for part in of_context])
            offsets = [column([part.offset for part in some]) for some in (of_words, of_context)]
            self._makers[chosen] = Maker(keys, words, context, (offsets[0], offsets[1]))
        return self._makers[chosen]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        if self._lexicon.latest is not None:
            self._lexicon.latest.clear()


def column(numbers: List[int]) -> Ints:
    """RETURNS (n, 1)."""
    return np.array(numbers, np.intp).reshape(-1, 1)


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
