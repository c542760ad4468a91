"""Docs -> feature keys, a whole batch of sentences at once. In training, those of templates about
one word are made once for each word type, not at each token (checked in
tests/features/test_by_type.py against all tokens)."""

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..arrays import Ints, Keys, Lengths, Rows
from .attributes import (
    TABLES_OF_DOCS,
    check_attribute,
    lexical_attribute,
    token_values,
    values_of_docs,
)
from .index import Index
from .keys import AFTER, BEFORE, TemplateKeys
from .lexicon import MAX_WORD_TYPES, TYPE_AFTER, TYPE_BEFORE, WordAttributes
from .sequences import vocab_of, words_and_lengths
from .templates import Template

NOTHING = np.zeros((0, 0), np.uint64)


class Columns(NamedTuple):
    """Attribute values of a batch. lengths (S,): of its sequences. positions (N,): where each token
    lies among places that lay sentences apart.

    types (P,): the word type at each place, those before and after sentences among them. numbering:
    another object as soon as a type stands for another word. table (A', W): values of lexical
    attributes for each type. rows (A,): where each of the extractor's is in the table. padded (B,
    P): values at each place, of attributes that templates about several words read, and of those
    that are not lexical.
    """

    n_tokens: int
    lengths: Lengths
    positions: Ints
    types: Rows
    numbering: object
    table: Keys
    rows: Ints
    padded: Keys

    def values(self, attributes: Ints, types: Rows) -> Keys:
        """Of word types, in one call that reads these cells alone. attributes (a, 1): numbers of
        the extractor's. types (n,) or (a, n). RETURNS (a, n) uint64."""
        starts = self.rows.take(attributes) * self.table.shape[1]
        values: Keys = self.table.reshape(-1).take(starts + types)
        return values


class Maker(NamedTuple):
    """What makes keys of some templates, and where it finds the values of their parts. columns,
    padded, offsets (P, 1): of each part, its number among lexical attributes and in
    `Columns.padded`, -1 = not there. others: parts not in the last."""

    keys: TemplateKeys
    columns: Ints
    padded: Ints
    offsets: Ints
    others: List[int]


class FeatureExtractor:
    """Computes, for every token of a batch, the key of every template.

    templates: parsed templates; row k of every result belongs to templates[k].
    most_types (int): word types that are remembered.
    contextual (List[str]): attributes that are read from the Doc, not from the word.
    reach (int): how many words away templates look, at most.
    RAISES ValueError [HS013]: a template names an unknown attribute.
    """

    def __init__(self, templates: Sequence[Template], most_types: int = MAX_WORD_TYPES) -> None:
        self.templates = list(templates)
        names = dict.fromkeys(
            p.attribute for t in templates for p in t.parts if p.attribute != "bias"
        )
        for name in names:
            check_attribute(name)
        lexical = {name: lexical_attribute(name) for name in names}
        self._lexical = [name for name, attribute in lexical.items() if attribute is not None]
        self.contextual = [name for name, attribute in lexical.items() if attribute is None]
        self.reach = max((abs(p.offset) for t in templates for p in t.parts), default=0)
        self._words = WordAttributes([a for a in lexical.values() if a is not None], most_types)
        self.of_one_word: Dict[int, List[int]] = {}  # place of the word -> templates about it alone
        self.of_more: List[int] = []  # all other templates
        for k, template in enumerate(self.templates):
            offsets = {part.offset for part in template.parts}
            is_lexical = not any(part.attribute in self.contextual for part in template.parts)
            if is_lexical and len(offsets) == 1:
                self.of_one_word.setdefault(offsets.pop(), []).append(k)
            else:
                self.of_more.append(k)
        read = {part.attribute for k in self.of_more for part in self.templates[k].parts}
        paired = [name for name in self._lexical if name in read]
        self._column = {name: column for column, name in enumerate(self._lexical)}
        self._paired = np.array([[self._column[name]] for name in paired], np.intp).reshape(-1, 1)
        self._padded = {name: row for row, name in enumerate([*paired, *self.contextual])}
        self._makers: Dict[Tuple[int, ...], Maker] = {}

    @property
    def is_lexical(self) -> bool:
        """Whether the features depend on the words and sentence boundaries alone (then they may be
        cached)."""
        return not self.contextual

    @property
    def tables(self) -> List[str]:
        """Names of the vocabulary's tables on which the features depend."""
        of_docs = {TABLES_OF_DOCS[name] for name in self.contextual if name in TABLES_OF_DOCS}
        return sorted({*self._words.tables, *of_docs})

    def keys(self, docs: Sequence[Doc]) -> Keys:
        """RETURNS (K, N) uint64: key of each template at each token of the docs, in order; 0 where
        it does not fire."""
        columns = self.columns(docs)
        return self.keys_between(columns, 0, columns.n_tokens)

    def columns(self, docs: Sequence[Doc]) -> Columns:
        """Attribute values of all tokens, from which keys are made block by block."""
        orths, lengths = words_and_lengths(docs)
        positions = positions_of(lengths, self.reach)
        if not len(orths):
            no_types = np.zeros(0, np.int32)
            rows = np.zeros(len(self._lexical), np.intp)
            return Columns(0, lengths, positions, no_types, object(), NOTHING, rows, NOTHING)
        words = self._words.of(vocab_of(docs), orths)
        types = laid_apart(words.types, positions, lengths, self.reach, (TYPE_BEFORE, TYPE_AFTER))
        columns = Columns(
            len(orths), lengths, positions, types, words.numbering, words.table, words.rows, NOTHING
        )
        padded = columns.values(self._paired, types)
        if self.contextual:
            values = values_of_docs(docs, self.contextual)
            others = [
                laid_apart(values[name], positions, lengths, self.reach, (BEFORE, AFTER))
                for name in self.contextual
            ]
            padded = np.concatenate([padded, others])
        return columns._replace(padded=padded)

    def keys_between(
        self, columns: Columns, start: int, stop: int, templates: Optional[List[int]] = None
    ) -> Keys:
        """Keys of the tokens start <= n < stop. templates: numbers of some, None = all. RETURNS (K,
        n) uint64."""
        return self.keys_at(columns, columns.positions[start:stop], templates)

    def keys_at(
        self, columns: Columns, places: Ints, templates: Optional[List[int]] = None
    ) -> Keys:
        """The same at some of `Columns.positions`."""
        if not len(places):
            return np.zeros((len(self.templates if templates is None else templates), 0), np.uint64)
        maker = self._maker(range(len(self.templates)) if templates is None else templates)
        at = places + maker.offsets  # (P, n)
        flat = columns.padded.reshape(-1) if self._padded else np.zeros(1, np.uint64)
        values = flat.take(maker.padded * len(columns.types) + at, mode="clip")
        for part in maker.others:
            values[part] = columns.values(maker.columns[part], columns.types.take(at[part]))
        return maker.keys.keys(values)

    def type_keys(self, columns: Columns, templates: List[int], types: Rows) -> Keys:
        """Keys of templates about one word for some word types. types (n,). RETURNS (K, n)
        uint64."""
        maker = self._maker(templates)
        return maker.keys.keys(columns.values(maker.columns, types))

    def _maker(self, templates: Sequence[int]) -> Maker:
        chosen = tuple(templates)
        if chosen not in self._makers:
            keys = TemplateKeys([self.templates[k] for k in chosen])
            names = [part.attribute for part in keys.parts]
            places = [
                [column.get(name, -1) for name in names] for column in (self._column, self._padded)
            ]
            offsets = [part.offset for part in keys.parts]
            columns, padded, at = np.array([*places, offsets], np.intp)[:, :, None]
            others = [part for part, row in enumerate(places[1]) if row < 0]
            self._makers[chosen] = Maker(keys, columns, padded, at, others)
        return self._makers[chosen]

    def contextual_values(self, doc: Doc) -> List[Keys]:
        """Values of the attributes that are not lexical, as the Doc has them now."""
        return [token_values(doc, name) for name in self.contextual]

    def forget_words(self) -> None:
        """Drop all cached word types (at the end of a memory zone)."""
        self._words.forget_words()

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "_makers": {}}


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
        for template, row in zip(
            templates, index.lookup(extractor.type_keys(columns, templates, types)), strict=True
        ):
            row.take(at, out=rows[template], mode="clip")
    if extractor.of_more:
        keys = extractor.keys_between(columns, 0, columns.n_tokens, extractor.of_more)
        rows[extractor.of_more] = index.lookup(keys)
    return rows
