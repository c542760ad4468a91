"""Chunks on Docs: spans as one tag a token, and back."""

from collections import Counter
from typing import Iterable, List, Sequence, Set

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup
from spacy.training import Example

from ...arrays import Keys, Labels
from ...chunks import Chunks, TagTable, check_representation, write_chunks
from ...errors import Errors
from ...features.sequences import sentence_starts
from ...words import on_original, without
from ..annotation import names_of
from ..gold import LabelTable
from .entities import gold_entity_values


class ChunkTags:
    """Reads and writes `doc.spans[spans_key]` as tags of a representation (chunks.py).

    with_entities (bool): where a reference has no such span group, its entities are the gold chunks.
    RAISES ValueError [HS081]: no such representation.
    """

    def __init__(self, spans_key: str, representation: str, *, with_entities: bool = False) -> None:
        check_representation(representation)
        self.spans_key, self.representation, self.with_entities = spans_key, representation, with_entities
        self.neg_prefix = self.space = ""
        self.place = f'doc.spans["{spans_key}"]' + (" and doc.ents" if with_entities else "")

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS080]: no tag of a chunk."""
        TagTable([label])

    def types_in(self, examples: Iterable[Example]) -> List[str]:
        """All types of gold chunks, sorted."""
        types: Set[str] = set()
        for example in examples:
            doc = example.reference
            spans = doc.spans.get(self.spans_key, doc.ents if self.with_entities else ())
            types.update(span.label_ for span in spans)
        return sorted(types - {""})

    def labels_in(self, examples: Sequence[Example]) -> List[str]:
        """All tags of gold chunks, sorted."""
        return names_of(((self.read(eg.reference), eg.reference) for eg in examples), "")

    def others_in(self, examples: Sequence[Example]) -> List[str]:
        """Span groups and entities, with how many spans they have."""
        counts: Counter[str] = Counter()
        for example in examples:
            counts.update({f'doc.spans["{key}"]': len(group) for key, group in example.reference.spans.items()})
            counts.update({"doc.ents": len(example.reference.ents)} if example.reference.ents else {})
        return [f"{place} ({n} spans)" for place, n in sorted(counts.items())]

    def gold_values(self, examples: Sequence[Example]) -> Keys:
        """Gold tags of all predicted tokens (N,) as string-store ids; 0 where nothing is known: everywhere if there is
        no such span group, and at tokens of chunks that do not begin and end with a token.

        RAISES ValueError [HS083]: gold spans that are no chunks.
        """
        return np.concatenate([self._aligned(eg) for eg in examples])

    def read(self, doc: Doc) -> Keys:
        """Tags of the chunks on a Doc as string-store ids, all 0 without the span group. RAISES ValueError [HS083]."""
        if self.spans_key not in doc.spans:
            return np.zeros(len(doc), np.uint64)
        spans = list(doc.spans[self.spans_key])
        self._check(doc, spans)
        return self._values(doc, spans)

    def write(self, docs: Sequence[Doc], labels: Sequence[Labels], table: LabelTable, *, overwrite: bool) -> None:
        """Set the spans that the labels of each Doc stand for: ids in the table, -1 at white space. No chunk crosses
        the end of a sentence. A span group that is set already stays, unless `overwrite`."""
        for doc, ids in zip(docs, labels, strict=True):
            if overwrite or self.spans_key not in doc.spans:
                words = without(doc, ids < 0) if (ids < 0).any() else doc
                first, end, types = table.tags.chunks(ids[ids >= 0], sentence_starts(words))
                bounds = on_original(words, first.tolist(), end.tolist())
                spans = [Span(doc, *stretch) for stretch in zip(*bounds, types, strict=True)]
                doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=spans)

    def _aligned(self, example: Example) -> Keys:
        predicted, reference = example.predicted, example.reference
        if self.with_entities and self.spans_key not in reference.spans:
            return gold_entity_values(example, self.representation)
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

    def _values(self, doc: Doc, spans: Sequence[Span]) -> Keys:
        """Tags of spans that do not overlap, as string-store ids."""
        ordered = sorted(spans, key=lambda span: span.start)
        bounds = np.array([(span.start, span.end) for span in ordered], np.intp).reshape(-1, 2)
        chunks = Chunks(bounds[:, 0], bounds[:, 1], [span.label_ for span in ordered])
        tags: List[str] = write_chunks(chunks, len(doc), self.representation)
        ids = {tag: doc.vocab.strings.add(tag) for tag in set(tags)}
        return np.array([ids[tag] for tag in tags], np.uint64)
