"""Saving a component and reading it: what belongs together is read, anything else is refused before
it is used."""

import warnings
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple, TypeVar, Union

import srsly
from spacy.pipeline import TrainablePipe
from spacy.vocab import Vocab
from thinc.api import Model

from ..errors import Errors, Warnings
from ..layers.scorer import scorer_of
from .digest import belongs, digest_in, has_digest, is_older, with_digest, write_digest_of_tokenizer
from .targets.target import Target

MODEL = "model"
CFG = "cfg"
DIGEST = "digest"  # of `cfg`: that of the model it was saved with
OF_TRAINING = ("labels", "tag_dictionary")  # of `cfg`; the rest of it is what the config says
SEEN = "n_seen"  # of `cfg`: how many of the labels training has
SETS = "conformal"  # of `cfg`, once it is calibrated: what prediction sets need
TEMPERATURE = "temperature"  # of `cfg`: that of a training which calibrates
OF_CALIBRATION = (SETS, TEMPERATURE)

Self = TypeVar("Self", bound="SavedComponent")


class SavedComponent(TrainablePipe):
    """A component with its labels, tag dictionary and settings in `cfg`."""

    name: str
    vocab: Vocab
    model: Model[Any, Any]
    target: Target
    cfg: Dict[str, Any]

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
        """As all components of spaCy, with a digest in the model and in `cfg`."""
        exclude = list(exclude)
        message = srsly.msgpack_loads(super().to_bytes(exclude=[*exclude, CFG, MODEL]))
        cfg = self.cfg
        if MODEL not in exclude:
            message[MODEL] = self._model_with_digest()
            cfg = {**cfg, DIGEST: digest_in(message[MODEL])}
        if CFG not in exclude:
            message[CFG] = srsly.json_dumps(cfg)
        return bytes(srsly.msgpack_dumps(message))

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """As all components of spaCy, with a digest in the model and in `cfg`."""
        exclude = list(exclude)
        super().to_disk(path, exclude=[*exclude, CFG, MODEL])
        write_digest_of_tokenizer(Path(path).parent)
        cfg = self.cfg
        if MODEL not in exclude:
            model = self._model_with_digest()
            (Path(path) / MODEL).write_bytes(model)
            cfg = {**cfg, DIGEST: digest_in(model)}
        if CFG not in exclude:
            srsly.write_json(Path(path) / CFG, cfg, indent=0)  # (lists of thousands of numbers)

    def from_bytes(self: Self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """RAISES ValueError [HS064]: the data cannot be read, or do not belong together. WARNS
        [HW007]."""
        exclude = list(exclude)

        def read() -> Optional[bytes]:
            message = srsly.msgpack_loads(bytes_data)
            if not set(message) <= {CFG, "vocab", MODEL}:
                raise KeyError(sorted(message))
            super(SavedComponent, self).from_bytes(bytes_data, exclude=[*exclude, MODEL])
            self._find_tables(None)
            return None if MODEL in exclude else message.get(MODEL)

        self._load("bytes", read, exclude)
        return self

    def from_disk(self: Self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> Self:
        """RAISES ValueError [HS064]: a file cannot be read, or they do not belong together. WARNS
        [HW007]."""
        exclude = list(exclude)

        def read() -> Optional[bytes]:
            super(SavedComponent, self).from_disk(path, exclude=[*exclude, MODEL])
            self._find_tables(Path(path))
            return None if MODEL in exclude else (Path(path) / MODEL).read_bytes()

        self._load(str(path), read, exclude)
        return self

    def _load(
        self, where: str, read: Callable[[], Optional[bytes]], exclude: Sequence[str]
    ) -> None:
        """read: reads all but the model, and gives its bytes, None if it is not asked for. exclude:
        what is not read; without `cfg` the model has to be one of what the component has
        already."""
        if CFG not in exclude:
            self.forget_calibration()
        before = dict(self.cfg)
        older = False
        try:
            data = read()
            # settings are those of the config, which may override what was saved
            saved = self.cfg
            self.cfg = {
                key: saved.get(key) if key in (*OF_TRAINING, SEEN) else value for key, value in before.items()
            }
            self.cfg.update({name: saved[name] for name in OF_CALIBRATION if name in saved})
            self._labels_changed()
            if data is not None:
                older = not has_digest(data) and is_older(data)
                digest = digest_in(data) if CFG in exclude and not older else saved.get(DIGEST)
            problem = "" if data is None else self._foreign(data, digest, older)
            problem = problem or self._problem(data)
        except Exception as error:
            raise ValueError(
                Errors.HS064.format(name=self.name, where=where, problem=repr(error))
            ) from error
        if problem:
            raise ValueError(Errors.HS064.format(name=self.name, where=where, problem=problem))
        if older:
            warnings.warn(Warnings.HW007.format(name=self.name, where=where), stacklevel=3)
        for label in self.labels:
            self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        for node in self.model.walk() if data is not None else ():
            scorer_of(node).prepare()

    def _model_with_digest(self) -> bytes:
        return with_digest(self.model.to_bytes(), self._meaning())

    def _foreign(self, data: bytes, digest: Optional[str], older: bool) -> str:
        """Why a model is not of the training of `cfg` and of the tables of the vocabulary; "" if it
        is. digest: that `cfg` names; earlier versions wrote none, and no digest of tables. older:
        so old that the model has none."""
        if digest is None:
            if older or belongs(data, self._meaning_of_columns()):
                return ""
        elif has_digest(data) and digest == digest_in(data) and belongs(data, self._meaning()):
            return ""
        problem = "labels and weights are damaged, not of one training, or made for another representation"
        tables = ", ".join(self._table_digests())
        if not tables:
            return problem
        return (
            f"{problem}, or tables of the vocabulary ({tables}) are others or missing (a component that was taken "
            "from another pipeline brings them when it is first used: use it, then save the pipeline)"
        )

    def _meaning(self) -> Dict[str, object]:
        """What gives the columns of the weights, and the numbers kept with them, their meaning,
        beside the config."""
        sets = srsly.json_loads(srsly.json_dumps(self.cfg.get(SETS)))  # as they are read
        return {**self._meaning_of_columns(), SETS: sets, "tables": self._table_digests()}

    def _meaning_of_columns(self) -> Dict[str, object]:
        """All that earlier versions made the digest of."""
        return {
            **{name: self.cfg[name] for name in OF_TRAINING if name in self.cfg},
            "columns": len(self.tags),
        }

    def _find_tables(self, path: Optional[Path]) -> None:
        """Settle which tables features read. path: of the component, None = it comes from bytes."""

    def _table_digests(self) -> Dict[str, Optional[str]]:
        """Of the tables of the vocabulary that features read, by name; None = there is none."""
        return {}

    def _problem(self, data: Optional[bytes]) -> str:
        """What is wrong with labels, dictionary and weights; "" if nothing, then the weights are
        read. data: of the model; None = it stays as it is."""
        labels = self.cfg["labels"]
        entries = self.cfg.get("tag_dictionary", {})
        if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
            return f"labels must be a list of strings, got {labels!r}"
        if len(set(labels)) < len(labels):
            return f"a label is given twice in {labels}"
        for label in labels:
            self._check_label(label)  # the config may say another attribute than that of training
        pairs = entries.items() if isinstance(entries, dict) else [(None, None)]
        if not all(
            isinstance(w, str) and isinstance(tags, list) and set(tags) & set(labels)
            for w, tags in pairs
        ):
            return "the tag dictionary must give a list of known labels for each word"
        if data is not None:
            self.model.from_bytes(data)
        width = self.model.get_dim("nO") if self.model.has_dim("nO") else None
        if width is not None and not (isinstance(width, int) and width == len(self.tags)):
            return f"{width} columns of weights, but {len(labels)} labels"
        return ""
