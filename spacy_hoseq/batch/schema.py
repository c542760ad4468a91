"""What a pipeline finds as columns of Arrow: names, types, and what they say of where they come
from."""

import json
from typing import Any, Dict, Sequence

import pyarrow as pa
from spacy.attrs import DEP, LEMMA, MORPH, NORM, ORTH, POS, TAG

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
DEFAULT = ("word", "tag", "pos", "sentences", "spans")
OFFSETS = ("characters", "bytes")
KEY = b"spacy_hoseq"  # of the metadata

_BOUNDS = [pa.field("start", pa.int32()), pa.field("end", pa.int32())]
_TYPES = {"head": pa.int32(), "prob": pa.float32()}
SPAN = pa.struct(
    [
        *_BOUNDS,
        pa.field("label", pa.string()),
        pa.field("prob", pa.float32()),
        pa.field("group", pa.string()),
    ]
)
SENTENCE = pa.struct(_BOUNDS)


def check_outputs(outputs: Sequence[str], offsets: str) -> None:
    """RAISES ValueError [HS161]: there is no such column, or no such way to count."""
    known = [*TOKEN_FIELDS, *ROW_FIELDS]
    for name in outputs:
        if name not in known:
            raise ValueError(Errors.HS161.format(name=name, known=", ".join(known)))
    if offsets not in OFFSETS:
        raise ValueError(Errors.HS161.format(name=offsets, known=", ".join(OFFSETS)))


def token_type(outputs: Sequence[str]) -> pa.DataType:
    """start, end, and the fields asked for, in the order of TOKEN_FIELDS."""
    fields = [
        pa.field(name, _TYPES.get(name, pa.string())) for name in TOKEN_FIELDS if name in outputs
    ]
    return pa.struct([*_BOUNDS, *fields])


def schema_of(outputs: Sequence[str], id_type: object, about: Dict[str, Any]) -> pa.Schema:
    """id_type: of the column of ids, None without. about: what the metadata say."""
    fields = [] if id_type is None else [pa.field("id", id_type)]
    fields += [pa.field("text", pa.string())] if "text" in outputs else []
    fields.append(pa.field("tokens", pa.list_(token_type(outputs))))
    fields += [pa.field("sentences", pa.list_(SENTENCE))] if "sentences" in outputs else []
    fields += [pa.field("spans", pa.list_(SPAN))] if "spans" in outputs else []
    fields.append(pa.field("error", pa.string()))
    return pa.schema(
        fields, metadata={KEY: json.dumps(about, sort_keys=True, ensure_ascii=False).encode("utf8")}
    )
