"""Training examples before the weights are set to zero: known tags, tables, annotation by earlier
components."""

import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import _pipe, minibatch, raise_error
from thinc.api import Model

from ..arrays import AnyInts, Labels
from ..decoders.answers import certain_labels
from ..errors import Errors, Warnings
from ..features.attributes import SOURCES
from ..features.known_tags import MIN_COUNT, MIN_SHARE, numbered
from ..features.sequences import sequence_lengths, words_of
from ..layers.listener import MarginalListener
from ..layers.scorer import TrainingTexts
from ..layers.upstream import UpstreamLabels, upstream_labels
from ..words import original_of

BATCH = 1000  # docs whose features are counted together


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
        self._nlp = nlp

    def docs(self) -> Iterator[list[Doc]]:
        return minibatch([eg.predicted for eg in self._examples], BATCH)

    def annotated(self) -> list[Iterator[list[Doc]]]:
        """Earlier components may not be trained yet."""
        predicted = [eg.predicted for eg in self._examples]
        copies = after_earlier_components(predicted, self._nlp, self._component)
        versions = ([eg.reference for eg in self._examples], copies)
        return [minibatch(docs, BATCH) for docs in versions]

    def upstream(self, source: Model[list[Doc], Any]) -> Iterator[tuple[list[Doc], UpstreamLabels]]:
        """The gold labels of an earlier component, as if they were certain, or if there are none,
        those that it finds. RAISES ValueError [HS102]: it is missing, comes later, or cannot be
        listened to."""
        if not isinstance(source, MarginalListener):
            return ((batch, source.predict(batch)) for batch in self.docs())
        if source.takes_any:
            link_anew(self._component, source, self._nlp)
        if source.is_unlinked:
            return iter(())
        tagger = upstream_of(self._component, source, self._nlp)
        if source.threshold and not tagger.is_calibrated:
            reader = (
                f'"{self._component.name}", which listens with the threshold {source.threshold}'
            )
            warn_uncalibrated(tagger, reader)
        predicted = [eg.predicted for eg in self._examples]
        gold = tagger.gold_ids(self._examples)
        if (gold < 0).all():
            copies = list(tagger.pipe(after_earlier_components(predicted, self._nlp, tagger)))
            return ((batch, source.predict(batch)) for batch in minibatch(copies, BATCH))
        return (
            (batch, upstream_labels(certain_labels(ids, sequence_lengths(batch)), tagger.tags, 0.0))
            for batch, ids in batches_with(predicted, gold)
        )


def listeners_in(component: object) -> list[MarginalListener]:
    """The listeners in the model of any component."""
    model = getattr(component, "model", None)
    nodes = model.walk() if isinstance(model, Model) else ()
    return [node for node in nodes if isinstance(node, MarginalListener)]


def upstream_of(component: Any, listener: MarginalListener, nlp: Language | None) -> Any:
    """The earlier component to which a listener of this one listens. RAISES ValueError [HS102]: it
    is missing, comes later, or cannot be listened to."""
    name = listener.upstream_name
    earlier = before(component, nlp)
    linkable = {other: pipe for other, pipe in earlier.items() if hasattr(pipe, "resend")}
    if not component.labels:  # its weights, once read, may know the tagger by a new name
        name = next((other for other in (name, *linkable) if other in linkable), name)
    if name not in linkable:
        there = ", ".join(earlier) or "none"
        raise ValueError(Errors.HS102.format(name=component.name, upstream=name, there=there))
    return linkable[name]


def link_anew(component: Any, listener: MarginalListener, nlp: Language | None) -> None:
    """Link a listener that takes any tagger, before training: to the one that it has if that still
    comes before, else to the first that does, else to none for good."""
    earlier = before(component, nlp)
    if listener.upstream_name not in earlier:
        listener.unlink()
        for pipe in earlier.values():
            if hasattr(pipe, "find_listeners"):
                pipe.find_listeners(component)
        if listener.is_unlinked:
            listener.unlink("")


def before(component: object, nlp: Language | None) -> dict[str, Any]:
    """Components before this one, by name, frozen ones too, which are disabled while spaCy
    initializes."""
    pipes = () if nlp is None else nlp.components
    return dict(takewhile(lambda named: named[1] is not component, pipes))


def warn_uncalibrated(component: Any, reader: str) -> None:
    """WARNS [HW003]. reader: who asks for the probabilities."""
    warning = Warnings.HW003.format(
        name=component.name, objective=component.objective_name, reader=reader
    )
    warnings.warn(warning, stacklevel=2)


def known_tags_in(docs: list[Doc], gold: Labels, labels: Sequence[str]) -> dict[str, list[int]]:
    """The table that features of known tags read. gold (N,): of the docs, -1 where not known."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    words = (token.text for doc in docs for token in doc)
    for word, label in zip(words, gold.tolist(), strict=True):
        if label >= 0:
            counts[word][labels[label]] += 1
    return numbered(counts, MIN_COUNT, MIN_SHARE)


def cite_tables(nlp: Language, tables: set[str]) -> None:
    """Add who made the tables that a component learns with to `nlp.meta["sources"]`: name, address,
    licence, author of each. Tables that name nobody, such as those of a user's file, add
    nothing."""
    lookups = nlp.vocab.lookups
    if lookups.has_table(SOURCES):
        sources = nlp.meta.setdefault("sources", [])
        for name in sorted(tables):
            of_table = lookups.get_table(SOURCES).get(name, [])
            sources.extend(source for source in of_table if source not in sources)


def after_earlier_components(docs: list[Doc], nlp: Language | None, component: object) -> list[Doc]:
    """The words of copies of the docs, annotated by the components before this one that are enabled,
    or annotate in training: `spacy train` disables the frozen ones in initialization."""
    copies = [original_of(doc).copy() for doc in docs]
    for name, pipe in before(component, nlp).items():
        if nlp and name in (*nlp.pipe_names, *nlp.config["training"]["annotating_components"]):
            copies = list(_pipe(copies, pipe, name, raise_error, {}))
    return words_of(copies)


def seed_of(nlp: Language | None) -> int:
    """Seed of a training, by which spaCy draws at random, too."""
    return 0 if nlp is None else nlp.config.interpolate()["training"].get("seed") or 0


def batches_with(docs: list[Doc], ids: AnyInts) -> Iterator[tuple[list[Doc], Any]]:
    """Docs in batches, with the label ids of their tokens (N,)."""
    start = 0
    for batch in minibatch(docs, BATCH):
        end = start + sum(map(len, batch))
        yield batch, ids[start:end]
        start = end
