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
BEGINS = 3  # ENT_IOB, also of blocked tokens, which have no type


def gold_entity_values(example: Example, representation: str) -> Keys:
    """Tags of the gold entities for the predicted tokens as string-store ids, 0 where nothing is
    known."""
    reference = example.reference
    orths = example.predicted.to_array(["ORTH"])
    kinds, types = reference.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
    is_known = (kinds > 0) & ((kinds != BEGINS) | (types > 0))
    if np.array_equal(orths, reference.to_array(["ORTH"])) and is_known.all():
        # nothing to align: all tokens are annotated, none of them blocked
        bounds = np.array([(ent.start, ent.end) for ent in reference.ents], np.intp).reshape(-1, 2)
        chunks = Chunks(bounds[:, 0], bounds[:, 1], [ent.label_ for ent in reference.ents])
        tags = write_chunks(chunks, len(reference), representation)
    else:
        letters = {"O": OUTSIDE, **dict(zip(BILUO, LETTERS[representation], strict=True))}
        aligned = [tag if tag and tag != "-" else "" for tag in example.get_aligned_ner()]
        tags = [letters[tag[0]] + tag[1:] if tag else "" for tag in aligned]
    strings = reference.vocab.strings
    ids = {tag: strings.add(tag) if tag else 0 for tag in set(tags)}
    return np.array([ids[tag] for tag in tags], np.uint64)


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
    for span in [*blocked_spans(doc), *doc.ents]:
        letters = only if len(span) == 1 else start + middle * (len(span) - 2) + last
        names = [f"{letter}-{span.label_}" for letter in letters]
        is_known = bool(span.label_) and ids.keys() >= {*names}
        if not is_known or begins[span.start + 1 : span.end].any():
            names = [OUTSIDE] * len(span)
        mask[span.start : span.end] = False
        mask[range(span.start, span.end), [ids[name] for name in names]] = True
        if span.end < len(doc):
            mask[span.end] &= first
    return mask


def blocked_spans(doc: Doc) -> List[Span]:
    """Tokens over which spaCy permits no entity (`doc.set_ents(blocked=...)`)."""
    if not doc.has_annotation("ENT_IOB"):  # of most Docs it is all that has to be looked at
        return []
    kinds, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
    return [doc[i : i + 1] for i in np.flatnonzero((kinds == BEGINS) & (types == 0)).tolist()]


def write_entities(doc: Doc, spans: List[Span], *, overwrite: bool) -> None:
    """Set the spans as entities. Entities and blocked tokens that are set already stay, unless
    `overwrite`."""
    kept = [] if overwrite else list(doc.ents)
    blocked = [] if overwrite else blocked_spans(doc)
    occupied = _tokens_of([*kept, *blocked])
    fitting = [span for span in spans if not _tokens_of([span]) & occupied]
    doc.set_ents([*kept, *fitting], blocked=blocked)


def put_entities(doc: Doc, first: int, end: int, spans: List[Span]) -> None:
    """Set the spans as entities in the place of those that reach into first <= i < end. All else
    stays as it is."""
    gone = [entity for entity in doc.ents if entity.end > first and entity.start < end]
    freed = (_tokens_of(gone) | {*range(first, end)}) - _tokens_of(spans)
    outside = [doc[i : i + 1] for i in sorted(freed)]
    doc.set_ents(spans, outside=outside, default="unmodified")


def _tokens_of(spans: Sequence[Span]) -> Set[int]:
    return {i for span in spans for i in range(span.start, span.end)}
