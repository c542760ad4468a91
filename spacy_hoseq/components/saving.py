"""How components are saved: labels and settings in `cfg`, weights in `model`, and tables of words
where no vocabulary is saved with them.

`model` is a msgpack map: "model", the bytes of the thinc model, and "digest", the SHA-256 of these
bytes and of what gives the columns of the weights their meaning: labels, tag dictionary, tables of
the vocabulary that features read. A bit that differs in any of them, or a `cfg` of one training
beside the `model` of another, is found before anything is made of the weights.

Settings stay those of the config, which may override what was saved.

Tables of words on which features depend (tags of known words, word classes, lists of names) are
tables of a vocabulary (`vocab.lookups`), which the components of a pipeline share. A component that
comes into another pipeline shares its tables with the vocabulary there as soon as it sees it. If that
has other tables of the same names, the component reads its own from then on.
"""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import srsly
from spacy import util
from spacy.lookups import Lookups, Table
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors
from ..features.attributes import lend_tables
from ..layers.scorer import scorer_of

CANDIDATES = "candidates"  # part of `cfg`: labels by tag; empty in models of older versions
OF_TRAINING = (
    "labels",
    "tag_dictionary",
    CANDIDATES,
)  # parts of `cfg`; the others are settings of the config
CONFORMAL = "conformal"  # part of `cfg`: what prediction sets need, after calibration
OF_CALIBRATION = (CONFORMAL, "temperature")  # the second: of a training that calibrates
Component = TypeVar("Component", bound="SavedComponent")


class SavedComponent(TrainablePipe):
    """A trainable component with its file format.

    cfg (dict): labels and settings.
    """

    def __init__(
        self, vocab: Vocab, model: Model[Any, Any], name: str, *, cfg: dict[str, Any]
    ) -> None:
        super().__init__(vocab, model, name, labels=[], **cfg)
        self.tables = WordTables(model, vocab)
        self._is_sourced = False
        self._is_named = False  # since a pipeline last linked its components
        self._listener_map: dict[str, Any] = {}

    # spaCy tells a component that is sourced into another pipeline neither that nor the pipeline,
    # and may save it at once, beside a vocabulary without its tables. But where a pipeline links
    # its components, it sets `name` and then `listener_map`, once each; where it sources one
    # (`Language.create_pipe_from_source`), it sets `name` once more before that. From then on the
    # component is saved with its tables. A `name` that is set by hand has the same effect.

    @property
    def name(self) -> str:
        """Its name in the pipeline."""
        return str(TrainablePipe.name.__get__(self))

    @name.setter
    def name(self, name: str) -> None:
        self._is_sourced = self._is_sourced or self._is_named
        self._is_named = True
        TrainablePipe.name.__set__(self, name)

    @property
    def listener_map(self) -> dict[str, Any]:
        """Layers of later components that listen to this one, by name of the component."""
        return self._listener_map

    @listener_map.setter
    def listener_map(self, listeners: dict[str, Any]) -> None:
        self._is_named = False
        self._listener_map = listeners

    @abstractmethod
    def check_labels(self) -> None:
        """RAISES ValueError [HS027]: a label of `cfg` cannot be written."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Columns of the weights."""

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The component as bytes, without the parts in `exclude`."""
        model = self._model_to_bytes()
        parts: dict[str, Callable[[], bytes]] = {
            "cfg": lambda: srsly.json_dumps(self.cfg),
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
            "model": lambda: model,
        }
        if self._carries_tables:
            parts["tables"] = self.tables.held.to_bytes
        return util.to_bytes(parts, exclude)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component in a folder, without the parts in `exclude`."""
        model = self._model_to_bytes()
        parts: dict[str, Callable[[Path], Any]] = {
            "cfg": lambda file: srsly.write_json(file, self.cfg, indent=0),  # lists of many numbers
            "vocab": lambda file: self.vocab.to_disk(file, exclude=exclude),
            "model": lambda file: file.write_bytes(model),
        }
        if self._carries_tables:
            parts["tables"] = self.tables.held.to_disk
        util.to_disk(path, parts, exclude)

    def from_bytes(self: Component, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Component:
        """RAISES ValueError [HS064]: the data cannot be read, or do not belong together."""
        parts: dict[str, Callable[[bytes], Any]] = {
            "cfg": lambda data: self._read_cfg(srsly.json_loads(data)),
            "vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude),
            "tables": lambda data: self._read_tables(Lookups().from_bytes(data)),
            "model": self._read_model,
        }
        with self._reading("bytes"):
            util.from_bytes(bytes_data, parts, exclude)
        self._prepare_layers()
        return self

    def from_disk(self: Component, path: str | Path, *, exclude: Iterable[str] = ()) -> Component:
        """RAISES ValueError [HS064]: a file cannot be read, or they do not belong together."""
        parts: dict[str, Callable[[Path], Any]] = {
            "cfg": lambda file: self._read_cfg(srsly.read_json(file)),
            "vocab": lambda file: self.vocab.from_disk(file, exclude=exclude),
            "tables": self._find_tables,
            "model": lambda file: self._read_model(file.read_bytes()),
        }
        with self._reading(str(path)):
            util.from_disk(path, parts, exclude)
        self._prepare_layers()
        return self

    def forget_calibration(self) -> None:
        """Drop what holds for the weights that it was fitted to."""
        for name in OF_CALIBRATION:
            self.cfg.pop(name, None)

    def labels_changed(self) -> None:
        """Called when `cfg` has other labels."""

    @property
    def _carries_tables(self) -> bool:
        """True if the component is saved with the tables: the vocabulary beside it may lack them."""
        return self.tables.own is not None or (self._is_sourced and bool(self.tables.names))

    @contextmanager
    def _reading(self, source: str) -> Iterator[None]:
        """RAISES ValueError [HS064]: whatever msgpack, zlib, JSON or NumPy make of damaged data."""
        try:
            yield
        except Exception as error:
            problem = str(error) or error
            message = Errors.HS064.format(name=self.name, where=source, problem=problem)
            raise ValueError(message) from error

    def _prepare_layers(self) -> None:
        for node in self.model.walk():
            scorer_of(node).prepare()

    def _read_cfg(self, saved: dict[str, Any]) -> None:
        """RAISES ValueError: a label cannot be written."""
        self.forget_calibration()
        self.tables.forget()
        if CANDIDATES in self.cfg:
            self.cfg[CANDIDATES] = {}
        for name in OF_TRAINING:
            if name in self.cfg and name in saved:
                self.cfg[name] = saved[name]
        for name in OF_CALIBRATION:
            if name in saved:
                self.cfg[name] = saved[name]
        self.labels_changed()
        self.check_labels()  # the config may name another attribute than that of the training

    def _read_tables(self, tables: Lookups) -> None:
        self.tables.held = selected(tables, self.tables.names)

    def _find_tables(self, folder: Path) -> None:
        """folder: of the tables that the component carries. If there are none, they are those of
        the vocabulary saved beside it, which need not be the vocabulary of this pipeline."""
        if self.tables.names:
            if not folder.exists():
                folder = folder.parent.parent / "vocab"
            self._read_tables(Lookups().from_disk(folder))

    def _model_to_bytes(self) -> bytes:
        if not self._carries_tables:
            self.tables.share(self.vocab)
        tables = self.tables.held if self._carries_tables else self.vocab.lookups
        model = self.model.to_bytes()
        return srsly.msgpack_dumps({"model": model, "digest": self._digest(model, tables)})

    def _read_model(self, data: bytes) -> None:
        """RAISES ValueError: another digest."""
        saved = srsly.msgpack_loads(data)
        digest = saved.get("digest", b"")
        model = saved.get("model")
        signed = model
        if model is None:
            # version 1.0: the digest is the last entry of thinc's own map, and of all before it
            model = data
            signed = data[: -len(digest)]
        if not self.tables.held.tables:  # bytes of a pipeline: its vocabulary was read before
            self._read_tables(self.vocab.lookups)
        if digest != self._digest(signed, self.tables.held):
            names = ", ".join(sorted(self.tables.names)) or "none"
            raise ValueError(
                f"labels, tag dictionary, weights or tables of the vocabulary ({names}) are missing, "
                "damaged or not of one training"
            )
        self.model.from_bytes(model)
        self.tables.join(self.tables.held, self.vocab.lookups)

    def _digest(self, model: bytes, tables: Lookups) -> bytes:
        """SHA-256 of what gives the weights their meaning, and of the weights. tables: those that
        are saved with them."""
        meaning = json.dumps(
            {**self._meaning(), "tables": self.tables.digests(tables)}, sort_keys=True
        )
        return hashlib.sha256(meaning.encode("ascii") + model).digest()

    def _meaning(self) -> dict[str, Any]:
        """Meaning of the columns of the weights, and of the numbers saved with them, as JSON."""
        meaning = {name: self.cfg[name] for name in OF_TRAINING if name in self.cfg}
        if not meaning.get(CANDIDATES):
            meaning.pop(CANDIDATES, None)
        # as it will be read
        conformal = srsly.json_loads(srsly.json_dumps(self.cfg.get(CONFORMAL)))
        return {
            **meaning,
            "columns": self.n_columns,
            CONFORMAL: conformal,
        }


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
