"""Files with a token a line: columns separated by tabs or spaces, an empty line after each sentence.

    Ann     NNP     B-PER
    sleeps  VBZ     O

Columns that are not named are found by what stands in them: entity tags (B, I, O and other
representations), chunk tags (entity tags whose types are those of CoNLL-2000), numbers that count up,
words (the first other column), tags (the next one).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from ...chunks import check_representation, read_chunks, write_chunks
from ...errors import Errors
from ..files import Line, blocks_of, read_lines
from ..sentences import (
    Columns,
    Items,
    LabelledSpan,
    Problem,
    Sentence,
    Settings,
    Unreadable,
    read_each,
)

AUTO = "auto"
NUMBERS = "one of words, and numbers from 1 (0: there is none, -1: the last), each used once"
EXPECTED_TAG = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
PROBED = 5000  # sentences by which columns are found
CHUNKS = frozenset("NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP".split())
NOTHING = frozenset(("_", "-", "-X-", "*"))
_TAG = re.compile(r"O|[BIMELSU]-.+")
BEGINS = ("#", "-DOCSTART-")  # of lines that may be no words
_COMMENT = re.compile(r"# +\S+( id)? = |-DOCSTART-\s")


class Row(NamedTuple):
    """The fields of a line."""

    line: int
    fields: list[str]

    def cell(self, number: int) -> str:
        """number: from 1; -1 = the last."""
        return self.fields[number - (number > 0)]


Block = Sequence[Row | Problem]


def read_columns(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for the first line of a block that cannot be
    read.

    RAISES ValueError [HS027]: columns that cannot be; [HS161]: no such representation.
    """
    columns = found_columns(path, settings)
    entity = columns.entity
    representation = settings.representation
    if entity and representation == AUTO:
        probed = chain.from_iterable(islice(rows_of(path, settings), PROBED))
        rows = [row for row in probed if isinstance(row, Row) and len(row.fields) >= entity]
        representation = representation_of(row.cell(entity) for row in rows)
    read = partial(sentence_of, columns=columns, representation=representation)
    yield from read_each(path, rows_of(path, settings), read)


def check_columns(settings: Settings) -> None:
    """Check settings. RAISES ValueError [HS027]: columns that cannot be; [HS161]: no such
    representation."""
    used = [number for number in settings.columns if number]
    word = settings.columns.word
    if word == 0 or min(used, default=0) < -1 or len(set(used)) < len(used):
        raise ValueError(
            Errors.HS027.format(name="columns", value=settings.columns._asdict(), expected=NUMBERS)
        )
    if settings.representation != AUTO:
        check_representation(settings.representation)


def rows_of(path: Path, settings: Settings) -> Iterator[Block]:
    """The rows of each sentence, without comments: "# key = value", "#" with fewer columns than the
    first word of the file, the mark of a document in CoNLL-2003."""
    texts = (line.text for line in read_lines(path, settings.encodings) if isinstance(line, Line))
    first = next((text for text in texts if text.strip() and not text.startswith(BEGINS)), "")
    width = len(_fields(first, settings.separator or ("\t" if "\t" in first else "")))

    def is_comment(text: str, begins: bool) -> bool:
        if not begins or not text.startswith(BEGINS):
            return False
        return len(_fields(text, settings.separator)) < width or bool(_COMMENT.match(text))

    for block in blocks_of(read_lines(path, settings.encodings), is_comment):
        yield [
            Row(line.number, _fields(line.text, settings.separator))
            if isinstance(line, Line)
            else line
            for line in block
        ]


def _fields(text: str, separator: str) -> list[str]:
    """The fields without spaces around them; one of spaces alone stays. Empty fields at the end of
    a row of three or more are none."""
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
    blocks = islice(rows_of(path, settings), PROBED)
    rows = [[row.fields for row in block if isinstance(row, Row)] for block in blocks]
    return columns_of(rows, settings.columns)


def columns_of(blocks: Sequence[list[list[str]]], given: Columns) -> Columns:
    """The columns of sentences, as rows of fields."""
    widths = Counter(len(row) for block in blocks for row in block).most_common(1)
    width = widths[0][0] if widths else 1
    kinds = {
        number: _kind([[row[number - 1] for row in block if len(row) == width] for block in blocks])
        for number in range(1, width + 1)
        if number not in given
    }

    def first(kind: str, beyond: int = 0) -> int:
        return next((n for n, other in kinds.items() if other == kind and n > beyond), 0)

    word = given.word or first("words") or 1
    # tags that are O throughout are still tags of something
    found = Columns(word, first("words", word), first("chunks"), first("entities") or first("O"))
    return Columns(*(b if a is None else a for a, b in zip(given, found, strict=True)))


def _kind(column: Sequence[Sequence[str]]) -> str:
    """Kind of a column of several sentences: "chunks", "entities", "O", "nothing", "numbers",
    "words"."""
    cells = [cell for of_sentence in column for cell in of_sentence]
    if all(map(is_entity_tag, cells)):
        types = {cell[2:] for cell in cells} - {""}
        return ("chunks" if types <= CHUNKS else "entities") if types else "O"
    if 2 * sum(cell in NOTHING for cell in cells) > len(cells):
        return "nothing"
    # the number of a document is the same within each sentence
    long = [of_sentence for of_sentence in column if len(of_sentence) > 3]
    is_number = counts_up(column) or (long and all(len(set(each)) == 1 for each in long))
    return "numbers" if is_number else "words"


def counts_up(columns: Iterable[Sequence[str]]) -> bool:
    """The cells of every sentence are 1, 2, 3 ... or 0, 1, 2 ..., and one has several."""
    longest = 0
    for cells in columns:
        first = 0 if cells and cells[0] == "0" else 1
        if list(cells) != [str(first + i) for i in range(len(cells))]:
            return False
        longest = max(longest, len(cells))
    return longest > 1


def sentence_of(
    rows: Sequence[Row], columns: Columns, representation: str = AUTO, untagged: bool = False
) -> list[Sentence]:
    """The sentence of some rows. untagged: words may have no tag. RAISES Unreadable: too few
    columns, another number than the first row has, an empty one, an entity tag of no known form."""
    numbers = [number for number in columns if number]
    width = len(rows[0].fields)
    needed = max([*numbers, 2 if -1 in numbers else 1])
    for row in rows:
        text = "\t".join(row.fields)
        if len(row.fields) < needed or len(row.fields) != width:
            expected = f"{max(needed, width)} columns, got {len(row.fields)}"
            raise Unreadable(row.line, f'"{text}"', expected)
        for number in numbers:
            cell = row.cell(number)
            if not cell and not (untagged and number == columns.tag):
                raise Unreadable(row.line, f'"{text}"', f"column {number} not to be empty")
            if number in (columns.chunk, columns.entity) and not is_entity_tag(cell):
                raise Unreadable(row.line, f'"{cell}"', EXPECTED_TAG)
    words, tags, chunks, entities = (
        [row.cell(number) for row in rows] if number else None for number in columns
    )
    return [labelled(words or [], tags, chunks, entities, representation)]


def labelled(
    words: list[str],
    tags: list[str] | None = None,
    chunk_tags: Sequence[str] | None = None,
    entity_tags: Sequence[str] | None = None,
    representation: str = AUTO,
) -> Sentence:
    """The sentence of words with tags. representation: of entity tags."""
    chunks = None if chunk_tags is None else spans_of(chunk_tags)[0]
    entities, n_mended = (None, 0) if entity_tags is None else spans_of(entity_tags, representation)
    return Sentence(words, tags, chunks, entities, n_mended=n_mended)


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


def spans_of(tags: Sequence[str], representation: str = AUTO) -> tuple[list[LabelledSpan], int]:
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
