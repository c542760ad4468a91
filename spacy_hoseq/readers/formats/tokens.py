"""Lists of tokens and of their tags, as Hugging Face's datasets have them: JSON, one object a line, or
Parquet.

    {"tokens": ["Ann", "sleeps"], "ner_tags": ["B-PER", "O"]}

Tags may be numbers: their names stand in Parquet files of `datasets`, or in the settings.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import srsly

from ...errors import Errors
from ..files import Entry, read_values
from ..sentences import Items, Sentence, Settings
from .columns import is_entity_tag, labelled

WORDS = ("tokens", "words")
ENTITIES = ("ner_tags", "ner", "tags", "labels")
TAGS = ("pos_tags", "pos", "upos", "xpos")
CHUNKS = ("chunk_tags", "chunks")
EXPECTED = 'an object with "tokens" and as many "ner_tags" (B-, I-, O), "pos_tags" or "chunk_tags"'

Names = dict[str, Sequence[str]]


def read_tokens(path: Path, settings: Settings) -> Items:
    """A Sentence for each row, or a Problem. RAISES ValueError [HS085]: tags are numbers without
    names."""
    names = _names(path) if path.suffix == ".parquet" else {}

    def column(value: dict[str, Any], keys: Sequence[str]) -> list[Any] | None:
        """The tags under one of these keys, by their names."""
        key = next((key for key in keys if isinstance(value.get(key), list)), "")
        if not any(isinstance(each, int) for each in value.get(key, ())):
            return value.get(key)
        labels = names.get(key) or (settings.labels if keys is ENTITIES else ())
        if not labels and keys is ENTITIES:
            seen = f'"{key}" has numbers, and no names for them'
            do = "Give the names in order: --labels O,B-PER"
            raise ValueError(Errors.HS085.format(path=path, seen=seen, do=do))
        # without names: numbers of tags that nobody asked for
        return [labels[each] if each >= 0 else None for each in value[key]] if labels else None

    def read(entry: Entry) -> list[Sentence]:
        words, tags, chunks, entities = (
            column(entry.value, keys) for keys in (WORDS, TAGS, CHUNKS, ENTITIES)
        )
        given = [each for each in (words, tags, chunks, entities) if each is not None]
        cells = [cell for each in given for cell in each]
        if not words or len(given) < 2 or not all(isinstance(each, str) and each for each in cells):
            raise TypeError(entry)
        if not all(map(is_entity_tag, [*(chunks or ()), *(entities or ())])):
            raise ValueError(entry)
        if len(set(map(len, given))) > 1:
            raise ValueError(entry)
        return [labelled(words, tags, chunks, entities)]

    return read_values(path, settings.encodings, read, EXPECTED)


def has_tokens(value: Any) -> bool:
    """True if it is a row of this format."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in WORDS)


def _names(path: Path) -> Names:
    """Names of numbered tags by column, as `datasets` writes them beside the schema."""
    import pyarrow.parquet as parquet

    try:
        metadata = parquet.read_schema(path).metadata or {}
        features = srsly.json_loads(metadata[b"huggingface"])["info"]["features"]
    except (KeyError, OSError, TypeError, ValueError):
        return {}
    inner = {
        key: each.get("feature", each) for key, each in features.items() if isinstance(each, dict)
    }
    return {key: each["names"] for key, each in inner.items() if "names" in each}
