"""Files with a token a line: columns separated by tabs or spaces, an empty line after each sentence.

    Ann     NNP     B-PER
    sleeps  VBZ     O

Columns that are not named are found by what stands in them: entity tags (B, I, O and other
representations, also without types; types beside O, as of Stanford's tools; `(PERSON*`, `*)` of
CoNLL-2012), chunk tags (entity tags whose types are those of CoNLL-2000), numbers, words (the first
other column), tags (the next one that looks like tags).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from statistics import mode
from types import MappingProxyType
from typing import NamedTuple

from ...chunks import read_chunks, write_chunks
from ..files import Line, blocks_of, read_lines
from ..judging import label_likeness
from ..sentences import Items, LabelledSpan, Problem, Sentence, Unreadable, read_each
from ..settings import Columns, Format, Settings

CHARACTER_ENDINGS = (".bmes", ".bioes")
ENTITY_TAG = re.compile(r"O|[BIMELSU]-.+")
BARE_TAG = re.compile(r"[BIMELSUO]")  # of spans of one type
BRACKETS = re.compile(r"(\((?P<name>[A-Z_]+))?\*?(?P<end>\)?)")  # of spans in CoNLL-2012


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
    columns, kinds = columns_of(first, settings.columns)
    representation = settings.representation
    if columns.entity and representation == "auto":
        rows = [fields for fields in chain.from_iterable(first) if len(fields) >= columns.entity]
        representation = representation_of(cell(fields, columns.entity) for fields in rows)
    read = partial(sentence_of, columns=columns, representation=representation, kinds=kinds)
    yield from read_each(path, read_blocks(path, settings), read)


def columns_in_words(path: Path, settings: Settings) -> str:
    """What each column of a file has, "column 1: words, column 2: tags"."""
    first = _first_blocks(path, settings)
    columns, _ = columns_of(first, settings.columns)
    names = dict(zip(columns, ("words", "tags", "chunks", "entities"), strict=True))
    width = max(map(len, chain.from_iterable(first[:1])), default=0)
    if -1 in names:
        width -= 1
    described = []
    for number in sorted({*range(1, width + 1), *names} - {0, -1}):
        described.append(f"column {number}: {names.get(number, 'not read')}")
    if -1 in names:
        described.insert(0, f"column last: {names[-1]}")
    return ", ".join(described)


def read_blocks(path: Path, settings: Settings) -> Iterator[Block]:
    """The rows of each sentence. Comments are left out: "# key = value", "#" with fewer columns
    than the first word of the file, and CoNLL-2003's mark of a document."""
    maybe_comment = ("#", "-DOCSTART-")  # beginnings of lines that may be no words
    first = ""
    # the first line that can only be words tells how many columns there are
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Line) and line.text.strip() and not line.text.startswith(maybe_comment):
            first = line.text
            break
    width = len(_fields(first, settings.separator))

    def is_comment(text: str, begins: bool) -> bool:
        if re.match(r"#(begin|end) document\b", text):  # CoNLL-2012
            return True
        if not begins or not text.startswith(maybe_comment):
            return False
        # "#" may be a word, or the first letter of a hashtag
        if len(_fields(text, settings.separator)) < width:
            return True
        return re.match(r"# *\S+( id)? += |-DOCSTART-\s", text) is not None

    for block in blocks_of(read_lines(path, settings.encodings), is_comment):
        rows: list[Row | Problem] = []
        for line in block:
            if isinstance(line, Problem):
                rows.append(line)
            else:
                rows.append(Row(line.number, _fields(line.text, settings.separator)))
        yield rows


def _fields(text: str, separator: str) -> list[str]:
    """The fields of a line, without spaces around them. A field of spaces alone stays; empty fields
    at the end of three or more are dropped."""
    # a tab only before the first field is an indent
    if not separator.strip() and "\t" not in text.lstrip():
        return re.split(" +", text.strip(" \t"))
    fields = [field.strip(" ") or field for field in text.split(separator or "\t")]
    # as editors and spreadsheets leave them
    while len(fields) > 2 and not fields[-1]:
        fields.pop()
    return fields


def _first_blocks(path: Path, settings: Settings) -> list[list[list[str]]]:
    """The fields of the first sentences, by which columns are found."""
    blocks = []
    for block in islice(read_blocks(path, settings), 5000):
        blocks.append([row.fields for row in block if isinstance(row, Row)])
    return blocks


def cell(fields: Sequence[str], number: int) -> str:
    """The field in a column. number: from 1; -1 = the last."""
    return fields[number - (number > 0)]


def columns_of(blocks: Sequence[list[list[str]]], given: Columns) -> tuple[Columns, dict[int, str]]:
    """Finds the columns of sentences that are not given, and the kind of each column. blocks: the
    fields of each row."""
    kinds = _kinds(blocks, given.word)

    def first(beyond: int, *sought: str) -> int:
        for number, kind in kinds.items():
            if kind in sought and number not in given and number > beyond:
                return number
        return 0

    word, tag, chunk, entity = given
    word = word or first(0, "words") or first(0, "numbers") or 1
    if tag is None:
        tag = first(word, "tags")
        others = [n for n, kind in kinds.items() if kind == "words" and n != word]
        if len(others) > 1 and (others[0] < tag or not given.word):
            tag = 0  # lines of text: one column beside the words has lemmas
    if chunk is None:
        chunk = first(0, "chunks")
    if entity is None:  # tags that are O throughout are still tags of something
        entity = first(0, "entities") or first(word, "bare", "types", "brackets") or first(0, "O")
    return Columns(word, tag, chunk, entity), kinds


def _kinds(blocks: Sequence[list[list[str]]], word: int | None) -> dict[int, str]:
    """The kind of each column. word: that of the words, if it is given."""
    # of each sentence the usual width: a damaged row says nothing
    widths = Counter(mode(map(len, block)) for block in blocks if block)
    width = max(widths, key=widths.__getitem__, default=1)
    # as many columns more as a sentence has predicates: those that all sentences have
    for narrow, count in widths.items():
        if 10 * count > widths.total():
            width = min(width, narrow)
    kinds = {}
    n_words = 0  # different ones
    # the words first: labels are fewer
    for number in sorted(range(1, width + 1), key=lambda number: number != word):
        column = []
        for block in blocks:
            column.append([row[number - 1] for row in block if len(row) >= width])
        kinds[number] = _kind(column, n_words)
        if not n_words and (kinds[number] == "words" or number == word):
            n_words = len(set(chain.from_iterable(column)))
    return kinds


def _kind(column: Sequence[Sequence[str]], n_words: int) -> str:
    """Kind of a column of several sentences: "chunks", "entities", "O", "bare", "types", "brackets",
    "nothing", "numbers", "tags", "words". n_words: different words; 0 = not known, so these may be
    they."""
    cells = Counter(chain.from_iterable(column))
    n_cells = max(cells.total(), 1)

    def share(form: str) -> float:
        return sum(n for text, n in cells.items() if re.fullmatch(form, text)) / n_cells

    chunk_types = "NP VP PP ADVP ADJP SBAR PRT CONJP INTJ LST UCP NC VC PC".split()
    # tags first: also words could be "O", but not all of them
    n_entity_tags = sum(n for text, n in cells.items() if is_entity_tag(respelled(text)))
    if n_entity_tags > 0.9 * n_cells:
        types = {respelled(text)[2:] for text in cells} - {""}
        if not types:
            return "O"
        return "chunks" if types.issubset(chunk_types) else "entities"
    if cells["O"] and cells["B"] + cells["S"] + cells["I"] and share(BARE_TAG.pattern) > 0.9:
        return "bare"
    # brackets of CoNLL-2012: names, but also constituents and arguments of predicates
    if cells["*"] and share(rf".*\*.*|{BRACKETS.pattern}") > 0.9:
        names = {found["name"] for found in map(BRACKETS.fullmatch, cells) if found} - {None}
        is_other = re.compile("|".join((*chunk_types, "V", "S", "TOP", "ARG.*"))).fullmatch
        return "nothing" if not names or any(map(is_other, names)) else "brackets"
    if share(r"_|-|-X-|\*|") > 0.5 or share(r".*\*.*") > 0.9:
        return "nothing"
    n_outside = cells["O"]
    if 0.4 * n_cells < n_outside < n_cells and len(cells) < 100:
        if share(r"O|(?!.[-_])\S{2,}") == 1:
            return "types"
    # a few cells that are no tags are damage, or a header
    n_tagged = sum(n for text, n in cells.items() if is_entity_tag(text)) - n_outside
    if n_outside > 0.4 * n_cells and n_tagged and n_outside + 2 * n_tagged >= n_cells:
        return "entities"
    # the number of a document is the same within each sentence
    long = [sentence for sentence in column if len(sentence) > 3]
    is_constant = long and all(len(set(sentence)) == 1 for sentence in long)
    if is_constant or counts_up(column) or share(r"(?=.*\d)[\W\d_]*") > 0.7:
        return "numbers"
    return "tags" if n_words and label_likeness(cells, n_words) >= 0.8 else "words"


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
    rows: Sequence[Row],
    columns: Columns,
    representation: str = "auto",
    untagged: bool = False,
    kinds: Mapping[int, str] = MappingProxyType({}),
) -> list[Sentence]:
    """The sentence of some rows. untagged: words may have no tag. kinds: what stands in each
    column. RAISES Unreadable: rows of different width, too few columns, an empty cell, or an entity
    tag of no known form."""
    numbers = [number for number in columns if number]
    width = max(len(rows[0].fields), *numbers)
    if width == 1 and -1 in numbers:  # the last column is not the only one
        width = 2
    values = []
    for number in columns:
        values.append(_column(rows, number, width) if number else None)
    words, tags, chunk_tags, entity_tags = values
    if chunk_tags is not None:
        chunk_tags = standard_tags(chunk_tags, kinds.get(columns.chunk or 0, ""), "CHUNK")
    if entity_tags is not None:
        place = width if columns.entity == -1 else columns.entity or 0
        entity_tags = standard_tags(entity_tags, kinds.get(place, ""), "ENTITY")
    for i, (line, fields) in enumerate(rows):
        text = "\t".join(fields)
        if len(fields) != width:
            raise Unreadable(line, f'"{text}"', f"{width} columns, got {len(fields)}")
        for number in numbers:
            may_be_empty = untagged and number == columns.tag
            if not cell(fields, number).strip() and not may_be_empty:
                raise Unreadable(line, f'"{text}"', f"column {number} not to be empty")
        for label_tags in filter(None, (chunk_tags, entity_tags)):
            if not is_entity_tag(label_tags[i]):
                expected = "O, or one of the letters B, I, M, E, L, S, U, a hyphen and a type"
                raise Unreadable(line, f'"{label_tags[i]}"', expected)
    sentence = labelled(words or [], tags, chunk_tags, entity_tags, representation)
    return [sentence._replace(unread=_unread(rows, columns, width, kinds))]


def _column(rows: Sequence[Row], number: int, width: int) -> list[str]:
    """The cells of a column; "O" in rows of another width, which are refused."""
    return [cell(row.fields, number) if len(row.fields) == width else "O" for row in rows]


def _unread(
    rows: Sequence[Row], columns: Columns, width: int, kinds: Mapping[int, str]
) -> tuple[str, ...]:
    """Columns that have labels of these rows and are not read, if another has those of entities."""
    unread = []
    if columns.entity in (None, 0, -1):
        return ()
    for number, kind in kinds.items():
        is_label = kind in ("entities", "bare", "types", "brackets") and number not in columns
        if is_label and number <= width:
            if not {row.fields[number - 1] for row in rows} <= {"O", "*"}:
                unread.append(f"column {number} has labels")
    return tuple(unread)


def standard_tags(cells: Sequence[str], kind: str, name: str) -> list[str]:
    """Tags with letter and type. kind: of their column. name: the type of bare tags."""
    if kind in ("brackets", "nothing"):
        return _tags_of_brackets(cells)
    tags = []
    for text in cells:
        if kind == "types" and text != "O" and not is_entity_tag(text):
            text = f"I-{text}"
        elif kind == "bare" and text != "O" and BARE_TAG.fullmatch(text):
            text = f"{text}-{name}"
        tags.append(respelled(text))
    return tags


def _tags_of_brackets(cells: Sequence[str]) -> list[str]:
    """Tags of `(PERSON*`, `*)`; other cells as they are."""
    tags = []
    name = ""  # of the brackets that are open
    for text in cells:
        brackets = BRACKETS.fullmatch(text)
        if brackets is None:
            tags.append(respelled(text))
            continue
        name = brackets["name"] or name
        letter = "B" if brackets["name"] else "I"
        tags.append(f"{letter}-{name}" if name else "O")
        if brackets["end"]:
            name = ""
    return tags


def respelled(tag: str) -> str:
    """An entity tag as others have it: "B-PER" for b-PER, B_PER and PER-B, "O" for o. Other texts
    stay."""
    if is_entity_tag(tag):
        return tag
    before = re.fullmatch(r"([BIMELSUbimelsu])[-_](.+)", tag)
    if before:
        return f"{before[1].upper()}-{before[2]}"
    behind = re.fullmatch(r"(.{2,})[-_]([BIMELSU])", tag)
    if behind:
        return f"{behind[2]}-{behind[1]}"
    return "O" if tag == "o" else tag


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
