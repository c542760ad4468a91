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
    OF_DOCS,
    check_attribute,
    is_read_at_once,
    lexical_attribute,
    values_of_docs,
)
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

KEY_TOKENS = 16_384  # whose keys are made and looked up together


class Columns(NamedTuple):
    """What templates see of a batch. lengths (S,): of its sequences. positions (N,): where each token
    lies among P places that lay sentences apart.

    types (P,): the word type at each place, those before and after sentences among them. words:
    values of word types. annotation (D, P): values of what is read from Docs, at each place.
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
        parts = dict.fromkeys(part for template in templates for part in template.parts)
        of_words = [part for part in parts if part.attribute in lexical]
        of_docs = [part for part in parts if part.attribute in contextual]
        row_of = {part: row for row, part in enumerate([*of_words, *of_docs])}
        self._words = _column([lexical.index(part.attribute) for part in of_words])
        self._docs = _column([contextual.index(part.attribute) for part in of_docs])
        self._word_offsets = _column([part.offset for part in of_words])
        self._doc_offsets = _column([part.offset for part in of_docs])
        self._folds = KeyFolds(
            [get_string_id(str(template)) for template in templates],
            [[row_of[part] for part in template.parts] for template in templates],
        )

    def keys(self, columns: Columns, places: Ints) -> Keys:
        """At some places (n,). RETURNS (K, n) uint64, 0 where a part has no value."""
        values = self._values(columns, columns.types.take(places + self._word_offsets))
        if len(self._docs):
            cells = self._docs * len(columns.types) + (places + self._doc_offsets)
            values = np.concatenate([values, columns.annotation.reshape(-1).take(cells)])
        return self._folds.keys(values)

    def keys_of_types(self, columns: Columns, types: Rows) -> Keys:
        """The same of word types (n,), wherever they stand."""
        return self._folds.keys(self._values(columns, types))

    def _values(self, columns: Columns, types: Rows) -> Keys:
        """Of all parts that are about words; only these cells of the table are read."""
        table = columns.words.table
        cells = columns.words.rows.take(self._words) * table.shape[1] + types
        return table.reshape(-1).take(cells)  # type: ignore[no-any-return]


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
        parts = [part for template in templates for part in template.parts]
        attributes = {part.attribute: lexical_attribute(part.attribute) for part in parts}
        for name in attributes:
            check_attribute(name)
        self.attributes = [known for known in attributes.values() if known is not None]
        self._lexicon: IdentityCache[Lexicon] = IdentityCache()
        # tables of the component itself; None = those of the Docs' vocabulary
        self.own_tables: Lookups | None = None
        self._lexical = [name for name, known in attributes.items() if known is not None]
        self.contextual = [name for name, known in attributes.items() if known is None]
        self.reach = max((abs(part.offset) for part in parts), default=0)
        self.of_one_word: dict[int, list[int]] = {}
        self.of_more: list[int] = []
        for k, template in enumerate(self.templates):
            first, *others = {part.offset for part in template.parts}
            if others or any(part.attribute in self.contextual for part in template.parts):
                self.of_more.append(k)
            else:
                self.of_one_word.setdefault(first, []).append(k)
        self._makers: dict[tuple[int, ...], KeyMaker] = {}

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
        of_words = [attribute.table for attribute in self.attributes]
        of_docs = [OF_DOCS[name].table for name in self.contextual if name in OF_DOCS]
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
        self, columns: Columns, start: int, stop: int, templates: list[int] | None = None
    ) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K,
        n) uint64."""
        maker = self._maker(range(len(self.templates)) if templates is None else templates)
        return maker.keys(columns, columns.positions[start:stop])

    def key_blocks(self, columns: Columns) -> Iterator[Keys]:
        """Keys of all tokens, of `KEY_TOKENS` at a time; at least one block."""
        for start in range(0, max(1, columns.n_tokens), KEY_TOKENS):
            yield self.keys_between(columns, start, start + KEY_TOKENS)

    def type_keys(self, columns: Columns, templates: list[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n)
        uint64."""
        return self._maker(templates).keys_of_types(columns, types)

    def _maker(self, templates: Sequence[int]) -> KeyMaker:
        chosen = tuple(templates)
        if chosen not in self._makers:
            of_templates = [self.templates[k] for k in chosen]
            self._makers[chosen] = KeyMaker(of_templates, self._lexical, self.contextual)
        return self._makers[chosen]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        if self._lexicon.latest is not None:
            self._lexicon.latest.clear()


def _column(numbers: list[int]) -> Ints:
    """RETURNS (n, 1)."""
    return np.array(numbers, np.intp).reshape(-1, 1)


def laid_apart(
    values: NDArray[Any], positions: Ints, lengths: Lengths, margin: int, outside: tuple[Any, Any]
) -> NDArray[Any]:
    """Values of all tokens (N,), with `margin` places before and after each sequence for what stands
    outside. positions: those of `positions_of`."""
    padded = np.full(len(values) + 2 * margin * len(lengths), outside[1], values.dtype)
    starts = positions[np.cumsum(lengths) - lengths]  # (S,) place of each first token
    padded[(starts[:, None] - np.arange(1, margin + 1)).reshape(-1)] = outside[0]
    padded[positions] = values
    return padded


def positions_of(lengths: Lengths, margin: int) -> Ints:
    """Where each token lies when every sentence has `margin` free cells on both sides. RETURNS (N,)
    intp."""
    margins = margin * np.arange(1, 2 * len(lengths), 2)  # before each sentence
    return np.arange(int(lengths.sum())) + margins.repeat(lengths)
