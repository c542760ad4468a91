"""What a component needs of its training examples before its weights are set to zero: known tags,
tables, annotation by earlier components."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import _pipe, minibatch, raise_error
from thinc.api import Model

from ..arrays import AnyInts, Labels
from ..decoders.answers import certain_labels
from ..errors import Errors, Warnings
from ..features.attributes import SOURCES_TABLE
from ..features.known_tags import component_table
from ..features.sequences import sequence_lengths, words_of
from ..layers.listener import MarginalListener
from ..layers.scorer import TrainingTexts
from ..layers.upstream import UpstreamLabels, upstream_labels
from ..words import original_of


class ComponentTexts(TrainingTexts):
    """The examples of a component, as its layers see them (`Scorer.define`)."""

    def __init__(
        self,
        component: Any,
        examples: Sequence[Example],
        nlp: Language | None,
        gold: Sequence[Labels],
    ) -> None:
        self.labels = component.tags
        self.gold = gold
        self._component = component
        self._examples = examples
        self._predicted = [eg.predicted for eg in examples]
        self._nlp = nlp

    def docs(self) -> Iterator[list[Doc]]:
        return _batches(self._predicted)

    def annotated(self) -> list[Iterator[list[Doc]]]:
        references = [eg.reference for eg in self._examples]
        copies = after_earlier_components(self._predicted, self._nlp, self._component)
        return [_batches(references), _batches(copies)]

    def upstream(self, source: Model[list[Doc], Any]) -> Iterator[tuple[list[Doc], UpstreamLabels]]:
        """As `TrainingTexts.upstream`: gold labels of the earlier component, as if they were
        certain, or if there are none, its predictions. RAISES ValueError [HS102]: it is missing,
        comes later, or cannot be listened to."""
        if not isinstance(source, MarginalListener):
            yield from _with_predictions(source, self.docs())
            return
        # only now is the pipeline complete
        if source.takes_any:
            link_anew(self._component, source, self._nlp)
        if source.is_unlinked:
            return
        tagger = upstream_of(self._component, source, self._nlp)
        # a threshold on probabilities means little where these are not calibrated
        if source.threshold and not tagger.is_calibrated:
            name = self._component.name
            reader = f'"{name}", which listens with the threshold {source.threshold}'
            warn_uncalibrated(tagger, reader)
        gold = tagger.gold_ids(self._examples)
        if (gold < 0).all():
            # this corpus has no labels for the tagger, which was trained on another
            copies = after_earlier_components(self._predicted, self._nlp, tagger)
            yield from _with_predictions(source, _batches(list(tagger.pipe(copies))))
            return
        for batch, ids in batches_with(self._predicted, gold):
            certain = certain_labels(ids, sequence_lengths(batch))
            yield batch, upstream_labels(certain, tagger.tags, 0.0)


def listeners_in(component: object) -> list[MarginalListener]:
    """The listeners in the model of any component."""
    model = getattr(component, "model", None)
    if not isinstance(model, Model):
        return []
    return [node for node in model.walk() if isinstance(node, MarginalListener)]


def upstream_of(component: Any, listener: MarginalListener, nlp: Language | None) -> Any:
    """The earlier component to which a listener of this one listens. RAISES ValueError [HS102]: it
    is missing, comes later, or cannot be listened to."""
    name = listener.upstream_name
    earlier = before(component, nlp)
    linkable = {other: pipe for other, pipe in earlier.items() if hasattr(pipe, "resend")}
    # a component without labels has no weights yet, and these may name the tagger otherwise
    if name not in linkable and linkable and not component.labels:
        name = next(iter(linkable))
    if name not in linkable:
        there = ", ".join(earlier) or "none"
        raise ValueError(Errors.HS102.format(name=component.name, upstream=name, there=there))
    return linkable[name]


def link_anew(component: Any, listener: MarginalListener, nlp: Language | None) -> None:
    """Link a listener that takes any tagger, before training: its own tagger stays if that still
    comes before; else it is the first that does; else the listener is unlinked for good."""
    earlier = before(component, nlp)
    if listener.upstream_name not in earlier:
        listener.unlink()
        # each tagger links the unlinked listeners that it finds, so the first one takes it
        for pipe in earlier.values():
            if hasattr(pipe, "find_listeners"):
                pipe.find_listeners(component)
        if listener.is_unlinked:
            listener.unlink("")


def before(component: object, nlp: Language | None) -> dict[str, Any]:
    """Components before this one, by name; also frozen ones, which spaCy disables while it
    initializes."""
    earlier: dict[str, Any] = {}
    if nlp is not None:
        for name, pipe in nlp.components:
            if pipe is component:
                break
            earlier[name] = pipe
    return earlier


def warn_uncalibrated(component: Any, reader: str) -> None:
    """WARNS [HW003]: probabilities are read that the training does not calibrate. reader: what
    reads them."""
    warning = Warnings.HW003.format(
        name=component.name, objective=component.objective_name, reader=reader
    )
    warnings.warn(warning, stacklevel=2)


def known_tags_in(docs: list[Doc], gold: Labels, labels: Sequence[str]) -> dict[str, list[int]]:
    """The table that features of known tags read. gold (N,): label ids of the docs' tokens, -1
    where not known."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for token, label_id in zip(chain.from_iterable(docs), gold.tolist(), strict=True):
        if label_id >= 0:
            counts[token.text][labels[label_id]] += 1
    return component_table(counts)


def cite_tables(nlp: Language, tables: set[str]) -> None:
    """Add the sources of the tables that a component learns with to `nlp.meta["sources"]`: name,
    address, licence, author of each. A table that names none, such as a user's own, adds nothing.
    """
    lookups = nlp.vocab.lookups
    if lookups.has_table(SOURCES_TABLE):
        sources = nlp.meta.setdefault("sources", [])
        for name in sorted(tables):
            for source in lookups.get_table(SOURCES_TABLE).get(name, []):
                if source not in sources:
                    sources.append(source)


def after_earlier_components(docs: list[Doc], nlp: Language | None, component: object) -> list[Doc]:
    """The words of copies of the docs, annotated by the components before this one that are enabled,
    or annotate in training: `spacy train` disables the frozen ones in initialization."""
    # with white space, which components before may need
    copies = [original_of(doc).copy() for doc in docs]
    if nlp is not None:
        annotating = {*nlp.pipe_names, *nlp.config["training"]["annotating_components"]}
        for name, pipe in before(component, nlp).items():
            if name in annotating:
                copies = list(_pipe(copies, pipe, name, raise_error, {}))
    return words_of(copies)


def seed_of(nlp: Language | None) -> int:
    """The seed of a training, which is spaCy's own, too."""
    if nlp is None:
        return 0
    return nlp.config.interpolate()["training"].get("seed") or 0


def batches_with(docs: list[Doc], ids: AnyInts) -> Iterator[tuple[list[Doc], Any]]:
    """Docs in batches, with the label ids of their tokens. ids (N,): of all tokens."""
    start = 0
    for batch in _batches(docs):
        end = start + sum(map(len, batch))
        yield batch, ids[start:end]
        start = end


def _batches(docs: Sequence[Doc]) -> Iterator[list[Doc]]:
    # the features of so many docs are counted together: enough for arrays, few enough for memory
    return minibatch(docs, 1000)


def _with_predictions(
    source: Model[list[Doc], Any], batches: Iterator[list[Doc]]
) -> Iterator[tuple[list[Doc], UpstreamLabels]]:
    for batch in batches:
        yield batch, source.predict(batch)
