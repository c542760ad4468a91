"""Rows of `hoseq apply` and of spaCy's `Doc.to_json`: a text a row, JSON or Parquet, with tokens,
sentences and spans by offsets.

{"text": "Ann sleeps.", "tokens": [{"start": 0, "end": 3, "tag": "NNP"}, ...], "sentences": [...],
 "spans": [{"start": 0, "end": 3, "label": "PER", "group": "ents"}]}
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..rows import read_values
from ..sentences import Items, LabelledSpan, Sentence
from ..settings import Format, Settings

Piece = dict[str, Any]  # a token, or white space between tokens


def rows_format() -> Format:
    """Registered as `spacy_hoseq.rows_format.v1`: what `hoseq apply` writes."""
    return Format(read_rows, (".jsonl", ".parquet"), "rows of `hoseq apply`")


def is_row(value: Any) -> bool:
    """True if it is a row of this format."""
    if not isinstance(value, dict):
        return False
    tokens = value.get("tokens")
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], dict):
        return False
    return {"start", "end"} <= tokens[0].keys() and ("sentences" in value or "tag" in tokens[0])


def read_rows(path: Path, settings: Settings) -> Items:
    """The sentences of each row. A row with an error is a Problem."""
    expected = "a row of `hoseq apply` with text, tokens and their offsets"
    return read_values(path, settings.encodings, lambda entry: _sentences(entry.value), expected)


def _sentences(row: dict[str, Any]) -> list[Sentence]:
    """Sentences of a row. RAISES KeyError, IndexError, TypeError, ValueError: offsets do not
    fit."""
    # spaCy's `Doc.to_json` has other names
    if "ents" in row:
        row = {**row, "spans": row["ents"], "sentences": row.get("sents")}
    starts = [bound["start"] for bound in row.get("sentences") or ()]
    # a token belongs to the last sentence that begins before it
    by_sentence: dict[int, list[Piece]] = {}
    for piece in _pieces(row["text"], row["tokens"]):
        number = max(bisect_right(starts, piece["at"]), 1)
        by_sentence.setdefault(number, []).append(piece)
    return [_sentence(row, pieces) for pieces in by_sentence.values()]


def _sentence(row: dict[str, Any], pieces: list[Piece]) -> Sentence:
    entities = _spans(row, ("ents", "entities"), pieces)
    for span, later in pairwise(sorted(entities or ())):
        if later.first < span.end:  # `doc.ents` cannot overlap
            raise ValueError(row["spans"])
    return Sentence(
        [piece["text"] for piece in pieces],
        tags=_column(pieces, "tag"),
        chunks=_spans(row, ("chunks",), pieces),
        entities=entities,
        pos=_column(pieces, "pos"),
        lemmas=_column(pieces, "lemma"),
        morphs=_column(pieces, "morph"),
        spaces=[piece["space"] for piece in pieces],
        is_text=not row.get("sentences"),
    )


def _column(pieces: list[Piece], key: str) -> list[str] | None:
    """One attribute of the tokens; None if no token has it."""
    if not any(piece.get(key) for piece in pieces):
        return None
    return [str(piece.get(key) or "") for piece in pieces]


def _pieces(text: str, tokens: list[dict[str, Any]]) -> list[Piece]:
    """Tokens and white space in order, with text and whether a space follows. at: start of the
    token, or of the token before the white space. RAISES ValueError: tokens overlap or go
    backwards, or words stand between them."""
    first = tokens[0]["start"] if tokens else len(text)
    if text[:first].strip():
        raise ValueError(text)
    pieces = []
    if first:
        pieces.append({"text": text[:first], "space": False, "at": 0})
    following = [*(token["start"] for token in tokens[1:]), len(text)]
    for token, limit in zip(tokens, following, strict=False):
        start = token["start"]
        end = token["end"]
        if not 0 <= start < end <= limit:
            raise ValueError(token)
        word = text[start:end]
        gap = text[end:limit]
        if gap.strip() or token.get("word", word) != word:
            raise ValueError(token)
        # as spaCy has it: one space belongs to the word, all other white space is a token
        space = gap.startswith(" ")
        pieces.append({**token, "text": word, "space": space, "at": start})
        if gap[space:]:
            pieces.append({"text": gap[space:], "space": False, "at": start})
    return pieces


def _spans(
    row: dict[str, Any], groups: Sequence[str], pieces: list[Piece]
) -> list[LabelledSpan] | None:
    """The spans in one sentence, of the first group in the row; None if the row has no such
    group."""
    spans = row.get("spans") or ()
    known = {span.get("group", "ents") for span in spans}
    group = next((group for group in groups if group in known), None)
    if group is None:
        return None
    begins = {}
    ends = {}
    for i, piece in enumerate(pieces):
        if "start" in piece:
            begins[piece["start"]] = i
            ends[piece["end"]] = i + 1
    found = []
    for span in spans:
        if span.get("group", "ents") == group and span["start"] in begins:
            first = begins[span["start"]]
            end = ends[span["end"]]
            if end <= first:
                raise ValueError(span)
            found.append(LabelledSpan(first, end, span["label"]))
    return found
