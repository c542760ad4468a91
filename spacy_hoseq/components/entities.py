"""Chunks as entities: `doc.ents` as gold annotation, as constraint, and as result."""

from typing import Dict, List, Sequence, Set

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..chunks import LETTERS, OUTSIDE
from .annotation import Values

BILUO = "UBIL"  # the letters of spaCy's own tags, for the only, the first, the inner and the last token


def gold_entity_values(example: Example, representation: str) -> Values:
    """Tags of the gold entities for the predicted tokens as string-store ids, 0 where nothing is known."""
    strings = example.reference.vocab.strings
    letters = dict(zip(BILUO, LETTERS[representation], strict=True))
    tags = [_translated(tag, letters) for tag in example.get_aligned_ner()]
    ids = {tag: strings.add(tag) if tag else 0 for tag in set(tags)}
    return np.array([ids[tag] for tag in tags], np.uint64)


def preset_tags(doc: Doc, representation: str) -> List[str]:
    """Tags of the entities that are set on a Doc, "" at all other tokens."""
    tags = [""] * len(doc)
    only, start, middle, last = list(LETTERS[representation])
    for entity in doc.ents:
        letters = only if len(entity) == 1 else start + middle * (len(entity) - 2) + last
        tags[entity.start : entity.end] = [f"{letter}-{entity.label_}" for letter in letters]
    return tags


def preset_mask(docs: Sequence[Doc], tags: Sequence[str], representation: str) -> "NDArray[np.bool_] | None":
    """Tags permitted beside the entities that are set already: these themselves, and no chunk over an entity of a type
    that is not known. RETURNS (N, L) bool, or None if nothing is set."""
    if not any(doc.ents for doc in docs):
        return None
    ids: Dict[str, int] = {tag: i for i, tag in enumerate(tags)}
    preset = [tag for doc in docs for tag in preset_tags(doc, representation)]
    mask = np.ones((len(preset), len(tags)), bool)
    for row, tag in enumerate(preset):
        if tag:
            mask[row] = False
            mask[row, ids.get(tag, ids[OUTSIDE])] = True
    return mask


def write_entities(doc: Doc, spans: List[Span], *, overwrite: bool) -> None:
    """Set the spans as entities. Those that are set already stay, unless `overwrite`."""
    kept = [] if overwrite else list(doc.ents)
    taken: Set[int] = {token for entity in kept for token in range(entity.start, entity.end)}
    doc.set_ents([*kept, *(span for span in spans if span.start not in taken)])


def _translated(tag: "str | None", letters: Dict[str, str]) -> str:
    if not tag or tag == "-":
        return ""
    return OUTSIDE if tag == OUTSIDE else letters[tag[0]] + tag[1:]
