"""Corpus formats by name, and the format of a file by trial.

Each format whose marks are in the first lines reads them; what comes out is scored (`judging.py`). The
best one is taken, unless little comes out, or another one reads other words nearly as well.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from spacy.util import registry

from ...errors import Errors, unknown_name, unreadable
from ..files import UNREADABLE, Line, encoding_of, has_ending, open_bytes
from ..judging import Outcome
from ..rows import literal, rows_in
from ..sentences import Items, Problem, Sentence
from ..settings import Format, Settings
from .columns import CHARACTER_ENDINGS, characters_format, columns_format, counts_up
from .conllu import conllu_format, layout_of
from .offsets import brat_format, offsets_format
from .peoples_daily import NUMBER, peoples_daily_format
from .rows import is_row, rows_format
from .spacy_json import spacy_json_format
from .tables import is_header, table_format
from .tagged_text import found_separator, is_bracketed, tagged_format
from .tokens import tokens_format
from .trees import trees_format
from .webanno import FIRST_LINE, webanno_format

N_LINES = 200  # of the head of a file
N_CHARACTERS = 1_000_000
MIN_SCORE = 0.4

# short names of what pyproject.toml registers
FORMATS: dict[str, Callable[[], Format]] = {
    "trees": trees_format,
    "tagged": tagged_format,
    "peoples-daily": peoples_daily_format,
    "columns": columns_format,
    "characters": characters_format,
    "conllu": conllu_format,
    "offsets": offsets_format,
    "rows": rows_format,
    "tokens": tokens_format,
    "table": table_format,
    "brat": brat_format,
    "webanno": webanno_format,
    "spacy-json": spacy_json_format,
}
GENERAL = ("tagged", "columns", "tokens", "offsets")  # without marks of their own
TREE = re.compile(r"\s*(<[^<>]*>\s*)*\(\s*(\(|[^\s()]+\s*[\s(])")


class Trial(NamedTuple):
    """What a format makes of the head of a file. score: 0 to 1. against: what speaks against it.
    words: of the first sentences."""

    name: str
    score: float
    against: str
    do: str
    words: list[str]


def format_named(name: str) -> Format:
    """The format with a short name, or with a name in `spacy.registry.misc`. RAISES ValueError
    [HS161]: there is none."""
    # short names never change
    if name in FORMATS:
        return FORMATS[name]()
    made = registry.misc.get(name)() if name in registry.misc else None
    if isinstance(made, Format):
        return made
    # ours are listed by their short names
    own = [other for other in registry.misc.get_all() if not other.startswith(("spacy", "thinc"))]
    raise unknown_name(name, ["auto", "spacy", *FORMATS, *own])


def recognised(path: Path, settings: Settings) -> str:
    """The name of the format of a file, by trial. RAISES ValueError [HS085]: no format fits, or
    two."""
    if path.suffix == ".spacy":
        do = "Train on it as it is"
        raise ValueError(Errors.HS085.format(path=path, seen="it has Docs already", do=do))
    if path.suffix == ".ann":
        return "brat"
    with _head_of(path, settings) as (head, names):
        # an empty file has no sentences in any format; some marks cannot be mistaken
        if not names or (len(names) == 1 and names != ["columns"]):
            return names[0] if names else "columns"
        options = replace(settings, encoding="utf-8")
        trials = [_trial(name, head, options) for name in names]
    # of similar ones the first: it is the most special
    top = max(trial.score for trial in trials)
    best = next(t for t in trials if t.score >= (0.95 if t.name in GENERAL else 0.8) * top)
    enough = 0.95 * best.score
    others = sorted(trials, key=lambda trial: (trial is best, -trial.score))[:-1]
    close = [trial for trial in others if trial.score >= enough and trial.words != best.words]
    is_close = best.name in GENERAL and any(trial.name in GENERAL for trial in close)
    if best.score >= MIN_SCORE and not is_close:
        return best.name
    raise _refused(path, [best, *others])


def _refused(path: Path, guesses: Sequence[Trial]) -> ValueError:
    seen = [f"as {trial.name}, {trial.against or 'it could be read, too'}" for trial in guesses[:2]]
    names = " or ".join(f"--format {trial.name}" for trial in guesses[:2])
    do = f"{guesses[0].do or 'Name the format'} ({names}; known: {', '.join(FORMATS)})"
    return ValueError(Errors.HS085.format(path=path, seen="; ".join(seen), do=do))


def _trial(name: str, head: Path, settings: Settings) -> Trial:
    """Read the head of a file in a format."""
    outcome = Outcome()
    words: list[str] = []
    try:
        items = list(read_corpus(head, name, settings))
    except ValueError as error:  # of the whole file, with a code
        seen, _, do = str(error).partition("as it is read: ")[2].partition(". ")
        return Trial(name, 0.01, seen or str(error), do.rstrip("."), [])
    # the head may end within a sentence
    if len(items) > 1 and isinstance(items[-1], Problem) and head.stem == "cut":
        items.pop()
    for item in items:
        outcome.add(item)
        if isinstance(item, Sentence) and len(words) < 1000:
            words += item.words
    findings = sorted(outcome.findings(), key=lambda finding: -finding.spoiled)
    score = outcome.score
    if not findings:
        return Trial(name, score, "" if score else "nothing can be read", "", words)
    return Trial(name, score, findings[0].seen, findings[0].do, words)


@contextmanager
def _head_of(path: Path, settings: Settings) -> Iterator[tuple[Path, list[str]]]:
    """A file with the first lines or rows of a file in UTF-8, and the formats that may be tried on
    it. It is called "cut" if the file has more."""
    with TemporaryDirectory() as folder:
        if path.suffix == ".parquet":
            head = Path(folder) / "cut.parquet"
            yield head, _json_formats(_copy_rows(path, head) or [None])
            return
        text, is_whole = _first_text(path, settings)
        ending = "".join(path.suffixes[-1:]) if path.suffix != ".gz" else Path(path.stem).suffix
        head = Path(folder) / f"{'whole' if is_whole else 'cut'}{ending}"
        rows = _json_rows(text, is_whole)
        if rows:
            text = "[" + ",\n".join(json.dumps(row) for row in rows) + "]"
        head.write_text(text, encoding="utf8")
        if not text.strip():
            yield head, []
        else:
            formats = _json_formats(rows) if rows else _text_formats(path, text, settings)
            yield head, [*formats]


def _first_text(path: Path, settings: Settings) -> tuple[str, bool]:
    """The first lines of a file, and whether these are all. JSON that is one value is cut by its
    length, not by lines."""
    encoding = encoding_of(path, settings.encodings)
    lines: list[bytes] = []
    n_lines = 0
    size = 0
    limit = N_CHARACTERS
    is_json = False
    try:
        with open_bytes(path) as file:
            while line := file.readline(limit):
                lines.append(line)
                size += len(line)
                n_lines += bool(line.strip()) + line.strip().count(b"\r")
                if n_lines == 1:
                    is_json = _is_begun(line.decode(encoding, "replace"))
                if size >= limit or (n_lines >= N_LINES and not is_json):
                    break
            is_whole = not file.read(1)
    except UNREADABLE:  # the reader tells
        is_whole = False
    text = b"".join(lines).decode(encoding, "replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n"), is_whole


def _is_begun(line: str) -> bool:
    """True if JSON or Python begins with a line and does not end with it."""
    text = line.strip()
    begins = re.match(r'(\w+\s*=\s*)?(\{\s*("|\'|$)|[\[(]\s*([\[{("\']|$))', text) is not None
    return begins and (literal(text) == text or text.startswith("["))


def _json_rows(text: str, is_whole: bool) -> list[object]:
    """The rows of JSON or of Python: those that end in a text; [] = it is neither."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not re.match(r'\s*(\w+\s*=\s*)?[\[({]\s*([\[({"\'\]}]|\d|$)', first):
        return []
    if is_whole or not _is_begun(first):
        value = literal(text)
        if value is not text:
            return rows_in(value) or [value]
        # an object or a list a line
        values = [literal(line) for line in text.splitlines() if line.strip()]
        good = [value for value in values if not isinstance(value, str)]
        return good if len(good) > 0.5 * len(values) or len(values) == 2 and good else []
    # the rows of a list before it is cut
    start = re.search(r'"(annotations|examples|documents|data|rows)"\s*:\s*\[', text[:100_000])
    at = start.end() if start and text.lstrip().startswith("{") else text.find("[") + 1
    rows: list[object] = []
    decoder = json.JSONDecoder(strict=False)
    while True:
        at += len(re.match(r"[\s,]*", text[at:])[0])  # type: ignore[index]
        try:
            row, at = decoder.raw_decode(text, at)
        except (RecursionError, ValueError):
            return rows
        rows.append(row)


def _json_formats(rows: Sequence[object]) -> list[str]:
    """Formats that rows of JSON may have."""
    if isinstance(rows[0], dict) and '"sentences"' in json.dumps(rows[0].get("paragraphs")):
        return ["spacy-json"]
    return ["rows"] if any(map(is_row, rows)) else ["tokens", "offsets"]


def _copy_rows(path: Path, head: Path) -> list[object]:
    """Copy the first rows of a Parquet file, with its names of labels. RAISES ValueError [HS172]: it
    cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path) as file:
            batch = next(file.iter_batches(N_LINES), None)
            table = pa.Table.from_batches([batch] if batch else [], file.schema_arrow)
    except (OSError, ValueError) as error:  # also pyarrow's own errors
        raise unreadable(path, "a Parquet file") from error
    parquet.write_table(table, head)
    return [*table.to_pylist()]


def _text_formats(path: Path, text: str, settings: Settings) -> Iterator[str]:
    """Formats whose marks are in lines of text, the most special first."""
    texts = [line for line in text.splitlines() if line.strip()]
    first = texts[0]
    if first.startswith(FIRST_LINE):
        yield "webanno"
        return
    layout = layout_of(map(Line, range(len(texts)), texts))
    if layout:
        yield "conllu"
        if layout.name.startswith("CoNLL-U"):
            return
    if any(map(TREE.match, texts)):
        yield "trees"
    if NUMBER.match(first):
        yield "peoples-daily"
    if is_header(first[:10_000]):
        yield "table"
    if has_ending(path, CHARACTER_ENDINGS):
        yield "characters"
    # with one word a line, a separator is that of columns
    given = settings.separator and any(len(text.split()) > 1 for text in texts)
    if is_bracketed(texts) or given or found_separator(texts):
        yield "tagged"
    yield "columns"


def read_corpus(path: Path, format: str | Format, settings: Settings) -> Items:
    """The sentences and problems of a file.

    RAISES ValueError [HS085]: its words are numbers that count up, all of them "_", or words with
    their tags; [HS161]: no such format; and as the format does.
    """
    if isinstance(format, str):
        format = format_named(format)
    items = format.read(path, settings)
    # words that are none show up in the first sentences
    first = list(islice(items, 100))
    _check_words(path, [item.words for item in first if isinstance(item, Sentence) and item.words])
    yield from first
    yield from items


def _check_words(path: Path, sentences: list[list[str]]) -> None:
    # the usual signs of a wrong column
    words = list(chain.from_iterable(sentences))
    if words and counts_up(sentences):
        do = "Say which column has the words (--word-column 2)"
        raise ValueError(Errors.HS085.format(path=path, seen="its words are 1, 2, 3 ...", do=do))
    if words and set(words) == {"_"}:
        do = "Add its words, or say which column has them (--word-column)"
        raise ValueError(Errors.HS085.format(path=path, seen='all its words are "_"', do=do))
    n_piped = sum(re.fullmatch(r"[^|]+\|[^|]+(\|[^|]+)?", word) is not None for word in words)
    if len(words) > 2 and n_piped > 0.9 * len(words):
        seen = f'its words are "{words[0]}", "{words[1]}" ...'
        do = 'Words with tags behind "|" are the format tagged (--format tagged)'
        raise ValueError(Errors.HS085.format(path=path, seen=seen, do=do))
