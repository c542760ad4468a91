"""The tables of words on which the features of a component depend: tags of known words, word
classes, lists of names.

They are tables of a vocabulary (`vocab.lookups`), which the components of a pipeline share. A
component that comes into another pipeline shares its tables with the vocabulary there as soon as it
sees it. If that has other tables of the same names, the component reads its own from then on.
"""

import hashlib
from typing import Any

import srsly
from spacy.lookups import Lookups, Table
from spacy.vocab import Vocab
from thinc.api import Model

from ..features.attributes import lend_tables
from ..layers.scorer import scorer_of


class WordTables:
    """The tables of one component.

    model (Model): whose features read them. vocab (Vocab): of the component. held (Lookups): the
    tables that the weights belong to. own (Lookups): the same, if features read them in place of
    those of the vocabulary; None = they read those of the vocabulary.
    """

    def __init__(self, model: Model[Any, Any], vocab: Vocab) -> None:
        self._model = model
        self._vocab = vocab
        self.held = Lookups()
        self.own: Lookups | None = None

    @property
    def names(self) -> set[str]:
        """Names of the tables on which features of the model depend."""
        return {table for node in self._model.walk() for table in node.attrs.get("tables", ())}

    def begin(self) -> None:
        """Take the tables of the vocabulary for a training, whatever was held before."""
        self._read_from(None)
        self.held = selected(self._vocab.lookups, self.names)

    def share(self, vocab: Vocab) -> None:
        """Let a vocabulary have the tables. Its own may have been replaced since: spaCy restores the
        vocabulary of a pipeline after it has sourced a component."""
        if self.own is None:
            there = vocab.lookups
            if any(
                there.get_table(name, None) is not self.held.get_table(name)
                for name in self.held.tables
            ):
                self.join(self.held, there)

    def join(self, tables: Lookups, others: Lookups) -> None:
        """Share tables with others, of a vocabulary. If it has other tables of these names, the
        features read their own from then on."""
        names = self.names & {*tables.tables}
        if lend_tables(tables, others, names):
            self._read_from(None)
            self.held = selected(others, names)
        else:
            self.held = selected(tables, names)
            self._read_from(self.held)

    def forget(self) -> None:
        """Before another model is read."""
        self._read_from(None)
        self.held = Lookups()

    def _read_from(self, own: Lookups | None) -> None:
        self.own = own
        for node in self._model.walk():
            extractor = scorer_of(node).extractor
            if extractor is not None:
                extractor.own_tables = own

    def digests(self, lookups: Lookups) -> dict[str, str | None]:
        """SHA-256 of each table in these lookups, None for one that is missing."""
        return {name: digest_of(lookups.get_table(name, None)) for name in self.names}


def selected(lookups: Lookups, names: set[str]) -> Lookups:
    """The tables of these names, those that are there."""
    tables = Lookups()
    for name in sorted(names & {*lookups.tables}):
        tables.set_table(name, lookups.get_table(name))
    return tables


def digest_of(table: Table | None) -> str | None:
    """SHA-256 of the entries of a table, in any order of its keys; None: there is no such table."""
    if table is None:
        return None
    entries = [[key, value] for key, value in sorted(table.items())]
    return hashlib.sha256(srsly.msgpack_dumps(entries)).hexdigest()
