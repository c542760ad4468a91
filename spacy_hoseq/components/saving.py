"""Saving a component as all of spaCy's: labels and settings in `cfg`, weights in `model`.

A saved model is a msgpack map. Its last entry, "digest", is the SHA-256 of all bytes before it and
of what gives its columns their meaning: labels, tag dictionary, tables of the vocabulary that
features read. A bit that differs in any of them, or a `cfg` of one training beside the `model` of
another, is found before anything is made of the weights.
"""

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from typing import (
    Any,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Set,
    Tuple,
    TypeVar,
    Union,
)

import srsly
from spacy import util
from spacy.lookups import Lookups, Table
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors
from ..layers.scorer import scorer_of
from .targets.target import Target

OF_TRAINING = ("labels", "tag_dictionary")  # of `cfg`; the rest of it is what the config says
SETS = "conformal"  # of `cfg`, once it is calibrated: what prediction sets need
TEMPERATURE = "temperature"  # of `cfg`: that of a training which calibrates
OF_CALIBRATION = (SETS, TEMPERATURE)
SIZE = 32  # bytes of SHA-256
KEY = b"\xa6digest\xc4" + bytes([SIZE])  # msgpack: a string of 6 bytes; a binary of SIZE bytes

Self = TypeVar("Self", bound="SavedComponent")


class SavedComponent(TrainablePipe):
    """A component with its labels, tag dictionary and settings in `cfg`."""

    name: str
    vocab: Vocab
    model: Model[Any, Any]
    target: Target
    cfg: Dict[str, Any]
    # that the component was trained with, if its vocabulary was read without them
    _tables: Optional[Lookups]

    @property
    def labels(self) -> Tuple[str, ...]:
        """By id."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Tuple[str, ...]:
        """What `spacy init labels` writes and `initialize` takes."""
        return self.labels

    @property
    def tags(self) -> List[str]:
        """What a token can be labelled with, by id: the labels, unless several tags stand for
        each."""
        return list(self.labels)

    def _check_label(self, label: str) -> None:
        """RAISES ValueError: it cannot be written where the config says."""
        self.target.check_label(label)

    def _labels_changed(self) -> None:
        """Forget what was made of them."""
        raise NotImplementedError

    def forget_calibration(self) -> None:
        """Drop what holds for the weights that it was found with."""
        for name in OF_CALIBRATION:
            self.cfg.pop(name, None)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """As all components of spaCy."""
        parts = {
            "cfg": lambda: srsly.json_dumps(self.cfg),
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
            "model": self._model_bytes,
        }
        return util.to_bytes(parts, exclude)

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """As all components of spaCy."""
        writers = {
            "cfg": lambda file: srsly.write_json(file, self.cfg, indent=0),  # lists of many numbers
            "vocab": lambda file: self.vocab.to_disk(file, exclude=exclude),
            "model": lambda file: file.write_bytes(self._model_bytes()),
        }
        util.to_disk(path, writers, exclude)

    def from_bytes(self: Self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """RAISES ValueError [HS064]: the data cannot be read, or do not belong together."""
        readers = {
            "cfg": lambda data: self._read_cfg(srsly.json_loads(data)),
            "vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude),
            "model": lambda data: self._read_model(data, None),
        }
        with self._reading("bytes"):
            unknown = {*srsly.msgpack_loads(bytes_data)} - {*readers}
            if unknown:
                raise KeyError(*unknown)
            util.from_bytes(bytes_data, readers, exclude)
        return self

    def from_disk(self: Self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> Self:
        """RAISES ValueError [HS064]: a file cannot be read, or they do not belong together."""
        readers: Dict[str, Callable[[Path], Any]] = {
            "cfg": lambda file: self._read_cfg(srsly.read_json(file)),
            "vocab": lambda file: self.vocab.from_disk(file, exclude=exclude),
            "model": lambda file: self._read_model(file.read_bytes(), file.parent),
        }
        with self._reading(str(path)):
            util.from_disk(path, readers, exclude)
        return self

    @contextmanager
    def _reading(self, where: str) -> Iterator[None]:
        try:
            yield
            width = self.model.get_dim("nO") if self.model.has_dim("nO") else len(self.tags)
            if width != len(self.tags):
                raise ValueError(f"{width} columns of weights, but {len(self.labels)} labels")
        except Exception as error:
            problem = Errors.HS064.format(name=self.name, where=where, problem=str(error) or error)
            raise ValueError(problem) from error
        for label in self.labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        for node in self.model.walk():
            scorer_of(node).prepare()

    def _read_cfg(self, saved: Dict[str, Any]) -> None:
        """Settings stay those of the config, which may override what was saved. RAISES ValueError:
        labels that are none."""
        self.forget_calibration()
        self.cfg.update({name: saved[name] for name in OF_TRAINING if name in self.cfg})
        self.cfg.update({name: saved[name] for name in OF_CALIBRATION if name in saved})
        self._labels_changed()
        for label in self.cfg["labels"]:
            self._check_label(label)  # the config may say another attribute than that of training

    def _read_model(self, data: bytes, folder: Optional[Path]) -> None:
        """folder: of the component. A pipeline that takes it over by its config (`source`) reads no
        tables of the vocabulary that was saved beside it: they are kept here."""
        tables = tables_of(self.model)
        self._tables = None if folder is None else tables_beside(folder, self.vocab, tables)
        if with_digest(data[: -SIZE - len(KEY)], self._meaning(), n_added=0) != data:
            problem = "labels, tag dictionary and weights are damaged or not of one training"
            if tables:
                problem += (
                    f", or tables of the vocabulary ({', '.join(sorted(tables))}) are missing or others (a component "
                    "from another pipeline brings them when it is first used: use it, then save the pipeline)"
                )
            raise ValueError(problem)
        self.model.from_bytes(data)

    def _model_bytes(self) -> bytes:
        return with_digest(self.model.to_bytes(), self._meaning())

    def _meaning(self) -> Dict[str, object]:
        """What gives the columns of the weights, and the numbers kept with them, their meaning,
        beside the config."""
        lookups = self._tables or self.vocab.lookups
        tables = {name: lookups.get_table(name, None) for name in sorted(tables_of(self.model))}
        return {
            **{name: self.cfg[name] for name in OF_TRAINING if name in self.cfg},
            "columns": len(self.tags),
            SETS: srsly.json_loads(srsly.json_dumps(self.cfg.get(SETS))),  # as they are read
            "tables": {name: digest_of_table(table) for name, table in tables.items()},
        }


def with_digest(model: bytes, meaning: Dict[str, Any], n_added: int = 1) -> bytes:
    """The bytes of a model and their digest. model: a msgpack map of fewer than 15 entries, as
    thinc makes it; its first byte says how many. meaning: of its columns, as JSON has it. n_added:
    to the number of entries; 0 = the digest was cut off."""
    body = bytes([model[0] + n_added]) + model[1:] + KEY
    digest = hashlib.sha256(json.dumps(meaning, sort_keys=True).encode("ascii"))
    digest.update(body)
    return body + digest.digest()


def digest_of_table(table: Optional[Table]) -> Optional[str]:
    """SHA-256 of what a table of the vocabulary holds, in any order of its keys; None: there is no
    such table."""
    if table is None:
        return None
    entries = [[key, value] for key, value in sorted(table.items())]
    return hashlib.sha256(srsly.msgpack_dumps(entries)).hexdigest()


def tables_of(model: Model[Any, Any]) -> Set[str]:
    """The tables of the vocabulary that features of a model depend on."""
    return {table for node in model.walk() for table in scorer_of(node).tables}


def tables_beside(component: Path, vocab: Vocab, tables: Set[str]) -> Optional[Lookups]:
    """Those of the vocabulary that was saved beside a component; None: this vocabulary has them."""
    saved = Lookups().from_disk(component.parent / "vocab") if tables else Lookups()
    known = vocab.lookups
    if all(
        dict.__eq__(known.get_table(name, {}), saved.get_table(name))
        for name in tables & {*saved.tables}
    ):
        return None
    return saved
