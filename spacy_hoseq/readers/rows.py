"""Rows of JSON, JSON lines, CSV and Parquet, in bounded memory (except for a list in one JSON
value). A row that cannot be read is a Problem, and reading goes on."""

import ast
import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

import srsly

from ..errors import Errors
from .files import MARK, Line, lines_of, read_lines
from .sentences import Problem

if TYPE_CHECKING:  # optional
    import pyarrow
    import pyarrow.parquet

T = TypeVar("T")
MAX_CELL_CHARACTERS = 10_000_000  # what a quote that does not end costs


class Entry(NamedTuple):
    """A row. number (int): of its first line, or its place in a list or in Parquet, from 1. value:
    of JSON; the cells of CSV as a list; a dict by column of Parquet. text: a line of JSON."""

    number: int
    value: Any
    text: str = ""


def rows_of(
    path: Path, encodings: Sequence[str], expected: str = "JSON"
) -> Iterator[Entry | Problem]:
    """The rows of a Parquet file (.parquet), or of JSON. RAISES ImportError [HS170]: pyarrow is not
    installed."""
    if path.suffix != ".parquet":
        yield from json_rows(path, read_lines(path, encodings), expected)
        return
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise ImportError(Errors.HS170.format(package="pyarrow", install="pyarrow")) from error
    number = 0
    try:
        with ParquetFile(path) as file:
            for entry in parquet_rows(path, file):
                number += 1
                yield entry
    except (OSError, ValueError) as error:  # also pyarrow's own errors
        yield Problem(path, number + 1, str(error)[:100], "a Parquet file that can be read")


def json_rows(
    path: Path,
    lines: Iterator[Line | Problem],
    expected: str = "JSON",
    *,
    lists: bool = True,
) -> Iterator[Entry | Problem]:
    """The values of JSON lines, without empty lines; with `lists` also those of one list."""
    first = next((line for line in lines if isinstance(line, Problem) or line.text.strip()), None)
    if first is None:
        return
    decode = json.JSONDecoder(strict=False).decode  # control characters are read, too
    # what goes over several lines, or is one list, can only be read at once
    lines = chain([first], lines)
    if lists and isinstance(first, Line) and not _is_json_line(first.text):
        together = list(lines)
        values = literal("\n".join(line.text for line in together if isinstance(line, Line)))
        rows = rows_in(values)
        if rows:
            yield from map(Entry, range(1, len(rows) + 1), rows)
            return
        lines = iter(together)
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            try:
                yield Entry(line.number, decode(line.text), line.text)
            except (RecursionError, ValueError):
                value = literal(line.text)
                if isinstance(value, str):
                    yield Problem(path, line.number, line.text[:200], expected)
                else:
                    yield Entry(line.number, value, line.text)


def _is_json_line(text: str) -> bool:
    """True for an object alone, of which there may be more below."""
    try:
        value = json.loads(text, strict=False)
    except (RecursionError, ValueError):
        return False
    return isinstance(value, dict) and rows_in(value) == [value]


def rows_in(value: Any) -> list[Any]:
    """The rows of a list, or of an object that has them under a usual name; else the object."""
    if isinstance(value, list | tuple) and value and not isinstance(value[0], str):
        return [*value]
    if not isinstance(value, dict):
        return []
    for key in ("annotations", "examples", "documents", "data", "rows"):
        # a text with its spans is a row itself
        others = {"text", "document", "content", "data"} - {key}
        if isinstance(value.get(key), list) and not others & value.keys():
            return [row for row in value[key] if row is not None]
    return [value]


def literal(value: Any) -> Any:
    """The value that a string writes as JSON or Python, if it is a list or an object; else what was
    given."""
    if not isinstance(value, str):
        return value
    text = re.sub(r"^\s*\w+\s*=\s*(?=[\[({])", "", value)  # TRAIN_DATA = [...
    if not text.lstrip().startswith(("[", "{", "(")):
        return value
    # a list as numpy writes it: ['Ann' 'left'] or [0 1]; Python would join the strings
    if re.fullmatch(r"""\[\s*(('[^']*'|"[^"]*"|-?\d+)\s*)+\]""", text.strip()):
        pieces = re.findall(r"""'[^']*'|"[^"]*"|-?\d+""", text)
        return [ast.literal_eval(piece) for piece in pieces]
    for parse in (partial(json.loads, strict=False), ast.literal_eval):
        with suppress(MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
            return parse(text.strip().rstrip(","))  # a row of a list
    return value


def table_rows(
    path: Path, data: IO[bytes], encoding: str, delimiter: str, *, strict: bool
) -> Iterator[Entry | Problem]:
    """The rows of a table of text as lists of cells, the header first; an empty line has no cells.
    Bytes that are no text become surrogates. strict (bool): quotes must be those of CSV."""
    csv.field_size_limit(max(csv.field_size_limit(), MAX_CELL_CHARACTERS))
    with io.TextIOWrapper(data, encoding, "surrogateescape", newline="") as file:
        # the byte order mark would hide a quote behind it
        lines = lines_of(file)
        lines = chain([next(lines, "").removeprefix(MARK)], lines)
        rows = csv.reader(lines, delimiter=delimiter, strict=strict)
        number = 1
        while True:
            try:
                yield Entry(number, next(rows))
            except StopIteration:
                return
            except csv.Error as error:
                actual = f"{error} (lines {number} to {rows.line_num})"
                yield Problem(path, number, actual, "cells in quotes that end")
            # a row may go over several lines
            number = rows.line_num + 1


def parquet_rows(
    path: Path,
    file: "pyarrow.parquet.ParquetFile",
    columns: list[str] | None = None,
    *,
    as_text: bool = False,
) -> Iterator[Entry | Problem]:
    """The rows of a Parquet file, as dicts. columns: None = all. as_text (bool): cells become
    strings, in which bytes that are no UTF-8 are surrogates."""
    number = 0
    for batch in file.iter_batches(1000, columns=columns):
        names = batch.schema.names
        values = [_strings(cells) if as_text else _values(cells) for cells in batch.columns]
        for row in zip(*values, strict=True):
            number += 1
            problem = next((value for value in row if isinstance(value, ValueError)), None)
            if problem is None:
                yield Entry(number, dict(zip(names, row, strict=True)))
            else:
                yield Problem(path, number, str(problem)[:100], "values that can be read")


def _values(cells: "pyarrow.Array") -> list[Any]:
    """The values of a column. A value that cannot be read (text that is not UTF-8) is an error
    object."""
    try:
        values: list[Any] = cells.to_pylist()
    except ValueError:
        values = []
        for cell in cells:
            try:
                values.append(cell.as_py())
            except ValueError as error:
                values.append(error)
    return values


def _strings(cells: "pyarrow.Array") -> list[str | None]:
    """The values of a column as strings; bytes that are not UTF-8 become surrogates."""
    import pyarrow as pa

    try:
        values = cells.cast(pa.string()).cast(pa.binary()).to_pylist()
    except pa.ArrowException:  # a list, or an object
        return [None if value is None else str(value) for value in cells.to_pylist()]
    return [None if value is None else value.decode("utf8", "surrogateescape") for value in values]


def read_values(
    path: Path,
    encodings: Sequence[str],
    read: Callable[[Entry], Iterable[T]],
    expected: str,
) -> Iterator[T | Problem]:
    """Results of `read` for each row of JSON or Parquet. A row of another form is a Problem."""
    is_json = path.suffix != ".parquet"
    for entry in rows_of(path, encodings, expected):
        if isinstance(entry, Problem):
            yield entry
            continue
        try:
            if is_json:
                srsly.json_dumps(entry.value)  # no file can have half of a pair of surrogates
            yield from read(entry)
        except (
            AttributeError,
            LookupError,
            OverflowError,
            TypeError,
            ValueError,
        ) as error:
            # a fault of the whole file, not of this row
            if str(error).startswith("[HS"):
                raise
            actual = (entry.text or json.dumps(entry.value, default=str))[:100]
            if isinstance(error, UnicodeEncodeError):
                actual = f"{actual[:60]} ({error})"
            yield Problem(path, entry.number, actual, expected)
