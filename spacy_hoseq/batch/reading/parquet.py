"""Parquet: a column of texts, and perhaps one of ids."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ...readers.sentences import Problem
from ..source import InputFormat, InputOptions, Items, Source
from .json_lines import id_of

ROWS = 1000  # that are read at a time


def read_parquet(source: Source, reading: InputOptions) -> Items:
    """A row for each row; where the text is null, `text` is None."""
    number = 0
    try:
        with pq.ParquetFile(source.path) as file:
            problem = _problem_of(file.schema_arrow, reading)
            if problem:
                yield Problem(source.path, 1, problem, f'a column "{reading.text}" of strings')
                return
            columns = [
                name for name in (reading.text, reading.id) if name in file.schema_arrow.names
            ]
            for batch in file.iter_batches(ROWS, columns=columns):
                texts = batch.column(reading.text).cast(pa.string()).to_pylist()
                ids = (
                    batch.column(reading.id).to_pylist()
                    if reading.id in columns
                    else [None] * len(batch)
                )
                for text, own in zip(texts, ids, strict=True):
                    number += 1
                    yield source.row(number, text, id_of(own))
                source.position = source.size * number // max(1, file.metadata.num_rows)
    except (pa.ArrowException, OSError) as error:
        yield Problem(source.path, number + 1, str(error), "a file of Parquet, whole")


def _problem_of(schema: Any, reading: InputOptions) -> str:
    if schema.names.count(reading.text) != 1:
        return f"columns {', '.join(schema.names)}"
    kind = schema.field(reading.text).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return (
        "" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else f"a column of {kind}"
    )


FORMAT = InputFormat([".parquet"], read_parquet)
