"""Text with a tag behind each word: `She/PRP sleeps/VBZ ./.`, `她_PN 睡觉_VV 。_PU`, `Ann|NNP|B-PER`.

A sentence a line. In files of the Penn Treebank (.pos) a sentence goes over several lines, with
square brackets around noun phrases; a blank line or a row of equals signs ends it. Words are
separated by spaces or tabs; the last separator within one is that before the tag. A backslash before
a separator belongs to the word and is dropped ("1\\/2/CD" is the word "1/2"). With "|" a word has a
tag, an entity tag, or both (.iob of spaCy). Lines in the manner of XML, from `<` and a letter to `>`,
are passed over (`<S ID=7>`), as in the tagged files of the Chinese Treebank.
"""

import re
from itertools import chain
from pathlib import Path
from typing import Iterator, List, Sequence, Tuple, Union

from ...errors import Errors
from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence, Settings
from .columns import is_entity_tag, representation_of, spans_of

SEPARATORS = ("/", "_", "|")
PROBED = 200  # lines by which the separator, and brackets, are found
RULE = re.compile(r"\s*={5,}\s*")
_MARKUP = re.compile(r"\s*</?[A-Za-z].*>\s*")  # a line of words ends with a tag


def read_tagged_text(path: Path, settings: Settings) -> Items:
    """A Sentence for each line, or a Problem for one that cannot be read.

    RAISES ValueError [HS078]: a separator that is empty, or has spaces or a backslash.
    """
    check_separator(settings.separator or "/")
    head = [line.text for line, _ in zip(read_lines(path, settings.encodings), range(PROBED), strict=False)
            if isinstance(line, Line)]  # fmt: skip
    separator = settings.separator or found_separator(head) or "/"
    bracketed = is_bracketed(head)
    for lines in _sentences(path, settings, bracketed):
        problem = next((line for line in lines if isinstance(line, Problem)), None)
        yield problem or _sentence(path, lines, separator, bracketed)  # type: ignore[arg-type]


def check_separator(separator: str) -> None:
    """RAISES ValueError [HS078]: a separator that is empty, or has spaces or a backslash."""
    if not separator or re.search(r"[\s\\]", separator):
        raise ValueError(Errors.HS078.format(separator=separator))


def found_separator(texts: Sequence[str]) -> str:
    """The separator that nearly all words of some lines have before a tag; "" = none of them."""
    words = [word for text in texts if not _MARKUP.fullmatch(text) for word in text.split()]
    words = [word for word in words if word not in ("[", "]") and not RULE.fullmatch(word)]
    for separator in SEPARATORS:
        n_tagged = sum(all(split_tag(word, separator)) for word in words)
        if n_tagged >= 0.95 * len(words) > 0:
            return separator
    return ""


def is_bracketed(texts: Sequence[str]) -> bool:
    """It is a file of the Penn Treebank: noun phrases in square brackets, or rows of equals signs."""
    return any(text.startswith("[ ") or RULE.fullmatch(text) for text in texts)


def _sentences(
    path: Path, settings: Settings, bracketed: bool
) -> Iterator[List[Union[Line, Problem]]]:
    """The lines of each sentence."""
    lines: List[Union[Line, Problem]] = []
    for line in chain(read_lines(path, settings.encodings), [None]):
        text = line.text if isinstance(line, Line) else ""
        is_blank = isinstance(line, Line) and (not text.strip() or RULE.fullmatch(text))
        if lines and (line is None or is_blank or not bracketed):
            yield lines
            lines = []
        if line is not None and not is_blank and not _MARKUP.fullmatch(text):
            lines.append(line)


def _sentence(
    path: Path, lines: Sequence[Line], separator: str, bracketed: bool
) -> Union[Sentence, Problem]:
    rows: List[List[str]] = []
    for line in lines:
        for piece in re.split(r"[ \t]+", line.text.strip(" \t")):
            if bracketed and piece in ("[", "]"):
                continue
            row = piece.split("|") if separator == "|" else list(split_tag(piece, separator))
            if not all(row) or len(row) not in (2, 3) or (rows and len(row) != len(rows[0])):
                expected = f'a word, "{separator}" and its tag'
                return Problem(path, line.number, f'"{piece}"', expected)
            rows.append(row)
    words, tags, *entity_tags = (list(column) for column in zip(*rows, strict=True))
    if not entity_tags and separator == "|" and all(map(is_entity_tag, tags)):
        return Sentence(words, None, None, spans_of(tags, representation_of(tags))[0])
    if entity_tags and not all(map(is_entity_tag, entity_tags[0])):
        return Problem(path, lines[0].number, f'"{lines[0].text}"', "entity tags behind the tags")
    entities = [spans_of(each, representation_of(each))[0] for each in entity_tags]
    return Sentence(words, tags, None, *entities)


def split_tag(piece: str, separator: str) -> Tuple[str, str]:
    """Word and tag; "" for what is missing."""
    escaped = "\\" + separator
    at = len(piece)
    while True:
        at = piece.rfind(separator, 0, at)
        if at <= 0:
            return ("", piece) if at else ("", piece[len(separator) :])
        if piece[at - 1] != "\\":
            return piece[:at].replace(escaped, separator), piece[at + len(separator) :]
