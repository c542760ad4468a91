"""Docs as columns of Arrow: a row for each Doc, or a row for each token.

Spans are read by their characters, so they are right where a component has merged or split tokens
since.
"""

from collections.abc import Sequence
from operator import attrgetter
from struct import unpack
from typing import Any

import numpy as np
import pyarrow as pa
import srsly
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, NORM, ORTH, POS, TAG
from spacy.strings import StringStore
from spacy.tokens import Doc, Span

from ..arrays import Ints, Keys
from ..components.extensions import CONFIDENCES
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
BOUNDS = [("start", pa.int32()), ("end", pa.int32())]
SENTENCES = pa.list_(pa.struct(BOUNDS))
SPANS = pa.list_(
    pa.struct([*BOUNDS, ("label", pa.string()), ("prob", pa.float32()), ("group", pa.string())])
)
# start and end in the text, label, probability, group
Offsets = tuple[int, int, str | None, float | None, str]
Docs = Sequence[Doc | None]  # None: there is none
_bounds = attrgetter("start_char", "end_char", "label")


def row_columns(docs: Docs, outputs: Sequence[str]) -> dict[str, pa.Array]:
    """tokens, sentences and spans of the rows, as lists; null where there is no Doc. outputs: as
    `Annotator` has them."""
    fields = token_fields(docs, outputs)
    values = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    offsets = pa.array(np.cumsum([0, *_lengths(docs)]), pa.int32())
    absent = pa.array([doc is None for doc in docs], pa.bool_())
    columns = {"tokens": pa.ListArray.from_arrays(offsets, values, mask=absent)}
    if "sentences" in outputs:
        found = (None if doc is None else sentences_of(doc) for doc in docs)
        bounds = [
            None if spans is None else [(span.start_char, span.end_char) for span in spans]
            for spans in found
        ]
        columns["sentences"] = pa.array(bounds, SENTENCES)
    if "spans" in outputs:
        spans = [None if doc is None else spans_of(doc) for doc in docs]
        columns["spans"] = pa.array(spans, SPANS, from_pandas=True)
    return columns


def token_columns(docs: Docs, outputs: Sequence[str]) -> tuple[dict[str, pa.Array], Ints]:
    """A row for each token: sentence and token (numbers from 0 within the text), start, end,
    fields, and chunk and entity as tags (B-NP, I-NP, O) with probabilities. RETURNS the columns,
    and the number of the row that each token is of. RAISES ValueError [HS171]: a span does not
    begin and end with tokens."""
    there = [doc for doc in docs if doc is not None]
    columns: dict[str, pa.Array] = {}
    if "sentences" in outputs:
        numbers = [number for doc in there for number in _sentence_numbers(doc)]
        columns["sentence"] = pa.array(numbers, pa.int32())
    columns["token"] = pa.array([i for doc in there for i in range(len(doc))], pa.int32())
    columns.update(token_fields(docs, outputs))
    if "prob" in outputs:
        columns["tag_prob"] = columns.pop("prob")
    if "spans" in outputs:
        layers = list(map(layers_of, there))
        for number, name in enumerate(("chunk", "entity")):
            tags = [pair for of_doc in layers for pair in of_doc[number]]
            columns[name] = pa.array([tag for tag, _ in tags], pa.string())
            columns[f"{name}_prob"] = pa.array([p for _, p in tags], pa.float32(), from_pandas=True)
    return columns, np.repeat(np.arange(len(docs)), _lengths(docs))


def token_fields(docs: Docs, outputs: Sequence[str]) -> dict[str, pa.Array]:
    """start, end and the fields of the tokens of all Docs, end to end (N,)."""
    there = [doc for doc in docs if doc is not None]
    names = [name for name in STRINGS if name in outputs]
    attributes = [IDX, LENGTH, HEAD, *(STRINGS[name] for name in names)]
    none = np.zeros((0, len(attributes)), np.uint64)
    arrays = [none, *(doc.to_array(attributes) for doc in there)]
    start, length, head, *strings = np.concatenate(arrays).T
    fields = {"start": pa.array(start, pa.int32()), "end": pa.array(start + length, pa.int32())}
    store = there[0].vocab.strings if there else StringStore()
    for name, keys in zip(names, strings, strict=True):
        fields[name] = _strings(keys, store, NO_FEATURES if name == "morph" else 0)
    if "head" in outputs:
        number = np.concatenate([np.arange(len(doc)) for doc in there] or [head])
        fields["head"] = pa.array(number + head.astype(np.int64), pa.int32())
    if "prob" in outputs:
        found = [p for doc in there for p in _probabilities(doc)]
        fields["prob"] = pa.array(found, pa.float32(), from_pandas=True)
    return fields


def sentences_of(doc: Doc) -> list[Span] | None:
    """None: none were set."""
    if len(doc) == 1:
        return [doc[:]]
    return list(doc.sents) if doc.has_annotation("SENT_START") else None


def spans_of(doc: Doc) -> list[Offsets]:
    """Spans of all groups, in the order of their names, then entities; not those that are empty. A
    component that finds entities writes them to a group, too: they have the same probabilities."""
    strings = doc.vocab.strings
    spans: list[Offsets] = []
    known: dict[tuple[int, int, int], float | None] = {}
    for name, group in [*sorted(doc.spans.items()), (ENTITIES, doc.ents)]:
        places = _places(group)
        scores = list(map(known.get, places)) if name == ENTITIES else _scores(group, len(places))
        known.update(zip(places, scores, strict=True))
        spans += [
            (start, end, strings[label] if label else None, p, name)
            for (start, end, label), p in zip(places, scores, strict=True)
            if start < end
        ]
    return spans


def layers_of(doc: Doc) -> list[list[tuple[str, float | None]]]:
    """Tag and probability of each token: of the chunks, then of the entities. Chunks are the spans
    of the first group that has others than the entities. RAISES ValueError [HS171]."""
    spans = spans_of(doc)
    entities = [span for span in spans if span[-1] == ENTITIES]
    known = {span[:3] for span in entities}
    others = [span[-1] for span in spans if span[:3] not in known or span[-1] == CHUNKS]
    chunks = [span for span in spans if span[-1] in others[:1]]
    layers: list[list[tuple[str, float | None]]] = [[("O", None)] * len(doc) for _ in range(2)]
    for layer, spans in zip(layers, (chunks, entities), strict=True):
        for (_, _, label, p, _), (first, end) in zip(spans, token_bounds(doc, spans), strict=True):
            layer[first:end] = [(f"I-{label or ''}", p)] * (end - first)
            layer[first] = (f"B-{label or ''}", p)
    return layers


def token_bounds(doc: Doc, spans: Sequence[Offsets]) -> list[tuple[int, int]]:
    """First token, and the one behind the last, of each span. RAISES ValueError [HS171]: tokens
    were merged or split since, so that it does not begin and end with tokens."""
    bounds = []
    start, length = doc.to_array([IDX, LENGTH]).reshape(-1, 2).T
    firsts = {place: i for i, place in enumerate(start.tolist())}
    ends = {place: i + 1 for i, place in enumerate((start + length).tolist())}
    for first, end, _, _, group in spans:
        if first not in firsts or end not in ends:
            raise ValueError(Errors.HS171.format(text=doc.text[first:end], group=group))
        bounds.append((firsts[first], ends[end]))
    return bounds


def _lengths(docs: Docs) -> list[int]:
    return [len(doc or ()) for doc in docs]


def _sentence_numbers(doc: Doc) -> list[int | None]:
    sentences = sentences_of(doc)
    if sentences is None:
        return [None] * len(doc)
    return [number for number, sentence in enumerate(sentences) for _ in range(len(sentence))]


def _places(group: Any) -> list[tuple[int, int, int]]:
    """(start, end, label) of its spans, by characters."""
    try:
        return list(map(_bounds, group))
    except IndexError:  # spaCy finds no tokens there any more, but has the characters
        spans = srsly.msgpack_loads(group.to_bytes())["spans"]
        return [(*span[5:], span[2]) for span in (unpack(">QQQllll", data) for data in spans)]


def _scores(group: Any, n: int) -> list[float | None]:
    """One for each span, as span categorizers and our chunkers leave them; else none."""
    scores = group.attrs.get("scores")
    if scores is None or len(scores) != n:
        return [None] * n
    return np.asarray(scores, np.float32).tolist()


def _probabilities(doc: Doc) -> list[float | None]:
    """Probabilities of the tokens of a Doc; None for those that were merged or split since."""
    places, p = doc.user_data.get(CONFIDENCES, ((), ()))
    known = dict(zip(map(tuple, places), p, strict=True))
    return [known.get(place) for place in map(tuple, doc.to_array([IDX, LENGTH]).tolist())]


def _strings(keys: Keys, store: StringStore, unset: int) -> pa.Array:
    """The strings (N,); null where the key is 0 or unset."""
    encoded = pa.array(keys).dictionary_encode()
    ids = encoded.dictionary.to_pylist()
    names = [None if key in (0, unset) else store[key] for key in ids]
    return pa.array(names, pa.string()).take(encoded.indices)
