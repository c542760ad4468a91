"""Corpus formats by name, and the format of a file by its first lines."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import srsly
from spacy.util import registry

from ...errors import Errors, unknown_name
from ..files import Line, has_ending, read_lines
from ..rows import rows_of
from ..sentences import Items, Problem, Sentence
from ..settings import Format, Settings
from .columns import (
    CHARACTER_ENDINGS,
    MAYBE_COMMENT,
    characters_format,
    columns_format,
    counts_up,
)
from .conllu import conllu_format
from .offsets import brat_format, offsets_format, text_and_spans
from .peoples_daily import NUMBER, peoples_daily_format
from .rows import is_row, rows_format
from .spacy_json import spacy_json_format
from .tables import header_of, table_format
from .tagged_text import found_separator, is_bracketed, tagged_format
from .tokens import has_tokens, tokens_format
from .trees import trees_format
from .webanno import FIRST_LINE, webanno_format

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
    """The name of the format of a file, by its first lines. RAISES ValueError [HS085]: no format
    fits."""
    if path.suffix == ".spacy":
        do = "Train on it as it is"
        raise ValueError(Errors.HS085.format(path=path, seen="it has Docs already", do=do))
    if path.suffix == ".ann":
        return "brat"
    if path.suffix == ".parquet":
        return _json_format(path, settings)
    texts: list[str] = []
    for line in islice(read_lines(path, settings.encodings), 200):
        if isinstance(line, Line) and line.text.strip():
            texts.append(line.text)
    # an empty file has no sentences in any format
    if not texts:
        return "columns"
    if re.match(r'\s*(\{|\[\s*([\[{"0-9]|$))', texts[0]):
        return _json_format(path, settings)
    name = next(_text_formats(path, texts, settings), "")
    if not name:
        raise _refused(path, f'lines such as "{texts[0][:80]}"')
    return name


def _text_formats(path: Path, texts: Sequence[str], settings: Settings) -> Iterator[str]:
    """Formats that fit lines of text, the surest first."""
    first = texts[0]
    plain = [text for text in texts if not text.startswith(MAYBE_COMMENT)]
    if first.startswith(FIRST_LINE):
        yield "webanno"
    if plain and re.fullmatch(r"(1(-\d+)?|0\.1)\t[^\t]+(\t[^\t]*){8}", plain[0]):
        yield "conllu"
    if is_bracketed(texts):
        yield "tagged"
    tree = re.compile(r"\s*(<[^<>]*>\s*)*\(\s*(\(|[^\s()]+\s*[\s(])")
    if any(map(tree.match, plain[:20])):
        yield "trees"
    if NUMBER.match(first):
        yield "peoples-daily"
    if header_of(first[:10_000]):
        yield "table"
    if has_ending(path, CHARACTER_ENDINGS):
        yield "characters"
    if "\t" not in first and (settings.separator or found_separator(texts)):
        yield "tagged"
    if plain and _are_columns(plain):
        yield "columns"


def _json_format(path: Path, settings: Settings) -> str:
    """The format of a file of JSON or Parquet."""
    values = []
    for entry in islice(rows_of(path, settings.encodings), 200):
        if not isinstance(entry, Problem):
            values.append(entry.value)
    if not values:
        raise _refused(path, "JSON that cannot be read")
    first = values[0]
    if isinstance(first, dict) and "paragraphs" in first:
        return "spacy-json"
    if any(map(is_row, values)):
        return "rows"
    if has_tokens(first) and not isinstance(first.get("text"), str):
        return "tokens"
    # the first that has spans; others may be texts that were rejected
    for value in values:
        try:
            text_and_spans(value)
            return "offsets"
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            continue
    raise _refused(path, f"JSON without labels, such as {srsly.json_dumps(first)[:80]}")


def _are_columns(texts: Sequence[str]) -> bool:
    """True if nearly all lines have the same number of columns, two or more."""
    separator = "\t" if any("\t" in text for text in texts[:5]) else None
    widths = [len(text.split(separator)) for text in texts]
    usual = max(set(widths), key=widths.count)
    return usual > 1 and widths.count(usual) >= 0.9 * len(widths)


def _refused(path: Path, seen: str) -> ValueError:
    do = f"Name the format if it is one of these (--format): {', '.join(FORMATS)}"
    return ValueError(Errors.HS085.format(path=path, seen=seen, do=do))


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
