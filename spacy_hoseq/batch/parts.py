"""A job in parts: the rows that one process takes at a time, and that become one file. Where parts
end depends on the input alone, so that the same job writes the same files with any number of
processes, and after any interruption."""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Sequence, Union

import numpy as np
import pyarrow as pa
import srsly

from ..errors import Errors
from ..readers.sentences import Problem
from .annotator import ROW, Annotator
from .columns import Annotated
from .formats import FORMATS
from .inputs import InputOptions, Row, Source, rows_of

# characters of a part, but for one text: the first parts are small, so that there is soon one for
# each process, and none is a large share of the whole
LEAST = 30_000
MOST = 4_000_000
SHARE = 32


class Part(NamedTuple):
    """number (int): from 0. position (int): how much of the input is read, in bytes."""

    number: int
    ids: List[str]
    texts: List[Union[str, bytes, None]]
    problems: List[Problem]
    position: int

    @property
    def digest(self) -> str:
        """Of what was read: texts, ids and problems."""
        problems = str(self.problems).encode("utf8", "backslashreplace")
        data = srsly.msgpack_dumps([self.ids, self.texts, problems])
        return blake2b(data, digest_size=16).hexdigest()


class Done(NamedTuple):
    """A part that is done: the bytes of its file, and what could not be done. position, read: as
    the part has position and digest."""

    number: int
    data: bytes
    rows: int
    tokens: int
    errors: List[Dict[str, object]]
    position: int
    read: str


class Work:
    """Makes the bytes of a file of a part. Can be pickled, as the annotator can. format (str): one
    of `FORMATS`."""

    def __init__(self, annotator: Annotator, format: str) -> None:
        self.annotator = annotator
        self.format = format

    def __call__(self, part: Part) -> Done:
        form = FORMATS[self.format]
        errors = [_error(part, problem) for problem in part.problems]

        def table(rows: Annotated, here: slice) -> pa.Table:
            pairs = zip(part.texts[here], rows.docs, strict=True)
            texts = [doc.text if isinstance(text, bytes) and doc else text for text, doc in pairs]
            texts = [None if isinstance(text, bytes) else text for text in texts]
            ids = pa.array(part.ids[here], pa.string())
            return self.annotator.table(rows, ids, pa.array(texts, pa.string()))

        make = table if form.table else lambda rows, here: form.docs(rows, part.ids[here])
        pieces = list(self.annotator.annotate(part.texts, make))
        for name, error in zip(part.ids, sum((piece.errors for piece in pieces), []), strict=True):
            if error is not None:
                errors.append({"part": part.number, "id": name, "error": error})
        made = [piece.made for piece in pieces]
        if form.table:
            empty = self.annotator.schema.empty_table()
            data = form.table(pa.concat_tables(made) if made else empty)
        else:
            data = form.joined(made)
        n_tokens = sum(piece.n_tokens for piece in pieces)
        return Done(part.number, data, len(part.ids), n_tokens, errors, part.position, part.digest)


def parts_of(files: Iterable[Path], options: InputOptions, size: int) -> Iterator[Part]:
    """size (int): rows of a part at most."""
    part = _Filling(size)
    before = 0
    for path in files:
        source = Source(path)
        for item in rows_of(source, options):
            if isinstance(item, Row) and not part.has_room(item):
                yield part.finished(before + source.position)
            part.add(item)
        before += path.stat().st_size if path.is_file() else 0
    if not part.is_empty or not part.number:
        yield part.finished(before)


class _Filling:
    """The part that is being filled."""

    def __init__(self, size: int) -> None:
        self.number = 0
        self._size = size
        self._seen = SeenIds()
        self._total = 0  # characters of all parts
        self._begin()

    def _begin(self) -> None:
        self._rows: List[Row] = []
        self._problems: List[Problem] = []
        self._room = min(max(LEAST, self._total // SHARE), MOST)

    @property
    def is_empty(self) -> bool:
        return not self._rows and not self._problems

    def has_room(self, row: Row) -> bool:
        n_rows = len(self._rows)
        return n_rows == 0 or (n_rows < self._size and _weight(row) <= self._room)

    def add(self, item: Union[Row, Problem]) -> None:
        if isinstance(item, Problem):
            self._problems.append(item)
            return
        self._rows.append(item)
        self._room -= _weight(item)
        self._total += _weight(item)

    def finished(self, position: int) -> Part:
        """The part as it is; the next one is begun."""
        own = [row.id for row in self._rows if row.own]
        for i in self._seen.repeated(own):
            message = Errors.HS173.format(id=own[i])
            self._problems.append(Problem(Path(own[i]), 0, message, "an id of its own"))
        ids = [row.id for row in self._rows]
        texts = [row.text for row in self._rows]
        part = Part(self.number, ids, texts, self._problems, position)
        self.number += 1
        self._begin()
        return part


def _weight(row: Row) -> int:
    return ROW + len(row.text or "")


class SeenIds:
    """Which ids there were before: 8 bytes for each, in sorted arrays whose sizes double."""

    def __init__(self) -> None:
        self._arrays: List[Any] = []

    def repeated(self, ids: Sequence[str]) -> List[int]:
        """Places of ids that were there before, or earlier among these."""
        digests = (blake2b(name.encode("utf8"), digest_size=8).digest() for name in ids)
        hashes = np.frombuffer(b"".join(digests), "<u8")
        new, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(ids), bool)
        repeated[first] = False
        for old in self._arrays:
            repeated |= np.isin(hashes, old)
        while self._arrays and len(self._arrays[-1]) <= len(new):
            new = np.union1d(self._arrays.pop(), new)
        self._arrays += [new] if len(new) else []
        return np.flatnonzero(repeated).tolist()


def _error(part: Part, problem: Problem) -> Dict[str, object]:
    """A line of errors.jsonl."""
    where = f"{problem.path.as_posix()}:{problem.line}" if problem.line else problem.path.as_posix()
    error = problem.actual
    if not error.startswith("[HS"):
        error = Errors.HS172.format(actual=error, expected=problem.expected)
    return {"part": part.number, "id": where, "error": error}
