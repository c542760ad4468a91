"""What a format of parts is: bytes of a table, or of a file that Docs are added to."""

from itertools import groupby
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Protocol, Sequence

import numpy as np
import pyarrow as pa
from spacy.tokens import Doc


class DocsFile(Protocol):
    """A file of Docs, in memory."""

    def add(self, ids: Sequence[str], docs: Sequence[Doc]) -> None:
        """Docs may be forgotten behind it."""
        ...

    def data(self) -> bytes: ...


class OutputFormat(NamedTuple):
    """table: the bytes of a table, None for a format of Docs; docs: an empty file of Docs, None for
    a format of tables.
    is_stream (bool): parts can stand one behind the other. is_flat (bool): it has no lists, so rows
        are tokens."""

    table: Optional[Callable[[pa.Table], bytes]] = None
    docs: Optional[Callable[[], DocsFile]] = None
    is_stream: bool = True
    is_flat: bool = False


class LinesFile:
    """Lines of text. lines_of (Callable): of an id and its Doc."""

    def __init__(self, lines_of: Callable[[str, Doc], List[str]]) -> None:
        self._lines_of = lines_of
        self._pieces = [b""]

    def add(self, ids: Sequence[str], docs: Sequence[Doc]) -> None:
        """Docs may be forgotten behind it."""
        lines = [
            line for name, doc in zip(ids, docs, strict=True) for line in self._lines_of(name, doc)
        ]
        self._pieces.append("".join(f"{line}\n" for line in lines).encode("utf8"))

    def data(self) -> bytes:
        return b"".join(self._pieces)


def sentences_of(doc: Doc) -> Iterator[List[Any]]:
    """Words, without white space; one sentence where none are known."""
    words = [token for token in doc if not token.is_space]
    starts = np.cumsum([token.is_sent_start is True for token in doc])
    yield from (list(sentence) for _, sentence in groupby(words, key=lambda token: starts[token.i]))
