"""Lists of tokens and of their tags, as Hugging Face's datasets have them: JSON, one object a line, or
Parquet.

    {"tokens": ["Ann", "sleeps"], "ner_tags": ["B-PER", "O"]}

Tags may be numbers: their names stand in Parquet files of `datasets`, or in the settings.
"""

from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Sequence, Union

import srsly

from ...errors import Errors
from ..sentences import Items, Problem, Sentence, Settings
from .columns import is_entity_tag, labelled
from .offsets import Entry, json_values

WORDS = ("tokens", "words")
ENTITIES = ("ner_tags", "ner", "tags", "labels")
TAGS = ("pos_tags", "pos", "upos", "xpos")
CHUNKS = ("chunk_tags", "chunks")
EXPECTED = 'an object with "tokens" and as many "ner_tags" (B-, I-, O), "pos_tags" or "chunk_tags"'

Names = Dict[str, Sequence[str]]


def read_tokens(path: Path, settings: Settings) -> Items:
    """A Sentence for each row, or a Problem. RAISES ValueError [HS085]: tags are numbers without
    names."""
    is_parquet = path.suffix == ".parquet"
    rows = parquet_rows(path) if is_parquet else json_values(path, settings)
    names = _names(path) if is_parquet else {}
    for row in rows:
        yield row if isinstance(row, Problem) else _sentence(path, row, names, settings)


def has_tokens(value: Any) -> bool:
    """It is a row of this format."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in WORDS)


def _sentence(path: Path, row: Entry, names: Names, settings: Settings) -> Union[Sentence, Problem]:
    value = row.value if isinstance(row.value, dict) else {}
    words = next((value[key] for key in WORDS if isinstance(value.get(key), list)), None)
    tags, chunks, entities = (
        _column(path, value, keys, names, settings) for keys in (TAGS, CHUNKS, ENTITIES)
    )
    given = [column for column in (tags, chunks, entities) if column is not None]
    good = given and all(_are_strings(column, len(words or ())) for column in (words, *given))
    if not good or not all(map(is_entity_tag, [*(chunks or ()), *(entities or ())])):
        return Problem(path, row.line, srsly.json_dumps(row.value)[:100], EXPECTED)
    return labelled(words or [], tags, chunks, entities)


def _are_strings(column: Any, n: int) -> bool:
    return (
        isinstance(column, list)
        and len(column) == n
        and all(isinstance(each, str) and each for each in column)
    )


def _column(
    path: Path, value: Dict[str, Any], keys: Sequence[str], names: Names, settings: Settings
) -> Optional[List[Any]]:
    """The tags under one of these keys, by their names."""
    key = next((key for key in keys if isinstance(value.get(key), list)), None)
    if key is None or not any(isinstance(each, int) for each in value[key]):
        return value[key] if key else None
    labels = names.get(key) or (settings.labels if keys is ENTITIES else ())
    if not labels and keys is not ENTITIES:
        return None  # numbers of tags that nobody asked for by name
    if not labels:
        seen = f'"{key}" has numbers, and no names for them'
        raise ValueError(
            Errors.HS085.format(
                path=path, seen=seen, do="Give the names in order: --labels O,B-PER"
            )
        )
    return [labels[each] if 0 <= each < len(labels) else None for each in value[key]]


def parquet_rows(path: Path) -> Iterator[Union[Entry, Problem]]:
    """The rows of a Parquet file as JSON values, numbered from 1; a Problem where it cannot be read
    any further. RAISES ImportError [HS170]: pyarrow is not installed."""
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise ImportError(Errors.HS170.format(package="pyarrow", install="pyarrow")) from error
    number = 0
    try:
        for batch in parquet.ParquetFile(path).iter_batches():
            for value in batch.to_pylist():
                number += 1
                yield Entry(number, value)
    except (OSError, ValueError) as error:  # also pyarrow's own errors
        yield Problem(path, number + 1, str(error)[:100], "a Parquet file with lists of tokens")


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
