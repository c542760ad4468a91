"""One table of word types for a vocabulary: the values of all lexical attributes that some component
reads, computed in one pass for all new words of a batch."""

from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from spacy.lookups import Lookups
from spacy.vocab import Vocab

from ..arrays import Ints, Keys, Rows, distinct
from ..caches import SharedCache
from .attributes import Attribute, as_keys
from .index import ExactIndex
from .keys import AFTER_SENTENCE, BEFORE_SENTENCE
from .type_cache import MAX_WORD_TYPES


class Reader(Protocol):
    """What reads the values of words, such as a feature extractor."""

    attributes: list[Attribute]


class WordValues(NamedTuple):
    """Attribute values of some tokens.

    types (N,): word type of each token. table (A', W), contiguous: values of each attribute for each
    type, also those of other readers. rows (A,): of the reader's attributes. numbering: another
    object as soon as a type stands for another word.
    """

    types: Rows
    table: Keys
    rows: Ints
    numbering: object


class Lexicon(SharedCache):
    """Word types of one vocabulary, and the values of all attributes that its readers have.

    A cache. Key: the word. Bound: `MAX_WORD_TYPES`. It forgets all words when there are more, when
    a table of the vocabulary changes, when another reader comes, and at the end of a memory zone.
    Types 0 and 1 stand for what is before and after a sentence.

    Components in a row read the words of the same texts. So the word types of the last batch are
    cached too, by its words: texts that have changed are another batch.
    """

    def __init__(self) -> None:
        super().__init__()
        self._rows: WeakKeyDictionary[Reader, Ints] = WeakKeyDictionary()  # of the table
        self._made_from: list[Any] = []
        self.forget()

    def forget(self) -> None:
        readers = list(self._rows)
        row_of: dict[Attribute, int] = {}
        for reader in readers:
            rows = [row_of.setdefault(attribute, len(row_of)) for attribute in reader.attributes]
            self._rows[reader] = np.array(rows, np.intp)
        self._attributes = list(row_of)
        self._tables = {one.table for one in self._attributes if one.table is not None}
        outside = np.array([BEFORE_SENTENCE, AFTER_SENTENCE])
        self._index = ExactIndex(outside)
        self._table = outside[None].repeat(len(row_of), axis=0)
        self._last = np.zeros(0, np.uint64), np.zeros(0, np.int32)  # a batch and its word types

    def __len__(self) -> int:
        """Word types that are known."""
        return self._index.n_rows - 2

    def clear(self) -> None:
        """Forget, when no other thread is in the middle of a batch."""
        with self._lock:
            self.forget()

    def of(self, vocab: Vocab, tables: Lookups, reader: Reader, orths: Keys) -> WordValues:
        """Values of words. orths (N,) uint64: of a vocabulary. tables: its own, or those of a
        component that reads others."""
        with self._lock:
            if reader not in self._rows:
                self._rows[reader] = np.zeros(0, np.intp)
                self.forget()
            made_from = [tables.get_table(name, None) for name in self._tables]
            if len(self) > MAX_WORD_TYPES or made_from != self._made_from:
                self.forget()
            self._made_from = made_from
            try:
                types = self._types_of(vocab, tables, orths)
            except Exception:
                # an attribute fails: without its reader the others go on
                del self._rows[reader]
                self.forget()
                raise
            return WordValues(types, self._table, self._rows[reader], self._index)

    def _types_of(self, vocab: Vocab, tables: Lookups, orths: Keys) -> Rows:
        """Word types (N,); new words get the next ones."""
        batch, types = self._last
        if np.array_equal(batch, orths):
            return types
        keys = orths + 1  # 0, the empty word, is no key
        types = self._index.lookup(keys)
        # once, unless an attribute forks the process: then the lexicon was emptied
        while (is_new := types == self._index.n_rows).any():
            self._add(vocab, tables, distinct(keys[is_new]))
            types = self._index.lookup(keys)
        self._last = orths, types
        return types

    def _add(self, vocab: Vocab, tables: Lookups, new: Keys) -> None:
        lexemes = [vocab[orth] for orth in (new - 1).tolist()]
        texts = [lexeme.text for lexeme in lexemes]
        if tables is not vocab.lookups:
            # nobody holds this vocabulary, so a stream of new words does not fill it
            beside = Vocab(vocab.lex_attr_getters, lookups=tables)  # type: ignore[attr-defined]
            lexemes = [beside[text] for text in texts]
        values = [as_keys(attribute.values(lexemes, texts)) for attribute in self._attributes]
        first = self._index.n_rows
        self._index.add(new)
        stop = self._index.n_rows
        if stop > self._table.shape[1]:
            # by doubling; others may still read the old table
            grown = np.empty((len(values), max(2 * first, stop)), np.uint64)
            grown[:, :first] = self._table[:, :first]
            self._table = grown
        for row, attribute_values in zip(self._table, values, strict=True):
            row[first:stop] = attribute_values


_lexicons: "WeakKeyDictionary[Lookups, Lexicon]" = WeakKeyDictionary()


def lexicon_of(tables: Lookups) -> Lexicon:
    """The lexicon of a vocabulary, or of the tables of a component. All its readers share it, and it
    lives as long as they do."""
    return _lexicons.setdefault(tables, Lexicon())
