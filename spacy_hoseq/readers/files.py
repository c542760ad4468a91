"""Corpus files and their lines: folders, natural order, gzip, encodings."""

import codecs
import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from spacy.errors import Errors as SpacyErrors

from ..errors import Errors, wrong_value
from .sentences import Problem

UNREADABLE = (OSError, EOFError, zlib.error)  # also of damaged gzip
NEITHER = "there is neither a file nor a folder"
MAX_LINE_BYTES = 200_000_000  # a longer line would fill the memory
MARK = "\ufeff"  # the byte order mark: dropped at the beginning of a file


class Line(NamedTuple):
    """A line without its end. number (int): from 1."""

    number: int
    text: str


class Found(NamedTuple):
    """A file or folder that was found. left_out: why it is not read, "" = it is. problem: why it
    cannot be read, where that is known already."""

    path: Path
    left_out: str = ""
    problem: str = ""


def find_files(path: str | Path | None, suffixes: Sequence[str]) -> list[Path]:
    """The file, or all files below the folder with one of these suffixes (or one and .gz), in
    natural order.

    RAISES ValueError: spaCy's E913: no path; [HS074]: there is no such file or folder, or no such
    file in it, or a folder below it cannot be read.
    """
    files = []
    for found in found_at(path, suffixes):
        if found.problem:
            raise nothing_at(found.path, found.problem, suffixes)
        if not found.left_out:
            files.append(found.path)
    if not files:
        raise nothing_at(path, "the folder has no such file", suffixes)
    return files


def found_at(path: str | Path | None, suffixes: Sequence[str]) -> list[Found]:
    """The file, or all that is below the folder, in natural order. Hidden folders and links to
    folders are not entered. RAISES ValueError: spaCy's E913: no path; [HS074]: there is neither a
    file nor a folder."""
    # "" would be the working directory, and all that is below it
    if path in (None, ""):
        raise ValueError(SpacyErrors.E913)
    path = Path(path)
    if path.is_file():
        return [Found(path)]
    if not path.is_dir():
        raise nothing_at(path, "it is a pipe or a device" if path.exists() else NEITHER, suffixes)
    found = []

    def unreadable(error: OSError) -> None:
        found.append(Found(Path(error.filename), problem=str(error)))

    for name, folders, files in os.walk(path, onerror=unreadable):
        folder = Path(name)
        for file in files:
            found.append(Found(folder / file, _why_left_out(folder / file, suffixes)))
        for below in [*folders]:
            left_out = "hidden" if _is_hidden(below) else "links to folders"
            if _is_hidden(below) or (folder / below).is_symlink():
                found.append(Found(folder / below, left_out))
                folders.remove(below)
    # wsj_9 before wsj_10
    return sorted(found, key=lambda one: natural_order(one.path.relative_to(path)))


def nothing_at(path: str | Path | None, problem: str, suffixes: Sequence[str]) -> ValueError:
    """The error [HS074]."""
    known = f"{', '.join(suffixes)} (and .gz)"
    return ValueError(Errors.HS074.format(path=path, problem=problem, suffixes=known))


def _is_hidden(name: str) -> bool:
    # the second has the same sentences again, in some treebanks
    return name.startswith(".") or name == "not-to-release"


def _why_left_out(file: Path, suffixes: Sequence[str]) -> str:
    """Why a file in a folder is not read; "" = it is. One that cannot be opened, such as a link to
    nothing, is: its reader says so."""
    if _is_hidden(file.name):
        return "hidden"
    if not has_ending(file, suffixes):
        return "of other endings"
    # to open a pipe would wait for its writer
    return "pipes or devices" if file.exists() and not file.is_file() else ""


def has_ending(path: Path, suffixes: Iterable[str]) -> bool:
    """True if its name ends with one of them, or with one and .gz."""
    return path.name.lower().removesuffix(".gz").endswith(tuple(map(str.lower, suffixes)))


def natural_order(path: Path) -> list[list[str | int]]:
    """A key that sorts numbers in names by value: wsj_9 before wsj_10."""
    key = []
    for part in path.parts:
        pieces: list[str | int] = [*re.split(r"(\d+)", part)]
        pieces[1::2] = map(int, pieces[1::2])  # texts and numbers take turns
        key.append(pieces)
    return key


def encodings_for(encoding: str, lang: str) -> list[str]:
    """The encodings to try. encoding: separated by commas; "" = UTF-8, and for Chinese ("zh") then
    GB18030, which includes GBK and GB 2312.

    RAISES ValueError [HS027]: an encoding that Python does not know, or whose lines do not end with
    the byte 10.
    """
    if not encoding:
        return ["utf-8", "gb18030"] if lang == "zh" else ["utf-8"]
    encodings = encoding.split(",")
    for name in encodings:
        try:
            known = codecs.lookup(name).encode("a\n")[0].removeprefix(codecs.BOM_UTF8) == b"a\n"
        except (LookupError, TypeError):
            known = False
        if not known:
            raise wrong_value(
                "encoding",
                name,
                'one that Python knows, in which lines end with the byte 10, such as "utf-8"',
            )
    return encodings


def read_lines(
    path: Path, encodings: Sequence[str], opened: Callable[[Path], IO[bytes]] | None = None
) -> Iterator[Line | Problem]:
    """The lines of a file, plain or gzipped. A line that is not text is a Problem, and so is the
    place from which the file cannot be read.

    opened (Callable): what opens the file instead, if there is one encoding.
    """
    encoding = encoding_of(path, encodings)
    expected = f"text in {' or '.join(encodings)}"
    number = 0
    try:
        with (opened or open_bytes)(path) as file:
            for number, data in enumerate(_lines(file), 1):
                text, actual = _decoded(data, encoding, number == 1)
                if actual:
                    yield Problem(path, number, actual, expected)
                else:
                    yield Line(number, text)
    except UNREADABLE as error:
        yield Problem(path, number + 1, str(error), "a file that can be read")


def encoding_of(path: Path, encodings: Sequence[str]) -> str:
    """The first encoding in which most of the first lines beyond ASCII can be read."""
    if len(encodings) == 1:
        return encodings[0]
    probed: list[bytes] = []
    with suppress(*UNREADABLE), open_bytes(path) as file:  # `read_lines` tells
        probed.extend(islice((data for data in _lines(file) if not data.isascii()), 200))
    # one bad byte does not make it another encoding
    for encoding in encodings:
        n_damaged = sum(_decoded(data, encoding)[1] != "" for data in probed)
        if 2 * n_damaged < len(probed):
            return encoding
    return encodings[0]


def _decoded(data: bytes, encoding: str, begins: bool = False) -> tuple[str, str]:
    """The text of a line, and what in it is not text ("" = nothing)."""
    if 0 in data:  # no text has it, but many bytes of UTF-16 and of other files
        return "", "the character U+0000"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return "", f"the byte 0x{data[error.start]:02X}"
    if begins:
        text = text.removeprefix(MARK)
    # it is in text of another encoding, too
    if MARK in text:
        return text, f"the character U+{ord(MARK):04X}"
    return text, ""


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines without their ends: line feeds, carriage returns, or both."""
    for data in lines_of(file):
        if data.endswith(b"\n"):
            yield from data.rstrip(b"\r\n").split(b"\r")
        else:  # the last one
            yield from data.removesuffix(b"\r").split(b"\r")


def lines_of(file: IO[Any]) -> Iterator[Any]:
    """Lines with their ends, of bytes or text. RAISES OSError [HS172]: a line does not end."""
    while line := file.readline(MAX_LINE_BYTES):
        if len(line) == MAX_LINE_BYTES:
            actual = f"a line of {MAX_LINE_BYTES:,} characters or more"
            raise OSError(Errors.HS172.format(actual=actual, expected="lines that end"))
        yield line


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    if path.name.endswith(".gz"):
        return gzip.open(path, "rb")  # type: ignore[return-value]
    return path.open("rb")


def blocks_of(
    lines: Iterable[Line | Problem], is_comment: Callable[[str, bool], bool]
) -> Iterator[list[Line | Problem]]:
    """The lines between blank lines. is_comment(text, begins): leave the line out; begins: it would
    be the first of its block."""
    block: list[Line | Problem] = []
    for line in lines:
        if isinstance(line, Problem) or line.text.strip(" \t"):
            if isinstance(line, Problem) or not is_comment(line.text, not block):
                block.append(line)
        elif block:
            yield block
            block = []
    if block:
        yield block
