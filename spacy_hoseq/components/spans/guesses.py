"""Chunks that a chunker has found in a batch, each with its exact probability."""

from itertools import pairwise
from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from spacy.tokens import Doc, Span, SpanGroup

from ...arrays import AnyFloats, Floats, Floats32, Mask
from ...chunks import Chunks, TagTable
from ...decoders.answers import Answers
from ...features.sequences import on_tokens
from ...words import on_original


class FoundChunks(NamedTuple):
    """Chunks of one Doc. first, end, types (C of them): tokens first <= i < end. probabilities (C,) float32.
    marginals (n, L) float32: of the tags, if asked for; rows of white space are 0."""

    first: List[int]
    end: List[int]
    types: List[str]
    probabilities: Floats32
    marginals: Optional[Floats32]


class ScoredChunks(NamedTuple):
    """One of the best ways to chunk a Doc. spans: (first, end, type). score: of its tags, in score units."""

    spans: "list[tuple[int, int, str]]"
    score: float


def chunks_of_best(answers: Answers, continues: Mask, tags: TagTable) -> Tuple[Chunks, Floats]:
    """The chunks that the best tags stand for, and the probability that each is there: begins, goes on and ends as it
    does. continues (L, L): pairs of tags of one chunk."""
    lengths = answers.lengths
    begins = np.zeros(len(answers.best), bool)
    begins[np.cumsum(lengths) - lengths] = True
    first, end, types = tags.chunks(answers.best, begins)
    return Chunks(first, end, types), answers.segments(first, end - first, continues=continues)


def chunks_by_doc(docs: Sequence[Doc], chunks: Chunks, p: Floats, nodes: Optional[AnyFloats]) -> List[FoundChunks]:
    """Cut by Doc. chunks: of all words, end to end, with their probabilities p. nodes (N, L): marginals, if they are
    asked for."""
    first, end, types = chunks
    p32 = p.astype(np.float32)
    cuts = [0, len(first)]
    if len(docs) > 1:
        starts = np.cumsum([0, *(len(doc) for doc in docs)])
        cuts = np.searchsorted(first, starts).tolist()
        shift = np.repeat(starts[:-1], np.diff(cuts))
        first, end = first - shift, end - shift
    firsts, ends = first.tolist(), end.tolist()
    rows = [None] * len(docs) if nodes is None else on_tokens(nodes.astype(np.float32), docs, 0)
    return [
        FoundChunks(*on_original(doc, firsts[a:b], ends[a:b]), types[a:b], p32[a:b], of_doc)
        for doc, (a, b), of_doc in zip(docs, pairwise(cuts), rows, strict=True)
    ]


def no_chunks(docs: Sequence[Doc], n_labels: int, *, with_marginals: bool) -> List[FoundChunks]:
    """Of docs that are all empty."""
    rows = on_tokens(np.zeros((0, n_labels), np.float32), docs, 0) if with_marginals else [None] * len(docs)
    return [FoundChunks([], [], [], np.zeros(0, np.float32), of_doc) for of_doc in rows]


def spans_of(doc: Doc, found: FoundChunks, ids: Dict[str, int]) -> List[Span]:
    """ids: string-store ids of the types."""
    bounds = zip(found.first, found.end, found.types, strict=True)
    return [Span(doc, first, end, ids[name]) for first, end, name in bounds]


def write_spans(doc: Doc, key: str, spans: List[Span], probabilities: Floats32) -> None:
    """As spaCy's SpanCategorizer does: a span group with the scores beside it."""
    doc.spans[key] = SpanGroup(doc, name=key, spans=spans, attrs={"scores": probabilities})
