"""Rows of `hoseq apply`: a text a row, JSON or Parquet, with tokens, sentences and spans by
offsets.

{"text": "Ann sleeps.", "tokens": [{"start": 0, "end": 3, "tag": "NNP"}, ...], "sentences": [...],
 "spans": [{"start": 0, "end": 3, "label": "PER", "group": "ents"}]}
"""

from bisect import bisect_right
from pathlib import Path
from typing import Any

from ..files import read_values
from ..sentences import Items, LabelledSpan, Sentence, Settings

EXPECTED = "a row of `hoseq apply` with text, tokens and their offsets"
COLUMNS = ("tag", "pos", "lemma", "morph")
CHUNKS = ("chunks",)
ENTITIES = ("ents", "entities")  # the first group that is there


def is_row(value: Any) -> bool:
    """True if it is a row of this format."""
    tokens = value.get("tokens") if isinstance(value, dict) else None
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], dict):
        return False
    return {"start", "end"} <= tokens[0].keys() and ("sentences" in value or "tag" in tokens[0])


def read_rows(path: Path, settings: Settings) -> Items:
    """The sentences of each row, or a Problem. Rows with an error are Problems."""
    return read_values(path, settings.encodings, lambda entry: _sentences(entry.value), EXPECTED)


def _sentences(row: dict[str, Any]) -> list[Sentence]:
    """Sentences of a row. RAISES KeyError, IndexError, TypeError, ValueError: offsets do not
    fit."""
    starts = [bound["start"] for bound in row.get("sentences") or ()]
    by_sentence: dict[int, list[dict[str, Any]]] = {}
    for piece in _pieces(row["text"], row["tokens"]):
        number = max(bisect_right(starts, piece["at"]), 1)
        by_sentence.setdefault(number, []).append(piece)
    return [_sentence(row, pieces) for pieces in by_sentence.values()]


def _sentence(row: dict[str, Any], pieces: list[dict[str, Any]]) -> Sentence:
    groups = {span.get("group", ENTITIES[0]) for span in row.get("spans") or ()}
    begins = {piece["start"]: i for i, piece in enumerate(pieces) if "start" in piece}
    ends = {piece["end"]: i + 1 for i, piece in enumerate(pieces) if "end" in piece}
    chunks, entities = (
        _spans(row, next((group for group in kinds if group in groups), ""), begins, ends)
        for kinds in (CHUNKS, ENTITIES)
    )
    ordered = sorted(entities or ())
    if any(later.first < span.end for span, later in zip(ordered, ordered[1:], strict=False)):
        raise ValueError(row["spans"])  # `doc.ents` cannot overlap
    tags, pos, lemmas, morphs = (
        [str(piece.get(key) or "") for piece in pieces]
        if any(piece.get(key) for piece in pieces)
        else None
        for key in COLUMNS
    )
    return Sentence(
        [piece["text"] for piece in pieces],
        tags,
        chunks,
        entities,
        pos=pos,
        lemmas=lemmas,
        morphs=morphs,
        spaces=[piece["space"] for piece in pieces],
        is_text=not row.get("sentences"),
    )


def _pieces(text: str, tokens: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tokens with their text and whether a space follows, and other white space. at: where the
    token begins that it is, or stands behind."""
    first = tokens[0]["start"] if tokens else len(text)
    pieces: list[dict[str, Any]] = []
    if text[:first].strip():
        raise ValueError(text)
    if first:
        pieces.append({"text": text[:first], "space": False, "at": 0})
    ends = [*(token["start"] for token in tokens[1:]), len(text)]
    for token, end in zip(tokens, ends, strict=False):
        gap = text[token["end"] : end]
        word = text[token["start"] : token["end"]]
        if gap.strip() or not word or token.get("word", word) != word:
            raise ValueError(token)
        space = gap.startswith(" ")
        at = token["start"]
        pieces.append({**token, "text": word, "space": space, "at": at})
        if gap[space:]:
            pieces.append({"text": gap[space:], "space": False, "at": at})
    return pieces


def _spans(
    row: dict[str, Any], group: str, begins: dict[int, int], ends: dict[int, int]
) -> list[LabelledSpan] | None:
    """Spans of a group in one sentence; None if there is no such group."""
    if not group:
        return None
    return [
        LabelledSpan(begins[span["start"]], ends[span["end"]], span["label"])
        for span in row["spans"]
        if span.get("group", ENTITIES[0]) == group and span["start"] in begins
    ]
