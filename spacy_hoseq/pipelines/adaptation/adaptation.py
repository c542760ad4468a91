"""Adaptation: components go on from their weights on a few annotated texts, held near what they were
(`learning.HeldAdaGrad`), and are compared with what they were."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch

from ...components.base import SequenceComponent
from ...errors import not_found, unknown_name, wrong_value
from ...inspection.calibration import annotated_before, calibratable, calibrate
from ...inspection.folds import divided as in_folds
from ...layers.weights import weights_in
from ...learning import HeldAdaGrad, log_likelihood
from ...readers.annotated import annotated_with
from ...readers.division import divided
from ..distillation.silver import renamed as renamed_spans
from .comparison import Comparison, compared, evaluated
from .growth import check_growth, grown


class AdaptedComponent(NamedTuple):
    """What became of a component. labels: that are new. missing: types that the texts do not annotate,
    so that words outside of spans may have them. temperature: of its calibration; None = it was not
    calibrated. new, old: before and after, on text of the new and of the old kind; None = no text."""

    name: str
    labels: list[str]
    missing: list[str]
    temperature: float | None
    new: Comparison | None
    old: Comparison | None


class Adaptation(NamedTuple):
    """components: those that were adapted. texts: how many they learnt from, and are compared on. folds:
    trainings of cross-validation; 0 = these texts were kept apart."""

    components: list[AdaptedComponent]
    texts: dict[str, int]
    folds: int


def adapt(
    nlp: Language,
    examples: Iterable[Example],
    *,
    dev: Iterable[Example] = (),
    old: Iterable[Example] = (),
    components: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    hold: float = 3.0,
    seed: int = 0,
    progress: Callable[[], object] = lambda: None,
) -> Adaptation:
    """Adapt a trained pipeline to annotated texts, in place, and compare it with what it was.

        nlp = spacy_hoseq.load("en")
        spacy_hoseq.adapt(nlp, examples)
        nlp.to_disk("mine")

    examples: of whose references everything is taken, also words and sentences.
    dev: to compare and to calibrate on. Empty: a fifth of the examples. Of fewer than 200 examples
        each fifth is annotated by a training on the others, and the pipeline learns from all.
    old: text of the old kind, with the labels of the pipeline: what is forgotten there.
    components: names; none = all of this package whose labels the examples have, but for sentences.
    labels: labels of the examples or the pipeline -> their names from now on.
    hold (float): how strongly weights are held to what they were; 0 = not at all.
    progress: called after each pass of a component over the texts.
    RAISES ValueError [HS159]: no labels; [HS161]: no such component; [HS193]: one that cannot go on;
    [HS027]: `hold`, or two labels of a component would become one.
    """
    names = labels or {}
    docs = gold_docs(examples, names)
    test = gold_docs(dev, names)
    old_docs = gold_docs(old, names)
    folds = 0
    # too few to keep some apart: what is learnt from each of them shows
    if not test and len(docs) < 200:
        folds = 5
        test = docs
    elif not test:
        parts = divided(docs, {"dev": 0.2}, seed)
        docs = parts["train"]
        test = parts["dev"]
    adapter = Adapter(nlp, docs, components, names, hold, seed)
    # the first training replaces the components
    before = [adapter.predictions(test), adapter.predictions(old_docs)]
    after = []
    if folds:
        after.append(adapter.cross_validated(docs, folds, progress))
    adapter.train(docs, progress)
    if not folds:
        after.append(adapter.predictions(test))
        adapter.calibrate(test)
    after.append(adapter.predictions(old_docs))
    adapted = [adapter.result(pipe, [test, old_docs], before, after) for pipe in adapter.originals]
    return Adaptation(adapted, {"train": len(docs), "test": len(test)}, folds)


class Adapter:
    """Trains components of a pipeline from the weights that they had.

    originals: these components as they were, in the order of the pipeline. missing: their types of
    spans that no text of the new kind has. temperatures: of calibrations. Both by name. RAISES
    ValueError as `adapt`.
    """

    def __init__(
        self,
        nlp: Language,
        docs: Sequence[Doc],
        components: Sequence[str],
        names: Mapping[str, str],
        hold: float,
        seed: int,
    ) -> None:
        self._rule = HeldAdaGrad(hold=hold)
        self._nlp = nlp
        self._names = names
        self._seed = seed
        self.originals: list[Any] = adaptable(nlp, docs, components)
        self.missing: dict[str, list[str]] = {}
        self.temperatures: dict[str, float] = {}
        for pipe in self.originals:
            check_growth(pipe)
            now = self.labels_of(pipe)
            self.missing[pipe.name] = []
            # a word has no tag only where nothing is annotated; outside of spans it may be either
            if pipe.target.labels_spans:
                self.missing[pipe.name] = sorted({*now} - {*labels_in(pipe, docs)})
            if len({*now}) < len(now):
                expected = "another name for each label of the pipeline"
                raise wrong_value("labels", dict(names), expected)

    def labels_of(self, pipe: Any) -> list[str]:
        """Labels that a component had, by their names now."""
        return [self._names.get(label, label) for label in pipe.labels]

    def result(
        self,
        original: Any,
        gold: Sequence[Sequence[Doc]],
        before: Sequence[Sequence[Doc]],
        after: Sequence[Sequence[Doc]],
    ) -> AdaptedComponent:
        """What became of a component. gold, before, after: of text of the new kind, and of the old."""
        now: Any = self._nlp.get_pipe(original.name)
        new, old = (
            comparison_of(original, *docs) for docs in zip(gold, before, after, strict=True)
        )
        return AdaptedComponent(
            original.name,
            sorted({*now.labels} - {*self.labels_of(original)}),
            self.missing[original.name],
            self.temperatures.get(original.name),
            new,
            old,
        )

    def predictions(self, docs: Sequence[Doc]) -> list[Doc]:
        """Docs of the same words and sentences, as the pipeline annotates them, with labels by their
        names now."""
        # no label that is there already may limit the others
        copies = [annotated_with(doc, []) for doc in docs]
        return [renamed(doc, self._names) for doc in self._nlp.pipe(copies)]

    def cross_validated(
        self, docs: Sequence[Doc], n_folds: int, progress: Callable[[], object]
    ) -> list[Doc]:
        """`predictions`, of each part of the docs by a training on the others."""
        parts = in_folds(docs, n_folds, self._seed)
        predicted: dict[int, Doc] = {}
        for part in range(n_folds):
            numbers = np.flatnonzero(parts == part).tolist()
            self.train([docs[i] for i in np.flatnonzero(parts != part).tolist()], progress)
            predictions = self.predictions([docs[i] for i in numbers])
            predicted.update(zip(numbers, predictions, strict=True))
        return [predicted[i] for i in range(len(docs))]

    def train(self, docs: Sequence[Doc], progress: Callable[[], object]) -> None:
        """Train the components one after the other, each from the weights that it had."""
        examples = [Example(annotated_with(doc, []), doc) for doc in docs]
        for original in self.originals:
            # by the components before it, which are adapted by now
            annotated = annotated_before(self._nlp, original.name, examples)
            pipe: Any = grown(self._nlp, original, annotated, self._names)
            # probabilities of hundreds of labels take minutes; labels alone are quick
            objective = log_likelihood
            if len(pipe.tags) > 100:
                objective = pipe.objective
            with pipe.learning_by(self._rule, objective, seed=self._seed):
                self._learn(pipe, annotated, progress)
            # from now on, words outside of spans have no type
            pipe.labels_changed()
            for shim in weights_in(pipe.model):
                shim.drop_features()

    def _learn(
        self, pipe: Any, examples: Sequence[Example], progress: Callable[[], object]
    ) -> None:
        rng = np.random.default_rng(self._seed)
        for _ in range(10):
            order = rng.permutation(len(examples)).tolist()
            for batch in minibatch([examples[i] for i in order], 10):
                self.update(pipe, batch)
            progress()

    def update(self, pipe: Any, batch: Sequence[Example]) -> None:
        """Learn from some examples, whose annotation is silent about the missing types."""
        missing = self.missing[pipe.name]
        if missing:
            pipe.leave_open(missing)
        pipe.update(batch, drop=0.1)
        pipe.finish_update(None)

    def calibrate(self, docs: Sequence[Doc]) -> None:
        """Calibrate the components of which all labels are annotated, on text that they have not seen."""
        examples = [Example(annotated_with(doc, []), doc) for doc in docs]
        for pipe in self.originals:
            is_known = not self.missing[pipe.name]
            # sums over more labels take minutes
            is_quick = len(pipe.tags) <= 500
            if is_known and is_quick and pipe.name in calibratable(self._nlp):
                # too few examples have gold labels
                with suppress(ValueError):
                    found = calibrate(self._nlp, examples, [pipe.name])
                    self.temperatures[pipe.name] = found[pipe.name].temperature


def comparison_of(
    pipe: Any, gold: Sequence[Doc], before: Sequence[Doc], after: Sequence[Doc]
) -> Comparison | None:
    """None: there are no gold labels."""
    labels = labels_in(pipe, gold)
    if not labels:
        return None
    place = pipe.target.place
    first = evaluated(gold, before, place, labels)
    return compared(first, evaluated(gold, after, place, labels))


def adaptable(nlp: Language, docs: Sequence[Doc], names: Sequence[str]) -> list[Any]:
    """The components that can learn from gold docs, in the order of the pipeline. names: of those
    that are wanted; none = all but those of sentences. RAISES ValueError [HS159, HS161]."""
    own = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, SequenceComponent)]
    known = [pipe.name for pipe in own]
    for name in names:
        if name not in known:
            raise unknown_name(name, known)
    found = []
    for pipe in own:
        is_wanted = pipe.name in names or not (names or pipe.target.finds_sentences)
        if is_wanted and labels_in(pipe, docs):
            found.append(pipe)
        elif pipe.name in names:
            raise not_found(f"label for {pipe.name}", "the corpus", "texts that have some")
    if not found:
        raise not_found("label", "the corpus", f"annotation of {', '.join(known) or 'any kind'}")
    return found


def labels_in(pipe: SequenceComponent, docs: Sequence[Doc]) -> list[str]:
    """Gold labels for a component."""
    return pipe.target.labels_in([Example(doc, doc) for doc in docs])


def gold_docs(examples: Iterable[Example], names: Mapping[str, str]) -> list[Doc]:
    """Copies of the gold docs of examples, with labels by their names now."""
    return [renamed(example.reference.copy(), names) for example in examples]


def renamed(doc: Doc, names: Mapping[str, str]) -> Doc:
    """The Doc with other names of types and tags, changed in place."""
    if not names:
        return doc
    if doc.ents:
        doc.set_ents(renamed_spans(doc.ents, names), default="unmodified")
    for key, spans in doc.spans.items():
        doc.spans[key] = renamed_spans(spans, names)
    for token in doc:
        if token.tag_ in names:
            token.tag_ = names[token.tag_]
    return doc
