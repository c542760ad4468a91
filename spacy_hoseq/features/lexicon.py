"""Lexical attribute values, computed once per word type for all components of a pipeline."""

from functools import partial
from threading import Lock
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Rows
from .attributes import Attribute, as_keys, lexical_attribute
from .index import GrowingTable
from .keys import AFTER, BEFORE
from .word_types import MAX_WORD_TYPES

# rows that stand for what is before and after a sentence
TYPE_BEFORE = 0
TYPE_AFTER = 1
N_OUTSIDE = 2
_ONE = np.uint64(1)

Key = Tuple[Any, ...]  # of an attribute: its function, and the number that it is given


class WordAttributes:
    """Lexical attributes that somebody reads: names of registered ones. tables (List[str]): of the
    vocabulary's lookups, on which their values depend."""

    def __init__(self, names: Sequence[str]) -> None:
        known = [known for known in map(lexical_attribute, names) if known is not None]
        self.by_key = {_key(attribute): attribute for attribute in known}
        self.tables = sorted({known.table for known in known if known.table is not None})


def _key(attribute: Attribute) -> Key:
    function = attribute.function
    if isinstance(function, partial):
        return (function.func, *function.args)
    return (function,)


class ValuesOf(NamedTuple):
    """Attribute values of some tokens. types (N,): word type of each. table (A', W), contiguous:
    values of each attribute for each type, those of others among them. rows (A,): of the attributes
    that were asked for. numbering: another object as soon as a type stands for another word."""

    types: Rows
    table: Keys
    rows: Ints
    numbering: object


class Lexicon:
    """Word types of one vocabulary, and the values of their attributes: each is computed when
    somebody first asks for it. Several threads may ask at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begin({})

    def _begin(self, tables: Dict[str, Any]) -> None:
        self._tables = tables
        # the `orth` of each type
        self._words = GrowingTable((), np.zeros((N_OUTSIDE, 1), np.uint64), hashed=True)
        self._table = np.zeros((0, N_OUTSIDE), np.uint64)
        self._rows: Dict[Key, int] = {}
        self._n_types: Dict[Key, int] = {}  # that have values
        self._served: Dict[WordAttributes, Tuple[int, Ints]] = {}  # types, and rows of the table

    def clear(self) -> None:
        with self._lock:
            self._begin({})

    def of(
        self, vocab: Vocab, asked: WordAttributes, orths: Keys, most: int = MAX_WORD_TYPES
    ) -> ValuesOf:
        """Of words orths (N,) uint64 of this vocabulary. most (int): if more are known, all are
        forgotten first."""
        with self._lock:
            self._compare(vocab.lookups, asked.tables)
            if self._words.n_rows > N_OUTSIDE + most:
                self._begin(self._tables)
            # 0, the empty word, is no key
            types, words = self._words.of(orths + _ONE, lambda keys: (keys - _ONE)[:, None])
            n_types = self._words.n_rows
            served = self._served.get(asked)
            if served is None or served[0] < n_types:
                served = n_types, self._filled(vocab, asked, words[:n_types, 0])
                self._served[asked] = served
            return ValuesOf(types, self._table, served[1], self._words)

    def _compare(self, lookups: Lookups, names: Sequence[str]) -> None:
        """Begin anew if the vocabulary has other tables now than those that values were made of."""
        for name in names:
            table = lookups.get_table(name, None)
            if self._tables.setdefault(name, table) is not table:
                self._begin({name: table})

    def _filled(self, vocab: Vocab, asked: WordAttributes, orths: Keys) -> Ints:
        """See to the values of all types. orths (W,): of these. RETURNS rows of the attributes."""
        n_known = {key: self._n_types.get(key, 0) for key in asked.by_key}
        self._make_room(len({*self._rows, *n_known}), len(orths))
        for first in sorted(set(n_known.values()) - {len(orths)}):
            new = {key: asked.by_key[key] for key, n in n_known.items() if n == first}
            rows = [self._rows.setdefault(key, len(self._rows)) for key in new]
            if not first:
                self._table[rows, :N_OUTSIDE] = BEFORE, AFTER
            start = max(first, N_OUTSIDE)
            values = _values_of(vocab, orths[start:].tolist(), list(new.values()))
            self._table[rows, start : len(orths)] = values
            self._n_types.update(dict.fromkeys(new, len(orths)))
        return np.array([self._rows[key] for key in asked.by_key], np.intp)

    def _make_room(self, n_attributes: int, n_types: int) -> None:
        """Others may still read the old array."""
        n_rows, n_columns = self._table.shape
        if n_attributes <= n_rows and n_types <= n_columns:
            return
        size = n_columns if n_types <= n_columns else max(2 * n_columns, n_types)
        grown = np.empty((max(n_attributes, n_rows), size), np.uint64)
        grown[:n_rows, :n_columns] = self._table
        self._table = grown


def _values_of(vocab: Vocab, orths: List[int], attributes: Sequence[Attribute]) -> Keys:
    """RETURNS (A, n) uint64."""
    lexemes = [vocab[orth] for orth in orths]
    texts = [lexeme.text for lexeme in lexemes]
    values = np.zeros((len(attributes), len(orths)), np.uint64)
    if not orths:
        return values
    for row, (function, kind, _, _) in zip(values, attributes, strict=True):
        words: Sequence[Any] = texts if kind in ("text", "texts") else lexemes
        is_of_all = kind in ("texts", "lexemes")
        row[:] = as_keys(function(words) if is_of_all else list(map(function, words)))
    return values


_LEXICONS: "WeakKeyDictionary[Lookups, Lexicon]" = WeakKeyDictionary()


def lexicon_of(vocab: Vocab) -> Lexicon:
    """The one that all share who read words of this vocabulary. (A `Vocab` has no weak references;
    its tables belong to it alone.)"""
    return _LEXICONS.setdefault(vocab.lookups, Lexicon())
