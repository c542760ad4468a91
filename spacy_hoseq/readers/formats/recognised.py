"""Corpus formats by name, and the format of a file by trial.

Each format whose marks are in the first lines reads them; what comes out is scored (`judging.py`). The
best one is taken, unless little comes out, or another one reads other words nearly as well.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from spacy.util import registry

from ...errors import Errors, unknown_name
from ..files import UNREADABLE, Line, has_ending, open_bytes, read_lines
from ..judging import Outcome
from ..rows import Entry, rows_of
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

N_TRIED = 200  # lines, and sentences of each format

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
JSON = re.compile(r"""\s*(\w+\s*=\s*)?[\[({]\s*([\[({"'\]}]|\d|$)""")  # or Python


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
    names = [*_candidates(path, settings)]
    # some marks cannot be mistaken
    if len(names) == 1 and names != ["columns"]:
        return names[0]
    if not names:
        return "columns"  # an empty file has no sentences in any format
    with _head_of(path) as (head, is_cut):
        if names[-1] != "columns":
            head = path  # of JSON and Parquet, rows are tried
        trials = [_trial(name, head, settings, is_cut and head != path) for name in names]
    general = {"tagged", "columns", "tokens", "offsets"}  # without marks of their own
    # of similar ones the first: it is the most special
    top = max(trial.score for trial in trials)
    best = next(t for t in trials if t.score >= (0.95 if t.name in general else 0.8) * top)
    trials.sort(key=lambda trial: (trial is not best, -trial.score))
    is_close = False
    for trial in trials[1:]:
        if {trial.name, best.name} <= general and trial.score >= 0.95 * best.score:
            is_close |= trial.words != best.words
    if best.score >= 0.4 and not is_close:
        return best.name
    seen = [f"as {trial.name}, {trial.against or 'it could be read, too'}" for trial in trials[:2]]
    options = " or ".join(f"--format {trial.name}" for trial in trials[:2])
    do = f"{best.do or 'Name the format'} ({options}; known: {', '.join(FORMATS)})"
    raise ValueError(Errors.HS085.format(path=path, seen="; ".join(seen), do=do))


@contextmanager
def _head_of(path: Path) -> Iterator[tuple[Path, bool]]:
    """A file with the first lines of a file, and whether there are more."""
    with TemporaryDirectory() as folder:
        head = Path(folder) / path.name.removesuffix(".gz")
        lines: list[bytes] = []
        is_cut = True
        with suppress(*UNREADABLE), open_bytes(path) as file:  # the reader tells
            lines.extend(islice(iter(partial(file.readline, 1_000_000), b""), 2 * N_TRIED))
            is_cut = file.read(1) != b""
        head.write_bytes(b"".join(lines))
        yield head, is_cut


def _trial(name: str, path: Path, settings: Settings, is_cut: bool) -> Trial:
    """Read the first sentences of a file in a format. is_cut (bool): it may end within one."""
    outcome = Outcome()
    words: list[str] = []
    try:
        items = [*islice(read_corpus(path, name, settings), N_TRIED)]
        if is_cut and len(items) > 1 and isinstance(items[-1], Problem):
            items.pop()
        for item in items:
            outcome.add(item)
            if isinstance(item, Sentence) and len(words) < 1000:
                words += item.words
    except ValueError as error:  # of the whole file, with a code
        seen, _, do = str(error).partition("as it is read: ")[2].partition(". ")
        return Trial(name, 0.01, seen or str(error), do.rstrip("."), [])
    score = outcome.score
    worst = max(outcome.findings(), key=lambda finding: finding.spoiled, default=None)
    if worst:
        return Trial(name, score, worst.seen, worst.do, words)
    return Trial(name, score, "" if score else "nothing can be read", "", words)


def _candidates(path: Path, settings: Settings) -> Iterator[str]:
    """Formats whose marks are in the first lines or rows of a file, the most special first."""
    if path.suffix == ".parquet":
        yield from _json_formats([*islice(rows_of(path, settings.encodings), N_TRIED)])
        return
    lines = [*islice(read_lines(path, settings.encodings), N_TRIED)]
    texts = [line.text for line in lines if isinstance(line, Line) and line.text.strip()]
    if texts and JSON.match(texts[0]):
        rows = [*islice(rows_of(path, settings.encodings), N_TRIED)]
        n_read = sum(isinstance(row, Entry) for row in rows)
        if n_read > 0.5 * len(rows) or (n_read and len(rows) == 2):
            yield from _json_formats(rows)
            return
    if texts:
        yield from _text_formats(path, texts, settings)
    elif any(isinstance(line, Problem) for line in lines):
        yield "columns"


def _json_formats(rows: Sequence[Entry | Problem]) -> Iterator[str]:
    """Formats that rows of JSON may have."""
    values = [row.value for row in rows if isinstance(row, Entry)]
    first = values[0] if values else None
    if isinstance(first, dict) and '"sentences"' in json.dumps(first.get("paragraphs")):
        yield "spacy-json"
    elif any(map(is_row, values)):
        yield "rows"
    else:
        yield from ("tokens", "offsets")


def _text_formats(path: Path, texts: Sequence[str], settings: Settings) -> Iterator[str]:
    """Formats whose marks are in lines of text."""
    if texts[0].startswith(FIRST_LINE):
        yield "webanno"
        return
    layout = layout_of(map(Line, range(len(texts)), texts))
    if layout:
        yield "conllu"
        if layout.name.startswith("CoNLL-U"):
            return
    tree = r"\s*(<[^<>]*>\s*)*\(\s*(\(|[^\s()]+\s*[\s(])"
    if any(re.match(tree, text) for text in texts):
        yield "trees"
    if NUMBER.match(texts[0]):
        yield "peoples-daily"
    if is_header(texts[0][:10_000]):
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
