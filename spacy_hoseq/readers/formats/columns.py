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
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from ...chunks import read_chunks, write_chunks
from ..files import Line, blocks_of, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Unreadable, read_each
from ..settings import Columns, Format, Settings

CHARACTER_ENDINGS = (".bmes", ".bioes")
MAYBE_COMMENT = ("#", "-DOCSTART-")  # beginnings of lines that may be no words
ENTITY_TAG = re.compile(r"O|[BIMELSU]-.+")


class Row(NamedTuple):
    """The fields of a line."""

    line: int
    fields: list[str]


Block = Sequence[Row | Problem]


def columns_format() -> Format:
    """Registered as `spacy_hoseq.columns_format.v1`: a token a line, with columns."""
    endings = (".tsv", ".conll", ".bio", ".iob", ".iob2", ".txt", *CHARACTER_ENDINGS)
    return Format(read_columns, endings, "columns", columns_in_words)


def characters_format() -> Format:
    """Registered as `spacy_hoseq.characters_format.v1`: a character and its entity tag a line."""
    endings = (*CHARACTER_ENDINGS, ".txt")
    return Format(read_characters, endings, "characters with entity tags")


def read_characters(path: Path, settings: Settings) -> Items:
    """As `read_columns`: the first column has characters, the last one entity tags."""
    columns = replace(settings, word_column=1, tag_column=0, chunk_column=0, entity_column=-1)
    return read_columns(path, columns)


def read_columns(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of lines, or a Problem for the first line of a block that cannot be
    read."""
    first = _first_blocks(path, settings)
    columns = columns_of(first, settings.columns)
    representation = settings.representation
    if columns.entity and representation == "auto":
        rows = [fields for fields in chain.from_iterable(first) if len(fields) >= columns.entity]
        representation = representation_of(cell(fields, columns.entity) for fields in rows)
    read = partial(sentence_of, columns=columns, representation=representation)
    yield from read_each(path, read_blocks(path, settings), read)


def columns_in_words(path: Path, settings: Settings) -> str:
    """What each column of a file has, "column 1: words, column 2: tags"."""
    first = _first_blocks(path, settings)
    kinds: dict[int, str] = {}
    names = ("words", "tags", "chunks", "entities")
    for number, name in zip(columns_of(first, settings.columns), names, strict=True):
        if number:
            kinds[number] = name
    width = max(map(len, chain.from_iterable(first[:1])), default=0)
    for number in range(1, width + (-1 not in kinds)):
        kinds.setdefault(number, "not read")
    return ", ".join(
        f"column {'last' if number == -1 else number}: {kinds[number]}" for number in sorted(kinds)
    )


def read_blocks(path: Path, settings: Settings) -> Iterator[Block]:
    """The rows of each sentence. Comments are left out: "# key = value", "#" with fewer columns
    than the first word of the file, and CoNLL-2003's mark of a document."""
    first = ""
    # the first line that can only be words tells how many columns there are
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Line) and line.text.strip() and not line.text.startswith(MAYBE_COMMENT):
            first = line.text
            break
    width = len(_fields(first, settings.separator))

    def is_comment(text: str, begins: bool) -> bool:
        if not begins or not text.startswith(MAYBE_COMMENT):
            return False
        # "#" may be a word, or the first letter of a hashtag
        if len(_fields(text, settings.separator)) < width:
            return True
        return re.match(r"# +\S+( id)? = |-DOCSTART-\s", text) is not None

    for block in blocks_of(read_lines(path, settings.encodings), is_comment):
        rows: list[Row | Problem] = []
        for line in block:
            if isinstance(line, Line):
                rows.append(Row(line.number, _fields(line.text, settings.separator)))
            else:
                rows.append(line)
        yield rows


def _fields(text: str, separator: str) -> list[str]:
    """The fields of a line, without spaces around them. A field of spaces alone stays; empty fields
    at the end of three or more are dropped."""
    if not separator and "\t" not in text:
        return re.split(" +", text.strip(" "))
    fields = [field.strip(" ") or field for field in text.split(separator or "\t")]
    # as editors and spreadsheets leave them
    while len(fields) > 2 and not fields[-1]:
        fields.pop()
    return fields


def _first_blocks(path: Path, settings: Settings) -> list[list[list[str]]]:
    """The fields of the first sentences, by which columns are found."""
    blocks: list[list[list[str]]] = []
    for block in islice(read_blocks(path, settings), 5000):
        blocks.append([row.fields for row in block if isinstance(row, Row)])
    return blocks


def cell(fields: Sequence[str], number: int) -> str:
    """The field in a column. number: from 1; -1 = the last."""
    return fields[number - (number > 0)]


def columns_of(blocks: Sequence[list[list[str]]], given: Columns) -> Columns:
    """Finds the columns of sentences that are not given. blocks: the fields of each row."""
    widths = Counter(map(len, chain.from_iterable(blocks)))
    width = max(widths, key=widths.__getitem__, default=1)
    kinds: dict[int, str] = {}
    for number in range(1, width + 1):
        # rows of another width are damaged: they say nothing about columns
        if number not in given:
            column: list[list[str]] = []
            for block in blocks:
                column.append([row[number - 1] for row in block if len(row) == width])
            kinds[number] = _kind(column)

    def first(kind: str, beyond: int = 0) -> int:
        return next((n for n, other in kinds.items() if other == kind and n > beyond), 0)

    word, tag, chunk, entity = given
    word = word or first("words") or 1
    if tag is None:
        tag = first("words", beyond=word)
    if chunk is None:
        chunk = first("chunks")
    if entity is None:  # tags that are O throughout are still tags of something
        entity = first("entities") or first("O")
    return Columns(word, tag, chunk, entity)


def _kind(column: Sequence[Sequence[str]]) -> str:
    """Kind of a column of several sentences: "chunks", "entities", "O", "nothing", "numbers",
    "words"."""
    # tags first: also words could be "O", but not all of them
    cells = list(chain.from_iterable(column))
    if all(map(is_entity_tag, cells)):
        types = {cell[2:] for cell in cells} - {""}
        if not types:
            return "O"
        conll = "NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP"
        return "chunks" if types.issubset(conll.split()) else "entities"
    n_empty = sum(cell in ("_", "-", "-X-", "*") for cell in cells)
    if 2 * n_empty > len(cells):
        return "nothing"
    # the number of a document is the same within each sentence
    long = [sentence for sentence in column if len(sentence) > 3]
    is_constant = len(long) > 0 and all(len(set(sentence)) == 1 for sentence in long)
    return "numbers" if is_constant or counts_up(column) else "words"


def counts_up(columns: Iterable[Sequence[str]]) -> bool:
    """True if the cells of every sentence are 1, 2, 3 ... or 0, 1, 2 ..., and one has several."""
    longest = 0
    for cells in columns:
        numbers = list(map(str, range(len(cells) + 1)))
        if list(cells) not in (numbers[:-1], numbers[1:]):
            return False
        longest = max(longest, len(cells))
    return longest > 1


def sentence_of(
    rows: Sequence[Row], columns: Columns, representation: str = "auto", untagged: bool = False
) -> list[Sentence]:
    """The sentence of some rows. untagged: words may have no tag. RAISES Unreadable: rows of
    different width, too few columns, an empty cell, or an entity tag of no known form."""
    numbers = [number for number in columns if number]
    width = max(len(rows[0].fields), *numbers)
    if width == 1 and -1 in numbers:  # the last column is not the only one
        width = 2
    for line, fields in rows:
        text = "\t".join(fields)
        if len(fields) != width:
            raise Unreadable(line, f'"{text}"', f"{width} columns, got {len(fields)}")
        for number in numbers:
            value = cell(fields, number)
            if not value and not (untagged and number == columns.tag):
                raise Unreadable(line, f'"{text}"', f"column {number} not to be empty")
            if number in (columns.chunk, columns.entity) and not is_entity_tag(value):
                expected = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
                raise Unreadable(line, f'"{value}"', expected)

    def column(number: int | None) -> list[str] | None:
        return [cell(row.fields, number) for row in rows] if number else None

    words = column(columns.word) or []
    tags = column(columns.tag)
    return [labelled(words, tags, column(columns.chunk), column(columns.entity), representation)]


def labelled(
    words: list[str],
    tags: list[str] | None = None,
    chunk_tags: Sequence[str] | None = None,
    entity_tags: Sequence[str] | None = None,
    representation: str = "auto",
) -> Sentence:
    """The sentence of words with tags. representation: of entity tags."""
    sentence = Sentence(words, tags)
    if chunk_tags is not None:
        sentence = sentence._replace(chunks=spans_of(chunk_tags)[0])
    if entity_tags is not None:
        entities, n_mended = spans_of(entity_tags, representation)
        sentence = sentence._replace(entities=entities, n_mended=n_mended)
    return sentence


def is_entity_tag(tag: str) -> bool:
    return ENTITY_TAG.fullmatch(tag) is not None


def representation_of(tags: Iterable[str]) -> str:
    """The representation that has these tags: "start_end" with M, E or S, "bilou" with L or U,
    otherwise "iob2"."""
    for tag in tags:
        if is_entity_tag(tag) and tag[0] in "MES":
            return "start_end"
        if is_entity_tag(tag) and tag[0] in "LU":
            return "bilou"
    return "iob2"


def spans_of(tags: Sequence[str], representation: str = "auto") -> tuple[list[LabelledSpan], int]:
    """The spans of tags, in order, and how many tags a well-formed sequence would have otherwise.

    Every sequence stands for spans, by the rule of the CoNLL-2000 scorer: one begins at B and S, and
    where an I, M or E follows O or another type; it ends at E and S, and before O, B, S or another
    type. tags: of known forms.
    """
    # M is another letter for the inner tokens
    known = ["I" + tag[1:] if tag.startswith("M") else tag for tag in tags]
    if representation == "auto":
        representation = representation_of(tags)
    # written again, tags that are well formed come back
    chunks = read_chunks(known)
    written = write_chunks(chunks, len(known), representation)
    n_mended = sum(a != b for a, b in zip(known, written, strict=True))
    spans = map(LabelledSpan, chunks.first.tolist(), chunks.end.tolist(), chunks.types)
    return list(spans), n_mended
