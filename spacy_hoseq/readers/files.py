"""Finding corpus files and reading their lines: folders, natural order, gzip, encodings."""

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import (
    IO,
    NamedTuple,
)

from spacy.errors import Errors as SpacyErrors

from ..errors import Errors
from .sentences import Problem

PROBED = 200  # lines beyond ASCII by which the encoding is told
UNREADABLE = (OSError, EOFError, zlib.error)  # also of damaged gzip
NEITHER = "there is neither a file nor a folder"
COPIES = ("not-to-release",)  # folders of treebanks that have the same sentences again
PACKED = " (and .gz)"  # of endings, in messages
MARK = "\ufeff"  # the byte order mark: dropped at the beginning of a file


class Line(NamedTuple):
    """A line without its end. number (int): from 1."""

    number: int
    text: str


def find_files(path: str | Path | None, suffixes: Sequence[str]) -> list[Path]:
    """The file, or all files below the folder with one of these suffixes (or one and .gz), in
    natural order.

    RAISES ValueError: spaCy's E913: no path; [HS074]: there is no such file or folder, or no such
    file in it.
    """
    if path is None:
        raise ValueError(SpacyErrors.E913)
    path = Path(path)
    if path.is_file():
        return [path]
    files = [file for file in path.rglob("*") if file.is_file() and _matches(file, path, suffixes)]
    if not files:
        problem = "the folder has no such file" if path.is_dir() else NEITHER
        raise ValueError(
            Errors.HS074.format(path=path, problem=problem, suffixes=", ".join(suffixes) + PACKED)
        )
    return sorted(files, key=lambda file: natural_order(file.relative_to(path)))


def _matches(file: Path, folder: Path, suffixes: Sequence[str]) -> bool:
    parts = file.relative_to(folder).parts
    if any(part.startswith(".") or part in COPIES for part in parts):
        return False
    return has_ending(file, suffixes)


def has_ending(path: Path, suffixes: Iterable[str]) -> bool:
    """True if its name ends with one of them, or with one and .gz."""
    return path.name.lower().removesuffix(".gz").endswith(tuple(map(str.lower, suffixes)))


def natural_order(path: Path) -> list[list[tuple[int, int, str]]]:
    """A key for sorting: numbers within names by value, so that wsj_9 is before wsj_10."""
    return [
        [
            (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
            for piece in re.split(r"(\d+)", part)
            if piece
        ]
        for part in path.parts
    ]


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
            expected = 'one that Python knows, in which lines end with the byte 10, such as "utf-8"'
            raise ValueError(Errors.HS027.format(name="encoding", value=name, expected=expected))
    return encodings


def read_lines(
    path: Path, encodings: Sequence[str], opened: Callable[[Path], IO[bytes]] | None = None
) -> Iterator[Line | Problem]:
    """The lines of a file, plain or gzipped, and a Problem for each that is not text, or from which
    on it cannot be read.

    opened (Callable): what opens the file instead, if there is one encoding.
    """
    encoding = encoding_of(path, encodings)
    expected = f"text in {' or '.join(encodings)}"
    number = 0
    try:
        with (opened or open_bytes)(path) as file:
            for number, data in enumerate(_lines(file), 1):
                text, actual = _decoded(data, encoding, number == 1)
                yield Problem(path, number, actual, expected) if actual else Line(number, text)
    except UNREADABLE as error:
        yield Problem(path, number + 1, str(error), "a file that can be read")


def encoding_of(path: Path, encodings: Sequence[str]) -> str:
    """The first encoding in which most of the first lines beyond ASCII can be read."""
    if len(encodings) == 1:
        return encodings[0]
    probed: list[bytes] = []
    with suppress(*UNREADABLE), open_bytes(path) as file:  # `read_lines` tells
        probed.extend(islice((data for data in _lines(file) if not data.isascii()), PROBED))
    for encoding in encodings:
        if 2 * sum(not _decoded(data, encoding)[1] for data in probed) > len(probed):
            return encoding
    return encodings[0]


def _decoded(data: bytes, encoding: str, begins: bool = False) -> tuple[str, str]:
    """A line, and what of it is no text; "" = it is."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return "", f"the byte 0x{data[error.start]:02X}"
    text = text.removeprefix(MARK) if begins else text
    strange = re.search(f"[\0{MARK}]", text)
    return text, f"the character U+{ord(strange.group()):04X}" if strange else ""


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines without their ends: line feeds with the carriage returns before them, and carriage
    returns alone."""
    for data in file:
        yield from (
            data.rstrip(b"\r\n").split(b"\r")
            if data.endswith(b"\n")
            else data.removesuffix(b"\r").split(b"\r")
        )


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    return gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")  # type: ignore[return-value]


def blocks_of(
    lines: Iterable[Line | Problem], is_comment: Callable[[str, bool], bool]
) -> Iterator[list[Line | Problem]]:
    """The lines between blank ones. is_comment(text, begins): a line is left out; begins: it would
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
