"""Chunks on Docs: spans of a group, or entities, as one tag a token, and back."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.attrs import ENT_IOB, ENT_TYPE
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
from ...decoders.problem import ranges
from ...errors import Errors
from ...features.sequences import WordDocs, by_doc, sentence_starts, sequence_lengths, values_of
from ...words import spans_of
from ..predictions import Predictions
from .target import ENTS, SPANS, Items, LabelTable, Target


class FoundChunks(NamedTuple):
    """Chunks of one Doc. items: tokens first <= i < end, and type. probabilities (C,) float32: that
    each is there; None = not known."""

    items: Items
    probabilities: Floats32 | None


def found_chunks(words: WordDocs, chunks: Chunks, p: Floats | None = None) -> Iterator[FoundChunks]:
    """Chunks of each Doc, by its tokens. words: the Docs without white space. chunks: of all words,
    end to end. p: their probabilities."""
    firsts = words.places[chunks.first].tolist()
    ends = (words.places[chunks.end - 1] + 1).tolist()
    for part in _by_doc(words, chunks):
        items = list(zip(firsts[part], ends[part], chunks.types[part], strict=True))
        yield FoundChunks(items, None if p is None else p[part].astype(np.float32))


def _by_doc(words: WordDocs, chunks: Chunks) -> Iterator[slice]:
    """The chunks of each Doc: they are in order."""
    starts = np.cumsum([0, *words.n_words])
    for a, b in pairwise(np.searchsorted(chunks.first, starts).tolist()):
        yield slice(a, b)


class ChunkTags(Target):
    """Reads and writes `doc.spans[spans_key]` as tags of a representation (chunks.py).

    with_entities (bool): chunks are also written as entities, and a Doc without the span group has
        its entities as chunks. spans_key (str): "" = there is no group, only entities.
    RAISES ValueError [HS161]: no such representation.
    """

    def __init__(self, spans_key: str, representation: str, *, with_entities: bool = False) -> None:
        check_representation(representation)
        self.spans_key = spans_key
        self.representation: str = representation
        self.with_entities = with_entities
        places = []
        if spans_key:
            places.append(f"{SPANS}{spans_key}")
        if with_entities:
            places.append(ENTS)
            self.columns = [ENT_IOB]
        self.places = tuple(places)

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: no tag of a chunk."""
        TagTable([label])

    def is_set(self, doc: Doc) -> bool:
        """True if the Doc has the span group, even an empty one, or entities that may be chunks."""
        return self.spans_key in doc.spans or (self.with_entities and doc.has_annotation("ENT_IOB"))

    def read(self, doc: Doc) -> Keys:
        """Tags of the chunks on a Doc as string-store ids; 0 where nothing is known: everywhere
        if there is no span group; of entities, where the token's is not set or blocked. RAISES
        ValueError [HS083]: spans that are no chunks."""
        spans = self._spans(doc)
        if self.spans_key in doc.spans:
            self._check(doc, spans)
        return np.where(self._is_known(doc), self._values(doc, spans), np.uint64(0))

    def aligned(self, example: Example) -> Keys:
        """Gold tags of the predicted tokens; 0 also at tokens of chunks that do not begin and end
        with a token. RAISES ValueError [HS083]."""
        values = self.read(example.reference)
        words = example.predicted.to_array(["ORTH"])
        if np.array_equal(words, example.reference.to_array(["ORTH"])):
            return values
        aligned_spans: list[Span] = []
        unknown = set(np.flatnonzero(values == 0).tolist())  # tokens of the reference
        for span in self._spans(example.reference):
            parts = example.get_aligned_spans_y2x([span])
            aligned_spans += parts
            if not parts:
                unknown |= _tokens_of([span])
        aligned = self._values(example.predicted, aligned_spans)
        for i in sorted(unknown):
            aligned[np.asarray(example.alignment.y2x[i], np.intp)] = 0
        return aligned

    def preset(self, docs: Sequence[Doc], table: LabelTable) -> Mask | None:
        """Tags permitted beside entities that are set already (N, L): those of these entities and
        what can follow them; no chunk on blocked tokens, nor on an entity whose type is unknown or
        that crosses sentences."""
        # most Docs have none: their columns are known already, their entities are not
        if not self._are_annotated(docs) or not any(doc.ents or blocked_spans(doc) for doc in docs):
            return None
        first = grammar(table.labels, self.representation).first
        return np.concatenate([self._permitted(doc, table, first) for doc in docs])

    def items(self, doc: Doc) -> Items:
        """The chunks on a Doc."""
        return [(span.start, span.end, span.label_) for span in self._spans(doc)]

    def put(self, doc: Doc, first: int, end: int, items: Items) -> None:
        """Replace the chunks that reach into first <= i < end: in the span group; as entities, if
        there is no group, or there are entities, too."""
        spans = [Span(doc, *item) for item in items]
        in_group = self.spans_key in doc.spans
        if in_group or not self.with_entities:
            together = list(spans)
            for span in doc.spans[self.spans_key]:
                if span.end <= first or span.start >= end:
                    together.append(span)
            together.sort(key=_start_of)
            doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=together)
        if self.with_entities and (doc.ents or not in_group):
            removed = [entity for entity in doc.ents if entity.end > first and entity.start < end]
            # tokens of entities that were removed are outside; all others stay as they are
            freed = (_tokens_of(removed) | set(range(first, end))) - _tokens_of(spans)
            outside = [doc[i : i + 1] for i in sorted(freed)]
            doc.set_ents(spans, outside=outside, default="unmodified")

    def write(
        self, docs: Sequence[Doc], reading: Predictions, table: LabelTable, *, overwrite: bool
    ) -> None:
        """Set the spans that the labels stand for. A span group that is set already stays, unless
        `overwrite`."""
        # no chunk crosses the end of a sentence
        lengths = sequence_lengths(reading.docs)
        starts = np.zeros(len(reading.best), bool)
        starts[np.cumsum(lengths) - lengths] = True
        chunks = table.tags.chunks(reading.best, starts)
        self.write_chunks(docs, reading.docs, chunks, None, overwrite=overwrite)

    def write_chunks(
        self,
        docs: Sequence[Doc],
        words: WordDocs,
        chunks: Chunks,
        p: Floats | None,
        *,
        overwrite: bool,
    ) -> None:
        """Set spans, with their probabilities as scores. Spans, entities and blocked tokens that are
        set already stay, unless `overwrite`. words: the docs as they were read. chunks, p: as in
        `found_chunks`."""
        if not docs:
            return
        ids = {label: docs[0].vocab.strings.add(label) for label in {*chunks.types}}
        labels = [ids[label] for label in chunks.types]
        firsts = words.places[chunks.first].tolist()
        ends = (words.places[chunks.end - 1] + 1).tolist()
        scores = None if p is None else p.astype(np.float32)
        # most texts have no entities yet, which is known since they were read
        are_new = self.with_entities and words.are(docs) and not self._are_annotated(words)
        if are_new:
            _write_first_entities(words, chunks, labels)
        for doc, part in zip(docs, _by_doc(words, chunks), strict=True):
            bounds = zip(firsts[part], ends[part], labels[part], strict=True)
            spans = [Span(doc, *each) for each in bounds]
            if overwrite or self.spans_key not in doc.spans:
                group = SpanGroup(doc, name=self.spans_key, spans=spans)
                if scores is not None:
                    group.attrs["scores"] = scores[part]
                doc.spans[self.spans_key] = group
            if self.with_entities and not are_new:
                entities: list[Span] = []
                blocked: list[Span] = []
                if not overwrite:
                    # entities do not overlap
                    entities = list(doc.ents)
                    blocked = blocked_spans(doc)
                    occupied = _tokens_of(entities) | _tokens_of(blocked)
                    spans = [span for span in spans if occupied.isdisjoint(_tokens_of([span]))]
                doc.set_ents([*entities, *spans], blocked=blocked)

    def _are_annotated(self, docs: Sequence[Doc]) -> bool:
        """True if it is known of any token whether an entity is there."""
        return any(map(np.any, values_of(docs, self.columns)))

    def _spans(self, doc: Doc) -> list[Span]:
        """The chunks on a Doc: those of the group; without it, its entities if they count."""
        if self.spans_key in doc.spans:
            return spans_of(doc.spans[self.spans_key])
        if self.with_entities:
            return list(doc.ents)
        return []

    def _is_known(self, doc: Doc) -> Mask:
        """Tokens that are known to be in a chunk, or in none (len(doc),)."""
        if self.spans_key in doc.spans or not self.with_entities:
            return np.full(len(doc), self.spans_key in doc.spans)
        is_set = doc.to_array(["ENT_IOB"]).reshape(-1) > 0
        return np.asarray(is_set & ~_is_blocked(doc))

    def _check(self, doc: Doc, spans: Sequence[Span]) -> None:
        """RAISES ValueError [HS083]: spans that are no chunks."""
        starts = sentence_starts(doc)
        # spaCy keeps a group in the order in which its spans were added
        before = 0  # end of the span before
        for span in sorted(spans, key=lambda span: (span.start, span.end)):
            problem = ""
            if span.start < before:
                problem = "overlaps with the one before"
            elif not span.label_:
                problem = "has no label"
            elif starts[span.start + 1 : span.end].any():
                problem = "crosses the end of a sentence"
            if problem:
                tokens = f"tokens {span.start} to {span.end} of {doc.text[:40]!r}"
                where = f"{span.text!r} ({span.label_}, {tokens})"
                message = Errors.HS083.format(key=self.spans_key, span=where, problem=problem)
                raise ValueError(message)
            before = span.end

    def _values(self, doc: Doc, spans: Sequence[Span]) -> Keys:
        """Tags of spans that do not overlap, as string-store ids (len(doc),)."""
        ordered = sorted(spans, key=_start_of)
        bounds = np.array([(span.start, span.end) for span in ordered], np.intp).reshape(-1, 2)
        chunks = Chunks(bounds[:, 0], bounds[:, 1], [span.label_ for span in ordered])
        tags = write_chunks(chunks, len(doc), self.representation)
        ids = {tag: doc.vocab.strings.add(tag) for tag in set(tags)}
        return np.array([ids[tag] for tag in tags], np.uint64)

    def _permitted(self, doc: Doc, table: LabelTable, first: Mask) -> Mask:
        """Tags permitted beside the entities and blocked tokens of one Doc (n, L). first (L,): tags
        that can begin a sequence."""
        types = {tag[2:] for tag in table.labels}
        starts = sentence_starts(doc)
        possible = []  # entities that can be chunks
        for span in doc.ents:
            if span.label_ in types and not starts[span.start + 1 : span.end].any():
                possible.append(span)
        fixed_spans = [*doc.ents, *blocked_spans(doc)]
        fixed = sorted(_tokens_of(fixed_spans))
        # the last row permits everything; a fixed token has the tag of its entity, or is outside
        rows = np.full(len(doc), len(table.masks) - 1)
        rows[fixed] = table.rows(self._values(doc, possible)[fixed])
        mask = table.masks[rows]
        # behind an entity another chunk may begin, but it does not go on
        mask[[span.end for span in fixed_spans if span.end < len(doc)]] &= first
        return mask


class ChunkTypes(ChunkTags):
    """`ChunkTags` for a component whose labels are the types of chunks."""

    def check_label(self, label: str) -> None:
        """RAISES ValueError [HS027]: an empty one."""
        TagTable(tag_names([label], self.representation))

    def labels_in(self, examples: Sequence[Example]) -> list[str]:
        """All types of gold chunks, sorted."""
        types: set[str] = set()
        for example in examples:
            types.update(span.label_ for span in self._spans(example.reference))
        return sorted(types - {""})


def _write_first_entities(words: WordDocs, chunks: Chunks, labels: list[int]) -> None:
    """As `doc.set_ents` of Docs without white space on which no entity is known, in a fraction of the
    time. labels (C,): string-store ids of the types."""
    sizes = chunks.end - chunks.first
    inside = ranges(chunks.first, sizes)
    columns = np.zeros((len(words.orths), 2), np.uint64)
    columns[:, 0] = 2  # outside
    columns[inside, 0] = 1
    columns[chunks.first, 0] = 3
    columns[inside, 1] = np.array(labels, np.uint64).repeat(sizes)
    for doc, doc_columns in zip(words, by_doc(columns, words), strict=True):
        doc.from_array([ENT_IOB, ENT_TYPE], doc_columns)  # type: ignore[arg-type]


def blocked_spans(doc: Doc) -> list[Span]:
    """Tokens on which spaCy permits no entity (`doc.set_ents(blocked=...)`)."""
    if not doc.has_annotation("ENT_IOB"):  # quick, and true of most Docs
        return []
    return [doc[i : i + 1] for i in np.flatnonzero(_is_blocked(doc)).tolist()]


def _is_blocked(doc: Doc) -> Mask:
    """Blocked tokens (n,): spaCy marks them as the beginning (3) of an entity without a type."""
    iob, types = doc.to_array(["ENT_IOB", "ENT_TYPE"]).reshape(-1, 2).T
    return np.asarray((iob == 3) & (types == 0))


def _start_of(span: Span) -> int:
    return span.start


def _tokens_of(spans: Sequence[Span]) -> set[int]:
    tokens: set[int] = set()
    for span in spans:
        tokens.update(range(span.start, span.end))
    return tokens
