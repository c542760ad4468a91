"""Lists of tokens and of their tags, as Hugging Face's datasets have them: JSON, one object a line, or
Parquet.

    {"tokens": ["Ann", "sleeps"], "ner_tags": ["B-PER", "O"]}

Tags may be numbers: their names stand in Parquet files of `datasets`, or in the settings.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import srsly

from ...errors import Errors
from ..rows import Entry, read_values
from ..sentences import Items, Sentence
from ..settings import Format, Settings
from .columns import is_entity_tag, labelled

WORD_KEYS = ("tokens", "words")


def tokens_format() -> Format:
    """Registered as `spacy_hoseq.tokens_format.v1`: lists of tokens and of their tags."""
    return Format(read_tokens, (".jsonl", ".json", ".parquet"), "lists of tokens and tags")


def read_tokens(path: Path, settings: Settings) -> Items:
    """A Sentence for each row, or a Problem. RAISES ValueError [HS085]: tags are numbers without
    names."""
    names = _names(path)

    def read(entry: Entry) -> list[Sentence]:
        row = entry.value
        words = row.get(_key(row, WORD_KEYS))
        tags = _column(row, _key(row, ("pos_tags", "pos", "upos", "xpos")), names)
        chunk_tags = _column(row, _key(row, ("chunk_tags", "chunks")), names)
        entity_key = _key(row, ("ner_tags", "ner", "tags", "labels"))
        # names in the file come first
        if settings.labels and entity_key not in names:
            names[entity_key] = settings.labels
        entity_tags = _column(row, entity_key, names)
        if entity_tags is None and entity_key:
            seen = f'"{entity_key}" has numbers, and no names for them'
            do = "Give the names in order: --labels O,B-PER"
            raise ValueError(Errors.HS085.format(path=path, seen=seen, do=do))
        columns = [column for column in (tags, chunk_tags, entity_tags) if column is not None]
        if not words or not columns:
            raise TypeError(row)
        if any(len(column) != len(words) for column in columns):
            raise ValueError(row)
        if not all(isinstance(cell, str) and cell for cell in chain(words, *columns)):
            raise TypeError(row)
        if not all(map(is_entity_tag, chain(chunk_tags or (), entity_tags or ()))):
            raise ValueError(row)
        return [labelled(words, tags, chunk_tags, entity_tags)]

    expected = (
        'an object with "tokens" and as many "ner_tags" (B-, I-, O), "pos_tags" or "chunk_tags"'
    )
    return read_values(path, settings.encodings, read, expected)


def has_tokens(value: Any) -> bool:
    """True if it is a row of this format."""
    return isinstance(value, dict) and _key(value, WORD_KEYS) != ""


def _key(row: dict[str, Any], keys: Sequence[str]) -> str:
    """The first key with a list; "" = none."""
    return next((key for key in keys if isinstance(row.get(key), list)), "")


def _column(row: dict[str, Any], key: str, names: dict[str, Sequence[str]]) -> list[Any] | None:
    """The tags under a key. Numbers become names; None if there are no names. RAISES IndexError: a
    number has no name."""
    tags = row.get(key)
    if not key or not any(isinstance(tag, int) for tag in tags or ()):
        return tags
    # without names, numbers are ignored, except for those of entities
    labels = names.get(key)
    if not labels:
        return None
    return [labels[tag] if tag >= 0 else None for tag in tags or ()]


def _names(path: Path) -> dict[str, Sequence[str]]:
    """Names of numbered tags by column, as `datasets` writes them beside the schema of Parquet."""
    if path.suffix != ".parquet":
        return {}
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_schema(path).metadata or {}
        features = srsly.json_loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, OSError, TypeError, ValueError):
        return {}
    names: dict[str, Sequence[str]] = {}
    for key, feature in features.items():
        if isinstance(feature, dict):
            feature = feature.get("feature", feature)
            if "names" in feature:
                names[key] = feature["names"]
    return names
