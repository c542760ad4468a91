"""Lists of tokens and of their tags, as Hugging Face's datasets have them: JSON, one object a line, or
Parquet.

    {"tokens": ["Ann", "sleeps"], "ner_tags": ["B-PER", "O"]}

Both may be strings: "Ann sleeps", "B-PER O", as in tables. Tags may be numbers: their names stand in
Parquet files of `datasets`, or in the settings.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import srsly

from ...errors import Errors
from ..rows import Entry, literal, read_values
from ..sentences import Items, Sentence
from ..settings import Format, Settings
from .columns import BARE_TAG, is_entity_tag, labelled, standard_tags

WORD_KEYS = ("tokens", "words", "word", "token", "text", "sentence", "tokenized_text")
ENTITY_KEYS = (
    "ner_tags",
    "ner",
    "tags",
    "labels",
    "tag",
    "label",
    "word_labels",
    "bio",
    "entities",
)


def tokens_format() -> Format:
    """Registered as `spacy_hoseq.tokens_format.v1`: lists of tokens and of their tags."""
    return Format(read_tokens, (".jsonl", ".json", ".parquet"), "lists of tokens and tags")


def read_tokens(path: Path, settings: Settings) -> Items:
    """A Sentence for each row, or a Problem. RAISES ValueError [HS085]: tags are numbers without
    names."""
    names = _names(path)

    def read(entry: Entry) -> list[Sentence]:
        sentence = tokens_of(entry.value, names)
        if sentence is None:
            seen = "tags are numbers, and there are no names for them"
            do = "Give the names in order: --labels O,B-PER"
            raise ValueError(Errors.HS085.format(path=path, seen=seen, do=do))
        return [sentence]

    if settings.labels:
        for key in ENTITY_KEYS:
            names.setdefault(key, settings.labels)  # names in the file come first
    expected = (
        'an object with "tokens" and as many "ner_tags" (B-, I-, O), "pos_tags" or "chunk_tags"'
    )
    return read_values(path, settings.encodings, read, expected)


def tokens_of(value: Any, names: dict[str, Sequence[str]]) -> Sentence | None:
    """The sentence of a row; None: its tags are numbers, and `names` has none for them. RAISES
    AttributeError, LookupError, TypeError, ValueError: it has another form."""
    row = {}
    for key, cell in value.items():
        items = literal(cell)
        if isinstance(items, str):
            items = items.split()
        if isinstance(items, list | tuple):
            row[key.strip().lower()] = list(items)
    words = next((row[key] for key in WORD_KEYS if row.get(key)), None)
    if words is None:
        raise LookupError(WORD_KEYS)
    # a text may have other lists beside it
    lists = {
        key: tags for key, tags in row.items() if len(tags) == len(words) and tags is not words
    }
    columns = []
    for keys in (
        ("pos_tags", "pos", "upos", "xpos"),
        ("chunk_tags", "chunks"),
        ENTITY_KEYS,
    ):
        named = [_named(lists[key], names.get(key, ())) for key in keys if key in lists]
        columns.append(next(filter(None, named), None))
    # of entities, the last ones
    if named and columns[-1] is None:
        return None
    if columns == [None] * 3:
        raise ValueError(value)
    if not all(isinstance(cell, str) and cell for cell in chain(words, *filter(None, columns))):
        raise TypeError(value)
    tags, chunk_tags, entity_tags = columns
    if entity_tags:
        is_bare = all(map(BARE_TAG.fullmatch, entity_tags))
        entity_tags = standard_tags(entity_tags, "bare" if is_bare else "", "ENTITY")
    if not all(map(is_entity_tag, chain(chunk_tags or (), entity_tags or ()))):
        raise ValueError(value)
    return labelled(words, tags, chunk_tags, entity_tags)


def _named(tags: list[Any], names: Sequence[str]) -> list[Any] | None:
    """Tags, or the names of numbered ones; None = they have none. RAISES IndexError: a number has
    no name."""
    if not any(isinstance(tag, int) for tag in tags):
        return tags
    if not names:
        return None
    return [names[tag] if tag >= 0 else None for tag in tags]


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
    names = {}
    for key, feature in features.items():
        if isinstance(feature, dict):
            feature = feature.get("feature", feature)
            if "names" in feature:
                names[key] = feature["names"]
    return names
