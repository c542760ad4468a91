"""Text with a tag behind each word: `She/PRP sleeps/VBZ ./.`, `她_PN 睡觉_VV 。_PU`, `Ann|NNP|B-PER`.

A sentence a line. In files of the Penn Treebank (.pos) a sentence goes over several lines, also blank
ones, with square brackets around noun phrases; it ends after the tag "." and the quotes that close
there, and at a row of equals signs. Words are separated by spaces or tabs; the last separator within
one is that before the tag. A backslash before a separator belongs to the word and is dropped
("1\\/2/CD" is the word "1/2"). The tags may be entity tags; with "|" a word may have both (.iob of spaCy).
Lines in the manner of XML, from `<` and a letter to `>`, are passed over (`<S ID=7>`), as in the
tagged files of the Chinese Treebank.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from ...errors import wrong_value
from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence, Unreadable, read_each
from ..settings import Format, Settings
from .columns import is_entity_tag, labelled

RULE = re.compile(r"\s*={5,}\s*")
MARKUP = re.compile(r"\s*</?[A-Za-z].*>\s*")  # a line of words ends with a tag


def tagged_format() -> Format:
    """Registered as `spacy_hoseq.tagged_format.v1`: a tag behind each word, a sentence a line."""
    return Format(read_tagged_text, (".txt", ".tagged", ".pos", ".iob"), "words with tags")


def read_tagged_text(path: Path, settings: Settings) -> Items:
    """A Sentence for each line, or a Problem for one that cannot be read.

    RAISES ValueError [HS027]: a separator that is empty, or has spaces or a backslash.
    """
    check_separator(settings.separator or "/")
    lines = islice(read_lines(path, settings.encodings), 200)
    head = [line.text for line in lines if isinstance(line, Line)]
    separator = settings.separator or found_separator(head) or "/"
    bracketed = is_bracketed(head)
    blocks = _blocks(path, settings) if bracketed else _lines(path, settings)
    yield from read_each(
        path, blocks, partial(_sentences, separator=separator, bracketed=bracketed)
    )


def check_separator(separator: str) -> None:
    """RAISES ValueError [HS027]: the separator is empty, or has spaces or a backslash."""
    if not separator or re.search(r"[\s\\]", separator):
        raise wrong_value("separator", repr(separator), "one without spaces and backslashes")


def found_separator(texts: Sequence[str]) -> str:
    """The separator before the tag of nearly all words; "" = none."""
    words = []
    for text in texts:
        if not MARKUP.fullmatch(text) and not RULE.fullmatch(text):
            words += [word for word in text.split() if word not in ("[", "]")]
    # the first that nearly all words have: the others may be within words
    for separator in ("/", "_", "|"):
        n_tagged = sum(all(split_tag(word, separator)) for word in words)
        if n_tagged >= 0.95 * len(words) > 0:
            return separator
    return ""


def is_bracketed(texts: Sequence[str]) -> bool:
    """True if it is a file of the Penn Treebank: noun phrases in square brackets, or rows of equals
    signs."""
    return any(text.startswith("[ ") or RULE.fullmatch(text) for text in texts)


def _lines(path: Path, settings: Settings) -> Iterator[list[Line | Problem]]:
    """Blocks of one line, without blank lines and markup."""
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Problem) or (line.text.strip() and not MARKUP.fullmatch(line.text)):
            yield [line]


def _blocks(path: Path, settings: Settings) -> Iterator[list[Line | Problem]]:
    """The lines between rows of equals signs."""
    block: list[Line | Problem] = []
    for (line,) in _lines(path, settings):
        if isinstance(line, Line) and RULE.fullmatch(line.text):
            if block:
                yield block
            block = []
        else:
            block.append(line)
    if block:
        yield block


def _sentences(lines: Sequence[Line], separator: str, bracketed: bool) -> Iterator[Sentence]:
    """The sentences of a block. RAISES Unreadable."""
    rows: list[list[str]] = []
    for line in lines:
        for piece in re.split(r"[ \t]+", line.text.strip(" \t")):
            if bracketed and piece in ("[", "]"):
                continue
            row = list(split_tag(piece, separator))
            if separator == "|":
                row = piece.split("|")
            elif bracketed:
                # "VBG|NN": the annotators were not sure, and the first is taken
                row[1] = row[1].partition("|")[0] or row[1]
            if not all(row) or len(row) not in (2, 3) or (rows and len(row) != len(rows[0])):
                expected = f'a word, "{separator}" and its tag'
                raise Unreadable(line.number, f'"{piece}"', expected)
            rows.append(row)
    for sentence in _cut(rows) if bracketed else [rows]:
        words, tags, *others = map(list, zip(*sentence, strict=True))
        if others:
            if not all(map(is_entity_tag, others[0])):
                actual = f'"{" ".join(others[0])}"'
                raise Unreadable(lines[0].number, actual, "entity tags behind the tags")
            yield labelled(words, tags, entity_tags=others[0])
        elif all(map(is_entity_tag, tags)):
            yield labelled(words, entity_tags=tags)
        else:
            yield labelled(words, tags)


def _cut(rows: list[list[str]]) -> Iterator[list[list[str]]]:
    """The sentences of a block: each ends after the tag "." and the closing signs behind it."""
    first = 0
    ended = False
    closing = ("''", ")", "-RRB-")
    for i in range(1, len(rows)):
        last = rows[i - 1][1]
        tag = rows[i][1]
        # quotes and brackets behind the full stop belong to the sentence
        ended = last == "." or (ended and last in closing)
        if ended and tag != "." and tag not in closing:
            yield rows[first:i]
            first = i
    if rows:
        yield rows[first:]


def split_tag(piece: str, separator: str) -> tuple[str, str]:
    """Word and tag; "" for what is missing."""
    escaped = "\\" + separator
    at = len(piece)
    while True:
        # from the end: words have separators more often than tags
        at = piece.rfind(separator, 0, at)
        if at <= 0:
            return "", piece.removeprefix(separator)
        if piece[at - 1] != "\\":
            return piece[:at].replace(escaped, separator), piece[at + len(separator) :]
