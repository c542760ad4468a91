"""What all components share: labels, examples, updates, and reading what was saved.

A component says where its labels stand on a Doc (`Target`), what constrains them, and how it reads
and learns; the rest is here, over spaCy's TrainablePipe.
"""

import warnings
from contextlib import contextmanager
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import (
    Any,
    Callable,
    ClassVar,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import numpy as np
from spacy.errors import Errors as SpacyErrors
from spacy.language import Language
from spacy.lookups import Lookups, Table
from spacy.tokens import Doc
from spacy.training import Example, validate_examples, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..arrays import Ints, Mask
from ..errors import Errors, Warnings
from ..features.attributes import lend_tables
from ..features.known_tags import TABLE
from ..features.sequences import WordDocs, vocab_of, words_of
from ..layers.scorer import scorer_of
from ..lazy_names import lazy_names
from .initialization import (
    batches,
    cite_tables,
    earlier_components,
    known_tags_in,
)
from .reading import Reading, TagDictionary
from .saving import SavedComponent, tables_of
from .targets.target import LabelTable, Target, known_labels, word_examples
from .targets.token_labels import names_of

ABOVE = ("explain", "explain_span", "prediction_sets")
# of the floor above, when they are asked for
inspection = lazy_names("spacy_hoseq", dict.fromkeys(ABOVE, "inspection"))
MOST = 1e6  # score that no weights reach which learn something
FEW = 5  # names in a message
UNSEEN = 0.2  # share of the updates of a training that no evaluation need follow


def register_factory(
    component: Any,
    name: str,
    registered: Dict[str, Any],
    scores: Dict[str, Optional[float]],
    *,
    assigns: Sequence[str],
    requires: Sequence[str] = (),
) -> Callable[..., Any]:
    """The factory of a component, whose settings are those of its `__init__`: their names, types
    and defaults.

    registered: defaults that registered functions make, in place of those of `__init__`. scores:
        weights of scores.
    RETURNS the function that the entry point names.
    """
    settings = settings_of(component)

    def make(nlp: Language, name: str, model: Model, **given: Any) -> Any:
        return component(nlp.vocab, model, name, **given)

    first = list(signature(make).parameters.values())[:3]
    parameters = [*first, *(each.replace(default=Parameter.empty) for each in settings)]
    make.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    make.__qualname__ = f"make_{name}"
    make.__module__ = component.__module__
    make.__doc__ = component.__doc__
    defaults = {each.name: registered.get(each.name, each.default) for each in settings}
    Language.factory(
        name,
        assigns=list(assigns),
        requires=list(requires),
        default_config={"model": registered["model"], **defaults},
        default_score_weights=scores,
        func=make,
    )
    return make


def settings_of(component: Any) -> List[Parameter]:
    """What a config says of a component, beside its model: all arguments by name, also those that
    it hands on."""
    parameters = signature(component.__init__).parameters.values()
    own = {each.name: each for each in parameters if each.kind is Parameter.KEYWORD_ONLY}
    if any(each.kind is Parameter.VAR_KEYWORD for each in parameters):
        inherited = {each.name: each for each in settings_of(component.__mro__[1])}
        own = {**inherited, **own}
    return [each for name, each in own.items() if name not in component.no_settings]


class SequenceComponent(SavedComponent):
    """A component that labels sequences of tokens.

    target: where its labels stand. cfg: its settings, which are saved with it.
    """

    no_settings: ClassVar[Sequence[str]] = ("target",)  # arguments that a config cannot give
    # cached until they change
    made_of_labels: ClassVar[Sequence[str]] = ("_label_table", "_dictionary", "continues")

    def __init__(
        self,
        vocab: Vocab,
        model: Model[List[Doc], Any],
        name: str,
        *,
        scorer: Optional[Callable],
        target: Target,
        cfg: Dict[str, Any],
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name
        self.scorer = scorer
        self.cfg: Dict[str, Any] = {"labels": [], **cfg}
        self.target = target
        # of the training, until they are looked at
        self._score_weights: Optional[Dict[str, Optional[float]]] = None
        self._known_tags: Optional[Table] = None  # that this component has made
        self._tables = None
        self._n_updates = 0  # in this process, and how many of them had been at the last `score`
        self._n_evaluated = 0

    def __reduce_ex__(self, protocol: object) -> Any:
        """Copies, and other processes, make anew what is made of labels."""
        self._labels_changed()
        return super().__reduce_ex__(protocol)

    def add_label(self, label: str) -> int:
        """Add a label before initialization. RETURNS (int): 1 if it is new, else 0.

        RAISES ValueError [E187]: no string; [HS027]: it cannot be written; [E922]:
        there are weights.
        """
        if not isinstance(label, str):
            raise ValueError(SpacyErrors.E187)
        if not label:
            raise ValueError(Errors.HS027.format(name="label", value="the empty text", expected="a name"))
        self._check_label(label)
        if label in self.cfg["labels"]:
            return 0
        if self.model.has_dim("nO"):
            raise ValueError(SpacyErrors.E922.format(name=self.name, nO=self.model.get_dim("nO")))
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label, allow_transient=False)  # type: ignore[call-arg]
        self._labels_changed()
        return 1

    def read(
        self, docs: Iterable[Doc], *, preset: bool = True, labels_alone: bool = False
    ) -> Reading:
        """The labels of docs, and how sure they are; docs are not touched, and may be empty.

        preset (bool): what is set on the docs already constrains the labels, unless the component
        overwrites it. labels_alone (bool): nothing but labels will be wanted. RAISES ValueError [E143]:
        there are no labels; [HS003]: a table of another pipeline.
        """
        return self._read(self._words(docs), preset=preset, labels_alone=labels_alone)

    def predict(self, docs: Iterable[Doc]) -> Reading:
        """What `set_annotations` writes: a reading, light where nothing but labels is asked for."""
        return self.read(docs, labels_alone=self._writes_labels_alone)

    def set_annotations(self, docs: Union[Doc, Sequence[Doc]], reading: Reading) -> None:
        """Write labels, and what else the config asks for. What is set already stays, unless
        `overwrite`."""
        docs = [docs] if isinstance(docs, Doc) else docs
        self._write(docs, reading)
        self._keep(docs, reading)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optional[Optimizer] = None,
        losses: Optional[Dict[str, float]] = None,
    ) -> Dict[str, float]:
        """Learn from a batch. drop (float): share of features left out at random. sgd: for neural
        emissions only; None = wait for `finish_update`."""
        losses = {} if losses is None else losses
        losses.setdefault(self.name, 0.0)
        examples, docs = word_examples(self._checked(examples, "update"))
        if not any(map(len, docs)):
            return losses
        self._require_labels()
        loss = self._learn(examples, docs, drop)
        self._n_updates += 1
        if sgd not in (None, False):
            self.finish_update(sgd)
        losses[self.name] += loss
        return losses

    @property
    def knows(self) -> str:
        """What it can say of its labels: "sums" = p(y | x) of all labellings, "decisions" = how
        probable each label was when it was decided, "labels" = nothing else."""
        return "labels"

    @property
    def is_calibrated(self) -> bool:
        """Whether labels with probability 0.9 are right nine times in ten, as far as training can
        ensure it."""
        return True

    def keep_probabilities(self) -> bool:
        """From now on, keep on each Doc how probable the labels are. RETURNS (bool): False = it
        cannot."""
        return False

    def explain(self, doc: Doc, i: int, against: Optional[str] = None) -> Any:
        """Why token i has its label. RETURNS (inspection.Explanation), as `inspection.explain`."""
        return inspection("explain")(self, doc, i, against)

    def fit_threshold(self, examples: Sequence[Example]) -> Optional[float]:
        """Set the probability from which on spans are taken, so that it fits some examples. RETURNS
        (float): the setting `span_threshold`; None = there is none."""
        return None

    def lend_tables(self, vocab: Vocab) -> None:
        """Give the tables on which features depend, and the strings of labels, to the vocabulary of
        another pipeline. RAISES ValueError [HS003]: it has other tables."""
        if vocab is not self.vocab or self._tables is not None:
            for label in self.labels:
                vocab.strings.add(label)
            lend_tables(self._tables or self.vocab.lookups, vocab.lookups, tables_of(self.model))

    def score(self, examples: Iterable[Example], **settings: object) -> Dict[str, Any]:
        """What the component's scorer says. WARNS [HW004]: the first time after `initialize`, if
        none of it counts in training: it has no weight, or there are no gold labels."""
        scores: Dict[str, object] = super().score(examples, **settings)
        self._n_evaluated = self._n_updates
        weights = {name: w for name, w in (self._score_weights or {}).items() if w is not None}
        self._score_weights = None
        found = [name for name, value in scores.items() if value is not None]
        if weights and scores and not any(map(weights.get, found)):
            names = ", ".join(name for name in scores if not name.endswith("_per_type"))
            pairs = ", ".join(f"{name} = {weight}" for name, weight in weights.items())
            message = Warnings.HW004.format(name=self.name, scores=names, weights=pairs)
            warnings.warn(message, stacklevel=2)
        return scores

    def to_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> None:
        """As all components of spaCy. WARNS [HW008]: a training that evaluates has ended, and its
        evaluations know nothing of many of the updates. RAISES ValueError [HS003]: a component that
        was taken over has other tables than the pipeline."""
        self.lend_tables(self.vocab)  # before the vocabulary is saved
        super().to_disk(path, exclude=exclude)
        n_unseen = self._n_updates - self._n_evaluated
        if self._n_evaluated and n_unseen > UNSEEN * self._n_updates:
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
            for node in self.model.walk():
                scorer_of(node).forget_words()
            if self._label_table is not before:
                self._labels_changed()

    def _words(self, docs: Iterable[Doc]) -> WordDocs:
        """The words of docs that will be read. RAISES ValueError [E143], [HS003]: as `read`;
        [HS008]: they have several vocabularies."""
        words = words_of(list(docs))
        if any(map(len, words)):
            self.lend_tables(vocab_of(words))
            self._require_labels()
        return words

    def _read(self, docs: WordDocs, *, preset: bool, labels_alone: bool) -> Reading:
        """As `read`. docs: their words; they may all be empty."""
        raise NotImplementedError

    @property
    def _writes_labels_alone(self) -> bool:
        """Whether `set_annotations` needs no probabilities."""
        return True

    def _write(self, docs: Sequence[Doc], reading: Reading) -> None:
        """Write the labels."""
        self.target.write(
            docs, reading.label_ids, self._label_table, overwrite=self.cfg["overwrite"]
        )

    def _keep(self, docs: Sequence[Doc], reading: Reading) -> None:
        """Write what else the config asks for."""

    def _learn(self, examples: List[Example], docs: WordDocs, drop: float) -> float:
        """Keep the gradient of a batch for `finish_update`. docs: the predicted ones. RETURNS the
        loss."""
        raise NotImplementedError

    def _define(self, examples: List[Example], nlp: Optional[Language]) -> None:
        """Number the features of the training data, and set all weights to zero."""
        raise NotImplementedError

    def _initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        nlp: Optional[Language],
        labels: Optional[Sequence[str]],
        tag_dictionary: Optional[Dict[str, List[str]]] = None,
        weights_from: Optional[str] = None,
    ) -> None:
        validate_get_examples(get_examples, f"{type(self).__name__}.initialize")
        examples, _ = word_examples(list(get_examples()))
        self._tables = None
        if weights_from is not None:
            self._weights_from(weights_from, is_alone=labels is None and not tag_dictionary)
            return
        self._score_weights = None if nlp is None else dict(nlp.config["training"]["score_weights"])
        self._warn_of_negative(examples)
        for label in self._labels_in(examples) if labels is None else labels:
            self.add_label(label)
        if not self.labels:
            there = ", ".join(self.target.others_in(examples)) or "nothing"
            looked = self.target.where
            raise ValueError(Errors.HS069.format(name=self.name, looked=looked, there=there))
        if "tag_dictionary" in self.cfg:
            self.cfg["tag_dictionary"] = dict(tag_dictionary or {})
            self._labels_changed()
            TagDictionary(self.cfg["tag_dictionary"], self.labels)  # impossible ones are refused now
        if not examples:
            raise ValueError(SpacyErrors.E923.format(name=self.name))
        if TABLE in tables_of(self.model):
            for pipe in earlier_components(nlp, self):
                if isinstance(pipe, SequenceComponent):
                    pipe.lend_tables(self.vocab)
            self._count_known_tags(examples)
        self.lend_tables(examples[0].predicted.vocab)
        if nlp is not None:
            cite_tables(nlp, tables_of(self.model))
        self._define(examples, nlp)

    def _warn_of_negative(self, examples: List[Example]) -> None:
        """WARNS [HW010]: labels that are only said not to be there."""
        prefix = self.target.neg_prefix
        annotated = ((self.target.read(eg.reference), eg.reference) for eg in examples)
        names = names_of(annotated, "") if prefix else []
        negative = [name for name in names if name.startswith(prefix)]
        if negative:
            labels = ", ".join(negative[:FEW])
            message = Warnings.HW010.format(name=self.name, labels=labels, prefix=prefix)
            warnings.warn(message, stacklevel=3)

    def _count_known_tags(self, examples: List[Example]) -> None:
        """A table that was given, or that an earlier component has made, stays."""
        lookups = self.vocab.lookups
        if lookups.has_table(TABLE):
            if lookups.get_table(TABLE) is not self._known_tags:
                return
            lookups.remove_table(TABLE)
        self._known_tags = lookups.add_table(
            TABLE, known_tags_in(self._gold_batches(examples), self.tags)
        )

    def _checked(self, examples: Iterable[Example], method: str) -> List[Example]:
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.{method}")
        return examples

    def _finite(self, loss: float) -> float:
        """RAISES ValueError [E910]."""
        if not np.isfinite(loss):
            raise ValueError(SpacyErrors.E910.format(name=self.name))
        return loss

    def _check_size(self, largest: float, learn_rate: object) -> None:
        """RAISES ValueError [HS042]: the weights have run away. largest: of the scores in an
        update."""
        if MOST < largest < np.inf:  # what is not finite has its own messages
            numbers = {"largest": largest, "limit": MOST, "rate": learn_rate}
            raise ValueError(Errors.HS042.format(name=self.name, **numbers))

    def _labels_in(self, examples: List[Example]) -> List[str]:
        """All labels in the gold annotation."""
        return self.target.labels_in(examples)

    @cached_property
    def _label_table(self) -> LabelTable:
        return LabelTable(self.tags, self.vocab.strings, self.target.neg_prefix, self.target.space)

    @cached_property
    def _dictionary(self) -> Optional[TagDictionary]:
        entries = self.cfg.get("tag_dictionary")
        return TagDictionary(entries, self.labels) if entries else None

    def _labels_changed(self) -> None:
        for name in self.made_of_labels:
            self.__dict__.pop(name, None)

    def gold(self, examples: Iterable[Example]) -> Mask:
        """What the annotation permits at the words of the predicted docs (N, L): everything where
        nothing is known.
        WARNS [HW001]: labels that the component does not have."""
        return self._gold_mask(word_examples(list(examples))[0])

    @cached_property
    def continues(self) -> Optional[Mask]:
        """Pairs of labels of one span (L, L), None of labels of tokens. RAISES ValueError
        [HS161]."""
        return self.target.continues(self.tags)

    def _gold_mask(self, examples: Sequence[Example]) -> Mask:
        """As `gold`, of examples without white space."""
        return self.target.gold(examples, self._label_table)

    def _gold_batches(self, examples: List[Example]) -> Iterator[Tuple[List[Doc], Ints]]:
        """Predicted docs with their gold labels (N,) by id, -1 where not known, batch by batch."""
        yield from (
            ([eg.predicted for eg in batch], known_labels(self._gold_mask(batch)))
            for batch in batches(examples)
        )

    def _weights_from(self, path: str, *, is_alone: bool) -> None:
        """Labels and weights of the component of the same name in a trained pipeline; settings stay
        those of the config. is_alone (bool): no other labels are given. RAISES ValueError [HS159]:
        there is no such component; [HS064]: it does not fit; [HS003]: nor do its known tags. WARNS
        [HW006]: others are given."""
        if not is_alone:
            warnings.warn(Warnings.HW006.format(name=self.name, path=path), stacklevel=3)
        folder = Path(path) / self.name
        if not folder.is_dir():
            expected = "a pipeline saved by `nlp.to_disk` that has it"
            raise ValueError(
                Errors.HS159.format(what=f'component "{self.name}"', source=path, expected=expected)
            )
        self.from_disk(folder, exclude=["vocab"])
        saved = self._tables or Lookups()
        self._tables = None
        lend_tables(saved, self.vocab.lookups, {TABLE})  # (others are given again by the config)
