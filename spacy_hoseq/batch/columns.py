"""Docs as columns of Arrow: a row for each Doc, or a row for each token.

Spans are read by their characters, so they are right even if a later component has merged or split
tokens.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, NORM, ORTH, POS, TAG
from spacy.strings import StringStore
from spacy.tokens import Doc, Span

from ..arrays import Ints, Keys
from ..components.extensions import CONFIDENCES
from ..errors import Errors
from ..words import saved_spans

# fields of tokens that are strings
TOKEN_ATTRIBUTES = {
    "word": ORTH,
    "norm": NORM,
    "tag": TAG,
    "pos": POS,
    "morph": MORPH,
    "lemma": LEMMA,
    "dep": DEP,
}
_offsets = attrgetter("start_char", "end_char", "label")  # of a span
Docs = Sequence[Doc | None]  # None: there is none


class Offsets(NamedTuple):
    """A span, by characters of the text. group (str): its key in `doc.spans`, or "ents"."""

    start: int
    end: int
    label: str | None
    prob: float | None
    group: str


def row_columns(docs: Docs, outputs: Sequence[str]) -> dict[str, pa.Array]:
    """tokens, sentences and spans of the rows, as lists; null where there is no Doc. outputs: as
    `Annotator` has them."""
    fields = token_fields(docs, outputs)
    values = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
    # (B + 1,) where the tokens of each Doc begin
    offsets = pa.array(np.cumsum([0, *_lengths(docs)]), pa.int32())
    absent = pa.array([doc is None for doc in docs], pa.bool_())
    columns = {"tokens": pa.ListArray.from_arrays(offsets, values, mask=absent)}
    bounds = [("start", pa.int32()), ("end", pa.int32())]
    if "sentences" in outputs:
        sentences = _of_each(docs, _sentence_bounds)
        columns["sentences"] = pa.array(sentences, pa.list_(pa.struct(bounds)))
    if "spans" in outputs:
        more = [("label", pa.string()), ("prob", pa.float32()), ("group", pa.string())]
        kind = pa.list_(pa.struct([*bounds, *more]))
        columns["spans"] = pa.array(_of_each(docs, spans_of), kind, from_pandas=True)
    return columns


def token_columns(docs: Docs, outputs: Sequence[str]) -> tuple[dict[str, pa.Array], Ints]:
    """A row for each token: sentence and token (numbers from 0 within the text), start, end,
    fields, and chunk and entity as tags (B-NP, I-NP, O) with probabilities. RETURNS the columns,
    and the number of each token's Doc (N,). RAISES ValueError [HS171]: a span does not begin and
    end with tokens."""
    present = [doc for doc in docs if doc is not None]
    columns: dict[str, pa.Array] = {}
    if "sentences" in outputs:
        columns["sentence"] = pa.array(_of_all(present, _sentence_numbers), pa.int32())
    columns["token"] = pa.array(_token_numbers(present), pa.int32())
    columns.update(token_fields(docs, outputs))
    if "prob" in outputs:
        columns["tag_prob"] = columns.pop("prob")
    if "spans" in outputs:
        layers = [layers_of(doc) for doc in present]
        for number, name in enumerate(("chunk", "entity")):
            tags: list[tuple[str, float | None]] = []
            for layers_of_doc in layers:
                tags += layers_of_doc[number]
            columns[name] = pa.array([tag for tag, _ in tags], pa.string())
            columns[f"{name}_prob"] = pa.array([p for _, p in tags], pa.float32(), from_pandas=True)
    return columns, np.repeat(np.arange(len(docs)), _lengths(docs))


def token_fields(docs: Docs, outputs: Sequence[str]) -> dict[str, pa.Array]:
    """start, end and the fields of the tokens of all Docs, end to end (N,)."""
    present = [doc for doc in docs if doc is not None]
    names = [name for name in TOKEN_ATTRIBUTES if name in outputs]
    attributes = [IDX, LENGTH, HEAD, *(TOKEN_ATTRIBUTES[name] for name in names)]
    arrays: list[Any] = [np.zeros((0, len(attributes)), np.uint64)]
    for doc in present:
        arrays.append(doc.to_array(attributes))
    start, length, head, *strings = np.concatenate(arrays).T
    fields = {"start": pa.array(start, pa.int32()), "end": pa.array(start + length, pa.int32())}
    store = present[0].vocab.strings if present else StringStore()
    for name, keys in zip(names, strings, strict=True):
        unset = {0}
        if name == "morph":
            unset.add(store["_"])  # how spaCy writes a morphology without features
        fields[name] = _strings(keys, store, unset)
    if "head" in outputs:
        # spaCy has the distance to the head, as two's complement
        numbers = _token_numbers(present) + head.astype(np.int64)
        fields["head"] = pa.array(numbers, pa.int32())
    if "prob" in outputs:
        p = _of_all(present, _probabilities)
        fields["prob"] = pa.array(p, pa.float32(), from_pandas=True)
    return fields


def sentences_of(doc: Doc) -> list[Span] | None:
    """The sentences; None: they are not known."""
    if len(doc) == 1:
        return [doc[:]]
    return list(doc.sents) if doc.has_annotation("SENT_START") else None


def spans_of(doc: Doc) -> list[Offsets]:
    """Spans of all groups, in the order of their names, then entities; not those that are empty. Our
    components write entities to a group, too, with their probabilities: they are given once, unless
    that group is the one of chunks."""
    entities = _places(doc.ents)
    known: dict[tuple[int, int, int], float | None] = {}
    spans: list[Offsets] = []
    for name, group in sorted(doc.spans.items()):
        places = _places(group)
        scores = _scores(group, len(places))
        known.update(zip(places, scores, strict=True))
        if name == "chunks" or {*places} != {*entities}:
            spans += _in_group(doc, name, places, scores)
    spans += _in_group(doc, "ents", entities, map(known.get, entities))
    return spans


def _in_group(
    doc: Doc, name: str, places: Iterable[tuple[int, int, int]], scores: Iterable[float | None]
) -> Iterator[Offsets]:
    for (start, end, label), p in zip(places, scores, strict=True):
        if start < end:
            yield Offsets(start, end, doc.vocab.strings[label] or None, p, name)


def layers_of(doc: Doc) -> list[list[tuple[str, float | None]]]:
    """Tag and probability of each token: of the chunks, then of the entities. Chunks are the spans
    of the first group that has others than the entities. RAISES ValueError [HS171]."""
    spans = spans_of(doc)
    entities = [span for span in spans if span.group == "ents"]
    known = {span[:3] for span in entities}
    # a component that finds entities also writes them to a group, which is not that of chunks
    chunk_group = None
    for span in spans:
        if span.group == "chunks" or span[:3] not in known:
            chunk_group = span.group
            break
    chunks = [span for span in spans if span.group == chunk_group]
    return [_tags(doc, chunks), _tags(doc, entities)]


def token_bounds(doc: Doc, spans: Sequence[Offsets]) -> list[tuple[int, int]]:
    """First token, and the one after the last, of each span. RAISES ValueError [HS171]: it does not
    begin and end with tokens, because a later component has merged or split some."""
    start, length = doc.to_array([IDX, LENGTH]).reshape(-1, 2).T
    first_tokens = {place: i for i, place in enumerate(start.tolist())}
    ends = {place: i for i, place in enumerate((start + length).tolist(), 1)}
    bounds = []
    for span in spans:
        if span.start not in first_tokens or span.end not in ends:
            text = doc.text[span.start : span.end]
            raise ValueError(Errors.HS171.format(text=text, group=span.group))
        bounds.append((first_tokens[span.start], ends[span.end]))
    return bounds


def _tags(doc: Doc, spans: Sequence[Offsets]) -> list[tuple[str, float | None]]:
    """Tag of each token (B-X, I-X, O), and the probability of its span."""
    tags: list[tuple[str, float | None]] = [("O", None)] * len(doc)
    for span, (first, end) in zip(spans, token_bounds(doc, spans), strict=True):
        label = span.label or ""
        tags[first:end] = [(f"I-{label}", span.prob)] * (end - first)
        tags[first] = (f"B-{label}", span.prob)
    return tags


def _lengths(docs: Docs) -> list[int]:
    return [len(doc or ()) for doc in docs]


def _token_numbers(docs: Sequence[Doc]) -> Ints:
    """Number of each token within its Doc (N,)."""
    return np.concatenate([np.zeros(0, np.int64), *map(np.arange, _lengths(docs))])


def _of_each(docs: Docs, read: Callable[[Doc], Any]) -> list[Any]:
    """What a function gives for each Doc; None where there is none."""
    return [None if doc is None else read(doc) for doc in docs]


def _of_all(docs: Iterable[Doc], read: Callable[[Doc], Iterable[Any]]) -> list[Any]:
    """What a function gives for the tokens of all Docs, end to end (N,)."""
    return [*chain.from_iterable(map(read, docs))]


def _sentence_bounds(doc: Doc) -> list[tuple[int, int]] | None:
    sentences = sentences_of(doc)
    if sentences is None:
        return None
    return [(sentence.start_char, sentence.end_char) for sentence in sentences]


def _sentence_numbers(doc: Doc) -> list[int | None]:
    """Number of each token's sentence."""
    sentences = sentences_of(doc)
    if sentences is None:
        return [None] * len(doc)
    numbers: list[int | None] = []
    for number, sentence in enumerate(sentences):
        numbers += [number] * len(sentence)
    return numbers


def _places(group: Any) -> list[tuple[int, int, int]]:
    """(start, end, label) of its spans, by characters."""
    try:
        return list(map(_offsets, group))
    except IndexError:
        # its tokens were merged or split, so spaCy cannot make Spans
        return [(start, end, label) for _, _, label, start, end in saved_spans(group)]


def _scores(group: Any, n: int) -> list[float | None]:
    """The score of each span, as span categorizers and our chunkers write them; else None."""
    scores = group.attrs.get("scores")
    if scores is None or len(scores) != n:
        return [None] * n
    return np.asarray(scores, np.float32).tolist()


def _probabilities(doc: Doc) -> list[float | None]:
    """Probability of each token's label; None for tokens that were merged or split since."""
    places, p = doc.user_data.get(CONFIDENCES, ((), ()))
    known = dict(zip(map(tuple, places), p, strict=True))
    return [known.get(place) for place in map(tuple, doc.to_array([IDX, LENGTH]).tolist())]


def _strings(keys: Keys, store: StringStore, unset: set[int]) -> pa.Array:
    """The strings (N,); null where the key is one of `unset`."""
    # each distinct key is looked up once
    encoded = pa.array(keys).dictionary_encode()
    names = [None if key in unset else store[key] for key in encoded.dictionary.to_pylist()]
    return pa.array(names, pa.string()).take(encoded.indices)
