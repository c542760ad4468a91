"""Files with a token a line, columns separated by tabs or spaces, and an empty line after each
sentence.

    Ann     NNP     B-PER
    sleeps  VBZ     O

Which column has words, tags and entities (B, I, O and other representations) is set; columns count
from 1.
"""

import re
from itertools import islice
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Union

from ...errors import Errors
from ..files import Line, read_lines
from ..sentences import Items, Problem, Sentence
from .entity_tags import (
    AUTO,
    EXPECTED_TAG,
    check_entity_representation,
    entities_of_tags,
    is_entity_tag,
    representation_of,
)

# of a sentence in CoNLL-U: a word, several words, an empty word
_FIRST_ID = re.compile(r"1(-\d+)?|0\.1")
_BEGINS = ("#", "-DOCSTART-")  # of lines that may be no words
_COMMENT = re.compile(r"# +\S+( id)? = |-DOCSTART-\s")


class Columns(NamedTuple):
    """Numbers of columns, from 1; 0 = there is none; -1 = the last. separator: "" = a tab, or
    spaces in lines without.
    representation: of entity tags; "auto" = by the letters of the file."""

    word: int = 1
    tag: int = 2
    entity: int = 0
    separator: str = ""
    representation: str = AUTO


def check_columns(columns: Columns) -> None:
    """RAISES ValueError [HS075]: columns that cannot be; [HS081]: no such representation."""
    numbers = [columns.word, columns.tag, columns.entity]
    used = [number for number in numbers if number]
    if columns.word == 0 or min(numbers) < -1 or len(set(used)) < len(used):
        raise ValueError(
            Errors.HS075.format(word=columns.word, tag=columns.tag, entity=columns.entity)
        )
    check_entity_representation(columns.representation)


def read_columns(path: Path, encodings: Sequence[str], columns: Columns) -> Items:
    """A Sentence for each block of lines, or a Problem for the first line of a block that cannot be
    read.

    RAISES ValueError [HS075]: columns that cannot be; [HS081]: no such representation; [HS085]: the
    file is CoNLL-U, whose ids and comments would become words.
    """
    check_columns(columns)
    if _is_conllu(read_lines(path, encodings), columns):
        raise ValueError(Errors.HS085.format(path=path))
    representation = columns.representation
    if columns.entity and representation == AUTO:
        representation = representation_of(_tags_of(path, encodings, columns))
    rows: List[List[str]] = []
    problem: Optional[Problem] = None
    for line in _without_comments(path, encodings, columns.separator):
        if isinstance(line, Line) and not line.text.strip(" \t"):
            if problem or rows:
                yield problem or _sentence(rows, columns, representation)
            rows = []
            problem = None
            continue
        row = line if isinstance(line, Problem) else _row(line, columns, path)
        if isinstance(row, Problem):
            problem = problem or row
        else:
            rows.append(row)
    if problem or rows:
        yield problem or _sentence(rows, columns, representation)


def _is_conllu(lines: Iterable[Union[Line, Problem]], columns: Columns) -> bool:
    """Whether the first row has ten columns, an id in the first one, and a comment before it, or
    ids as words."""
    commented = False
    for line in lines:
        if isinstance(line, Problem) or not line.text.strip():
            continue
        if line.text.startswith("#") and "\t" not in line.text:
            commented = True
            continue
        fields = line.text.split("\t")
        return (
            len(fields) == 10
            and _FIRST_ID.fullmatch(fields[0]) is not None
            and (commented or columns.word == 1)
        )
    return False


def _without_comments(
    path: Path, encodings: Sequence[str], separator: str
) -> Iterator[Union[Line, Problem]]:
    """All lines but comments before the words of a sentence: "# key = value", "#" with fewer columns
    than the first word of the file, the mark of a document in CoNLL-2003."""
    texts = (line.text for line in read_lines(path, encodings) if isinstance(line, Line))
    first = next((text for text in texts if text.strip() and not text.startswith(_BEGINS)), "")
    separator = separator or ("\t" if "\t" in first else "")
    is_inside = False
    for line in read_lines(path, encodings):
        text = line.text if isinstance(line, Line) else ""
        if text.startswith(_BEGINS) and not is_inside:
            n_fewer = len(_fields(first, separator)) - len(_fields(text, separator))
            if n_fewer > 0 or _COMMENT.match(text):
                continue
        is_inside = bool(text.strip())
        yield line


def _row(line: Line, columns: Columns, path: Path) -> Union[List[str], Problem]:
    """The fields of a line that has all columns asked for."""
    fields = _fields(line.text, columns.separator)
    needed = max(
        columns.word,
        columns.tag,
        columns.entity,
        2 if columns.entity == -1 or columns.tag == -1 else 1,
    )
    if len(fields) < needed:
        return Problem(path, line.number, f'"{line.text}"', f"{needed} columns, got {len(fields)}")
    for number in (columns.word, columns.tag, columns.entity):
        if number and not fields[_index(number)]:
            return Problem(path, line.number, f'"{line.text}"', f"column {number} not to be empty")
    if columns.entity and not is_entity_tag(fields[_index(columns.entity)]):
        return Problem(path, line.number, f'"{fields[_index(columns.entity)]}"', EXPECTED_TAG)
    return fields


def _fields(text: str, separator: str) -> List[str]:
    """The fields without spaces around them; one of spaces alone stays."""
    if separator or "\t" in text:
        return [field.strip(" ") or field for field in text.split(separator or "\t")]
    return re.split(" +", text.strip(" "))


def _index(number: int) -> int:
    return number - 1 if number > 0 else -1


def _sentence(rows: List[List[str]], columns: Columns, representation: str) -> Sentence:
    words = [row[_index(columns.word)] for row in rows]
    tags = [row[_index(columns.tag)] for row in rows] if columns.tag else None
    entities, n_mended = (
        entities_of_tags([row[_index(columns.entity)] for row in rows], representation)
        if columns.entity
        else (None, 0)
    )
    return Sentence(words, tags, None, entities, 0, n_mended)


def _tags_of(path: Path, encodings: Sequence[str], columns: Columns) -> Iterator[str]:
    """The entity tags of a file, as far as it can be read."""
    rows = (
        _row(line, columns, path)
        for line in _without_comments(path, encodings, columns.separator)
        if isinstance(line, Line) and line.text.strip(" \t")
    )
    yield from (row[_index(columns.entity)] for row in rows if not isinstance(row, Problem))


def dropped_entity_columns(
    path: Path, encodings: Sequence[str], columns: Columns, n_lines: int = 1000
) -> List[int]:
    """Numbers of the columns, from 1, that look like entity tags in the first lines and are not
    read as such."""
    lines = islice(_without_comments(path, encodings, columns.separator), n_lines)
    rows = [
        _fields(line.text, columns.separator)
        for line in lines
        if isinstance(line, Line) and line.text.strip()
    ]
    width = min(map(len, rows), default=0)
    read = {columns.word, columns.entity if columns.entity >= 0 else width}
    return [
        number
        for number in range(1, width + 1)
        if number not in read and _are_entity_tags(rows, number)
    ]


def _are_entity_tags(rows: List[List[str]], number: int) -> bool:
    tags = {row[number - 1] for row in rows}
    return tags != {"O"} and all(map(is_entity_tag, tags))
