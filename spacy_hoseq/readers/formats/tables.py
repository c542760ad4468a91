"""Tables with a token a row, a header and perhaps quotes (CSV): `Sentence #,Word,POS,Tag`.

Columns are found by their names. A sentence begins where the column of sentences has another value
than before, an empty one counting as the same; without such a column, behind an empty row.
"""

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path

from ..files import UNREADABLE, encoding_of, open_bytes, read_lines
from ..rows import Entry, literal, table_rows
from ..sentences import Items, Problem, read_each
from ..settings import Columns, Format, Settings
from .columns import Row, sentence_of
from .offsets import SPAN_KEYS, TEXT_KEYS, text_and_spans
from .offsets import sentence_of as sentence_of_text
from .tokens import ENTITY_KEYS, WORD_KEYS, tokens_of

HEADER_NAMES = {
    "sentence": re.compile(r"sent(ence)?[ _#]*(id|no|number|idx|index)?[ _#]*|sentence.*", re.I),
    "text": re.compile(r"id|(doc|document|text)([ _]?(id|no|number))?", re.I),
    "word": re.compile(r"words?|forms?", re.I),
    "token": re.compile(r"tokens?", re.I),  # the word, or its number beside the word
    "tag": re.compile(r"(x|u)?pos([ _-]?tags?)?|part[ _]of[ _]speech", re.I),
    "chunk": re.compile(r"chunks?([ _-]?tags?)?", re.I),
    "entity": re.compile(r"(ner|entity|iob|bio|named[ _]entity)([ _-]?(tags?|labels?))?", re.I),
    "label": re.compile(r"tags?|labels?", re.I),  # of names, or of words beside those of names
}


def table_format() -> Format:
    """Registered as `spacy_hoseq.table_format.v1`: a token a row, columns by a header."""
    return Format(read_table, (".csv", ".tsv"), "a table with a header")


def header_of(line: str) -> dict[str, int]:
    """Columns of a header, from 0, by what they hold. {} = no header: it must name words and
    something else."""
    places: dict[str, int] = {}
    for number, name in enumerate(_names(line)):
        for kind, form in HEADER_NAMES.items():
            if form.fullmatch(name):
                places.setdefault(kind, number)
                break
    # beside a column of words "token" is its number
    token = places.pop("token", None)
    if token is not None:
        places.setdefault("word", token)
    label = places.pop("label", None)
    if label is not None:
        # "tag" is a tag of a word beside a column of entities, else that of an entity
        kind = "tag" if "entity" in places else "entity"
        places[kind] = label
    return places if "word" in places and len(places) > 1 else {}


def is_header(line: str) -> bool:
    """True if the line names the columns of a table that can be read."""
    return header_of(line) != {} or _is_of_texts(line)


def _is_of_texts(header: str) -> bool:
    """True if columns are called as fields of JSON with a text and its labels are."""
    names = {*map(str.lower, _names(header))}
    has_text = not names.isdisjoint((*TEXT_KEYS, *WORD_KEYS))
    return has_text and not names.isdisjoint((*SPAN_KEYS, *ENTITY_KEYS))


def _names(header: str) -> list[str]:
    """The names of columns, without spaces around them."""
    cells = next(csv.reader([header], delimiter=_delimiter_of(header)), [])
    return [*map(str.strip, cells)]


def _delimiter_of(header: str) -> str:
    return max(",;\t", key=header.count)


def read_table(path: Path, settings: Settings) -> Items:
    """A Sentence for each group of rows, or a Problem for its first row that cannot be read."""
    encoding = encoding_of(path, settings.encodings)
    first = next(read_lines(path, [encoding]), None)
    if isinstance(first, Problem):
        yield first
        return
    header = first.text if first else ""
    places = header_of(header)
    numbers: dict[str, int] = {}
    for kind, number in settings.columns._asdict().items():
        numbers[kind] = number or places.get(kind, -1) + 1
    columns = Columns(**numbers)
    rows = _rows(path, encoding, settings.separator or _delimiter_of(header))
    next(rows, None)  # the header
    row = next(rows, None)
    rows = chain(filter(None, [row]), rows)
    has_texts = isinstance(row, Entry) and _has_texts(row.value, columns.word, header)
    if has_texts and not any(settings.columns):
        yield from _read_texts(rows, _names(header), path, settings)
    elif not columns.word:
        yield Problem(path, 1, f'"{header.strip()}"', "a header with the columns word, tag, ner")
    else:
        ids = [places[kind] for kind in ("sentence", "text") if kind in places]
        read = partial(sentence_of, columns=columns, untagged=True)
        yield from read_each(path, _groups(rows, ids), read)


def _has_texts(cells: list[str], word: int | None, header: str) -> bool:
    """True if a row has a text, or a list of words, and no word alone. word: the column of words."""
    if not word:
        return _is_of_texts(header)
    if len(cells) < word:
        return False
    words = literal(cells[word - 1])
    if isinstance(words, list):
        return True
    # a string with as many labels
    sizes = [len(cell.split()) for cell in cells]
    return sizes[word - 1] > 1 and sizes.count(sizes[word - 1]) > 1


def _read_texts(
    rows: Iterable[Entry | Problem], names: list[str], path: Path, settings: Settings
) -> Items:
    """The texts of rows with a text each."""
    for row in rows:
        if isinstance(row, Problem):
            yield row
        elif any(row.value):
            try:
                value = dict(zip(names, row.value, strict=True))
                yield from _sentences_of_text(value, settings, path, row.number)
            except (AttributeError, LookupError, TypeError, ValueError):
                expected = (
                    "a text, and its spans or a tag for each word (numbers: --labels O,B-PER)"
                )
                yield Problem(path, row.number, ", ".join(row.value)[:100], expected)


def _sentences_of_text(value: dict[str, str], settings: Settings, path: Path, number: int) -> Items:
    """A text with tags, or else with spans. RAISES as `tokens_of` and `text_and_spans`."""
    sentence = None
    with suppress(AttributeError, LookupError, TypeError, ValueError):
        sentence = tokens_of(value, dict.fromkeys(ENTITY_KEYS, settings.labels or ()))
    if sentence is None:
        yield from sentence_of_text(*text_and_spans(value), settings, path, number)
    else:
        yield sentence


def _rows(path: Path, encoding: str, delimiter: str) -> Iterator[Entry | Problem]:
    """The rows of a file. A row that is not text is a Problem, and so is the place from which the
    file cannot be read."""
    number = 0
    try:
        for entry in table_rows(path, open_bytes(path), encoding, delimiter, strict=False):
            number += 1
            if isinstance(entry, Entry):
                strange = re.search("[\0\ufeff\udc80-\udcff]", "".join(entry.value))
                if strange:
                    actual = f"the character U+{ord(strange.group()):04X}"
                    if strange.group() >= "\ud800":  # a byte that is no text
                        actual = f"the byte 0x{ord(strange.group()) - 0xDC00:02X}"
                    entry = Problem(path, entry.number, actual, f"text in {encoding}")
            yield entry
    except UNREADABLE as error:
        yield Problem(path, number + 1, str(error), "a file that can be read")


def _groups(rows: Iterable[Entry | Problem], ids: list[int]) -> Iterator[list[Row | Problem]]:
    """The rows of each sentence. ids: columns that identify the sentence."""
    group: list[Row | Problem] = []
    sentence = ""
    for row in rows:
        if isinstance(row, Problem):
            group.append(row)
            continue
        cells = row.value
        name = ""
        # a row that is too short is a problem later
        if ids and max(ids) < len(cells) and cells[ids[0]].strip():
            name = "\t".join(cells[place].strip() for place in ids)
        if group and (not any(cells) or (name and name != sentence)):
            yield group
            group = []
        sentence = name or sentence
        if any(cells):
            group.append(Row(row.number, cells))
    if group:
        yield group
