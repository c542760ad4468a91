"""Chunks as entities: `doc.ents` as gold annotation, as constraint, and as result."""

from typing import Dict, List, Sequence, Set

import numpy as np
from spacy.tokens import Doc, Span
from spacy.training import Example

from ...arrays import Keys, Mask
from ...chunks import LETTERS, OUTSIDE, Chunks, write_chunks
from ...features.sequences import sentence_starts

# the letters of spaCy's own tags, for the only, the first, the inner and the last token
BILUO = "UBIL"


def gold_entity_values(example: Example, representation: str) -> Keys:
    """Tags of the gold entities for the predicted tokens as string-store ids, 0 where nothing is
    known."""
    strings = example.reference.vocab.strings
    tags = (
        _read(example, representation)
        if _needs_no_alignment(example)
        else _aligned(example, representation)
    )
    ids = {tag: strings.add(tag) if tag else 0 for tag in set(tags)}
    return np.array([ids[tag] for tag in tags], np.uint64)


def _needs_no_alignment(example: Example) -> bool:
    """Whether predicted and reference have the same tokens, and all of these are annotated, none of
    them blocked."""
    predicted = example.predicted
    reference = example.reference
    if not len(reference) or not np.array_equal(
        predicted.to_array(["ORTH"]), reference.to_array(["ORTH"])
    ):
        return False
    kinds, types = reference.to_array(["ENT_IOB", "ENT_TYPE"]).T
    return bool(((kinds > 0) & ((kinds != 3) | (types > 0))).all())


def _read(example: Example, representation: str) -> List[str]:
    """What `_aligned` finds where there is nothing to align, in a fraction of its time."""
    entities = example.reference.ents
    bounds = np.array([(entity.start, entity.end) for entity in entities], np.intp).reshape(-1, 2)
    chunks = Chunks(bounds[:, 0], bounds[:, 1], [entity.label_ for entity in entities])
    return write_chunks(chunks, len(example.reference), representation)


def _aligned(example: Example, representation: str) -> List[str]:
    letters = dict(zip(BILUO, LETTERS[representation], strict=True))
    return [_translated(tag, letters) for tag in example.get_aligned_ner()]


def preset_mask(
    docs: Sequence[Doc], tags: Sequence[str], representation: str, first: Mask
) -> "Mask | None":
    """Tags permitted beside what is set already: entities themselves, and what can follow them; no
    chunk over blocked tokens, nor over an entity of an unknown type or across sentences. first
    (L,): tags that can begin a sequence.
    RETURNS (N, L) bool, or None if nothing is set."""
    if not any(doc.ents or blocked_spans(doc) for doc in docs):
        return None
    ids: Dict[str, int] = {tag: i for i, tag in enumerate(tags)}
    return np.concatenate([_mask(doc, ids, representation, first) for doc in docs])


def _mask(doc: Doc, ids: Dict[str, int], representation: str, first: Mask) -> Mask:
    mask = np.ones((len(doc), len(ids)), bool)
    only, start, middle, last = list(LETTERS[representation])
    begins = sentence_starts(doc)
    outside = ids[OUTSIDE]
    for span in [*blocked_spans(doc), *doc.ents]:
        letters = only if len(span) == 1 else start + middle * (len(span) - 2) + last
        names = [f"{letter}-{span.label_}" for letter in letters]
        usable = (
            span.label_
            and all(name in ids for name in names)
            and not begins[span.start + 1 : span.end].any()
        )
        mask[span.start : span.end] = False
        for token, name in zip(range(span.start, span.end), names, strict=True):
            mask[token, ids[name] if usable else outside] = True
        if span.end < len(doc):
            mask[span.end] &= first
    return mask


def blocked_spans(doc: Doc) -> List[Span]:
    """Tokens over which spaCy permits no entity (`doc.set_ents(blocked=...)`)."""
    if not doc.has_annotation("ENT_IOB"):  # of most Docs it is all that has to be looked at
        return []
    marks = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(len(doc), 2)
    return [
        doc[i : i + 1] for i in np.flatnonzero((marks[:, 0] == 3) & (marks[:, 1] == 0)).tolist()
    ]


def write_entities(doc: Doc, spans: List[Span], *, overwrite: bool) -> None:
    """Set the spans as entities. Entities and blocked tokens that are set already stay, unless
    `overwrite`."""
    kept = [] if overwrite else list(doc.ents)
    blocked = [] if overwrite else blocked_spans(doc)
    occupied: Set[int] = {
        token for span in [*kept, *blocked] for token in range(span.start, span.end)
    }
    fitting = [span for span in spans if not occupied.intersection(range(span.start, span.end))]
    doc.set_ents([*kept, *fitting], blocked=blocked)


def _translated(tag: "str | None", letters: Dict[str, str]) -> str:
    if not tag or tag == "-":
        return ""
    return OUTSIDE if tag == OUTSIDE else letters[tag[0]] + tag[1:]


def put_entities(doc: Doc, first: int, end: int, spans: List[Span]) -> None:
    """Set the spans as entities in the place of those that reach into first <= i < end. All else
    stays as it is."""
    gone = [entity for entity in doc.ents if entity.end > first and entity.start < end]
    covered = {token for span in spans for token in range(span.start, span.end)}
    reached = {token for span in gone for token in range(span.start, span.end)}.union(
        range(first, end)
    )
    outside = [doc[i : i + 1] for i in sorted(reached - covered)]
    doc.set_ents(spans, outside=outside, default="unmodified")
