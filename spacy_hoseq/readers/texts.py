"""Texts without annotation: a line of plain text each, or an object in a line of JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .files import read_lines
from .rows import Entry, read_values
from .sentences import Problem


class Text(NamedTuple):
    """number (int): of its line. fields: what the line has beside it."""

    number: int
    text: str
    fields: dict[str, Any]


def texts_in(file: Path, text_key: str) -> Iterator[Text | Problem]:
    """The texts of a file, plain or gzipped: its lines that are not blank, or the objects in
    .jsonl. text_key (str): key of the text; all other fields come with it."""

    def read(entry: Entry) -> list[Text]:
        fields = {**entry.value}
        text = fields.pop(text_key)
        if not isinstance(text, str):
            raise TypeError(text)
        return [Text(entry.number, text, fields)]

    # also x.jsonl.gz
    if ".jsonl" in file.suffixes:
        yield from read_values(file, ["utf-8"], read, f'an object with a string "{text_key}"')
        return
    # their lines would be read as text, with quotes and commas
    if {".csv", ".tsv", ".json", ".parquet"}.intersection(file.suffixes):
        yield Problem(file, 1, "a table", "lines of text, .jsonl or .spacy")
        return
    for line in read_lines(file, ["utf-8"]):
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            yield Text(*line, {})
