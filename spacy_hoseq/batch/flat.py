"""Tables with a row for each token, made of those with a row for each text."""

import io
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from ..arrays import Ints, Mask
from .columns import ENTITIES

NAMES = {"prob": "tag_prob"}  # of fields of tokens that are called otherwise here
LAYERS = ("chunk", "entity")  # of spans: groups of `doc.spans`, and `doc.ents`
INSIDE = "I-"
BEGINS = "B-"


class _Tokens(NamedTuple):
    """All tokens of a table, end to end. values: one struct each. cuts (R + 1,): where each row
    begins. text (N,): the row of each token."""

    values: pa.StructArray
    cuts: Ints
    text: Ints

    @property
    def start(self) -> Ints:
        return _numbers(self.values, "start")


def flat(table: pa.Table) -> pa.Table:
    """A row for each token: `id` of its text; `sentence` and `token`, numbers from 0 within the
    text; `start` and `end` in the text; its fields; `chunk` and `entity` as tags (B-NP, I-NP, O),
    with `chunk_prob` and `entity_prob`.

    Texts that failed have no rows. If a text has spans in several groups, those of the first one
    are its chunks; a group in which a component that finds entities writes them, too, is none.
    """
    table = table.combine_chunks()
    lists = _one(table["tokens"])
    tokens = _tokens(lists)
    number = np.arange(len(tokens.values)) - tokens.cuts[:-1][tokens.text]
    columns: Dict[str, object] = {}
    if "id" in table.column_names:
        columns["id"] = table["id"].take(pa.array(tokens.text))
    if "sentences" in table.column_names:
        columns["sentence"] = _sentences(_one(table["sentences"]), tokens)
    columns["token"] = pa.array(number.astype(np.int32))
    kind = lists.type.value_type
    for i in range(kind.num_fields):
        name = kind.field(i).name
        columns[NAMES.get(name, name)] = tokens.values.field(i)
    if "spans" in table.column_names:
        columns.update(_layers(_one(table["spans"]), tokens))
    return pa.table(columns).replace_schema_metadata(table.schema.metadata)


def delimited_bytes(table: pa.Table, delimiter: str) -> bytes:
    """The names of the columns in the first line, then a line for each row; null is an empty
    cell."""
    data = io.BytesIO()
    plain = table.replace_schema_metadata(None)
    pcsv.write_csv(plain, data, pcsv.WriteOptions(delimiter=delimiter))
    return data.getvalue()


def _one(column: pa.ChunkedArray) -> Any:
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)


def _cuts(lists: pa.ListArray) -> Ints:
    lengths = pc.fill_null(lists.value_lengths(), 0).to_numpy(zero_copy_only=False)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.intp)


def _tokens(lists: pa.ListArray) -> _Tokens:
    cuts = _cuts(lists)
    return _Tokens(lists.flatten(), cuts, np.repeat(np.arange(len(lists)), np.diff(cuts)))


def _numbers(values: pa.StructArray, name: str) -> Ints:
    return values.field(name).to_numpy(zero_copy_only=False).astype(np.intp)


def _within(tokens: _Tokens, lists: pa.ListArray, of: object, name: str) -> Ints:
    """The first token that begins at or after a place of each item of the lists: its number among
    all tokens."""
    row = np.repeat(np.arange(len(lists)), np.diff(_cuts(lists)))
    size = 1 + max(int(tokens.start.max(initial=0)), int(_numbers(of, name).max(initial=0)))
    places = tokens.text * size + tokens.start
    return np.searchsorted(places, row * size + _numbers(of, name))


def _sentences(lists: pa.ListArray, tokens: _Tokens) -> pa.Array:
    """The number of the sentence of each token, from 0 in its text; null where the text has no
    sentences."""
    sentences = lists.flatten()
    begins = np.zeros(len(tokens.values) + 1, np.int32)
    begins[_within(tokens, lists, sentences, "start")] = 1
    count = np.cumsum(begins[:-1])
    before = np.concatenate([[0], count])[tokens.cuts[:-1]]
    number = (count - before[tokens.text] - 1).astype(np.int32)
    return pa.array(number, mask=number < 0)


def _layers(lists: pa.ListArray, tokens: _Tokens) -> Dict[str, object]:
    """chunk, chunk_prob, entity, entity_prob of each token."""
    spans = lists.flatten()
    rows = np.repeat(np.arange(len(lists)), np.diff(_cuts(lists))).tolist()
    groups = spans.field("group").to_pylist()
    bounds = zip(
        *(spans.field(name).to_pylist() for name in ("start", "end", "label")), strict=True
    )
    places = list(zip(rows, bounds, strict=True))
    entities = {place for place, group in zip(places, groups, strict=True) if group == ENTITIES}
    # row -> the group that counts: groups of a row are in the order of their names
    chunks: Dict[int, str] = {}
    for place, group in zip(places, groups, strict=True):
        if place not in entities:
            chunks.setdefault(place[0], group)
    is_chunk = [chunks.get(row) == group for row, group in zip(rows, groups, strict=True)]
    is_entity = [group == ENTITIES for group in groups]
    columns: Dict[str, object] = {}
    for layer, chosen in zip(LAYERS, (is_chunk, is_entity), strict=True):
        tags, probabilities = _layer(lists, spans, np.array(chosen, bool), tokens)
        columns[layer] = tags
        columns[f"{layer}_prob"] = probabilities
    return columns


def _layer(
    lists: pa.ListArray, spans: pa.StructArray, chosen: Mask, tokens: _Tokens
) -> Tuple[pa.Array, pa.Array]:
    """Tags of the tokens by the chosen spans, and the probabilities of these."""
    first = _within(tokens, lists, spans, "start")
    end = _within(tokens, lists, spans, "end")
    labels = spans.field("label").to_pylist()
    given = spans.field("prob").to_numpy(zero_copy_only=False)
    tags = ["O"] * len(tokens.values)
    p = np.full(len(tokens.values), np.nan, np.float32)
    for i in np.flatnonzero(chosen).tolist():
        tags[first[i] : end[i]] = _tags(labels[i] or "", int(end[i] - first[i]))
        p[first[i] : end[i]] = given[i]
    return pa.array(tags, pa.string()), pa.array(p, mask=np.isnan(p))


def _tags(label: str, length: int) -> List[str]:
    return [f"{INSIDE if i else BEGINS}{label}" for i in range(length)]
