"""Tables of text, separated by commas or tabs: the first line names the columns; cells in quotes
may have many lines.

A row is whole or a problem. A quote that is not closed within so many lines, or that is followed by
something else than the end of its cell, is a problem of the line where it begins; the lines behind
are read as if it had not been.
"""

import csv
import re
from collections import deque
from typing import Deque, Iterator, List, NamedTuple, Optional, Sequence, Union

from ...readers.files import MARK, Line, raw_lines
from ...readers.sentences import Problem
from ..source import InputFormat, InputOptions, Items, Source

QUOTES_THAT_END = "cells in quotes that end"
NO_BYTE = "\udc00"  # in place of NUL. Bytes that are no UTF-8 are U+DC80 to U+DCFF
_STRANGE = re.compile(f"[\udc00-\udcff{MARK}]")
csv.field_size_limit(2**31 - 1)


class Cells(NamedTuple):
    """The cells of a row. number (int): of its first line."""

    number: int
    cells: List[str]


class Rows:
    """The rows of some lines, and problems. delimiter (str): between cells. limit (int): lines of a
    row at most."""

    def __init__(self, source: Source, delimiter: str, limit: int) -> None:
        self._source = source
        self._delimiter = delimiter
        self._limit = limit
        self._lines = _lines(source)
        self._again: Deque[Union[Line, Problem]] = deque()  # to be read before the others

    def __iter__(self) -> Iterator[Union[Cells, Problem]]:
        while True:
            line = self._next()
            if line is None:
                return
            if isinstance(line, Problem):
                yield line
            elif '"' in line.text:
                yield self._quoted(line)
            elif _STRANGE.search(line.text):
                yield self._strange([line])
            elif line.text:
                yield Cells(line.number, line.text.split(self._delimiter))

    def _next(self) -> Union[Line, Problem, None]:
        return self._again.popleft() if self._again else next(self._lines, None)

    def _quoted(self, first: Line) -> Union[Cells, Problem]:
        """The row that begins at this line, or what is wrong with it; then the others are read
        again."""
        lines = [first]
        reader = csv.reader(self._taken(lines), delimiter=self._delimiter, strict=True)
        try:
            cells = next(reader)
        except csv.Error as error:
            self._again.extendleft(reversed(lines[1:]))
            return Problem(self._source.path, first.number, str(error), QUOTES_THAT_END)
        if any(_STRANGE.search(line.text) for line in lines):
            return self._strange(lines)
        return Cells(first.number, cells)

    def _taken(self, lines: List[Line]) -> Iterator[str]:
        """The text of the lines, and of more as they are asked for, which are appended."""
        yield f"{lines[0].text}\n"
        while len(lines) < self._limit:
            line = self._next()
            if isinstance(line, Problem):
                self._again.appendleft(line)
                return
            if line is None:
                return
            lines.append(line)
            yield f"{line.text}\n"

    def _strange(self, lines: Sequence[Line]) -> Problem:
        """The first character that is no text."""
        line, match = next(
            (line, match) for line in lines for match in [_STRANGE.search(line.text)] if match
        )
        code = ord(match.group())
        actual = (
            f"the byte 0x{code - 0xDC00:02X}"
            if 0xDC80 <= code <= 0xDCFF
            else "the character U+0000"
        )
        actual = f"the character U+{code:04X}" if match.group() == MARK else actual
        return Problem(self._source.path, line.number, actual, "text in utf-8")


def _lines(source: Source) -> Iterator[Union[Line, Problem]]:
    """All lines, with what is no text in them: where cells end is told by the others, too."""
    for number, data in raw_lines(source.path, source.open):
        if isinstance(data, Problem):
            yield data
            continue
        text = data.decode("utf8", "surrogateescape").replace("\0", NO_BYTE)
        yield Line(number, text.removeprefix(MARK) if number == 1 else text)


def _read(source: Source, reading: InputOptions, delimiter: str) -> Items:
    names: Optional[List[str]] = None
    for item in Rows(source, delimiter, reading.quoted_lines):
        if isinstance(item, Problem):
            yield item
        elif names is None:
            names = item.cells
            if names.count(reading.text) != 1:
                yield Problem(
                    source.path, 1, f"columns {', '.join(names)}", f'a column "{reading.text}"'
                )
                return
        elif len(item.cells) != len(names):
            expected = f"{len(names)}, as in the first line"
            yield Problem(source.path, item.number, f"{len(item.cells)} cells", expected)
        else:
            own = item.cells[names.index(reading.id)] if reading.id in names else None
            yield source.row(item.number, item.cells[names.index(reading.text)], own)


def read_delimited(source: Source, reading: InputOptions) -> Items:
    """A row for each row after the first one, which names the columns."""
    return _read(source, reading, "\t" if ".tsv" in source.path.name.lower() else ",")


FORMAT = InputFormat([".csv", ".tsv"], read_delimited)
