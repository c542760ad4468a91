"""Docs -> feature keys, a whole batch of sentences at once."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS
from spacy.lookups import Lookups
from spacy.strings import get_string_id
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Lengths, Rows
from ..caches import IdentityCache
from .attributes import (
    DOC_ATTRIBUTES,
    Attribute,
    check_attribute,
    is_read_at_once,
    lexical_attribute,
    values_of_docs,
)
from .keys import AFTER_SENTENCE, BEFORE_SENTENCE, KeyFolds
from .lexicon import Lexicon, WordValues, lexicon_of
from .sequences import vocab_of, words_and_lengths
from .templates import Part, Template

KEY_TOKENS = 16_384  # tokens of a block: their keys are made and looked up together


class Columns(NamedTuple):
    """What templates see of a batch.

    lengths (S,): of its sequences. positions (N,): where each token lies among P places, which keep
    sentences apart. types (P,): the word type at each place, also before and after sentences. words:
    values of word types. annotation (D, P): values that are read from Docs, at each place.
    """

    lengths: Lengths
    positions: Ints
    types: Rows
    words: WordValues
    annotation: Keys

    @property
    def n_tokens(self) -> int:
        return len(self.positions)

    def absent(self, contextual: Sequence[str]) -> list[str]:
        """Contextual attributes that no token of the batch has."""
        values = self.annotation.take(self.positions, axis=1)
        return [name for name, row in zip(contextual, values, strict=True) if not row.any()]


class KeyMaker:
    """Keys of some templates, and where the values of their parts stand.

    lexical, contextual: names of attributes, by their rows in `Columns`.
    """

    def __init__(
        self, templates: Sequence[Template], lexical: list[str], contextual: list[str]
    ) -> None:
        parts: set[Part] = set()
        for template in templates:
            parts.update(template.parts)
        # values have a row for each part, those about words first
        word_parts = [part for part in sorted(parts) if part.attribute in lexical]
        doc_parts = [part for part in sorted(parts) if part.attribute in contextual]
        self._word_rows, self._word_offsets = _rows_and_offsets(word_parts, lexical)
        self._doc_rows, self._doc_offsets = _rows_and_offsets(doc_parts, contextual)
        row_of = {part: row for row, part in enumerate([*word_parts, *doc_parts])}
        seeds = []
        rows = []
        for template in templates:
            seeds.append(get_string_id(str(template)))
            rows.append([row_of[part] for part in template.parts])
        self._folds = KeyFolds(seeds, rows)

    def keys(self, columns: Columns, places: Ints) -> Keys:
        """Keys at some places (n,). RETURNS (K, n) uint64, 0 where a part has no value."""
        values = self._values(columns, columns.types.take(places + self._word_offsets))
        if len(self._doc_rows):
            cells = self._doc_rows * len(columns.types) + (places + self._doc_offsets)
            values = np.concatenate([values, columns.annotation.reshape(-1).take(cells)])
        return self._folds.keys(values)

    def keys_of_types(self, columns: Columns, types: Rows) -> Keys:
        """Keys of word types (n,), wherever they stand. RETURNS as `keys`."""
        return self._folds.keys(self._values(columns, types))

    def _values(self, columns: Columns, types: Rows) -> Keys:
        """Values of all parts about words. Only these cells of the table are read."""
        table = columns.words.table
        cells = columns.words.rows.take(self._word_rows) * table.shape[1] + types
        return table.reshape(-1).take(cells)  # type: ignore[no-any-return]


class FeatureExtractor:
    """Computes the key of every template at every token of a batch.

    templates: parsed templates; row k of every result belongs to templates[k].
    contextual (List[str]): attributes that are read from the Doc, not from the word.
    own_tables: tables of the component itself; None = those of the Docs' vocabulary.
    reach (int): how many words away templates look, at most.
    of_one_word: place of a word -> templates about it alone. of_more: all other templates, also
        those that read the Doc.
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template]) -> None:
        self.templates = list(templates)
        self.own_tables: Lookups | None = None
        self.contextual: list[str] = []
        self.attributes: list[Attribute] = []  # of words
        self._lexical: list[str] = []  # their names
        self.reach = 0
        self.of_one_word: dict[int, list[int]] = {}
        self.of_more: list[int] = []
        for k, template in enumerate(self.templates):
            for part in template.parts:
                self._add_attribute(part.attribute)
                self.reach = max(self.reach, abs(part.offset))
            offset, *others = {part.offset for part in template.parts}
            if others or any(part.attribute in self.contextual for part in template.parts):
                self.of_more.append(k)
            else:
                self.of_one_word.setdefault(offset, []).append(k)
        self._lexicon: IdentityCache[Lexicon] = IdentityCache()
        self._makers: dict[tuple[int, ...], KeyMaker] = {}

    def _add_attribute(self, name: str) -> None:
        if name in self._lexical or name in self.contextual:
            return
        check_attribute(name)
        attribute = lexical_attribute(name)
        if attribute is None:
            self.contextual.append(name)
        else:
            self.attributes.append(attribute)
            self._lexical.append(name)

    @property
    def is_lexical(self) -> bool:
        """True if features depend on words and sentence boundaries alone (then they may be cached)."""
        return not self.contextual

    @property
    def annotation(self) -> list[int]:
        """spaCy's attributes that are read from the Doc."""
        return [IDS[name.upper()] for name in self.contextual if is_read_at_once(name)]

    @property
    def tables(self) -> list[str]:
        """Names of the vocabulary's tables on which the features depend."""
        tables = {attribute.table for attribute in self.attributes}
        for name in self.contextual:
            if name in DOC_ATTRIBUTES:
                tables.add(DOC_ATTRIBUTES[name].table)
        return sorted(table for table in tables if table is not None)

    def keys(self, docs: Sequence[Doc]) -> Keys:
        """Keys of each template at each token of the docs, in order. RETURNS (K, N) uint64, 0 where
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
        # types 0 and 1 of a lexicon stand for what is before and after a sentence
        types = laid_apart(words.types, positions, lengths, self.reach, (0, 1))
        if not self.contextual:
            return Columns(lengths, positions, types, words, nothing)
        values = values_of_docs(docs, self.contextual, tables)
        outside = BEFORE_SENTENCE, AFTER_SENTENCE
        rows = []
        for name in self.contextual:
            rows.append(laid_apart(values[name], positions, lengths, self.reach, outside))
        return Columns(lengths, positions, types, words, np.stack(rows))

    def keys_between(
        self, columns: Columns, start: int, stop: int, templates: list[int] | None = None
    ) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K,
        n) uint64."""
        if templates is None:
            templates = [*range(len(self.templates))]
        return self._maker(templates).keys(columns, columns.positions[start:stop])

    def keys_at(self, columns: Columns, tokens: Ints) -> Keys:
        """Keys of all templates at some tokens (n,). RETURNS (K, n) uint64."""
        maker = self._maker([*range(len(self.templates))])
        return maker.keys(columns, columns.positions.take(tokens))

    def key_blocks(self, columns: Columns) -> Iterator[Keys]:
        """Keys of all tokens, of `KEY_TOKENS` at a time; at least one block."""
        for start in range(0, max(1, columns.n_tokens), KEY_TOKENS):
            yield self.keys_between(columns, start, start + KEY_TOKENS)

    def type_keys(self, columns: Columns, templates: list[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n)
        uint64."""
        return self._maker(templates).keys_of_types(columns, types)

    def _maker(self, numbers: Sequence[int]) -> KeyMaker:
        chosen = tuple(numbers)
        if chosen not in self._makers:
            templates = [self.templates[k] for k in chosen]
            self._makers[chosen] = KeyMaker(templates, self._lexical, self.contextual)
        return self._makers[chosen]

    def forget_words(self) -> None:
        """Drop all cached word types, at the end of a memory zone."""
        if self._lexicon.latest is not None:
            self._lexicon.latest.clear()


def _rows_and_offsets(parts: list[Part], names: list[str]) -> tuple[Ints, Ints]:
    """The row of each part's attribute among the names, and its offset. RETURNS (n, 1) each."""
    pairs = [(names.index(part.attribute), part.offset) for part in parts]
    rows, offsets = np.array(pairs, np.intp).reshape(-1, 2, 1).swapaxes(0, 1)
    return rows, offsets


def laid_apart(
    values: NDArray[Any], positions: Ints, lengths: Lengths, margin: int, outside: tuple[Any, Any]
) -> NDArray[Any]:
    """Values of all tokens (N,), and of `margin` places before and after each sequence, where
    `outside` stands. positions: those of `positions_of`. RETURNS (P,)."""
    padded = np.full(len(values) + 2 * margin * len(lengths), outside[1], values.dtype)
    starts = positions[np.cumsum(lengths) - lengths]  # (S,) place of each first token
    padded[(starts[:, None] - np.arange(1, margin + 1)).reshape(-1)] = outside[0]
    padded[positions] = values
    return padded


def positions_of(lengths: Lengths, margin: int) -> Ints:
    """Places of tokens when every sentence has `margin` free places on both sides. RETURNS (N,)
    intp."""
    margins = margin * np.arange(1, 2 * len(lengths), 2)  # before each sentence
    return np.arange(int(lengths.sum())) + margins.repeat(lengths)
