"""A job in parts: the rows that one process takes at a time, and that become one file. Where parts end depends on the
input alone, so that the same job writes the same files with any number of processes, and after any interruption."""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ..errors import Errors
from ..readers.sentences import Problem
from .inputs import STANDARD, Reading, Row, Source

CHARACTERS = 4_000_000  # of a part, at most, but for one text


class Part(NamedTuple):
    """number (int): from 0. docs: the bytes of a .spacy file, instead of texts. position (int): how much of the input
    is read, in bytes."""

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
        places: List[int] = np.flatnonzero(repeated).tolist()
        return places


def hash_of(name: str) -> int:
    """64 bits, the same in every process."""
    return int.from_bytes(blake2b(name.encode("utf8"), digest_size=8).digest(), "little")


def parts_of(files: Iterable[Path], reading: Reading, size: int, characters: int = CHARACTERS) -> Iterator[Part]:
    """size (int): rows of a part at most. A .spacy file is a part of its own."""
    before, number, seen = 0, 0, SeenIds()
    rows: List[Row] = []
    problems: List[Problem] = []
    room, source = characters, Source(STANDARD)

    def part(docs: Optional[Tuple[Path, bytes]] = None) -> Part:
        nonlocal number, rows, problems, room
        own = [row for row in rows if row.own]
        for i in seen.repeated([row.id for row in own]):
            problems.append(Problem(source.path, 0, Errors.HS173.format(id=own[i].id), "an id of its own"))
        ids, texts = [row.id for row in rows], [row.text for row in rows]
        finished = Part(number, ids, texts, docs, problems, before + source.position)
        number, rows, problems, room = number + 1, [], [], characters
        return finished

    for path in files:
        source = Source(path)
        if source.ending == ".spacy":
            if rows or problems:
                yield part()
            source.position = source.size
            yield part((path, path.read_bytes()))
        else:
            for item in source.rows(reading):
                if isinstance(item, Problem):
                    problems.append(item)
                    continue
                length = len(item.text or "")
                if rows and (len(rows) == size or length > room):
                    yield part()
                rows.append(item)
                room -= length
        before, source.position = before + source.size, 0
    if rows or problems or not number:
        yield part()
