"""Tables with a token a row, a header and perhaps quotes (CSV): `Sentence #,Word,POS,Tag`.

Columns are found by their names. A sentence begins where the column of sentences has another value
than before, an empty one counting as the same; without such a column, behind an empty row.
"""

import csv
import re
from pathlib import Path
from typing import Dict, Iterator, List, Sequence, Union

from ..files import Line, read_lines
from ..sentences import Columns, Items, Problem, Sentence, Settings
from .columns import EXPECTED_TAG, is_entity_tag, labelled

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


def header_of(line: str) -> Dict[str, int]:
    """Columns of a header, from 0, by what they hold; {} if it is none: it names words and something
    else."""
    delimiter = max(DELIMITERS, key=line.count)
    found: Dict[str, int] = {}
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
    problems: List[Problem] = []
    lines = _lines(path, settings, problems)
    header = next(lines, "")
    places = {**header_of(header), **_given(settings.columns)}
    if "word" not in places:
        yield Problem(path, 1, f'"{header.strip()}"', "a header with the columns word, tag, ner")
        return
    delimiter = settings.separator or max(DELIMITERS, key=header.count)
    reader = csv.reader(lines, delimiter=delimiter)
    group: List[List[str]] = []
    sentence = ""
    for row in reader:
        named = [
            row[places[kind]].strip() for kind in ("sentence", "text") if kind in places and row
        ]
        name = "\t".join(named) if named and named[0] else ""
        if group and (not any(row) or (name and name != sentence)):
            yield _sentence(path, group, places, reader.line_num + 1)
            group = []
        sentence = name or sentence
        if any(row):
            group.append(row)
    if group:
        yield _sentence(path, group, places, reader.line_num + 2)
    yield from problems


def _lines(path: Path, settings: Settings, problems: List[Problem]) -> Iterator[str]:
    for line in read_lines(path, settings.encodings):
        if isinstance(line, Line):
            yield f"{line.text}\n"
        else:
            problems.append(line)


def _given(columns: Columns) -> Dict[str, int]:
    return {kind: number - 1 for kind, number in columns._asdict().items() if number}


def _sentence(
    path: Path, rows: Sequence[List[str]], places: Dict[str, int], line: int
) -> Union[Sentence, Problem]:
    """line (int): of the first row behind them."""
    width = max(places.values()) + 1
    columns: Dict[str, List[str]] = {kind: [] for kind in places}
    for number, row in enumerate(rows, line - len(rows)):
        if len(row) < width or not row[places["word"]]:
            return Problem(path, number, str(row), f"{width} columns with a word")
        for kind, place in places.items():
            columns[kind].append(row[place])
    for kind in ("chunk", "entity"):
        wrong = next((tag for tag in columns.get(kind, ()) if not is_entity_tag(tag)), None)
        if wrong is not None:
            return Problem(path, line - len(rows), f'"{wrong}"', EXPECTED_TAG)
    tags, chunks, entities = (columns.get(kind) for kind in ("tag", "chunk", "entity"))
    return labelled(columns["word"], tags, chunks, entities)
