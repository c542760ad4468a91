"""What the readers of all formats give: sentences with their labels, and problems where there is none."""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Union


class LabelledSpan(NamedTuple):
    """The words first <= i < end of a sentence are a chunk, or an entity, of this name."""

    first: int
    end: int
    name: str


class Sentence(NamedTuple):
    """words (T,). tags (T,), chunks, entities: None where the format has none. n_traces (int): empty elements that were
    dropped; n_mended (int): entity tags that are not those of a well-formed sequence. T may be 0: only traces."""

    words: List[str]
    tags: Optional[List[str]] = None
    chunks: Optional[List[LabelledSpan]] = None
    entities: Optional[List[LabelledSpan]] = None
    n_traces: int = 0
    n_mended: int = 0


class Problem(NamedTuple):
    """What cannot be read: the file, the number of the line (from 1), what is there, and what was expected."""

    path: Path
    line: int
    actual: str
    expected: str


Items = Iterator[Union[Sentence, Problem]]
