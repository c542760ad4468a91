"""Files with a token a line: columns separated by tabs or spaces, an empty line after each sentence.

    Ann     NNP     B-PER
    sleeps  VBZ     O

Columns that are not named are found by what stands in them: entity tags (B, I, O and other
representations), chunk tags (entity tags whose types are those of CoNLL-2000), numbers that count up,
words (the first other column), tags (the next one).
"""

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from ...chunks import check_representation, read_chunks, write_chunks
from ...errors import Errors
from ..files import Line, read_lines
from ..sentences import Columns, Items, LabelledSpan, Problem, Sentence, Settings

AUTO = "auto"
NUMBERS = "one of words, and numbers from 1 (0: there is none, -1: the last), each used once"
EXPECTED_TAG = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
PROBED = 5000  # lines by which columns are found
CHUNKS = frozenset("NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP".split())
NOTHING = frozenset(("_", "-", "-X-", "*"))
_TAG = re.compile(r"O|[BIMELSU]-.+")
BEGINS = ("#", "-DOCSTART-")  # of lines that may be no words
_COMMENT = re.compile(r"# +\S+( id)? = |-DOCSTART-\s")


class Row(NamedTuple):
    """The fields of a line."""

    line: int
    fields: List[str]


Block = List[Union[Row, Problem]]


def read_columns(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for the first line of a block that cannot be
    read.

    RAISES ValueError [HS027]: columns that cannot be; [HS161]: no such representation.
    """
    columns = found_columns(path, settings)
    representation = settings.representation
    if columns.entity and representation == AUTO:
        blocks = islice(blocks_of(path, settings), PROBED)
        representation = representation_of(_cells(blocks, columns.entity))
    for block in blocks_of(path, settings):
        yield _sentence(path, block, columns, representation)


def check_columns(settings: Settings) -> None:
    """RAISES ValueError [HS027]: columns that cannot be; [HS161]: no such representation."""
    numbers = [number for number in settings.columns if number is not None]
    used = [number for number in numbers if number]
    word = settings.columns.word
    if word == 0 or min(numbers, default=0) < -1 or len(set(used)) < len(used):
        raise ValueError(
            Errors.HS027.format(name="columns", value=settings.columns._asdict(), expected=NUMBERS)
        )
    if settings.representation != AUTO:
        check_representation(settings.representation)


def blocks_of(path: Path, settings: Settings) -> Iterator[Block]:
    """The rows of each sentence, without comments: "# key = value", "#" with fewer columns than the
    first word of the file, the mark of a document in CoNLL-2003."""
    texts = (line.text for line in read_lines(path, settings.encodings) if isinstance(line, Line))
    first = next((text for text in texts if text.strip() and not text.startswith(BEGINS)), "")
    separator = settings.separator or ("\t" if "\t" in first else "")
    width = len(_fields(first, separator))
    block: Block = []
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Problem):
            block.append(line)
            continue
        if not line.text.strip(" \t"):
            if block:
                yield block
            block = []
            continue
        fields = _fields(line.text, settings.separator)
        comment = len(fields) < width or _COMMENT.match(line.text)
        if not block and comment and line.text.startswith(BEGINS):
            continue
        block.append(Row(line.number, fields))
    if block:
        yield block


def _fields(text: str, separator: str) -> List[str]:
    """The fields without spaces around them; one of spaces alone stays. Empty fields at the end of a
    row of three or more are none."""
    if not separator and "\t" not in text:
        return re.split(" +", text.strip(" "))
    fields = [field.strip(" ") or field for field in text.split(separator or "\t")]
    while len(fields) > 2 and not fields[-1]:
        fields.pop()
    return fields


def found_columns(path: Path, settings: Settings) -> Columns:
    """The columns of a file: those that are given, and the others by what stands in them. RAISES
    ValueError [HS027, HS161]."""
    check_columns(settings)
    blocks = [
        [each.fields for each in block if isinstance(each, Row)]
        for block in islice(blocks_of(path, settings), PROBED)
    ]
    return columns_of(blocks, settings.columns)


def columns_of(blocks: Sequence[List[List[str]]], given: Columns) -> Columns:
    """The columns of sentences, as rows of fields."""
    rows = [row for block in blocks for row in block]
    width = Counter(map(len, rows)).most_common(1)[0][0] if rows else 1
    free = [number for number in range(1, width + 1) if number not in given]
    cells = {number: [row[number - 1] for row in rows if len(row) == width] for number in free}
    tagged = [number for number in free if all(map(is_entity_tag, cells[number]))]
    others = [number for number in free if number not in tagged and not _is_empty(cells[number])]
    for number in list(others):
        columns = [[row[number - 1] for row in block if len(row) == width] for block in blocks]
        if _is_numbering(columns):
            others.remove(number)
    chunk, entity = _tag_columns(tagged, cells, given)
    word = given.word or next(iter(others), 1)
    tag = (
        next((number for number in others if number > word), 0) if given.tag is None else given.tag
    )
    return Columns(word, tag, chunk, entity)


def _tag_columns(
    tagged: List[int], cells: "dict[int, List[str]]", given: Columns
) -> Tuple[int, int]:
    """The columns of chunk tags and of entity tags; 0 = none."""
    types = {number: {cell[2:] for cell in cells[number]} - {""} for number in tagged}
    chunks = [number for number in tagged if types[number] and types[number] <= CHUNKS]
    entities = [number for number in tagged if types[number] and number not in chunks]
    # tags that are O throughout are still tags of something
    rest = [number for number in tagged if not types[number]]
    chunk = next(iter(chunks), 0) if given.chunk is None else given.chunk
    entity = next(iter([*entities, *rest]), 0) if given.entity is None else given.entity
    return chunk, entity


def _is_empty(cells: Sequence[str]) -> bool:
    """Most of its cells say that there is nothing."""
    return 2 * sum(cell in NOTHING for cell in cells) > len(cells)


def _is_numbering(columns: Sequence[Sequence[str]]) -> bool:
    """The cells count up, or are the same within each sentence, as the number of a document is."""
    long = [cells for cells in columns if len(cells) > 3]
    return counts_up(columns) or bool(long) and all(len(set(cells)) == 1 for cells in long)


def counts_up(columns: Iterable[Sequence[str]]) -> bool:
    """The cells of every sentence are 1, 2, 3 ... or 0, 1, 2 ..., and one has several."""
    longest = 0
    for cells in columns:
        first = 0 if cells and cells[0] == "0" else 1
        if list(cells) != [str(first + i) for i in range(len(cells))]:
            return False
        longest = max(longest, len(cells))
    return longest > 1


def _sentence(
    path: Path, block: Block, columns: Columns, representation: str
) -> Union[Sentence, Problem]:
    rows: List[Row] = []
    for row in block:
        problem = row if isinstance(row, Problem) else _problem(path, row, columns, block[0])
        if problem is not None:
            return problem
        rows.append(row)  # type: ignore[arg-type]
    words, tags, chunks, entities = (
        [row.fields[number - 1 if number > 0 else -1] for row in rows] if number else None
        for number in columns
    )
    return labelled(words or [], tags, chunks, entities, representation)


def labelled(
    words: List[str],
    tags: Optional[List[str]] = None,
    chunk_tags: Optional[Sequence[str]] = None,
    entity_tags: Optional[Sequence[str]] = None,
    representation: str = AUTO,
) -> Sentence:
    """The sentence of words with tags. representation: of entity tags."""
    chunks = None if chunk_tags is None else spans_of(chunk_tags)[0]
    entities, n_mended = (None, 0) if entity_tags is None else spans_of(entity_tags, representation)
    return Sentence(words, tags, chunks, entities, n_mended=n_mended)


def _problem(
    path: Path, row: Row, columns: Columns, first: Union[Row, Problem]
) -> Optional[Problem]:
    """What is wrong with a row: too few columns, another number than the first row of its sentence
    has, an empty one, an entity tag of no known form."""
    text = "\t".join(row.fields)
    numbers = [number for number in columns if number]
    needed = max([*numbers, 2 if -1 in numbers else 1])
    width = len(first.fields) if isinstance(first, Row) else len(row.fields)
    if len(row.fields) < needed or len(row.fields) != width:
        expected = f"{max(needed, width)} columns, got {len(row.fields)}"
        return Problem(path, row.line, f'"{text}"', expected)
    for number in numbers:
        cell = row.fields[number - 1 if number > 0 else -1]
        if not cell:
            return Problem(path, row.line, f'"{text}"', f"column {number} not to be empty")
        if number in (columns.chunk, columns.entity) and not is_entity_tag(cell):
            return Problem(path, row.line, f'"{cell}"', EXPECTED_TAG)
    return None


def _cells(blocks: Iterable[Block], number: int) -> Iterator[str]:
    """A column, as far as it can be read."""
    for block in blocks:
        for row in block:
            if isinstance(row, Row) and len(row.fields) >= number:
                yield row.fields[number - 1 if number > 0 else -1]


def is_entity_tag(tag: str) -> bool:
    return _TAG.fullmatch(tag) is not None


def representation_of(tags: Iterable[str]) -> str:
    """The representation that has these tags: "start_end" with M, E or S, "bilou" with L or U,
    otherwise "iob2"."""
    for tag in tags:
        if is_entity_tag(tag) and tag[0] in "MES":
            return "start_end"
        if is_entity_tag(tag) and tag[0] in "LU":
            return "bilou"
    return "iob2"


def spans_of(tags: Sequence[str], representation: str = AUTO) -> Tuple[List[LabelledSpan], int]:
    """The spans of tags, in order, and how many tags a well-formed sequence would have otherwise.

    Every sequence stands for spans, by the rule of the CoNLL-2000 scorer: one begins at B and S, and
    where an I, M or E follows O or another type; it ends at E and S, and before O, B, S or another
    type. tags: of known forms.
    """
    known = ["I" + tag[1:] if tag.startswith("M") else tag for tag in tags]
    representation = representation_of(tags) if representation == AUTO else representation
    chunks = read_chunks(known)
    written = write_chunks(chunks, len(known), representation)
    n_mended = sum(a != b for a, b in zip(known, written, strict=True))
    bounds = zip(chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True)
    return [LabelledSpan(first, end, name) for first, end, name in bounds], n_mended
