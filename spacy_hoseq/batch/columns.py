"""Docs as columns of Arrow, made from arrays: what a row costs beyond the pipeline is a few NumPy
calls, not a Python object for each token."""

from itertools import chain
from operator import itemgetter
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from spacy.attrs import ENT_IOB, ENT_TYPE, HEAD, IDX, LENGTH, SENT_START
from spacy.strings import StringStore
from spacy.tokens import Doc, SpanGroup

from ..arrays import Floats32, Ints, Keys, Mask
from ..components import FoundChunks
from .schema import SENTENCE, SPAN, STRINGS, TOKEN_FIELDS, token_type

ENTITIES = "ents"  # the group of `doc.ents` among the spans


Group = Tuple[str, List[int], List[int], List[int], NDArray[np.float32]]
NO_FEATURES = StringStore()["_"]  # as spaCy has it


class Chunks(NamedTuple):
    """What a chunker has found in a Doc and has not written there. key (str): of `doc.spans`."""

    key: str
    found: FoundChunks


class Annotated(NamedTuple):
    """Some rows. docs: None where there is none. errors: why, else None. chunks: those that are not
    on the Docs. probabilities (len(doc),): of the tags, NaN where there is none; None if nothing is
    known of them."""

    docs: List[Optional[Doc]]
    errors: List[Optional[str]]
    chunks: List[Optional[Chunks]]
    probabilities: List[Optional[Floats32]]


class _Tokens(NamedTuple):
    """All tokens of all Docs, end to end. values (N, A): of `attributes`. cuts (D + 1,): where each
    Doc begins.
    start, end (N,): where each token is in its text."""

    values: NDArray[np.uint64]
    attributes: List[int]
    cuts: Ints
    start: NDArray[np.int32]
    end: NDArray[np.int32]

    def of(self, attribute: int) -> Keys:
        return self.values[:, self.attributes.index(attribute)]


class _Read(NamedTuple):
    """What columns are made of: the Docs that are there, and their tokens."""

    docs: List[Doc]
    chunks: List[Optional[Chunks]]
    probabilities: List[Optional[Floats32]]
    tokens: _Tokens
    strings: StringStore


def columns_of(rows: Annotated, outputs: Sequence[str], offsets: str) -> Dict[str, pa.Array]:
    """tokens, sentences, spans and error of the rows; null where there is no Doc.

    outputs, offsets: as `Annotator` has them.
    """
    there = [i for i, doc in enumerate(rows.docs) if doc is not None]
    docs = [doc for doc in rows.docs if doc is not None]
    absent = np.array([doc is None for doc in rows.docs], bool)
    asked = [STRINGS[name] for name in TOKEN_FIELDS if name in outputs and name in STRINGS]
    read = _Read(
        docs,
        [rows.chunks[i] for i in there],
        [rows.probabilities[i] for i in there],
        _read(docs, asked, offsets),
        docs[0].vocab.strings if docs else StringStore(),
    )
    columns = {"tokens": _lists(read.tokens.cuts, _token_values(read, outputs), absent)}
    if "sentences" in outputs:
        columns["sentences"] = _sentences(read, absent)
    if "spans" in outputs:
        columns["spans"] = _spans(read, absent)
    columns["error"] = pa.array(rows.errors, pa.string())
    return columns


def _token_values(rows: _Read, outputs: Sequence[str]) -> pa.Array:
    fields: List[pa.Array] = [pa.array(rows.tokens.start), pa.array(rows.tokens.end)]
    for name in (name for name in TOKEN_FIELDS if name in outputs):
        if name == "head":
            fields.append(pa.array(_heads(rows.tokens)))
        elif name == "prob":
            fields.append(_probabilities(rows))
        else:
            values = rows.tokens.of(STRINGS[name])
            if name == "morph":
                values = np.where(values == NO_FEATURES, np.uint64(0), values)
            fields.append(_named(values, rows.strings))
    return pa.StructArray.from_arrays(fields, fields=list(token_type(outputs)))


def _read(docs: Sequence[Doc], asked: Sequence[int], offsets: str) -> _Tokens:
    attributes = list(dict.fromkeys([IDX, LENGTH, SENT_START, ENT_IOB, ENT_TYPE, HEAD, *asked]))
    values = np.concatenate(
        [np.zeros((0, len(attributes)), np.uint64), *(doc.to_array(attributes) for doc in docs)]
    )
    cuts = np.cumsum([0, *map(len, docs)])
    start = values[:, 0].astype(np.int32)
    end = start + values[:, 1].astype(np.int32)
    if offsets == "bytes":
        for doc, first, last in zip(docs, cuts, cuts[1:], strict=False):
            if not doc.text.isascii():
                before = _bytes_before(doc.text)
                start[first:last] = before[start[first:last]]
                end[first:last] = before[end[first:last]]
    return _Tokens(values, attributes, cuts, start, end)


def _bytes_before(text: str) -> NDArray[np.int32]:
    """Bytes of UTF-8 before each character, and before the end (n + 1,)."""
    codes = np.frombuffer(text.encode("utf-32-le"), "<u4")
    sizes = 1 + (codes > 0x7F).astype(np.int32) + (codes > 0x7FF) + (codes > 0xFFFF)
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])


def _named(hashes: Keys, strings: StringStore) -> pa.Array:
    """The strings (N,); null where none is set."""
    types, type_of = np.unique(hashes, return_inverse=True)
    names = [strings[int(key)] if key else None for key in types.tolist()]
    return pa.array(names, pa.string()).take(pa.array(type_of.astype(np.int32)))


def _lists(cuts: Ints, values: pa.Array, absent: Mask) -> pa.Array:
    """values of those rows that are not absent, cut into lists."""
    lengths = np.zeros(len(absent), np.int64)
    lengths[~absent] = np.diff(cuts)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(absent))


def _heads(tokens: _Tokens) -> NDArray[np.int32]:
    """The head of each token, as its number in the Doc."""
    numbers = np.arange(len(tokens.values)) - np.repeat(tokens.cuts[:-1], np.diff(tokens.cuts))
    return (numbers + tokens.of(HEAD).astype(np.int64)).astype(np.int32)


def _sentences(rows: _Read, absent: Mask) -> pa.Array:
    """Where sentences lie; null for Docs in which none were set."""
    tokens = rows.tokens
    marks = tokens.of(SENT_START)
    n_tokens = np.diff(tokens.cuts)
    begins = marks == 1
    begins[tokens.cuts[:-1][n_tokens > 0]] = True
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(begins)) - 1 if len(first) else first
    bounds = [pa.array(tokens.start[first]), pa.array(tokens.end[last])]
    values = pa.StructArray.from_arrays(bounds, fields=list(SENTENCE))
    cuts = np.searchsorted(first, tokens.cuts)
    known = np.array([len(doc) < 2 or doc.has_annotation("SENT_START") for doc in rows.docs], bool)
    unset = absent.copy()
    unset[~absent] = ~known
    kept = pa.array(np.repeat(known, np.diff(cuts)))
    return _lists(
        np.concatenate([[0], np.cumsum(np.diff(cuts)[known])]), values.filter(kept), unset
    )


def _spans(rows: _Read, absent: Mask) -> pa.Array:
    """Spans of all groups in the order of their names, then entities; not those that are empty."""
    tokens = rows.tokens
    strings = rows.strings
    of_docs = [
        _groups(doc, chunks, strings) for doc, chunks in zip(rows.docs, rows.chunks, strict=True)
    ]
    kinds = _cut(tokens, ENT_IOB)
    types = _cut(tokens, ENT_TYPE)
    for spans, kind, type_ in zip(of_docs, kinds, types, strict=True):
        if type_.any():
            spans.append((ENTITIES, *_entities(kind, type_, _by_bounds(spans))))
    groups = [(i, *group) for i, spans in enumerate(of_docs) for group in spans]
    sizes = [len(first) for _, _, first, _, _, _ in groups]
    names = sorted({name for _, name, *_ in groups})
    of_doc = np.repeat(np.array([number for number, *_ in groups], np.intp), sizes)
    of_name = np.repeat(np.array([names.index(name) for _, name, *_ in groups], np.int32), sizes)
    first, end = (
        np.fromiter(chain.from_iterable(map(itemgetter(i), groups)), np.intp) for i in (2, 3)
    )
    labels = np.fromiter(chain.from_iterable(map(itemgetter(4), groups)), np.uint64)
    p = np.concatenate([np.zeros(0, np.float32), *map(itemgetter(5), groups)])
    there = np.flatnonzero(end > first)
    shift = tokens.cuts[of_doc[there]]
    arrays = [
        pa.array(tokens.start[first[there] + shift]),
        pa.array(tokens.end[end[there] + shift - 1]),
        _named(labels[there], strings),
        pa.array(p[there], mask=np.isnan(p[there])),
        pa.array(names, pa.string()).take(pa.array(of_name[there])),
    ]
    cuts = np.searchsorted(of_doc[there], np.arange(len(rows.docs) + 1))
    return _lists(cuts, pa.StructArray.from_arrays(arrays, fields=list(SPAN)), absent)


def _groups(doc: Doc, chunks: Optional[Chunks], strings: StringStore) -> List[Group]:
    """Name, first and last token, label and probability of the spans in each group of a Doc, in the
    order of names."""
    groups: List[Group] = []
    if chunks is not None:
        spans = chunks.found
        labels = [strings.as_int(name) for name in spans.types]
        p = (
            np.full(len(labels), np.nan, np.float32)
            if spans.probabilities is None
            else spans.probabilities
        )
        groups.append((chunks.key, spans.first, spans.end, labels, p))
    for name, group in doc.spans.items() if doc.spans else ():
        bounds = [(span.start, span.end, span.label) for span in group]
        first, end, labels = map(list, zip(*bounds, strict=True)) if bounds else ([], [], [])
        groups.append((name, first, end, labels, _scores(group)))
    return sorted(groups, key=itemgetter(0)) if len(groups) > 1 else groups


def _scores(group: SpanGroup) -> NDArray[np.float32]:
    """One for each span, as span categorizers and our chunkers leave them; else none."""
    scores = group.attrs.get("scores")
    if scores is None or len(scores) != len(group):
        return np.full(len(group), np.nan, np.float32)
    return np.asarray(scores, np.float32)


def _by_bounds(groups: Iterable[Any]) -> Dict[Tuple[int, int, int], float]:
    """(first, end, label) of the spans of some groups -> how probable they are."""
    known: Dict[Tuple[int, int, int], float] = {}
    for _, first, end, labels, p in groups:
        known.update(zip(zip(first, end, labels, strict=True), p.tolist(), strict=True))
    return known


def _entities(
    kinds: Keys, types: Keys, known: Dict[Tuple[int, int, int], float]
) -> Tuple[List[int], List[int], List[int], NDArray[np.float32]]:
    """(first, end, label, probability) of `doc.ents`. known: the probabilities of spans, among
    which a component that finds entities writes them, too."""
    begins = np.flatnonzero((kinds == 3) & (types > 0))
    stops = np.flatnonzero(np.append(kinds, 0) != 1)  # where no entity goes on
    ends = stops[np.searchsorted(stops, begins, side="right")]
    spans = list(zip(begins.tolist(), ends.tolist(), types[begins].tolist(), strict=True))
    p = np.array([known.get(span, np.nan) for span in spans], np.float32)
    return begins.tolist(), ends.tolist(), types[begins].tolist(), p


def _probabilities(rows: _Read) -> pa.Array:
    """How probable the tag of each token is (N,); null where no component says so."""
    parts = [
        np.full(len(doc), np.nan, np.float32) if p is None else p
        for doc, p in zip(rows.docs, rows.probabilities, strict=True)
    ]
    p = np.concatenate([np.zeros(0, np.float32), *parts])
    return pa.array(p, mask=np.isnan(p))


def _cut(tokens: _Tokens, attribute: int) -> List[Keys]:
    """The values of each Doc."""
    return np.split(tokens.of(attribute), tokens.cuts[1:-1]) if len(tokens.cuts) > 1 else []
