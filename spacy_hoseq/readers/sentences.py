"""Sentences with their labels, and problems: what the readers of all formats give."""

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
    """Words of a sentence, or of a text whose sentences are not known, with their annotation.

    words (T,), T may be 0: only traces. tags, pos, morphs, lemmas, deps (T,): "" where a word has
    none. heads (T,): words by their place in the sentence; the root is its own head. spaces (T,)
    bool: a space follows. chunks, entities: named spans. unknown: words whose entities are not
    known. multiword: forms of multi-word tokens, and form, tag, part of speech, features and lemma
    of each of their words. None: the format has no such annotation.
    n_traces (int): empty elements that were dropped. n_mended (int): entity tags that a well-formed
    sequence would not have. is_text: sentence boundaries are not known.
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


class Problem(NamedTuple):
    """A place that cannot be read: file, number of the line (from 1), what is there, what was
    expected."""

    path: Path
    line: int
    actual: str
    expected: str


class Unreadable(Exception):
    """line, actual, expected: of a Problem in what a format reads at once."""

    def __init__(self, line: int, actual: str, expected: str) -> None:
        super().__init__(line, actual, expected)


Items = Iterator[Sentence | Problem]


def read_each(
    path: Path,
    groups: Iterable[Sequence[Any]],
    read: Callable[[Any], Iterable[Sentence | Problem]],
) -> Items:
    """Results of `read` for each group of lines or rows; one Problem for a group that has one, or
    for which it RAISES Unreadable."""
    for group in groups:
        problem = next((line for line in group if isinstance(line, Problem)), None)
        try:
            yield from [problem] if problem else read(group)
        except Unreadable as error:
            yield Problem(path, *error.args)


class Columns(NamedTuple):
    """Numbers of columns, from 1; 0 = there is none, -1 = the last, None = found by what stands in
    them."""

    word: int | None = None
    tag: int | None = None
    chunk: int | None = None
    entity: int | None = None


class Settings(NamedTuple):
    """Settings by which files are read. Each format has its own.

    lang (str): spaCy's name of the language. split, part (str): of a treebank.
    encodings: the first that fits a file is taken.
    spans_key (str): where entities go; "" = `doc.ents`, which cannot overlap.
    chunks (bool): trees: chunks by the rules of CoNLL-2000. unescape (bool): trees: "(" for -LRB-.
    separator (str): tagged: between word and tag; columns: between columns; "" = as found.
    groups: People's Daily: names of entities by tags. split_sentences (bool): People's Daily.
    columns, representation: columns and tables; "auto" = by the letters of the tags.
    labels: names of numbered tags. cut (bool): CoNLL-U: cut a multi-word token that its words spell.
    """

    lang: str = "en"
    split: str = ""
    part: str = ""
    encodings: Sequence[str] = ("utf-8",)
    spans_key: str = ""
    chunks: bool = True
    unescape: bool = True
    separator: str = ""
    groups: dict[str, str] = {"nt": "ORG"}
    split_sentences: bool = True
    columns: Columns = Columns()
    representation: str = "auto"
    labels: Sequence[str] = ()
    cut: bool = False
