"""Chunks on Docs: gold spans as one tag a token, guessed tags as spans."""

from typing import Iterable, List, Sequence, Set

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ...chunks import Chunks, TagTable, check_representation, write_chunks
from ...errors import Errors
from ...features.sequences import sentence_starts
from ..annotation import Values
from .entities import gold_entity_values


class ChunkTags:
    """Reads and writes `doc.spans[spans_key]` as tags of a representation (chunks.py).

    with_entities (bool): where a reference has no such span group, its entities are the gold chunks.
    RAISES ValueError [HS081]: no such representation.
    """

    def __init__(self, spans_key: str, representation: str, *, with_entities: bool = False) -> None:
        check_representation(representation)
        self.spans_key, self.representation, self.with_entities = spans_key, representation, with_entities

    def types(self, examples: Iterable[Example]) -> List[str]:
        """All types of gold chunks, sorted."""
        found: Set[str] = set()
        for example in examples:
            doc = example.reference
            spans = doc.spans.get(self.spans_key, doc.ents if self.with_entities else ())
            found.update(span.label_ for span in spans)
        return sorted(found - {""})

    def gold_values(self, example: Example) -> Values:
        """Gold tags of the predicted tokens as string-store ids; 0 where nothing is known: everywhere if there is no
        such span group, and at tokens of chunks that do not begin and end with a token.

        RAISES ValueError [HS083]: gold spans that are no chunks.
        """
        predicted, reference = example.predicted, example.reference
        if self.with_entities and self.spans_key not in reference.spans:
            return gold_entity_values(example, self.representation)
        values = self.read_values(reference)
        if np.array_equal(predicted.to_array(["ORTH"]), reference.to_array(["ORTH"])):
            return values
        if self.spans_key not in reference.spans:
            return np.zeros(len(predicted), np.uint64)
        spans = list(reference.spans[self.spans_key])
        aligned = [example.get_aligned_spans_y2x([span]) for span in spans]
        values = self._values(predicted, [span for found in aligned for span in found])
        for span, found in zip(spans, aligned, strict=True):
            if not found:
                values[np.asarray(example.alignment.y2x[span.start : span.end], np.intp)] = 0
        return values

    def read_values(self, doc: Doc) -> Values:
        """Tags of the chunks on a Doc as string-store ids, all 0 without the span group. RAISES ValueError [HS083]."""
        if self.spans_key not in doc.spans:
            return np.zeros(len(doc), np.uint64)
        spans = list(doc.spans[self.spans_key])
        self._check(doc, spans)
        return self._values(doc, spans)

    def write(self, doc: Doc, labels: NDArray[np.int32], table: TagTable) -> None:
        """Set the spans that the labels (ids in the table) stand for. No chunk crosses the end of a sentence."""
        first, end, types = table.chunks(labels, sentence_starts(doc))
        spans = [Span(doc, *bounds) for bounds in zip(first.tolist(), end.tolist(), types, strict=True)]
        doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)

    def _check(self, doc: Doc, spans: Sequence[Span]) -> None:
        starts = sentence_starts(doc)
        before = 0
        for span in sorted(spans, key=lambda span: (span.start, span.end)):
            problem = ""
            if span.start < before:
                problem = "overlaps with the one before"
            elif not span.label_:
                problem = "has no label"
            elif starts[span.start + 1 : span.end].any():
                problem = "crosses the end of a sentence"
            if problem:
                where = f"{span.text!r} ({span.label_}, tokens {span.start} to {span.end})"
                raise ValueError(Errors.HS083.format(key=self.spans_key, span=where, problem=problem))
            before = span.end

    def _values(self, doc: Doc, spans: Sequence[Span]) -> Values:
        """Tags of spans that do not overlap, as string-store ids."""
        ordered = sorted(spans, key=lambda span: span.start)
        bounds = np.array([(span.start, span.end) for span in ordered], np.intp).reshape(-1, 2)
        chunks = Chunks(bounds[:, 0], bounds[:, 1], [span.label_ for span in ordered])
        tags: List[str] = write_chunks(chunks, len(doc), self.representation)
        ids = {tag: doc.vocab.strings.add(tag) for tag in set(tags)}
        return np.array([ids[tag] for tag in tags], np.uint64)
