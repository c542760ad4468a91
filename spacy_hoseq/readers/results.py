"""What the readers of text formats give: sentences, and problems in their place."""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Union


class Label(NamedTuple):
    """The words first <= i < end of a sentence have this name: a chunk, or an entity."""

    first: int
    end: int
    name: str


class Sentence(NamedTuple):
    """words (T,). tags (T,), chunks, entities: None where the format has none. n_traces (int): empty elements that were
    dropped; n_mended (int): entity tags that are not those of a well-formed sequence. T may be 0: only traces."""

    words: List[str]
    tags: Optional[List[str]] = None
    chunks: Optional[List[Label]] = None
    entities: Optional[List[Label]] = None
    n_traces: int = 0
    n_mended: int = 0


class Problem(NamedTuple):
    """What cannot be read: the file, the number of the line (from 1), what was found there, and what was expected."""

    path: Path
    line: int
    found: str
    expected: str


Items = Iterator[Union[Sentence, Problem]]
