"""One table of word types for a vocabulary: the values of all lexical attributes that some component
reads, made in one pass for all new words of a batch."""

from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Rows, distinct
from ..caches import SharedCache
from .attributes import Attribute, as_keys
from .index import ExactIndex
from .keys import AFTER, BEFORE
from .type_cache import MAX_WORD_TYPES

# rows that stand for what is before and after a sentence
TYPE_BEFORE = 0
TYPE_AFTER = 1
OUTSIDE = np.array([BEFORE, AFTER])
_ONE = np.uint64(1)


class Reader(Protocol):
    """Who asks for the values of words."""

    attributes: list[Attribute]


class WordValues(NamedTuple):
    """Attribute values of some tokens. types (N,): word type of each. table (A', W), contiguous:
    values of each attribute for each type, those of others among them. rows (A,): of the attributes
    that were asked for. numbering: another object as soon as a type stands for another word."""

    types: Rows
    table: Keys
    rows: Ints
    numbering: object


class Lexicon(SharedCache):
    """Word types of one vocabulary, and the values of all attributes that were asked for. It begins
    anew when somebody asks for the first time, when a table of the vocabulary has changed, and
    when there are too many words. Several threads may ask.

    Components in a row ask for the words of the same texts one after the other: the word types of
    the last batch are kept, and found by its words, so that nothing is stale when texts change.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: WeakKeyDictionary[Reader, Ints] = WeakKeyDictionary()  # of the table
        self._made_from: list[Any] = []
        self.forget()

    def forget(self) -> None:
        readers = list(self._rows)
        self._attributes = list(dict.fromkeys(one for each in readers for one in each.attributes))
        row_of = {attribute: row for row, attribute in enumerate(self._attributes)}
        for reader in readers:
            self._rows[reader] = np.array([row_of[one] for one in reader.attributes], np.intp)
        self._tables = {one.table for one in self._attributes if one.table is not None}
        self._index = ExactIndex(OUTSIDE)
        self._table = OUTSIDE[None].repeat(len(row_of), axis=0)
        self._last = np.zeros(0, np.uint64), np.zeros(0, np.int32)  # batch, and its word types

    def __len__(self) -> int:
        """Word types that are known."""
        return self._index.n_rows - len(OUTSIDE)

    def clear(self) -> None:
        """Forget, when no other thread is in the middle of a batch."""
        with self._lock:
            self.forget()

    def of(self, vocab: Vocab, tables: Lookups, reader: Reader, orths: Keys) -> WordValues:
        """Values of words orths (N,) uint64 of a vocabulary. tables: its own, or those of a component
        that reads others."""
        with self._lock:
            if self._rows.get(reader) is None:
                self._rows[reader] = np.zeros(0, np.intp)
                self.forget()
            made_from = [tables.get_table(name, None) for name in self._tables]
            if len(self) > MAX_WORD_TYPES or made_from != self._made_from:
                self.forget()
            self._made_from = made_from
            try:
                types = self._types_of(vocab, tables, orths)
            except Exception:  # of one attribute: other readers shall have theirs
                del self._rows[reader]
                self.forget()
                raise
            return WordValues(types, self._table, self._rows[reader], self._index)

    def _types_of(self, vocab: Vocab, tables: Lookups, orths: Keys) -> Rows:
        """Word types (N,); new words get the next ones."""
        batch, types = self._last
        if not np.array_equal(batch, orths):
            keys = orths + _ONE  # 0, the empty word, is no key
            types = self._index.lookup(keys)
            new = distinct(keys[types == self._index.n_rows])
            if len(new):
                self._add(vocab, tables, new)
                types = self._index.lookup(keys)
            self._last = orths, types
        return types

    def _add(self, vocab: Vocab, tables: Lookups, new: Keys) -> None:
        lexemes = [vocab[orth] for orth in (new - _ONE).tolist()]
        texts = [lexeme.text for lexeme in lexemes]
        if tables is not vocab.lookups:
            # kept by nobody, so that a stream of new words does not fill it
            beside = Vocab(vocab.lex_attr_getters, lookups=tables)  # type: ignore[attr-defined]
            lexemes = [beside[text] for text in texts]
        values = [as_keys(each.values(lexemes, texts)) for each in self._attributes]
        first = self._index.n_rows
        self._index.add(new)
        stop = self._index.n_rows
        if stop > self._table.shape[1]:
            # by doubling; others may still read the old table
            grown = np.empty((len(values), max(2 * first, stop)), np.uint64)
            grown[:, :first] = self._table[:, :first]
            self._table = grown
        for row, of_attribute in zip(self._table, values, strict=True):
            row[first:stop] = of_attribute


_LEXICONS: "WeakKeyDictionary[Lookups, Lexicon]" = WeakKeyDictionary()


def lexicon_of(tables: Lookups) -> Lexicon:
    """The one that all share who read words with these tables, as a vocabulary has them for itself."""
    return _LEXICONS.setdefault(tables, Lexicon())
