"""Texts without annotation: a line of plain text each, or an object in a line of JSON."""

from pathlib import Path
from typing import Iterator, Union

from .files import Entry, json_entries, read_lines
from .sentences import Problem

TABLES = {".csv", ".tsv", ".json", ".parquet"}  # endings of files whose lines are no texts


def texts_in(file: Path, text_key: str) -> Iterator[Union[Entry, Problem]]:
    """Of each line of a file, plain or gzipped, that is not blank. text_key (str): of the text in a
    line of .jsonl, all other fields of which come with it."""
    lines = read_lines(file, ["utf-8"])
    if ".jsonl" in file.suffixes:
        yield from json_entries(file, lines, text_key)
        return
    if TABLES.intersection(file.suffixes):
        yield Problem(file, 1, "a table", "lines of text, .jsonl or .spacy")
        return
    yield from (
        line if isinstance(line, Problem) else Entry(line.number, line.text, {})
        for line in lines
        if isinstance(line, Problem) or line.text.strip()
    )
