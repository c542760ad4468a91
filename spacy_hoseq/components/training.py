"""Training examples before the weights are set to zero: known tags, tables, annotation by earlier
components."""

import warnings
from collections import Counter
from itertools import takewhile
from typing import Any, Dict, Iterator, List, Optional, Sequence, Set, Tuple, TypeVar

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from ..arrays import AnyInts, Labels
from ..decoders.answers import certain_labels
from ..errors import Errors, Warnings
from ..features.attributes import SOURCES
from ..features.keys import label_values
from ..features.known_tags import MIN_COUNT, MIN_SHARE, numbered
from ..features.sequences import sequence_lengths, words_of
from ..layers.listener import MarginalListener, UpstreamLabels, probable_values
from ..words import original_of

Item = TypeVar("Item")
BATCH = 1000  # docs whose features are counted together


class ComponentTexts:
    """The examples of a component, as its layers ask for them (`layers.scorer.TrainingTexts`).
    gold: label ids of each sequence."""

    def __init__(
        self,
        component: Any,
        examples: Sequence[Example],
        nlp: Optional[Language],
        gold: Sequence[Labels],
    ) -> None:
        self.labels: Sequence[str] = component.tags
        self.gold = gold
        self._component = component
        self._examples = examples
        self._nlp = nlp

    def docs(self) -> Iterator[List[Doc]]:
        return batches([eg.predicted for eg in self._examples])

    def annotated(self) -> List[Iterator[List[Doc]]]:
        """Earlier components may not be trained yet."""
        predicted = [eg.predicted for eg in self._examples]
        copies = after_earlier_components(predicted, self._nlp, self._component)
        return [batches([eg.reference for eg in self._examples]), batches(copies)]

    def heard(self, source: Model[List[Doc], Any]) -> Iterator[Tuple[List[Doc], UpstreamLabels]]:
        """The gold labels of an earlier component, or if there are none, those that it finds.
        RAISES ValueError
        [HS102]: it is missing, comes later, or cannot be listened to."""
        if not isinstance(source, MarginalListener):
            return ((batch, source.predict(batch)) for batch in self.docs())
        tagger = upstream_of(self._component, source.upstream_name, self._nlp)
        if source.threshold and not tagger.is_calibrated:
            reader = (
                f'"{self._component.name}", which listens with the threshold {source.threshold}'
            )
            warn_uncalibrated(tagger, reader)
        gold = tagger.gold_ids(self._examples)
        if (gold >= 0).any():
            return _labelled([eg.predicted for eg in self._examples], gold, tagger.labels)
        predicted = [eg.predicted for eg in self._examples]
        copies = after_earlier_components(predicted, self._nlp, tagger)
        return ((batch, source.predict(batch)) for batch in batches(list(tagger.pipe(copies))))


def _labelled(
    docs: List[Doc], gold: Labels, labels: Sequence[str]
) -> Iterator[Tuple[List[Doc], UpstreamLabels]]:
    """Docs with gold labels (N,), by id, as if they were certain."""
    values = label_values(labels)
    for batch, ids in batches_with(docs, gold):
        yield batch, probable_values(certain_labels(ids, sequence_lengths(batch)), values, 0.0)


def upstream_of(component: Any, name: str, nlp: Optional[Language]) -> Any:
    """The component of this name before another. RAISES ValueError [HS102]."""
    # frozen ones are disabled while spaCy initializes
    pipes = () if nlp is None else nlp.components
    earlier = dict(takewhile(lambda named: named[1] is not component, pipes))
    tagger = earlier.get(name)
    if not hasattr(tagger, "hand_again"):
        there = ", ".join(earlier) or "none"
        raise ValueError(Errors.HS102.format(name=component.name, upstream=name, there=there))
    return tagger


def warn_uncalibrated(component: Any, reader: str) -> None:
    """WARNS [HW003]. reader: who asks for the probabilities."""
    warning = Warnings.HW003.format(
        name=component.name, objective=component.objective_name, reader=reader
    )
    warnings.warn(warning, stacklevel=2)


def known_tags_in(docs: List[Doc], gold: Labels, labels: Sequence[str]) -> Dict[str, List[int]]:
    """The table that features of known tags read. gold (N,): of the docs, -1 where not known."""
    counts: Dict[str, Counter[str]] = {}
    words = (token.text for doc in docs for token in doc)
    for word, label in zip(words, gold.tolist(), strict=True):
        if label >= 0:
            counts.setdefault(word, Counter())[labels[label]] += 1
    return numbered(counts, MIN_COUNT, MIN_SHARE)


def cite_tables(nlp: Language, tables: Set[str]) -> None:
    """Add who made the tables that a component learns with to `nlp.meta["sources"]`: name, address,
    licence, author of each. Tables that name nobody, such as those of a user's file, add
    nothing."""
    lookups = nlp.vocab.lookups
    if lookups.has_table(SOURCES):
        sources = nlp.meta.setdefault("sources", [])
        for name in sorted(tables):
            of_table = lookups.get_table(SOURCES).get(name, [])
            sources.extend(source for source in of_table if source not in sources)


def after_earlier_components(
    docs: List[Doc], nlp: Optional[Language], component: object
) -> List[Doc]:
    """The words of copies of the docs, annotated by the components before this one."""
    copies = [original_of(doc).copy() for doc in docs]
    for pipe in earlier_components(nlp, component):
        copies = list(pipe.pipe(copies)) if hasattr(pipe, "pipe") else [pipe(doc) for doc in copies]
    return words_of(copies)


def earlier_components(nlp: Optional[Language], component: object) -> List[Any]:
    """Components before this one that are enabled, or annotate in training: `spacy train` disables the
    frozen ones in initialization."""
    if nlp is None:
        return []
    enabled = {*nlp.pipe_names, *nlp.config["training"].get("annotating_components", ())}
    earlier = takewhile(lambda named: named[1] is not component, nlp.components)
    return [pipe for name, pipe in earlier if name in enabled]


def seed_of(nlp: Optional[Language]) -> int:
    """Seed of a training, by which spaCy draws at random, too."""
    return 0 if nlp is None else nlp.config.interpolate()["training"].get("seed") or 0


def batches(items: List[Item]) -> Iterator[List[Item]]:
    """Docs or examples in batches, in order."""
    yield from (items[start : start + BATCH] for start in range(0, len(items), BATCH))


def batches_with(docs: List[Doc], ids: AnyInts) -> Iterator[Tuple[List[Doc], Any]]:
    """Docs in batches, with the label ids of their tokens (N,)."""
    start = 0
    for batch in batches(docs):
        end = start + sum(map(len, batch))
        yield batch, ids[start:end]
        start = end
