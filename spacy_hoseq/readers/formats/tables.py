"""Tables with a token a row, a header and perhaps quotes (CSV): `Sentence #,Word,POS,Tag`.

Columns are found by their names. A sentence begins where the column of sentences has another value
than before, an empty one counting as the same; without such a column, behind an empty row.
"""

import csv
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from ..files import Line, read_lines
from ..sentences import Columns, Items, Problem, Settings, read_each
from .columns import Row, sentence_of

NAMES = {
    "sentence": re.compile(r"sent(ence)?[ _#]*(id|no|number|idx|index)?[ _#]*|sentence.*", re.I),
    "text": re.compile(r"id|(doc|document|text)([ _]?(id|no|number))?", re.I),
    "word": re.compile(r"words?|forms?", re.I),
    "token": re.compile(r"tokens?", re.I),  # the word, or its number beside the word
    "tag": re.compile(r"(x|u)?pos([ _-]?tags?)?|part[ _]of[ _]speech", re.I),
    "chunk": re.compile(r"chunks?([ _-]?tags?)?", re.I),
    "entity": re.compile(r"(ner|entity|iob|bio|named[ _]entity)([ _-]?(tags?|labels?))?", re.I),
    "label": re.compile(r"tags?|labels?", re.I),  # of names, or of words beside those of names
}
DELIMITERS = ",;\t"


def header_of(line: str) -> dict[str, int]:
    """Columns of a header, from 0, by what they hold; {} if it is none: it names words and something
    else."""
    delimiter = max(DELIMITERS, key=line.count)
    found: dict[str, int] = {}
    for number, name in enumerate(next(csv.reader([line], delimiter=delimiter), [])):
        kind = next((kind for kind, form in NAMES.items() if form.fullmatch(name.strip())), "")
        if kind and kind not in found:
            found[kind] = number
    token = found.pop("token", None)
    if token is not None:
        found.setdefault("word", token)
    label = found.pop("label", None)
    if label is not None:
        found["tag" if "entity" in found else "entity"] = label
    return found if "word" in found and len(found) > 1 else {}


def read_table(path: Path, settings: Settings) -> Items:
    """A Sentence for each group of rows, or a Problem for its first row that cannot be read."""
    items = list(read_lines(path, settings.encodings))
    lines = [f"{item.text}\n" for item in items if isinstance(item, Line)]
    header = lines[0] if lines else ""
    places = header_of(header)
    given = settings.columns._asdict().items()
    columns = Columns(**{kind: n or places.get(kind, -1) + 1 for kind, n in given})
    if not columns.word:
        yield Problem(path, 1, f'"{header.strip()}"', "a header with the columns word, tag, ner")
        return
    delimiter = settings.separator or max(DELIMITERS, key=header.count)
    reader = csv.reader(lines[1:], delimiter=delimiter)
    names = [places[kind] for kind in ("sentence", "text") if kind in places]
    read = partial(sentence_of, columns=columns, untagged=True)
    yield from read_each(path, _groups(reader, names), read)
    yield from (item for item in items if isinstance(item, Problem))


def _groups(reader: Any, names: list[int]) -> Iterator[list[Row]]:
    """The rows of each sentence. reader: of `csv`. names: the columns that say which it is."""
    group: list[Row] = []
    sentence = ""
    for row in reader:
        cells = [row[place].strip() for place in names] if row else []
        name = "\t".join(cells) if cells and cells[0] else ""
        if group and (not any(row) or (name and name != sentence)):
            yield group
            group = []
        sentence = name or sentence
        group += [Row(reader.line_num + 1, row)] if any(row) else []
    if group:
        yield group
