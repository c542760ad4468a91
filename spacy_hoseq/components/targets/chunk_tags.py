"""Chunks on Docs: spans of a group, or entities, as one tag a token, and back."""

from typing import Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ...arrays import Floats32, Keys, Labels, Mask
from ...chunks import Chunks, TagTable, check_representation, grammar, write_chunks
from ...errors import Errors
from ...features.sequences import sentence_starts
from ...words import on_original, spans_of, without
from .entities import gold_entity_values, put_entities, write_entities
from .target import ENTS, SPANS, Items, LabelTable, Target
from .token_labels import names_of


class FoundChunks(NamedTuple):
    """Chunks of one Doc. first, end, types (C of them): tokens first <= i < end. probabilities (C,)
    float32: that each is there; None: nothing is known of that."""

    first: List[int]
    end: List[int]
    types: List[str]
    probabilities: Optional[Floats32]

    def spans(self, doc: Doc) -> List[Span]:
        """The chunks on the Doc in which they were found."""
        ids = {name: doc.vocab.strings.add(name) for name in set(self.types)}
        bounds = zip(self.first, self.end, self.types, strict=True)
        return [Span(doc, first, end, ids[name]) for first, end, name in bounds]


class ChunkTags(Target):
    """Reads and writes `doc.spans[spans_key]` as tags of a representation (chunks.py).

    with_entities (bool): where a Doc has no such span group, its entities are the chunks; found
        chunks are entities, too.
    RAISES ValueError [HS161]: no such representation.
    """

    neg_prefix = ""
    space = ""

    def __init__(self, spans_key: str, representation: str, *, with_entities: bool = False) -> None:
        check_representation(representation)
        self.spans_key = spans_key
        self.representation: Optional[str] = representation
        self.with_entities = with_entities
        group = (f"{SPANS}{spans_key}",) if spans_key else ()
        self.places: Tuple[str, ...] = (*group, ENTS) if with_entities else group

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: no tag of a chunk."""
        TagTable([label])

    def types_in(self, examples: Iterable[Example]) -> List[str]:
        """All types of gold chunks, sorted."""
        spans = (span for example in examples for span in self._spans(example.reference))
        return sorted({span.label_ for span in spans} - {""})

    def labels_in(self, examples: Sequence[Example]) -> List[str]:
        """All tags of gold chunks, sorted."""
        return names_of(((self.read(eg.reference), eg.reference) for eg in examples), "")

    def others_in(self, examples: Sequence[Example]) -> List[str]:
        """Span groups and entities that are annotated."""
        keys = {key for example in examples for key in example.reference.spans}
        ents = ["doc.ents"] if any(example.reference.ents for example in examples) else []
        return [*(f'doc.spans["{key}"]' for key in sorted(keys)), *ents]

    def gold_values(self, examples: Sequence[Example]) -> Keys:
        """Gold tags of all predicted tokens (N,) as string-store ids; 0 where nothing is known:
        everywhere if there is no such span group, and at tokens of chunks that do not begin and end
        with a token.

        RAISES ValueError [HS083]: gold spans that are no chunks.
        """
        return np.concatenate([self._aligned(eg) for eg in examples])

    def continues(self, tags: Sequence[str]) -> Optional[Mask]:
        """As `Target` has it."""
        rules = grammar(tags, str(self.representation))
        return rules.pairs & ~rules.first

    def read(self, doc: Doc) -> Keys:
        """Tags of the chunks on a Doc as string-store ids, all 0 without the span group. RAISES
        ValueError [HS083]."""
        if self.spans_key not in doc.spans:
            return np.zeros(len(doc), np.uint64)
        spans = list(doc.spans[self.spans_key])
        self._check(doc, spans)
        return self._values(doc, spans)

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
            put_entities(doc, first, end, spans)

    def write(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the spans that the labels of each Doc stand for: ids in the table, -1 at white space.
        No chunk crosses the end of a sentence. A span group that is set already stays, unless
        `overwrite`."""
        self.write_chunks(docs, self._chunks(docs, labels, table), overwrite=overwrite)

    def write_chunks(
        self, docs: Sequence[Doc], chunks: Iterable[FoundChunks], *, overwrite: bool
    ) -> None:
        """Set spans, with their probabilities as scores. What is set already stays, unless
        `overwrite`."""
        for doc, found in zip(docs, chunks, strict=True):
            spans = found.spans(doc)
            if overwrite or self.spans_key not in doc.spans:
                scores = {} if found.probabilities is None else {"scores": found.probabilities}
                doc.spans[self.spans_key] = SpanGroup(
                    doc, name=self.spans_key, spans=spans, attrs=scores
                )
            if self.with_entities:
                write_entities(doc, spans, overwrite=overwrite)

    def _chunks(
        self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable
    ) -> Iterable[FoundChunks]:
        """labels: as `write` has them."""
        for doc, ids in zip(docs, labels, strict=True):
            words = without(doc, ids < 0) if (ids < 0).any() else doc
            first, end, types = table.tags.chunks(ids[ids >= 0], sentence_starts(words))
            yield FoundChunks(*on_original(words, first.tolist(), end.tolist()), types, None)

    def _spans(self, doc: Doc) -> List[Span]:
        """The chunks on a Doc: those of the group; without it, its entities if they count."""
        if self.spans_key in doc.spans:
            return spans_of(doc.spans[self.spans_key])
        return list(doc.ents) if self.with_entities else []

    def _aligned(self, example: Example) -> Keys:
        predicted = example.predicted
        reference = example.reference
        if self.with_entities and self.spans_key not in reference.spans:
            return gold_entity_values(example, str(self.representation))
        values = self.read(reference)
        if np.array_equal(predicted.to_array(["ORTH"]), reference.to_array(["ORTH"])):
            return values
        if self.spans_key not in reference.spans:
            return np.zeros(len(predicted), np.uint64)
        spans = list(reference.spans[self.spans_key])
        aligned = [example.get_aligned_spans_y2x([span]) for span in spans]
        values = self._values(predicted, [span for parts in aligned for span in parts])
        for span, parts in zip(spans, aligned, strict=True):
            if not parts:
                values[np.asarray(example.alignment.y2x[span.start : span.end], np.intp)] = 0
        return values

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
        tags: List[str] = write_chunks(chunks, len(doc), str(self.representation))
        ids = {tag: doc.vocab.strings.add(tag) for tag in set(tags)}
        return np.array([ids[tag] for tag in tags], np.uint64)
