"""Finding corpus files and reading their lines: folders, natural order, gzip, encodings."""

import codecs
import gzip
import re
import zlib
from itertools import islice
from pathlib import Path
from typing import (
    IO,
    Callable,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

import srsly
from spacy.errors import Errors as SpacyErrors

from ..errors import Errors
from .sentences import Problem

PROBED = 200  # lines beyond ASCII by which the encoding is told
UNREADABLE = (OSError, EOFError, zlib.error)  # also of damaged gzip
NEITHER = "there is neither a file nor a folder"
COPIES = ("not-to-release",)  # folders of treebanks that have the same sentences again
PACKED = " (and .gz)"  # of endings, in messages
ENCODING = 'one that Python knows, in which lines end with the byte 10, such as "utf-8" or "gb18030"'
MARK = "\ufeff"  # the byte order mark: dropped at the beginning of a file


class Line(NamedTuple):
    """A line without its end. number (int): from 1."""

    number: int
    text: str


def find_files(path: Union[str, Path, None], suffixes: Sequence[str]) -> List[Path]:
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
    """Whether its name ends with one of them, or with one and .gz."""
    return path.name.lower().removesuffix(".gz").endswith(tuple(map(str.lower, suffixes)))


def natural_order(path: Path) -> List[List[Tuple[int, int, str]]]:
    """A key for sorting: numbers within names by value, so that wsj_9 is before wsj_10."""
    return [
        [
            (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
            for piece in re.split(r"(\d+)", part)
            if piece
        ]
        for part in path.parts
    ]


def encodings_for(encoding: str, lang: str) -> List[str]:
    """The encodings to try. encoding: "" = UTF-8, and for Chinese ("zh") then GB18030, which
    includes GBK and GB 2312.

    RAISES ValueError [HS027]: an encoding that Python does not know, or whose lines do not end with
    the byte 10.
    """
    if not encoding:
        return ["utf-8", "gb18030"] if lang == "zh" else ["utf-8"]
    try:
        known = codecs.lookup(encoding).encode("a\n")[0].removeprefix(codecs.BOM_UTF8) == b"a\n"
    except (LookupError, TypeError):
        known = False
    if not known:
        raise ValueError(
            Errors.HS027.format(name="encoding", value=encoding, expected=ENCODING)
        )
    return [encoding]


def read_lines(
    path: Path, encodings: Sequence[str], opened: Optional[Callable[[Path], IO[bytes]]] = None
) -> Iterator[Union[Line, Problem]]:
    """The lines of a file, plain or gzipped, and a Problem for each that is not text.

    Several encodings: the first in which most of the first lines beyond ASCII can be read. opened
    (Callable): what opens the file instead, if there is one encoding.
    """
    encoding = encodings[0] if len(encodings) == 1 else _told_by_its_lines(path, encodings)
    expected = f"text in {' or '.join(encodings)}"
    for number, data in raw_lines(path, opened):
        if isinstance(data, Problem):
            yield data
            continue
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            yield Problem(path, number, f"the byte 0x{data[error.start]:02X}", expected)
            continue
        text = text.removeprefix(MARK) if number == 1 else text
        strange = re.search(f"[\0{MARK}]", text)
        if strange:
            yield Problem(path, number, f"the character U+{ord(strange.group()):04X}", expected)
        else:
            yield Line(number, text)


def raw_lines(
    path: Path, opened: Optional[Callable[[Path], IO[bytes]]] = None
) -> Iterator[Tuple[int, Union[bytes, Problem]]]:
    """Numbers and bytes of the lines of a file, and a Problem where it cannot be read any further.

    opened (Callable): what opens the file, if it is neither plain nor gzipped.
    """
    number = 0
    try:
        with (opened or _opened)(path) as file:
            for number, data in enumerate(_lines(file), 1):
                yield number, data
    except UNREADABLE as error:
        yield number + 1, Problem(path, number + 1, str(error), "a file that can be read")


def _told_by_its_lines(path: Path, encodings: Sequence[str]) -> str:
    probed: List[bytes] = []
    try:
        with _opened(path) as file:
            probed.extend(islice((data for data in _lines(file) if not data.isascii()), PROBED))
    except UNREADABLE:
        pass  # `read_lines` tells
    for encoding in encodings:
        if 2 * sum(_is_text(data, encoding) for data in probed) > len(probed):
            return encoding
    return encodings[0]


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Lines without their ends: line feeds with the carriage returns before them, and carriage
    returns alone."""
    for data in file:
        yield from (
            data.rstrip(b"\r\n").split(b"\r")
            if data.endswith(b"\n")
            else data.removesuffix(b"\r").split(b"\r")
        )


def _is_text(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb")  # type: ignore[return-value]


class Entry(NamedTuple):
    """An object in a line of JSON that has the text that was asked for. number (int): of the
    line."""

    number: int
    text: str
    fields: Dict[str, object]


def json_entries(
    path: Path, lines: Iterable[Union[Line, Problem]], key: str, default: Optional[str] = None
) -> Iterator[Union[Entry, Problem]]:
    """The objects in lines of JSON, empty lines left out. key (str): of the text. default: the text
    of objects without one; None = they are problems."""
    expected = f'an object with a string "{key}"'
    for line in lines:
        if isinstance(line, Problem):
            yield line
        elif line.text.strip():
            try:
                fields = srsly.json_loads(line.text)
                srsly.json_dumps(fields)  # half of a pair of surrogates cannot be written
            except ValueError as error:
                yield Problem(path, line.number, str(error), expected)
                continue
            text = fields.pop(key, default) if isinstance(fields, dict) else None
            if isinstance(text, str):
                yield Entry(line.number, text, fields)
            else:
                yield Problem(path, line.number, line.text[:200], expected)


def whole_text(lines: Iterable[Union[Line, Problem]]) -> Union[str, Problem]:
    """All lines as one text, or the first problem."""
    read = list(lines)
    problem = next((line for line in read if isinstance(line, Problem)), None)
    return problem or "\n".join(line.text for line in read if isinstance(line, Line))
