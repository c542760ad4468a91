"""What the readers of all formats give: sentences with their labels, and problems where there is
none."""

from pathlib import Path
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union


class LabelledSpan(NamedTuple):
    """The words first <= i < end of a sentence are a chunk, or an entity, of this name."""

    first: int
    end: int
    name: str


class Sentence(NamedTuple):
    """words (T,). tags (T,), chunks, entities: None where the format has none. n_traces (int):
    empty elements that were dropped; n_mended (int): entity tags that are not those of a
    well-formed sequence. T may be 0: only traces.

    pos, morphs, lemmas, deps (T,): "" where a word has none. heads (T,): numbers of words in the
    sentence, that of the root is its own. spaces (T,): whether a space follows. multiword: forms of
    multi-word tokens, with form, tag, part of speech, features and lemma of each of their words. All
    of these are None where the format has none.
    """

    words: List[str]
    tags: Optional[List[str]] = None
    chunks: Optional[List[LabelledSpan]] = None
    entities: Optional[List[LabelledSpan]] = None
    n_traces: int = 0
    n_mended: int = 0
    pos: Optional[List[str]] = None
    morphs: Optional[List[str]] = None
    lemmas: Optional[List[str]] = None
    heads: Optional[List[int]] = None
    deps: Optional[List[str]] = None
    spaces: Optional[List[bool]] = None
    multiword: Optional[List[Tuple[str, List[List[str]]]]] = None


class Problem(NamedTuple):
    """What cannot be read: the file, the number of the line (from 1), what is there, and what was
    expected."""

    path: Path
    line: int
    actual: str
    expected: str


Items = Iterator[Union[Sentence, Problem]]
