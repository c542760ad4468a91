"""Text with a tag behind each word: one sentence a line, `She/PRP sleeps/VBZ ./.` or `她_PN 睡觉_VV
。_PU`.

Words are separated by spaces or tabs; the last separator within one is that before the tag. A
backslash before a separator belongs to the word and is dropped ("1\\/2/CD" is the word "1/2").
Empty lines are passed over, and lines in the manner of XML, from `<` and a letter to `>`, as in the
tagged files of the Chinese Treebank (`<S ID=7>`).
"""

import re
from pathlib import Path
from typing import List, Sequence, Tuple, Union

from ...errors import Errors
from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence

_MARKUP = re.compile(r"\s*</?[A-Za-z].*>\s*")  # a line of words ends with a tag


def read_tagged_text(path: Path, encodings: Sequence[str], separator: str = "/") -> Items:
    """A Sentence for each line, or a Problem for a line that cannot be read.

    RAISES ValueError [HS078]: a separator that is empty, or has spaces or a backslash.
    """
    check_separator(separator)
    for line in read_lines(path, encodings):
        if isinstance(line, Problem):
            yield line
            continue
        pieces = [piece for piece in re.split(r"[ \t]+", line.text) if piece]
        if pieces and not _MARKUP.fullmatch(line.text):
            yield _sentence(line, pieces, separator, path)


def check_separator(separator: str) -> None:
    """RAISES ValueError [HS078]: a separator that is empty, or has spaces or a backslash."""
    if not separator or re.search(r"[\s\\]", separator):
        raise ValueError(Errors.HS078.format(separator=separator))


def _sentence(
    line: Line, pieces: List[str], separator: str, path: Path
) -> Union[Sentence, Problem]:
    words: List[str] = []
    tags: List[str] = []
    for piece in pieces:
        word, tag = split_tag(piece, separator)
        if not word or not tag:
            return Problem(path, line.number, f'"{piece}"', f'a word, "{separator}" and its tag')
        words.append(word)
        tags.append(tag)
    return Sentence(words, tags)


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
