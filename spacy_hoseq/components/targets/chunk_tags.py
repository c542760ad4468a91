"""Chunks on Docs: spans of a group, or entities, as one tag a token, and back."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ...arrays import Floats, Floats32, Keys, Mask
from ...chunks import (
    Chunks,
    TagTable,
    check_representation,
    grammar,
    tag_names,
    write_chunks,
)
from ...errors import Errors
from ...features.sequences import sentence_starts, sequence_lengths, values_of
from ...words import Words, spans_of
from ..reading import Reading
from .target import ENTS, SPANS, Items, LabelTable, Target

BEGINS = 3  # ENT_IOB, also of blocked tokens, which have no type


class FoundChunks(NamedTuple):
    """Chunks of one Doc. items: tokens first <= i < end, and type. probabilities (C,) float32: that
    each is there; None: nothing is known of that."""

    items: Items
    probabilities: Floats32 | None


def found_chunks(
    words: Sequence[Doc], chunks: Chunks, p: Floats | None = None
) -> list[FoundChunks]:
    """Chunks cut by Doc, on its tokens. words: the Docs without white space. chunks: of all words,
    end to end, with probabilities p."""
    parts = [doc.places if isinstance(doc, Words) else np.arange(len(doc)) for doc in words]
    starts = np.cumsum([0, *map(len, words)])
    cuts = np.searchsorted(chunks.first, starts).tolist()
    places = np.concatenate([np.zeros(0, np.intp), *parts])
    bounds = places[chunks.first].tolist(), (places[chunks.end - 1] + 1).tolist()
    items = list(zip(*bounds, chunks.types, strict=True))
    p32 = None if p is None else p.astype(np.float32)
    return [FoundChunks(items[a:b], None if p32 is None else p32[a:b]) for a, b in pairwise(cuts)]


class ChunkTags(Target):
    """Reads and writes `doc.spans[spans_key]` as tags of a representation (chunks.py).

    with_entities (bool): where a Doc has no such span group, its entities are the chunks; found
        chunks are entities, too.
    RAISES ValueError [HS161]: no such representation.
    """

    def __init__(self, spans_key: str, representation: str, *, with_entities: bool = False) -> None:
        check_representation(representation)
        self.spans_key = spans_key
        self.representation: str = representation
        self.with_entities = with_entities
        group = (f"{SPANS}{spans_key}",) if spans_key else ()
        self.places = (*group, ENTS) if with_entities else group
        self.columns = [ENT_IOB] if with_entities else []

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: no tag of a chunk."""
        TagTable([label])

    def is_set(self, doc: Doc) -> bool:
        """True if the Doc has a span group of chunks, even an empty one, or entities that may be chunks."""
        return self.spans_key in doc.spans or (self.with_entities and doc.has_annotation("ENT_IOB"))

    def read(self, doc: Doc) -> Keys:
        """Tags of the chunks on a Doc as string-store ids; 0 where nothing is known: everywhere
        without the span group; with entities, at tokens without them and at blocked ones. RAISES
        ValueError [HS083]: spans that are no chunks."""
        spans = self._spans(doc)
        if self.spans_key in doc.spans:
            self._check(doc, spans)
        return np.where(self._is_known(doc), self._values(doc, spans), np.uint64(0))

    def aligned(self, example: Example) -> Keys:
        """Gold tags of the predicted tokens; 0 also at tokens of chunks that do not begin and end
        with a token. RAISES ValueError [HS083]."""
        values = self.read(example.reference)
        words, gold_words = (
            doc.to_array(["ORTH"]) for doc in (example.predicted, example.reference)
        )
        if np.array_equal(words, gold_words):
            return values
        spans = self._spans(example.reference)
        parts = [example.get_aligned_spans_y2x([span]) for span in spans]
        odd = _tokens_of([span for span, part in zip(spans, parts, strict=True) if not part])
        unknown = sorted(odd.union(np.flatnonzero(values == 0).tolist()))
        aligned = self._values(example.predicted, [span for part in parts for span in part])
        for i in unknown:
            aligned[np.asarray(example.alignment.y2x[i], np.intp)] = 0
        return aligned

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Beside entities that are set already: these, and what can follow them; no chunk over
        blocked tokens, nor over an entity of an unknown type or across sentences."""
        is_annotated = any(map(np.any, values_of(docs, self.columns)))
        if not is_annotated or not any(doc.ents or blocked_spans(doc) for doc in docs):
            return None
        first = grammar(table.labels, self.representation).first
        return np.concatenate([self._permitted(doc, table, first) for doc in docs])

    def items(self, doc: Doc) -> Items:
        """The chunks on a Doc."""
        return [(span.start, span.end, span.label_) for span in self._spans(doc)]

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Put other chunks in the place of those that reach into first <= i < end: into the span
        group; as entities, if there is no group, or there are entities, too."""
        spans = [Span(doc, *item) for item in items]
        in_group = self.spans_key in doc.spans
        if in_group or not self.with_entities:
            kept = [
                span for span in doc.spans[self.spans_key] if span.end <= first or span.start >= end
            ]
            together = sorted([*kept, *spans], key=lambda span: span.start)
            doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=together)
        if self.with_entities and (doc.ents or not in_group):
            gone = [entity for entity in doc.ents if entity.end > first and entity.start < end]
            freed = (_tokens_of(gone) | {*range(first, end)}) - _tokens_of(spans)
            outside = [doc[i : i + 1] for i in sorted(freed)]
            doc.set_ents(spans, outside=outside, default="unmodified")

    def write(
        self, docs: Sequence[Doc], reading: Reading, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the spans that the labels stand for. No chunk crosses the end of a sentence. A span
        group that is set already stays, unless `overwrite`."""
        lengths = sequence_lengths(reading.docs)
        starts = np.zeros(len(reading.best), bool)
        starts[np.cumsum(lengths) - lengths] = True
        found = found_chunks(reading.docs, table.tags.chunks(reading.best, starts))
        self.write_chunks(docs, found, overwrite=overwrite)

    def write_chunks(
        self, docs: Sequence[Doc], chunks: Iterable[FoundChunks], *, overwrite: bool
    ) -> None:
        """Set spans, with their probabilities as scores. Spans, entities and blocked tokens that are
        set already stay, unless `overwrite`."""
        for doc, (items, p) in zip(docs, chunks, strict=True):
            spans = [Span(doc, *item) for item in items]
            if overwrite or self.spans_key not in doc.spans:
                attrs = {} if p is None else {"scores": p}
                doc.spans[self.spans_key] = SpanGroup(
                    doc, name=self.spans_key, spans=spans, attrs=attrs
                )
            if self.with_entities:
                kept = [] if overwrite else list(doc.ents)
                blocked = [] if overwrite else blocked_spans(doc)
                occupied = _tokens_of([*kept, *blocked])
                fitting = [span for span in spans if not _tokens_of([span]) & occupied]
                doc.set_ents([*kept, *fitting], blocked=blocked)

    def _spans(self, doc: Doc) -> list[Span]:
        """The chunks on a Doc: those of the group; without it, its entities if they count."""
        if self.spans_key in doc.spans:
            return spans_of(doc.spans[self.spans_key])
        return list(doc.ents) if self.with_entities else []

    def _is_known(self, doc: Doc) -> Mask:
        """Tokens that are known to be in a chunk, or in none (len(doc),)."""
        if self.spans_key in doc.spans or not self.with_entities:
            return np.full(len(doc), self.spans_key in doc.spans)
        kinds, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
        return np.asarray((kinds > 0) & ((kinds != BEGINS) | (types > 0)))

    def _check(self, doc: Doc, spans: Sequence[Span]) -> None:
        starts = sentence_starts(doc)
        before = 0
        for span in sorted(spans, key=lambda span: (span.start, span.end)):
            problems = {
                "overlaps with the one before": span.start < before,
                "has no label": not span.label_,
                "crosses the end of a sentence": starts[span.start + 1 : span.end].any(),
            }
            before = span.end
            for problem in filter(problems.get, problems):
                where = f"{span.text!r} ({span.label_}, tokens {span.start} to {span.end} of {doc.text[:40]!r})"
                message = Errors.HS083.format(key=self.spans_key, span=where, problem=problem)
                raise ValueError(message)

    def _values(self, doc: Doc, spans: Sequence[Span]) -> Keys:
        """Tags of spans that do not overlap, as string-store ids."""
        ordered = sorted(spans, key=lambda span: span.start)
        bounds = np.array([(span.start, span.end) for span in ordered], np.intp).reshape(-1, 2)
        chunks = Chunks(bounds[:, 0], bounds[:, 1], [span.label_ for span in ordered])
        tags = write_chunks(chunks, len(doc), self.representation)
        ids = {tag: doc.vocab.strings.add(tag) for tag in set(tags)}
        return np.array([ids[tag] for tag in tags], np.uint64)

    def _permitted(self, doc: Doc, table: LabelTable, first: Mask) -> Mask:
        """Tags permitted beside the entities and blocked tokens of one Doc (n, L). first (L,): tags
        that can begin a sequence."""
        types = {tag[2:] for tag in table.labels}
        cuts = sentence_starts(doc)
        possible = [
            span
            for span in doc.ents
            if span.label_ in types and not cuts[span.start + 1 : span.end].any()
        ]
        spans = [*doc.ents, *blocked_spans(doc)]
        fixed = sorted(_tokens_of(spans))
        rows = np.full(len(doc), len(table.masks) - 1)
        rows[fixed] = table.rows(self._values(doc, possible)[fixed])
        mask = table.masks[rows]
        mask[[span.end for span in spans if span.end < len(doc)]] &= first
        return mask


class ChunkTypes(ChunkTags):
    """The same, for a component whose labels are the types of chunks."""

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: an empty one."""
        TagTable(tag_names([label], self.representation))

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """All types of gold chunks, sorted."""
        spans = (span for example in examples for span in self._spans(example.reference))
        return sorted({span.label_ for span in spans} - {""})


def blocked_spans(doc: Doc) -> list[Span]:
    """Tokens over which spaCy permits no entity (`doc.set_ents(blocked=...)`)."""
    if not doc.has_annotation("ENT_IOB"):  # of most Docs it is all that has to be looked at
        return []
    kinds, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
    return [doc[i : i + 1] for i in np.flatnonzero((kinds == BEGINS) & (types == 0)).tolist()]


def _tokens_of(spans: Sequence[Span]) -> set[int]:
    return {i for span in spans for i in range(span.start, span.end)}
