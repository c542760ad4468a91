"""What a component finds in the training examples before its weights are set to zero."""

from collections import Counter
from typing import (
    Any,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
)

from spacy.language import Language
from spacy.tokens import Doc

from ..arrays import Ints
from ..features.attributes import SOURCES
from ..features.known_tags import MIN_COUNT, MIN_SHARE, numbered
from ..features.sequences import words_of
from ..words import original_of

Item = TypeVar("Item")
BATCH = 1000  # docs whose features are counted together


def known_tags_in(
    gold: Iterable[Tuple[List[Doc], Ints]], labels: Sequence[str]
) -> Dict[str, List[int]]:
    """The table that features of known tags read. gold: predicted docs with labels (N,) by id, -1
    where not known."""
    counts: Dict[str, Counter[str]] = {}
    for docs, ids in gold:
        words = (token.text for doc in docs for token in doc)
        for word, label in zip(words, ids.tolist(), strict=True):
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


def seed_of(nlp: Language) -> int:
    """That of a training, by which spaCy draws at random, too."""
    return nlp.config.interpolate()["training"].get("seed") or 0


def earlier_components(nlp: Optional[Language], component: object) -> Iterator[Any]:
    """Those before this one that are enabled, or annotate in training: `spacy train` disables the
    frozen ones in initialization."""
    if nlp is None:
        return
    enabled = {*nlp.pipe_names, *nlp.config["training"].get("annotating_components", ())}
    for name, pipe in nlp.components:
        if pipe is component:
            return
        if name in enabled:
            yield pipe


def batches(items: List[Item]) -> Iterator[List[Item]]:
    """Docs or examples in batches, in order."""
    yield from (items[start : start + BATCH] for start in range(0, len(items), BATCH))
