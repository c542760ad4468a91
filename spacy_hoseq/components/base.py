"""Base of all components: labels, examples, updates, over spaCy's TrainablePipe.

A component says where its labels stand on a Doc (`Target`), what constrains them, and how it
predicts and learns; the rest is here. How it is saved, with the tables of words that its features
read, is in `saving.py`.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.lookups import Table
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..arrays import Ints, Labels, Mask
from ..caches import cached_property
from ..errors import Errors, Warnings
from ..features.known_tags import KNOWN_TAGS_TABLE
from ..features.sequences import WordDocs, vocab_of, words_of
from ..layers.scorer import scorer_of
from .extensions import write_confidences
from .predictions import Predictions, TagDictionary, intersection
from .saving import SavedComponent
from .targets.target import LabelTable, Target, places_in, word_examples
from .training import cite_tables, known_tags_in, listeners_in, upstream_of

MAX_SCORE = 1e6  # in an update: weights that reach it have run away


class SequenceComponent(SavedComponent):
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
        super().__init__(vocab, model, name, cfg=cfg)
        self.scorer = scorer
        self.target = target
        # of the training, until they are looked at
        self._score_weights: dict[str, float | None] = {}
        self._known_tags: Table | None = None  # that this component has made
        self._keeps_confidences = False
        self._n_updates = 0  # in this process, and how many of them had been at the last `score`
        self._n_evaluated = 0

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copies, and other processes, compute anew what depends on labels. It is left out of a copy
        of the attributes: another thread may be predicting."""
        reduce: Callable[[Any], Any] = super().__reduce_ex__
        rebuild, arguments, state = reduce(protocol)
        *fields, _ = state  # of Cython's class; the attributes come last
        attributes = dict(self.__dict__)
        for name in self.made_of_labels:
            attributes.pop(name, None)
        return rebuild, arguments, (*fields, attributes)

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

    @property
    def n_columns(self) -> int:
        return len(self.tags)

    def check_labels(self) -> None:
        for label in self.labels:
            self.target.check_label(label)

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
        self.labels_changed()
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
        self.tables.forget()
        if weights_from is not None:
            self._weights_from(weights_from, is_alone=labels is None and not tag_dictionary)
            return
        self._score_weights = {} if nlp is None else dict(nlp.config["training"]["score_weights"])
        self._find_labels(examples, labels, tag_dictionary or {})
        if not examples:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        if KNOWN_TAGS_TABLE in self.tables.names:
            self._count_known_tags(examples)
        self.tables.begin()
        self.join_vocab(examples[0].predicted.vocab)
        if nlp is not None:
            cite_tables(nlp, self.tables.names)
        self._define(examples, nlp)

    def join(self, nlp: Language) -> None:
        """Called when the component is made for a pipeline. RAISES ValueError [HS102]: a component
        to which it listens is not there."""
        for listener in listeners_in(self):
            if not listener.is_unlinked:
                upstream_of(self, listener, nlp)
        self.join_vocab(nlp.vocab)

    def read(
        self, docs: Iterable[Doc], *, preset: bool = True, labels_alone: bool = False
    ) -> Predictions:
        """The labels of docs, and how sure they are; docs are not touched, and may be empty.

        preset (bool): what is set on the docs already constrains the labels, unless the component
        overwrites it. labels_alone (bool): nothing but labels will be wanted. RAISES ValueError [E143]:
        there are no labels.
        """
        return self._read(self._words(docs), preset=preset, labels_alone=labels_alone)

    def predict(self, docs: Iterable[Doc]) -> Predictions:
        """Predictions for `set_annotations`: labels alone, where nothing else is asked for."""
        return self.read(docs, labels_alone=self._writes_labels_alone)

    def set_annotations(self, docs: Doc | Sequence[Doc], reading: Predictions) -> None:
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
            self.join_vocab(vocab_of(docs))
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
        listed = None if dictionary is None else dictionary.allowed(docs)
        return intersection(fixed, intersection(self.fitting(docs), listed))

    def fitting(self, docs: WordDocs) -> Mask | None:
        """Labels that words can have, as far as their forms or tags tell (N, L); None = all."""
        return None

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
        return self.tables.own is not None

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

    def join_vocab(self, vocab: Vocab) -> None:
        """Share the strings of labels, and the tables that features read, with the vocabulary of
        another pipeline. If it has other tables, the component reads its own from then on."""
        if vocab is not self.vocab:
            for label in self.labels:
                vocab.strings.add(label)
        self.tables.share(vocab)

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

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component in a folder. WARNS [HW008]: a training that evaluates has ended, and
        more than a fifth of its updates came after the last evaluation."""
        super().to_disk(path, exclude=exclude)
        n_unseen = self._n_updates - self._n_evaluated
        if self._n_evaluated and n_unseen > 0.2 * self._n_updates:
            numbers = {"n_unseen": n_unseen, "n_updates": self._n_updates}
            warnings.warn(Warnings.HW008.format(name=self.name, **numbers), stacklevel=2)

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
                self.labels_changed()

    @abstractmethod
    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Predictions:
        """Predictions for the words of docs, which may all be empty."""

    @abstractmethod
    def _learn(self, examples: list[Example], docs: WordDocs, drop: float) -> float:
        """Keep the gradient of a batch for `finish_update`. docs: the predicted ones. RETURNS the
        loss."""

    @abstractmethod
    def _define(self, examples: list[Example], nlp: Language | None) -> None:
        """Number the features of the training data, and set all weights to zero."""

    def _write(self, docs: Sequence[Doc], reading: Predictions) -> None:
        """Write the labels."""
        self.target.write(docs, reading, self._label_table, overwrite=self.cfg["overwrite"])

    def _keep(self, docs: Sequence[Doc], reading: Predictions) -> None:
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
            self.join_vocab(vocab_of(words))
            self._require_labels()
        return words

    def _checked(self, loss: float, largest: float = 0.0, learn_rate: object = "unknown") -> float:
        """The loss. RAISES ValueError [E910]: it is not finite; [HS042]: the weights have run away.
        largest: of the scores in an update."""
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        if MAX_SCORE < largest < np.inf:  # what is not finite has its own messages
            numbers = {"largest": largest, "limit": MAX_SCORE, "rate": learn_rate}
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

    def labels_changed(self) -> None:
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
            found = ", ".join(negative[:5])
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
            self.labels_changed()
            TagDictionary(tag_dictionary, self.labels)  # impossible ones are refused now

    def _count_known_tags(self, examples: list[Example]) -> None:
        """A table that was given, or that an earlier component has made, stays."""
        lookups = self.vocab.lookups
        if lookups.get_table(KNOWN_TAGS_TABLE, self._known_tags) is self._known_tags:
            docs = [eg.predicted for eg in examples]
            tags_of = known_tags_in(docs, self.gold_ids(examples), self.tags)
            self._known_tags = Table(KNOWN_TAGS_TABLE, tags_of)
            lookups.set_table(KNOWN_TAGS_TABLE, self._known_tags)

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
