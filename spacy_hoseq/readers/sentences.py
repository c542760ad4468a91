"""What all formats give: sentences with their labels, and problems."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import (
    Any,
    NamedTuple,
)


class LabelledSpan(NamedTuple):
    """A chunk or an entity: its name, and its words first <= i < end of the sentence."""

    first: int
    end: int
    name: str


class Sentence(NamedTuple):
    """A sentence with its annotation, or a text without known sentences.

    words (T,), T may be 0: only traces. tags, pos, morphs, lemmas, deps (T,): "" where a word has
    none. heads (T,): words by their place in the sentence; the root is its own head. spaces (T,)
    bool: a space follows. chunks, entities: named spans. unknown: words whose entities are not
    known. multiword: forms of multi-word tokens, and form, tag, part of speech, features and lemma
    of each of their words. None: the format has no such annotation.
    n_traces (int): empty elements that were dropped. n_mended (int): entity tags that a well-formed
    sequence would not have. n_dropped (int): annotations that a Doc cannot have. is_text: a text; its
    sentences begin at the words in `starts`, or are not known. unread: what has labels that were not
    read, such as a column.
    """

    words: list[str]
    tags: list[str] | None = None
    chunks: list[LabelledSpan] | None = None
    entities: list[LabelledSpan] | None = None
    n_traces: int = 0
    n_mended: int = 0
    pos: list[str] | None = None
    morphs: list[str] | None = None
    lemmas: list[str] | None = None
    heads: list[int] | None = None
    deps: list[str] | None = None
    spaces: list[bool] | None = None
    multiword: list[tuple[str, list[list[str]]]] | None = None
    unknown: Sequence[LabelledSpan] = ()
    is_text: bool = False
    starts: Sequence[int] = ()
    n_dropped: int = 0
    unread: Sequence[str] = ()


class Problem(NamedTuple):
    """A place that cannot be read: file, line (from 1), what is there, what was expected.
    is_partial: only a span is lost, not its sentence."""

    path: Path
    line: int
    actual: str
    expected: str
    is_partial: bool = False


class Unreadable(Exception):
    """What a format raises for a Problem: line, actual, expected."""

    def __init__(self, line: int, actual: str, expected: str) -> None:
        super().__init__(line, actual, expected)


Items = Iterator[Sentence | Problem]


def read_each(
    path: Path,
    groups: Iterable[Sequence[Any]],
    read: Callable[[Any], Iterable[Sentence | Problem]],
) -> Items:
    """Results of `read` for each group of lines or rows. A group with a Problem, or for which it
    RAISES Unreadable, gives one Problem."""
    for group in groups:
        # a sentence with a line that cannot be read is lost as a whole
        problem = next((line for line in group if isinstance(line, Problem)), None)
        if problem:
            yield problem
            continue
        try:
            yield from read(group)
        except Unreadable as error:
            yield Problem(path, *error.args)
