"""Lexical attribute values, computed once per word type for all components of a pipeline."""

from functools import partial
from threading import Lock
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Rows
from ..kept import Kept
from .attributes import Attribute, as_keys
from .index import GrowingTable
from .keys import AFTER, BEFORE

# rows that stand for what is before and after a sentence
TYPE_BEFORE = 0
TYPE_AFTER = 1
N_OUTSIDE = 2
# all are forgotten beyond this many, so that a stream of any length runs in bounded memory
MAX_WORD_TYPES = 200_000
_ONE = np.uint64(1)

Key = Tuple[Any, ...]  # of an attribute: its function, and the number that it is given


class ValuesOf(NamedTuple):
    """Attribute values of some tokens. types (N,): word type of each. table (A', W), contiguous:
    values of each attribute for each type, those of others among them. rows (A,): of the attributes
    that were asked for. numbering: another object as soon as a type stands for another word."""

    types: Rows
    table: Keys
    rows: Ints
    numbering: object


class WordAttributes:
    """Attributes of words that somebody reads, in any vocabulary.

    most_types (int): word types that are remembered. tables (List[str]): of the vocabulary's
    lookups, on which values depend.
    """

    def __init__(self, attributes: Sequence[Attribute], most_types: int = MAX_WORD_TYPES) -> None:
        self.by_key = {_key(attribute): attribute for attribute in attributes}
        self.most_types = most_types
        self.tables = sorted({each.table for each in attributes if each.table is not None})
        self._lexicon: Kept[Lexicon] = Kept()

    def of(self, vocab: Vocab, orths: Keys) -> ValuesOf:
        """Of words orths (N,) uint64 of this vocabulary."""
        lexicon = self._lexicon.of((vocab.lookups,), lambda: lexicon_of(vocab))
        return lexicon.of(vocab, self, orths)

    def forget_words(self) -> None:
        """Drop all word types (at the end of a memory zone)."""
        if self._lexicon.latest is not None:
            self._lexicon.latest.clear()


def _key(attribute: Attribute) -> Key:
    function = attribute.function
    return (function.func, *function.args) if isinstance(function, partial) else (function,)


class Lexicon:
    """Word types of one vocabulary, and the values of their attributes: each is computed when
    somebody first asks for it, for all new words at once. Several threads may ask."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._begin({})

    def _begin(self, tables: Dict[str, Any]) -> None:
        self._tables = tables
        # the `orth` of each type
        self._words = GrowingTable((), np.zeros((N_OUTSIDE, 1), np.uint64), hashed=True)
        self._table = np.zeros((0, N_OUTSIDE), np.uint64)
        self._n_types: Dict[Key, int] = {}  # of each row of the table: types that have values
        self._served: Dict[WordAttributes, Tuple[int, Ints]] = {}  # types, and rows of the table

    def __len__(self) -> int:
        """Word types that are known."""
        return len(self._words)

    def clear(self) -> None:
        with self._lock:
            self._begin({})

    def of(self, vocab: Vocab, asked: WordAttributes, orths: Keys) -> ValuesOf:
        """Of words orths (N,) uint64 of this vocabulary."""
        with self._lock:
            for name in asked.tables:
                table = vocab.lookups.get_table(name, None)
                if self._tables.setdefault(name, table) is not table:
                    self._begin({name: table})  # values were made of another one
            if self._words.n_rows > N_OUTSIDE + asked.most_types:
                self._begin(self._tables)
            # 0, the empty word, is no key
            types, words = self._words.of(orths + _ONE, lambda keys: (keys - _ONE)[:, None])
            n_types = self._words.n_rows
            served = self._served.get(asked)
            if served is None or served[0] < n_types:
                served = n_types, self._filled(vocab, asked, words[:n_types, 0])
                self._served[asked] = served
            return ValuesOf(types, self._table, served[1], self._words)

    def _filled(self, vocab: Vocab, asked: WordAttributes, orths: Keys) -> Ints:
        """See to the values of all types. orths (W,): of these. RETURNS rows of the attributes."""
        for key in asked.by_key:
            self._n_types.setdefault(key, N_OUTSIDE)
        self._make_room(len(self._n_types), len(orths))
        row_of = {key: row for row, key in enumerate(self._n_types)}
        first = min((self._n_types[key] for key in asked.by_key), default=len(orths))
        lexemes = [vocab[orth] for orth in orths[first:].tolist()]
        texts = [lexeme.text for lexeme in lexemes]
        for key, (function, kind, _, _) in asked.by_key.items():
            start = self._n_types[key]
            words: List[Any] = (texts if kind in ("text", "texts") else lexemes)[start - first :]
            if words:
                values = function(words) if kind in ("texts", "lexemes") else map(function, words)
                self._table[row_of[key], start : len(orths)] = as_keys([*values])
                self._n_types[key] = len(orths)
        return np.array([row_of[key] for key in asked.by_key], np.intp)

    def _make_room(self, n_attributes: int, n_types: int) -> None:
        """Others may still read the old array."""
        n_rows, n_columns = self._table.shape
        if n_attributes > n_rows or n_types > n_columns:
            size = n_columns if n_types <= n_columns else max(2 * n_columns, n_types)
            grown = np.empty((n_attributes, size), np.uint64)
            grown[:, :N_OUTSIDE] = BEFORE, AFTER
            grown[:n_rows, :n_columns] = self._table
            self._table = grown


_LEXICONS: "WeakKeyDictionary[Lookups, Lexicon]" = WeakKeyDictionary()


def lexicon_of(vocab: Vocab) -> Lexicon:
    """The one that all share who read words of this vocabulary. (A `Vocab` has no weak references;
    its tables belong to it alone.)"""
    return _LEXICONS.setdefault(vocab.lookups, Lexicon())
