"""Docs as columns of Arrow: a row for each Doc, or a row for each token.

Columns are made from arrays of all tokens, end to end. Spans are read by their characters, so they
are right where a component has merged or split tokens since.
"""

from itertools import chain, repeat
from operator import attrgetter
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import srsly
from numpy.typing import NDArray
from spacy.attrs import (
    DEP,
    HEAD,
    IDX,
    LEMMA,
    LENGTH,
    MORPH,
    NORM,
    ORTH,
    POS,
    SENT_START,
    TAG,
)
from spacy.strings import StringStore
from spacy.tokens import Doc, SpanGroup

from ..arrays import Floats32, Ints, Keys, Mask
from ..errors import Errors

STRINGS = {
    "word": ORTH,
    "norm": NORM,
    "tag": TAG,
    "pos": POS,
    "morph": MORPH,
    "lemma": LEMMA,
    "dep": DEP,
}
TOKEN_FIELDS = (*STRINGS, "head", "prob")
ROW_FIELDS = ("text", "sentences", "spans")
CHUNKS = "chunks"  # the group of a chunker
ENTITIES = "ents"  # the group of `doc.ents` among the spans
NO_FEATURES = StringStore()["_"]  # as spaCy has it
BOUNDS = [pa.field("start", pa.int32()), pa.field("end", pa.int32())]
SPAN = pa.struct(
    [
        *BOUNDS,
        pa.field("label", pa.string()),
        pa.field("prob", pa.float32()),
        pa.field("group", pa.string()),
    ]
)
TYPES = {"head": pa.int32(), "prob": pa.float32()}
# start and end in the text, and the label in the string store; a probability or NaN; the group
Span = Tuple[Tuple[int, int, int], float, str]
_bounds = attrgetter("start_char", "end_char", "label")


class Annotated(NamedTuple):
    """Some rows. docs: None where there is none. errors: why, else None. probabilities (len(doc),):
    of the labels of tokens, NaN where there is none; None if nothing is known of them."""

    docs: List[Optional[Doc]]
    errors: List[Optional[str]]
    probabilities: List[Optional[Floats32]]


class Tokens:
    """All tokens of some Docs, end to end (N,). attributes: that are read. cuts (D + 1,): where each
    Doc begins. start, end: where each token is in its text."""

    def __init__(self, docs: Sequence[Doc], attributes: Sequence[int]) -> None:
        self.docs = docs
        self._attributes = list(dict.fromkeys([IDX, LENGTH, *attributes]))
        none = np.zeros((0, len(self._attributes)), np.uint64)
        self._values = np.concatenate([none, *(doc.to_array(self._attributes) for doc in docs)])
        self.cuts: Ints = np.cumsum([0, *map(len, docs)])
        self.start = self.of(IDX).astype(np.int32)
        self.end = self.start + self.of(LENGTH).astype(np.int32)
        self.doc: Ints = np.repeat(np.arange(len(docs)), np.diff(self.cuts))

    def of(self, attribute: int) -> Keys:
        return self._values[:, self._attributes.index(attribute)]

    def first_from(self, doc: Ints, place: NDArray[np.int32]) -> Ints:
        """The number of the first token that begins at or after a place of a Doc, or behind."""
        size = 1 + max(int(self.end.max(initial=0)), int(place.max(initial=0)))
        return np.searchsorted(self.doc * size + self.start, doc * size + place)


def row_columns(rows: Annotated, outputs: Sequence[str]) -> Dict[str, pa.Array]:
    """tokens, sentences, spans and error of the rows, as lists; null where there is no Doc.
    outputs: as `Annotator` has them."""
    tokens = tokens_of(rows, outputs)
    absent = np.array([doc is None for doc in rows.docs], bool)
    fields = token_fields(tokens, rows, outputs)
    values = pa.StructArray.from_arrays(list(fields.values()), fields=list(token_type(outputs)))
    columns = {"tokens": _lists(tokens.cuts, values, absent)}
    if "sentences" in outputs:
        columns["sentences"] = _sentences(tokens, absent)
    if "spans" in outputs:
        columns["spans"] = _span_lists(tokens, absent)
    columns["error"] = pa.array(rows.errors, pa.string())
    return columns


def token_columns(rows: Annotated, outputs: Sequence[str]) -> Tuple[Dict[str, pa.Array], Ints]:
    """A row for each token: sentence and token (numbers from 0 within the text), start, end, fields,
    and chunk and entity as tags (B-NP, I-NP, O) with probabilities. RETURNS the columns, and the
    number of the row that each token is of.

    If a text has spans in several groups, the first are its chunks; another group than "chunks"
    with the spans of `doc.ents` is none. RAISES ValueError [HS171]: a span does not begin and end
    with tokens.
    """
    tokens = tokens_of(rows, outputs)
    there = np.array([i for i, doc in enumerate(rows.docs) if doc is not None], np.intp)
    columns: Dict[str, pa.Array] = {}
    first = tokens.cuts[:-1][tokens.doc]
    if "sentences" in outputs:
        count = np.cumsum(_begins(tokens)) if len(tokens.doc) else tokens.doc
        number = (count - count[first]).astype(np.int32)
        columns["sentence"] = pa.array(number, mask=~_with_sentences(tokens)[tokens.doc])
    columns["token"] = pa.array((np.arange(len(tokens.doc)) - first).astype(np.int32))
    fields = token_fields(tokens, rows, outputs)
    columns.update(fields)
    if "prob" in fields:
        columns["tag_prob"] = columns.pop("prob")
    if "spans" in outputs:
        check_spans(tokens)
        layers = list(map(chunks_and_entities, tokens.docs))
        columns.update(_tags(tokens, [chunks for chunks, _ in layers], "chunk"))
        columns.update(_tags(tokens, [entities for _, entities in layers], "entity"))
    return columns, there[tokens.doc]


def token_type(outputs: Sequence[str]) -> pa.DataType:
    """start, end, and the fields asked for, in the order of TOKEN_FIELDS."""
    names = [name for name in TOKEN_FIELDS if name in outputs]
    return pa.struct([*BOUNDS, *(pa.field(name, TYPES.get(name, pa.string())) for name in names)])


def tokens_of(rows: Annotated, outputs: Sequence[str]) -> Tokens:
    """The tokens, with all attributes that the outputs are made of."""
    asked = [STRINGS[name] for name in outputs if name in STRINGS]
    asked += [HEAD] if "head" in outputs else []
    asked += [SENT_START] if "sentences" in outputs else []
    return Tokens([doc for doc in rows.docs if doc is not None], asked)


def token_fields(tokens: Tokens, rows: Annotated, outputs: Sequence[str]) -> Dict[str, pa.Array]:
    """start, end and the fields of all tokens (N,)."""
    fields: Dict[str, pa.Array] = {"start": pa.array(tokens.start), "end": pa.array(tokens.end)}
    for name in (name for name in TOKEN_FIELDS if name in outputs):
        if name == "head":
            number = np.arange(len(tokens.doc)) - tokens.cuts[:-1][tokens.doc]
            fields[name] = pa.array((number + tokens.of(HEAD).astype(np.int64)).astype(np.int32))
        elif name == "prob":
            fields[name] = _probabilities(rows)
        else:
            values = tokens.of(STRINGS[name])
            if name == "morph":
                values = np.where(values == NO_FEATURES, np.uint64(0), values)
            fields[name] = _named(values, tokens)
    return fields


def spans_of(doc: Doc) -> List[Span]:
    """Spans of all groups, in the order of their names, then entities; not those that are empty. A
    component that finds entities writes them to a group, too: they have the same probabilities."""
    found: List[Span] = []
    for name, group in [*sorted(doc.spans.items()), (ENTITIES, doc.ents)]:
        places = _places(group)
        if name == ENTITIES:
            known = {place: prob for place, prob, _ in found} if places else {}
            scores = [known.get(place, np.nan) for place in places]
        else:
            scores = _scores(group, len(places))
        found += zip(places, scores, repeat(name))
    return [span for span in found if span[0][1] > span[0][0]]


def chunks_and_entities(doc: Doc) -> Tuple[List[Span], List[Span]]:
    """Chunks are the spans of the first group that has others than the entities."""
    spans = spans_of(doc)
    entities = [span for span in spans if span[2] == ENTITIES]
    known = {place for place, _, _ in entities}
    others = (name for place, _, name in spans if place not in known or name == CHUNKS)
    group = next(others, None)
    return [span for span in spans if span[2] == group], entities


def check_spans(tokens: Tokens) -> None:
    """RAISES ValueError [HS171]: a span does not begin and end with tokens: they were merged or
    split since."""
    for number, doc in enumerate(tokens.docs):
        here = slice(tokens.cuts[number], tokens.cuts[number + 1])
        starts = set(tokens.start[here].tolist())
        ends = set(tokens.end[here].tolist())
        for (start, end, _), _, group in spans_of(doc):
            if start not in starts or end not in ends:
                raise ValueError(Errors.HS171.format(text=doc.text[start:end], group=group))


def _places(group: Any) -> List[Tuple[int, int, int]]:
    """(start, end, label) of its spans, by characters."""
    try:
        return list(map(_bounds, group))
    except IndexError:  # spaCy finds no tokens there any more, but has the characters
        spans = srsly.msgpack_loads(group.to_bytes())["spans"]
        kind = np.dtype(
            [("ids", ">u8", 2), ("label", ">u8"), ("tokens", ">i4", 2), ("at", ">i4", 2)]
        )
        return [
            (*row["at"].tolist(), int(row["label"])) for row in np.frombuffer(b"".join(spans), kind)
        ]


def _scores(group: SpanGroup, n: int) -> List[float]:
    """One for each span, as span categorizers and our chunkers leave them; else none."""
    scores = group.attrs.get("scores")
    if scores is None or len(scores) != n:
        return [np.nan] * n
    return np.asarray(scores, np.float32).tolist()


def _tags(tokens: Tokens, spans: Sequence[List[Span]], name: str) -> Dict[str, pa.Array]:
    """Each token's tag, and the probability of its span. spans: of each Doc."""
    doc, start, end, label, prob = _arrays(spans)
    first = tokens.first_from(doc, start)
    sizes = tokens.first_from(doc, end) - first
    span_of = np.full(len(tokens.doc), -1, np.intp)
    at = np.repeat(first - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    span_of[at] = np.repeat(np.arange(len(sizes)), sizes)
    is_first = np.arange(len(span_of)) == np.append(first, -1)[span_of]
    labels = _named(np.append(label, np.uint64(0))[span_of], tokens).fill_null("")
    prefix = pa.array(["I-", "B-"]).take(pa.array(is_first.astype(np.int32)))
    tags = pc.binary_join_element_wise(prefix, labels, "")
    p = np.append(prob, np.float32(np.nan))[span_of]
    return {
        name: pc.if_else(pa.array(span_of < 0), "O", tags),
        f"{name}_prob": pa.array(p, mask=np.isnan(p)),
    }


def _arrays(spans: Sequence[List[Span]]) -> Tuple[Any, ...]:
    """Number of the Doc, start, end, label and probability of all spans (S,). spans: of each Doc."""
    every = list(chain.from_iterable(spans))
    places = [place for place, _, _ in every]
    start, end, label = zip(*places, strict=True) if places else ((), (), ())
    return (
        np.repeat(np.arange(len(spans)), list(map(len, spans))),
        np.array(start, np.int32),
        np.array(end, np.int32),
        np.array(label, np.uint64),
        np.array([prob for _, prob, _ in every], np.float32),
    )


def _first_of_docs(tokens: Tokens) -> Mask:
    first = np.zeros(len(tokens.doc), bool)
    first[tokens.cuts[:-1][np.diff(tokens.cuts) > 0]] = True
    return first


def _begins(tokens: Tokens) -> Mask:
    """Tokens at which a sentence begins."""
    return (tokens.of(SENT_START) == 1) | _first_of_docs(tokens)


def _with_sentences(tokens: Tokens) -> Mask:
    """Docs in which sentences were set."""
    known = [len(doc) < 2 or doc.has_annotation("SENT_START") for doc in tokens.docs]
    return np.array(known, bool)


def _sentences(tokens: Tokens, absent: Mask) -> pa.Array:
    """Where sentences lie; null for Docs in which none were set."""
    known = _with_sentences(tokens)
    first = np.flatnonzero(_begins(tokens))
    last = np.append(first[1:], len(tokens.doc)) - 1 if len(first) else first
    is_known = known[tokens.doc[first]]
    doc = tokens.doc[first][is_known]
    bounds = [pa.array(tokens.start[first[is_known]]), pa.array(tokens.end[last[is_known]])]
    values = pa.StructArray.from_arrays(bounds, fields=BOUNDS)
    unset = absent.copy()
    unset[~absent] = ~known
    cuts = np.searchsorted(doc, np.append(np.flatnonzero(known), len(known)))
    return _lists(cuts, values, unset)


def _span_lists(tokens: Tokens, absent: Mask) -> pa.Array:
    spans = list(map(spans_of, tokens.docs))
    doc, start, end, label, prob = _arrays(spans)
    arrays = [
        pa.array(start),
        pa.array(end),
        _named(label, tokens),
        pa.array(prob, mask=np.isnan(prob)),
        pa.array([group for of_doc in spans for _, _, group in of_doc], pa.string()),
    ]
    values = pa.StructArray.from_arrays(arrays, fields=list(SPAN))
    return _lists(np.searchsorted(doc, np.arange(len(spans) + 1)), values, absent)


def _named(hashes: Keys, tokens: Tokens) -> pa.Array:
    """The strings (N,); null where none is set."""
    strings = tokens.docs[0].vocab.strings if tokens.docs else StringStore()
    encoded = pa.array(hashes).dictionary_encode()
    names = [strings[key] if key else None for key in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)


def _lists(cuts: Ints, values: pa.Array, absent: Mask) -> pa.Array:
    """values of those rows that are not absent, cut into lists."""
    lengths = np.zeros(len(absent), np.int64)
    lengths[~absent] = np.diff(cuts)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=pa.array(absent))


def _probabilities(rows: Annotated) -> pa.Array:
    """How probable the label of each token is (N,); null where no component says so."""
    pairs = [
        (doc, p) for doc, p in zip(rows.docs, rows.probabilities, strict=True) if doc is not None
    ]
    parts = [np.full(len(doc), np.nan, np.float32) if p is None else p for doc, p in pairs]
    p = np.concatenate([np.zeros(0, np.float32), *parts])
    return pa.array(p, mask=np.isnan(p))
