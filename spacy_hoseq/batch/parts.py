"""A job in parts: the rows that one process takes at a time, and that become one file. Where parts
end depends on the input alone, so that the same job writes the same files with any number of
processes, and after any interruption."""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from ..errors import Errors
from ..readers.sentences import Problem
from .inputs import format_of, rows_of
from .source import STANDARD, InputOptions, Row, Source

CHARACTERS = 4_000_000  # of a part, at most, but for one text
FIRST_ROWS = 250  # of the first parts, at most
EACH_SIZE = 8  # parts of each number of rows
MOST_DOUBLINGS = 20


class InputPart(NamedTuple):
    """number (int): from 0. docs: the bytes of a .spacy file, instead of texts. position (int): how
    much of the input is read, in bytes."""

    number: int
    ids: List[str]
    texts: List[Optional[str]]
    docs: Optional[Tuple[Path, bytes]]
    problems: List[Problem]
    position: int

    @property
    def digest(self) -> str:
        """Of what was read: texts, ids and problems, or the file of Docs."""
        total = blake2b(digest_size=16)
        for problem in self.problems:
            _add(total, str(problem))
        for name, text in zip(self.ids, self.texts, strict=True):
            _add(total, name)
            _add(total, text)
        if self.docs is not None:
            path, data = self.docs
            _add(total, path.as_posix())
            total.update(data)
        return total.hexdigest()


def _add(total: Any, text: Optional[str]) -> None:
    """Take a text into a digest, with its length in front: where it ends is told, too."""
    data = b"" if text is None else text.encode("utf8", "surrogatepass")
    total.update(b"-:" if text is None else b"%d:" % len(data))
    total.update(data)


class SeenIds:
    """Which ids there were before: 8 bytes for each, in sorted arrays whose sizes double."""

    def __init__(self) -> None:
        self._arrays: List[Any] = []

    def repeated(self, ids: Sequence[str]) -> List[int]:
        """Places of ids that were there before, or earlier among these."""
        hashes = np.array([hash_of(name) for name in ids], np.uint64)
        order = np.argsort(hashes, kind="stable")
        repeated = np.zeros(len(ids), bool)
        repeated[order[1:]] = hashes[order[1:]] == hashes[order[:-1]]
        new = hashes[order]
        for old in self._arrays:
            repeated |= old[np.minimum(np.searchsorted(old, hashes), len(old) - 1)] == hashes
        while self._arrays and len(self._arrays[-1]) <= len(new):
            new = np.sort(np.concatenate([self._arrays.pop(), new]))
        self._arrays += [new] if len(new) else []
        return np.flatnonzero(repeated).tolist()


def hash_of(name: str) -> int:
    """64 bits, the same in every process."""
    return int.from_bytes(blake2b(name.encode("utf8"), digest_size=8).digest(), "little")


def rows_of_part(number: int) -> int:
    """How many rows the first parts have: so few that there is soon one for each process. 250 eight
    times, then 500 eight times, and so on."""
    return int(FIRST_ROWS * 2 ** min(number // EACH_SIZE, MOST_DOUBLINGS))


class _Cutter:
    """Fills one part after the other, gives them their numbers, and tells of ids that were there
    before."""

    def __init__(self, size: int, characters: int) -> None:
        self.number = 0
        self.before = 0  # bytes of the files that are read
        self._size = size
        self._characters = characters
        self._seen = SeenIds()
        self._begin()

    def _begin(self) -> None:
        self._rows: List[Row] = []
        self._problems: List[Problem] = []
        self._room = self._characters

    def add(self, item: Union[Row, Problem], source: Source) -> Iterator[InputPart]:
        """Take in a row or a problem. YIELDS the part before, if it is full."""
        if isinstance(item, Problem):
            self._problems.append(item)
            return
        is_full = len(self._rows) >= min(self._size, rows_of_part(self.number))
        if self._rows and (is_full or len(item.text or "") > self._room):
            yield self.finish(source)
        self._rows.append(item)
        self._room -= len(item.text or "")

    def flush(self, source: Source) -> Iterator[InputPart]:
        """What was taken in and is not yet given, if there is anything."""
        if self._rows or self._problems:
            yield self.finish(source)

    def finish(self, source: Source, docs: Optional[Tuple[Path, bytes]] = None) -> InputPart:
        """The part as it is; the next one is begun."""
        problems = self._problems
        own = [row.id for row in self._rows if row.own]
        problems += [
            Problem(source.path, 0, Errors.HS173.format(id=own[i]), "an id of its own")
            for i in self._seen.repeated(own)
        ]
        ids = [row.id for row in self._rows]
        texts = [row.text for row in self._rows]
        part = InputPart(self.number, ids, texts, docs, problems, self.before + source.position)
        self.number += 1
        self._begin()
        return part


def parts_of(
    files: Iterable[Path], reading: InputOptions, size: int, characters: int = CHARACTERS
) -> Iterator[InputPart]:
    """size (int): rows of a part at most; the first ones have fewer. A file of Docs is a part of
    its own."""
    cutter = _Cutter(size, characters)
    source = Source(STANDARD)
    for path in files:
        last = source
        source = Source(path)
        if format_of(path).rows is None:
            yield from cutter.flush(last)
            source.position = source.size
            yield cutter.finish(source, (path, path.read_bytes()))
        for item in rows_of(source, reading):
            yield from cutter.add(item, source)
        cutter.before += source.size
        source.position = 0
    yield from cutter.flush(source)
    if not cutter.number:
        yield cutter.finish(source)
