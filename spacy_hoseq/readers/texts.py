"""Texts that a pipeline is to annotate, in shares: what one process takes at a time and writes to
one file."""

from pathlib import Path
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Union

from .files import json_entries, read_lines, whole_text
from .sentences import Problem

ENCODINGS = ["utf-8"]


class Text(NamedTuple):
    """path, line (int, from 1): where it is. meta: what else is said of it there."""

    path: Path
    line: int
    text: str
    meta: Dict[str, Any]


class Share(NamedTuple):
    """Some texts, or if these are None, the Docs of the file `docs`. problems: what was left out on
    the way to it."""

    texts: Optional[List[Text]]
    docs: Optional[Path]
    problems: List[Problem]


def shares(files: Iterable[Path], size: int, text_key: str) -> Iterator[Share]:
    """Shares of `size` texts, in the order of the files, the last one and those before a .spacy
    file smaller; every .spacy file is a share of its own. text_key (str): of the text in a line of
    .jsonl; all other fields become `meta`. Files with any other ending are one text each. All may
    be gzipped but .spacy files."""
    texts: List[Text] = []
    problems: List[Problem] = []
    for file in files:
        if file.suffix == ".spacy":
            if texts or problems:
                yield Share(texts, None, problems)
                texts = []
                problems = []
            yield Share(None, file, [])
            continue
        is_lines = file.name.removesuffix(".gz").endswith(".jsonl")
        for item in _json_lines(file, text_key) if is_lines else _whole(file):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            texts.append(item)
            if len(texts) == size:
                yield Share(texts, None, problems)
                texts = []
                problems = []
    if texts or problems:
        yield Share(texts, None, problems)


def _json_lines(file: Path, text_key: str) -> Iterator[Union[Text, Problem]]:
    for entry in json_entries(file, read_lines(file, ENCODINGS), text_key):
        yield entry if isinstance(entry, Problem) else Text(file, *entry)


def _whole(file: Path) -> Iterator[Union[Text, Problem]]:
    text = whole_text(read_lines(file, ENCODINGS))
    yield text if isinstance(text, Problem) else Text(file, 1, text, {})
