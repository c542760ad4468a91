"""Lexical attribute values, computed once per word type for all components of a pipeline."""

from functools import partial
from threading import Lock
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple
from weakref import WeakKeyDictionary

import numpy as np
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Rows, distinct
from ..kept import Kept
from .attributes import Attribute, as_keys
from .index import ExactIndex
from .keys import AFTER, BEFORE

# rows that stand for what is before and after a sentence
TYPE_BEFORE = 0
TYPE_AFTER = 1
N_OUTSIDE = 2
# all are forgotten beyond this many, so that a stream of any length runs in bounded memory
MAX_WORD_TYPES = 200_000
FEW = 256  # words: to find them in the index takes as long as to find a thousand
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
        """Values of words orths (N,) uint64 of this vocabulary."""
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
        self._index = ExactIndex(np.zeros(0, np.uint64), first=N_OUTSIDE)
        self._orths: List[int] = []  # of each type
        self._type_of: Dict[int, int] = {}
        self._table = np.zeros((0, N_OUTSIDE), np.uint64)
        self._n_types: Dict[Key, int] = {}  # of each row of the table: types that have values
        self._served: Dict[WordAttributes, Tuple[int, Ints]] = {}  # types, and rows of the table

    def __len__(self) -> int:
        """Word types that are known."""
        return len(self._type_of)

    def clear(self) -> None:
        with self._lock:
            self._begin({})

    def of(self, vocab: Vocab, asked: WordAttributes, orths: Keys) -> ValuesOf:
        """Values of words orths (N,) uint64 of this vocabulary."""
        with self._lock:
            for name in asked.tables:
                table = vocab.lookups.get_table(name, None)
                if self._tables.setdefault(name, table) is not table:
                    self._begin({name: table})  # values were made of another one
            if len(self) > asked.most_types:
                self._begin(self._tables)
            types = self._types_of(orths)
            served = self._served.get(asked)
            if served is None or served[0] < len(self):
                served = len(self), self._filled(vocab, asked)
                self._served[asked] = served
            return ValuesOf(types, self._table, served[1], self._index)

    def _types_of(self, orths: Keys) -> Rows:
        """Word types (N,); new words get the next ones."""
        if len(orths) <= FEW:
            types = [self._type_of.get(orth, 0) for orth in orths.tolist()]
            if 0 not in types:
                return np.array(types, np.int32)
        # 0, the empty word, is no key
        keys = orths + _ONE
        found = self._index.lookup(keys)
        new = distinct(orths[found == self._index.n_rows])
        if len(new):
            first = self._index.n_rows
            self._index.add(new + _ONE)
            self._orths += new.tolist()
            self._type_of.update(zip(new.tolist(), range(first, self._index.n_rows), strict=True))
            found = self._index.lookup(keys)
        return found

    def _filled(self, vocab: Vocab, asked: WordAttributes) -> Ints:
        """Compute the values that are missing. RETURNS rows of the attributes."""
        n_types = self._index.n_rows
        for key in asked.by_key:
            self._n_types.setdefault(key, N_OUTSIDE)
        self._make_room(len(self._n_types), n_types)
        row_of = {key: row for row, key in enumerate(self._n_types)}
        first = min((self._n_types[key] for key in asked.by_key), default=n_types)
        lexemes = [vocab[orth] for orth in self._orths[first - N_OUTSIDE :]]
        texts = [lexeme.text for lexeme in lexemes]
        for key, (function, kind, _, _) in asked.by_key.items():
            start = self._n_types[key]
            words: List[Any] = (texts if kind in ("text", "texts") else lexemes)[start - first :]
            if words:
                values = function(words) if kind in ("texts", "lexemes") else map(function, words)
                self._table[row_of[key], start:n_types] = as_keys([*values])
                self._n_types[key] = n_types
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
