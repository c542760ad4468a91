"""Base of all components: labels, examples, updates, saving, over spaCy's TrainablePipe.

A component says where its labels stand on a Doc (`Target`), what constrains them, and how it reads
and learns; the rest is here.

Labels, tag dictionary and settings are saved in `cfg`, weights in `model`. Settings stay those of
the config, which may override what was saved. The model is a msgpack map, whose last entry,
"digest", is the SHA-256 of all bytes before it and of what gives its columns their meaning: labels,
tag dictionary, tables of the vocabulary that features read. A bit that differs in any of them, or a
`cfg` of one training beside the `model` of another, is found before anything is made of the weights.
"""

import hashlib
import json
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import (
    Any,
    ClassVar,
)

import numpy as np
import srsly
from spacy import util
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.lookups import Lookups, Table
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..arrays import Ints, Labels, Mask
from ..caches import cached_property
from ..errors import Errors, Warnings
from ..features.attributes import lend_tables
from ..features.known_tags import TABLE
from ..features.sequences import WordDocs, vocab_of, words_of
from ..layers.scorer import scorer_of
from .extensions import write_confidences
from .reading import Reading, TagDictionary, intersection
from .targets.target import LabelTable, Target, places_in, word_examples
from .training import cite_tables, known_tags_in, listeners_in, upstream_of

MOST = 1e6  # score that no weights reach which learn something
FEW = 5  # names in a message
UNSEEN = 0.2  # share of the updates of a training that no evaluation need follow
OF_TRAINING = ("labels", "tag_dictionary")  # of `cfg`; the rest of it is what the config says
SETS = "conformal"  # of `cfg`, once it is calibrated: what prediction sets need
OF_CALIBRATION = (SETS, "temperature")  # the second: that of a training which calibrates
SIZE = 32  # bytes of SHA-256
KEY = b"\xa6digest\xc4" + bytes([SIZE])  # msgpack: a string of 6 bytes; a binary of SIZE bytes


def register_factory(
    component: Any,
    name: str,
    registered: dict[str, Any],
    scores: dict[str, float | None],
    *,
    assigns: Sequence[str],
    requires: Sequence[str] = (),
) -> Callable[..., Any]:
    """The factory of a component, whose settings are the keyword arguments of its `__init__` but
    `target`: their names, types and defaults.

    registered: other defaults, such as what registered functions make. scores: weights of scores.
    RETURNS the function that the entry point names.
    """
    given = signature(component.__init__).parameters.values()
    settings = [each for each in given if each.kind is each.KEYWORD_ONLY and each.name != "target"]

    def make(nlp: Language, name: str, model: Model, **given: Any) -> Any:
        made = component(nlp.vocab, model, name, **given)
        made.join(nlp)
        return made

    parameters = [each.replace(default=each.empty) for each in settings]
    own = [*signature(make).parameters.values()][:3]
    make.__signature__ = Signature([*own, *parameters])  # type: ignore[attr-defined]
    make.__doc__ = component.__doc__
    make.__module__ = component.__module__
    make.__qualname__ = make.__name__ = f"make_{name}"
    Language.factory(
        name,
        assigns=list(assigns),
        requires=list(requires),
        default_config={**{each.name: each.default for each in settings}, **registered},
        default_score_weights=scores,
        func=make,
    )
    return make


def joining(create: Callable[..., tuple[Any, str]]) -> Callable[..., tuple[Any, str]]:
    """`Language.create_pipe_from_source`, which also tells components of this package that they are
    taken over: spaCy itself tells only those that are made."""

    @wraps(create)
    def create_and_join(nlp: Language, *args: Any, **settings: Any) -> tuple[Any, str]:
        component, factory = create(nlp, *args, **settings)
        if isinstance(component, SequenceComponent):
            component.join(nlp)
        return component, factory

    return create_and_join


Language.create_pipe_from_source = joining(  # type: ignore[method-assign]
    Language.create_pipe_from_source
)


class SequenceComponent(TrainablePipe):
    """A component that labels sequences of tokens.

    target: where its labels stand. cfg: its settings, which are saved with it.
    """

    # cached until they change
    made_of_labels: ClassVar[Sequence[str]] = ("_label_table", "_dictionary")

    def __init__(
        self,
        vocab: Vocab,
        model: Model[list[Doc], Any],
        name: str,
        *,
        scorer: Callable | None,
        target: Target,
        cfg: dict[str, Any],
    ) -> None:
        super().__init__(vocab, model, name, labels=[], **cfg)
        self.scorer = scorer
        self.target = target
        # of the training, until they are looked at
        self._score_weights: dict[str, float | None] = {}
        self._known_tags: Table | None = None  # that this component has made
        # where features read, if the vocabulary has other tables of the same names
        self._tables: Lookups | None = None
        self._keeps_confidences = False
        self._n_updates = 0  # in this process, and how many of them had been at the last `score`
        self._n_evaluated = 0

    def __reduce_ex__(self, protocol: object) -> Any:
        """Copies, and other processes, make anew what is made of labels."""
        self._labels_changed()
        return super().__reduce_ex__(protocol)

    @property
    def labels(self) -> tuple[str, ...]:
        """By id."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> Any:
        """Labels as `spacy init labels` writes and `initialize` takes them."""
        return self.labels

    @property
    def tags(self) -> list[str]:
        """Labels of tokens, by id: the labels, unless several tags stand for each."""
        return list(self.labels)

    def add_label(self, label: str) -> int:
        """Add a label before initialization. RETURNS (int): 1 if it is new, else 0.

        RAISES ValueError [E187]: no string; [HS027]: it cannot be written; [E922]: there are
        weights.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        self.target.check_label(label)
        if label in self.labels:
            return 0
        if self.model.has_dim("nO"):
            raise ValueError(SpacyErrors.E922.format(name=self.name, nO=self.model.get_dim("nO")))
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label, allow_transient=False)
        self._labels_changed()
        return 1

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
        tag_dictionary: dict[str, list[str]] | None = None,
        weights_from: str | None = None,
    ) -> None:
        """Find labels, features and label patterns in the training data, and set all weights to
        zero.

        get_examples (Callable): returns the training examples.
        nlp (Language): the current pipeline.
        labels (Sequence[str]): from `spacy init labels`; None = those in the examples.
        tag_dictionary (Dict[str, List[str]]): words that can have some labels only. Stored with the
            component.
        weights_from (str): a trained pipeline, whose component of this name gives labels, features
            and weights instead.
        RAISES ValueError [HS069]: there are no labels; [HS102]: a component to which it listens is
        missing, comes later, or has no marginals.
        """
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        examples, _ = word_examples(get_examples())
        self._read_tables(None)
        if weights_from is not None:
            self._weights_from(weights_from, is_alone=labels is None and not tag_dictionary)
            return
        self._score_weights = {} if nlp is None else dict(nlp.config["training"]["score_weights"])
        self._find_labels(examples, labels, tag_dictionary or {})
        if not examples:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        tables = tables_of(self.model)
        if TABLE in tables:
            self._count_known_tags(examples)
        self.lend_tables(examples[0].predicted.vocab)
        if nlp is not None:
            cite_tables(nlp, tables)
        self._define(examples, nlp)

    def join(self, nlp: Language) -> None:
        """Called when the component is added to a pipeline, or taken over from another one: share
        strings and tables with its vocabulary. RAISES ValueError [HS102]: a component to which it
        listens is not there."""
        for listener in listeners_in(self):
            if not listener.is_unlinked:
                upstream_of(self, listener, nlp)
        self.lend_tables(nlp.vocab)

    def read(
        self, docs: Iterable[Doc], *, preset: bool = True, labels_alone: bool = False
    ) -> Reading:
        """The labels of docs, and how sure they are; docs are not touched, and may be empty.

        preset (bool): what is set on the docs already constrains the labels, unless the component
        overwrites it. labels_alone (bool): nothing but labels will be wanted. RAISES ValueError [E143]:
        there are no labels.
        """
        return self._read(self._words(docs), preset=preset, labels_alone=labels_alone)

    def predict(self, docs: Iterable[Doc]) -> Reading:
        """Predictions for `set_annotations`: labels alone, where nothing else is asked for."""
        return self.read(docs, labels_alone=self._writes_labels_alone)

    def set_annotations(self, docs: Doc | Sequence[Doc], reading: Reading) -> None:
        """Write labels, and what else the config asks for. What is set already stays, unless
        `overwrite`."""
        docs = [docs] if isinstance(docs, Doc) else docs
        self._write(docs, reading)
        self._keep(docs, reading)
        if self._keeps_confidences:
            confidences = reading.confidences().astype(np.float32)
            for doc, values in zip(docs, reading.by_token(confidences, np.nan), strict=True):
                write_confidences(doc, values)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from a batch. drop (float): share of features left out at random. sgd: for neural
        emissions only; None = wait for `finish_update`."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples, docs = word_examples(examples, f"{type(self).__name__}.update")
        if any(map(len, docs)):
            self._require_labels()
            losses[self.name] += self._learn(examples, docs, drop)
            self._n_updates += 1
            if sgd not in (None, False):
                self.finish_update(sgd)
        return losses

    def gold(self, examples: Iterable[Example]) -> Mask:
        """Labels that the annotation permits at the words of the predicted docs (N, L): everything where
        nothing is known.
        WARNS [HW001]: labels that the component does not have."""
        return self._label_table.masks[self._gold_rows(word_examples(examples)[0])]

    def gold_ids(self, examples: Iterable[Example]) -> Labels:
        """Gold label ids of the words of the predicted docs, end to end (N,), -1 where not known.
        WARNS as `gold`."""
        rows = self._gold_rows(word_examples(examples)[0])
        return np.where(rows < len(self._label_table.labels), rows, -1).astype(np.int32)

    def permitted(self, docs: WordDocs, *, preset: bool) -> Mask | None:
        """Labels that the tag dictionary permits at the words of docs (N, L), None = all. preset:
        what is set on them already goes before it, unless the component overwrites that."""
        before = preset and not self.cfg["overwrite"]
        fixed = self.target.preset(docs, self._label_table) if before else None
        dictionary = self._dictionary
        return intersection(fixed, None if dictionary is None else dictionary.allowed(docs))

    @property
    def knows(self) -> str:
        """Kind of its probabilities: "sums" = p(y | x) of all labellings, "decisions" = how
        probable each label was when it was decided, "labels" = nothing else."""
        return "labels"

    @property
    def continues(self) -> Mask | None:
        """Pairs of labels of one span (L, L): a tag that cannot be first goes on with the span of the
        one before. None: labels are those of tokens."""
        return None

    @property
    def is_calibrated(self) -> bool:
        """True if labels with probability 0.9 are right nine times in ten, as far as training can
        ensure it."""
        return True

    @property
    def has_own_tables(self) -> bool:
        """True if its features read other tables than those of the vocabulary."""
        return self._tables is not None

    def keep_probabilities(self) -> bool:
        """From now on, keep on each Doc how probable the labels are. RETURNS (bool): False = it
        cannot."""
        return False

    def keep_confidences(self) -> None:
        """From now on, also keep on each Doc how probable the label of each token is
        (`extensions.CONFIDENCES`), for readers of Docs whose tokens are merged or split later."""
        self.keep_probabilities()
        self._keeps_confidences = True

    def fit_threshold(self, examples: Sequence[Example]) -> float | None:
        """Set the probability from which on spans are taken, so that it fits some examples. RETURNS
        (float): the setting `span_threshold`; None = there is none."""
        return None

    def lend_tables(self, vocab: Vocab) -> None:
        """Share the strings of labels, and the tables on which features depend, with the vocabulary
        of another pipeline. If it has other tables, the component reads its own from then on."""
        if vocab is self.vocab:
            return
        for label in self.labels:
            vocab.strings.add(label)
        if self._tables is None:
            self._share(self.vocab.lookups, vocab.lookups)

    def _share(self, tables: Lookups, others: Lookups) -> None:
        """tables: of the component. others: of a vocabulary that shall have them, too."""
        names = tables_of(self.model) & {*tables.tables}
        own = None
        if not lend_tables(tables, others, names):
            own = Lookups()
            for name in names:
                own.set_table(name, tables.get_table(name))
        self._read_tables(own)

    def _read_tables(self, own: Lookups | None) -> None:
        """own: tables that are not those of the vocabulary; None = they are."""
        self._tables = own
        for node in self.model.walk():
            extractor = scorer_of(node).extractor
            if extractor is not None:
                extractor.own_tables = own

    def score(self, examples: Iterable[Example], **settings: object) -> dict[str, Any]:
        """Scores by the component's scorer. WARNS [HW004]: the first time after `initialize`, if
        none of it counts in training: it has no weight, or there are no gold labels."""
        scores: dict[str, object] = super().score(examples, **settings)
        weights = {name: w for name, w in self._score_weights.items() if w is not None}
        self._score_weights = {}
        self._n_evaluated = self._n_updates
        counts = any(weights.get(name) for name, value in scores.items() if value is not None)
        if weights and scores and not counts:
            told = {
                "scores": ", ".join(name for name in scores if not name.endswith("_per_type")),
                "weights": ", ".join(f"{name} = {weight}" for name, weight in weights.items()),
            }
            warnings.warn(Warnings.HW004.format(name=self.name, **told), stacklevel=2)
        return scores

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The component as bytes, without the parts in `exclude`."""
        parts = {
            "cfg": lambda: srsly.json_dumps(self.cfg),
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
            "model": lambda: signed(self.model.to_bytes(), self._meaning()),
        }
        if self._tables is not None:
            parts["tables"] = self._tables.to_bytes
        return util.to_bytes(parts, exclude)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component in a folder. WARNS [HW008]: a training that evaluates has ended, and its
        evaluations know nothing of many of the updates."""
        model = signed(self.model.to_bytes(), self._meaning())
        parts: dict[str, Callable[[Path], Any]] = {
            "cfg": lambda file: srsly.write_json(file, self.cfg, indent=0),  # lists of many numbers
            "vocab": lambda file: self.vocab.to_disk(file, exclude=exclude),
            "model": lambda file: file.write_bytes(model),
        }
        if self._tables is not None:
            parts["tables"] = self._tables.to_disk
        util.to_disk(path, parts, exclude)
        n_unseen = self._n_updates - self._n_evaluated
        if self._n_evaluated and n_unseen > UNSEEN * self._n_updates:
            numbers = {"n_unseen": n_unseen, "n_updates": self._n_updates}
            warnings.warn(Warnings.HW008.format(name=self.name, **numbers), stacklevel=2)

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "SequenceComponent":
        """RAISES ValueError [HS064]: the data cannot be read, or do not belong together."""
        parts: dict[str, Callable[[bytes], Any]] = {
            "cfg": lambda data: self._read_cfg(srsly.json_loads(data)),
            "vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude),
            "tables": lambda data: self._share(Lookups().from_bytes(data), self.vocab.lookups),
            "model": self._read_model,
        }
        with self._reading("bytes"):
            util.from_bytes(bytes_data, parts, exclude)
        return self

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "SequenceComponent":
        """RAISES ValueError [HS064]: a file cannot be read, or they do not belong together."""
        parts: dict[str, Callable[[Path], Any]] = {
            "cfg": lambda file: self._read_cfg(srsly.read_json(file)),
            "vocab": lambda file: self.vocab.from_disk(file, exclude=exclude),
            "tables": self._find_tables,
            "model": lambda file: self._read_model(file.read_bytes()),
        }
        with self._reading(str(path)):
            util.from_disk(path, parts, exclude)
        return self

    @contextmanager
    def memory_zone(self, mem: Any = None) -> Iterator[Any]:
        """At the end of a zone, every layer forgets what it remembered of words. Labels that are new
        in the zone may be among its strings: then the next use adds them anew."""
        before = self._label_table  # its labels are strings from here on, whatever the zone reads
        try:
            yield mem
        finally:
            self.target.forget_words()
            for node in self.model.walk():
                scorer_of(node).forget_words()
            if self._label_table is not before:
                self._labels_changed()

    def forget_calibration(self) -> None:
        """Drop what holds for the weights that it was found with."""
        for name in OF_CALIBRATION:
            self.cfg.pop(name, None)

    @abstractmethod
    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Reading:
        """Predictions for the words of docs, which may all be empty."""

    @abstractmethod
    def _learn(self, examples: list[Example], docs: WordDocs, drop: float) -> float:
        """Keep the gradient of a batch for `finish_update`. docs: the predicted ones. RETURNS the
        loss."""

    @abstractmethod
    def _define(self, examples: list[Example], nlp: Language | None) -> None:
        """Number the features of the training data, and set all weights to zero."""

    def _write(self, docs: Sequence[Doc], reading: Reading) -> None:
        """Write the labels."""
        self.target.write(docs, reading, self._label_table, overwrite=self.cfg["overwrite"])

    def _keep(self, docs: Sequence[Doc], reading: Reading) -> None:
        """Write what else the config asks for."""

    @property
    def _writes_labels_alone(self) -> bool:
        """True if `set_annotations` needs no probabilities."""
        return True

    def _gold_rows(self, examples: Sequence[Example]) -> Ints:
        """Rows of the label table's masks (N,). examples: without white space."""
        return self.target.gold_rows(examples, self._label_table)

    def _words(self, docs: Iterable[Doc]) -> WordDocs:
        """The words of docs that will be read. RAISES ValueError [E143]: as `read`; [HS008]: they
        have several vocabularies."""
        words = words_of(docs if isinstance(docs, WordDocs) else list(docs), self._read_at_once)
        if any(map(len, words)):
            self.lend_tables(vocab_of(words))
            self._require_labels()
        return words

    def _checked(self, loss: float, largest: float = 0.0, learn_rate: object = "unknown") -> float:
        """The loss. RAISES ValueError [E910]: it is not finite; [HS042]: the weights have run away.
        largest: of the scores in an update."""
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        if MOST < largest < np.inf:  # what is not finite has its own messages
            numbers = {"largest": largest, "limit": MOST, "rate": learn_rate}
            raise ValueError(Errors.HS042.format(name=self.name, **numbers))
        return loss

    @cached_property
    def _read_at_once(self) -> list[Any]:
        """spaCy's attributes of tokens that are read with the words."""
        return [*self.target.columns, *scorer_of(self.model).annotation]

    @cached_property
    def _label_table(self) -> LabelTable:
        return LabelTable(self.tags, self.vocab.strings, self.target.neg_prefix, self.target.space)

    @cached_property
    def _dictionary(self) -> TagDictionary | None:
        entries = self.cfg.get("tag_dictionary")
        return TagDictionary(entries, self.labels) if entries else None

    def _labels_changed(self) -> None:
        for name in self.made_of_labels:
            self.__dict__.pop(name, None)

    def _find_labels(
        self,
        examples: list[Example],
        labels: Sequence[str] | None,
        tag_dictionary: dict[str, list[str]],
    ) -> None:
        """WARNS [HW010]: labels that are only said not to be there."""
        prefix = self.target.neg_prefix
        names = self.target.names_in(examples) if prefix else []
        negative = [name for name in names if name.startswith(prefix)]
        if negative:
            found = ", ".join(negative[:FEW])
            message = Warnings.HW010.format(name=self.name, labels=found, prefix=prefix)
            warnings.warn(message, stacklevel=4)
        for label in self.target.labels_in(examples) if labels is None else labels:
            self.add_label(label)
        if not self.labels:
            there = ", ".join(places_in(examples)) or "nothing"
            looked = ", ".join(self.target.places)
            raise ValueError(Errors.HS069.format(name=self.name, looked=looked, there=there))
        if "tag_dictionary" in self.cfg:
            self.cfg["tag_dictionary"] = dict(tag_dictionary)
            self._labels_changed()
            TagDictionary(tag_dictionary, self.labels)  # impossible ones are refused now

    def _count_known_tags(self, examples: list[Example]) -> None:
        """A table that was given, or that an earlier component has made, stays."""
        lookups = self.vocab.lookups
        if lookups.get_table(TABLE, self._known_tags) is self._known_tags:
            docs = [eg.predicted for eg in examples]
            tags_of = known_tags_in(docs, self.gold_ids(examples), self.tags)
            self._known_tags = Table(TABLE, tags_of)
            lookups.set_table(TABLE, self._known_tags)

    def _weights_from(self, path: str, *, is_alone: bool) -> None:
        """Labels and weights of the component of the same name in a trained pipeline; settings stay
        those of the config. is_alone (bool): no other labels are given. RAISES ValueError [HS159]:
        there is no such component; [HS064]: it does not fit. WARNS [HW006]: others are given."""
        if not is_alone:
            warnings.warn(Warnings.HW006.format(name=self.name, path=path), stacklevel=3)
        folder = Path(path) / self.name
        if not folder.is_dir():
            wanted = {
                "what": f'component "{self.name}"',
                "expected": "a pipeline saved by `nlp.to_disk` that has it",
            }
            raise ValueError(Errors.HS159.format(source=path, **wanted))
        self.from_disk(folder, exclude=["vocab"])

    @contextmanager
    def _reading(self, where: str) -> Iterator[None]:
        """RAISES ValueError [HS064]: whatever goes wrong."""
        try:
            yield
        except Exception as error:
            problem = Errors.HS064.format(name=self.name, where=where, problem=str(error) or error)
            raise ValueError(problem) from error
        for node in self.model.walk():
            scorer_of(node).prepare()

    def _read_cfg(self, saved: dict[str, Any]) -> None:
        """RAISES ValueError: labels that are none."""
        self.forget_calibration()
        self._read_tables(None)
        names = [*(name for name in OF_TRAINING if name in self.cfg), *OF_CALIBRATION]
        self.cfg.update({name: saved[name] for name in names if name in saved})
        self._labels_changed()
        for label in self.labels:
            self.target.check_label(
                label
            )  # the config may say another attribute than that of training

    def _find_tables(self, own: Path) -> None:
        """own: the folder of the component's own tables. Without it they are those of the vocabulary
        beside the component, which may be another one than its own."""
        if tables_of(self.model):
            folder = own if own.exists() else own.parent.parent / "vocab"
            self._share(Lookups().from_disk(folder), self.vocab.lookups)

    def _read_model(self, data: bytes) -> None:
        """RAISES ValueError: another digest."""
        if signed(data[: -SIZE - len(KEY)], self._meaning(), n_added=0) != data:
            tables = ", ".join(sorted(tables_of(self.model))) or "none"
            raise ValueError(
                f"labels, tag dictionary, weights or tables of the vocabulary ({tables}) are missing, damaged "
                "or not of one training"
            )
        self.model.from_bytes(data)

    def _meaning(self) -> dict[str, Any]:
        """Meaning of the columns of the weights, and of the numbers kept with them, as JSON has it."""
        lookups = self._tables or self.vocab.lookups
        return {
            **{name: self.cfg[name] for name in OF_TRAINING if name in self.cfg},
            "columns": len(self.tags),
            SETS: srsly.json_loads(srsly.json_dumps(self.cfg.get(SETS))),  # as they are read
            "tables": {
                name: digest_of(lookups.get_table(name, None)) for name in tables_of(self.model)
            },
        }


def signed(model: bytes, meaning: dict[str, Any], n_added: int = 1) -> bytes:
    """The bytes of a model and their digest. model: a msgpack map of fewer than 15 entries, as
    thinc makes it; its first byte says how many. meaning: of its columns, as JSON has it. n_added:
    to the number of entries; 0 = the digest was cut off."""
    body = bytes([model[0] + n_added]) + model[1:] + KEY
    text = json.dumps(meaning, sort_keys=True)
    return body + hashlib.sha256(text.encode("ascii") + body).digest()


def digest_of(table: Table | None) -> str | None:
    """SHA-256 of what a table of the vocabulary holds, in any order of its keys; None: there is no
    such table."""
    if table is None:
        return None
    entries = [[key, value] for key, value in sorted(table.items())]
    return hashlib.sha256(srsly.msgpack_dumps(entries)).hexdigest()


def tables_of(model: Model[Any, Any]) -> set[str]:
    """The tables of the vocabulary that features of a model depend on."""
    return {table for node in model.walk() for table in node.attrs.get("tables", ())}
