"""A file of texts that is being read, and what is read from it: rows, and problems where there is
none."""

import gzip
import io
import sys
from pathlib import Path
from typing import IO, Any, Callable, Iterator, NamedTuple, Optional, Sequence, Union

import pyarrow as pa

from ..readers.files import Line, read_lines
from ..readers.sentences import Problem

STANDARD = Path("-")  # standard input
PACKED = (".gz", ".zst")
BUFFER = 1 << 20  # bytes of a packed file


class InputOptions(NamedTuple):
    """text, id (str): columns, or keys of .jsonl. whole (bool): a .txt file is one text, not one in
    each line.
    quoted_lines (int): of a cell in quotes of .csv and .tsv, at most; what is longer is a stray
        quote."""

    text: str = "text"
    id: str = "id"
    whole: bool = False
    quoted_lines: int = 1000


class Row(NamedTuple):
    """id (str): what the file says, else file and line. own (bool): whether the file says it."""

    id: str
    text: Optional[str]
    own: bool


Items = Iterator[Union[Row, Problem]]


class Source:
    """A file, and how far it is read: `position`, in bytes of what lies on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0
        self.size = 0 if path == STANDARD else path.stat().st_size
        self._raw: Optional[IO[bytes]] = None

    def follow(self, items: Items) -> Items:
        """The items, and the position as they come. The file is closed in the end."""
        try:
            for item in items:
                if self._raw is not None and not self._raw.closed:
                    self.position = self._raw.tell()
                yield item
            self.position = self.size
        finally:
            if self._raw is not None:
                self._raw.close()

    def open(self, path: Path) -> IO[bytes]:
        """The bytes of the file, unpacked."""
        if path == STANDARD:
            return sys.stdin.buffer
        self._raw = raw = path.open("rb")
        if path.name.endswith(".gz"):
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        if path.name.endswith(".zst"):
            unpacked: Any = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
            return io.BufferedReader(unpacked, BUFFER)
        return raw

    def lines(self) -> Iterator[Union[Line, Problem]]:
        return read_lines(self.path, ["utf-8"], self.open)

    def row(self, number: int, text: Optional[str], own: Optional[str]) -> Union[Row, Problem]:
        """number (int): of the line, or row. own: the id that the file gives, None if it gives
        none."""
        if text is not None and not _is_unicode(text):
            return Problem(self.path, number, "half of a pair of surrogates", "text of Unicode")
        if own is not None and _is_unicode(own):
            return Row(own, text, True)
        return Row(f"{self.path.as_posix()}:{number}", text, False)


class InputFormat(NamedTuple):
    """How files with these endings are read, packed or not. rows: given a file and what to read of
    it; None: they are Docs, a part each."""

    endings: Sequence[str]
    rows: Optional[Callable[[Source, InputOptions], Items]]


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf8")
    except UnicodeEncodeError:
        return False
    return True
