"""Lines of JSON: an object in each, with a text and perhaps an id."""

import json
from typing import Optional, Union

from ...readers.files import Line
from ...readers.sentences import Problem
from ..source import InputFormat, InputOptions, Items, Row, Source

SHOWN = 200  # characters of a line that is none


class Number(str):
    """A number as it was written."""


def read_json_lines(source: Source, reading: InputOptions) -> Items:
    """A row for each object; empty lines are passed over."""
    for line in source.lines():
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            yield _row(source, line, reading)


def _row(source: Source, line: Line, reading: InputOptions) -> Union[Row, Problem]:
    expected = f'an object with a string "{reading.text}"'
    try:
        fields = json.loads(line.text, parse_int=Number, parse_float=Number)
    except (ValueError, RecursionError) as error:
        return Problem(source.path, line.number, str(error), expected)
    text = fields.get(reading.text) if isinstance(fields, dict) else None
    if not isinstance(text, str) or isinstance(text, Number):
        return Problem(source.path, line.number, line.text[:SHOWN], expected)
    return source.row(line.number, text, id_of(fields.get(reading.id)))


def id_of(value: object) -> Optional[str]:
    """An id as the file has it: strings as they are, all else as JSON; None if there is none."""
    return value if value is None or isinstance(value, str) else _written(value)


def _written(value: object) -> str:
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{_written(key)}: {_written(item)}" for key, item in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_written, value)) + "]"
    if value is None or isinstance(value, (str, bool, int, float)):
        return json.dumps(value, ensure_ascii=False)
    return str(value)  # a date of Parquet


FORMAT = InputFormat([".jsonl"], read_json_lines)
