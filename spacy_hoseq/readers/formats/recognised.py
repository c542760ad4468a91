"""The formats by name, and the format of a file by its first lines."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import srsly
from spacy.training.converters import json_to_docs

from ...errors import Errors
from ..files import Entry, Line, has_ending, json_values, parquet_rows, read_lines
from ..sentences import Columns, Items, LabelledSpan, Problem, Sentence, Settings
from .columns import BEGINS, Row, counts_up, found_columns, read_columns, rows_of
from .conllu import read_conllu
from .offsets import read_brat, read_offsets, text_and_spans
from .peoples_daily import NUMBER, read_peoples_daily
from .rows import is_row, read_rows
from .tables import header_of, read_table
from .tagged_text import found_separator, is_bracketed, read_tagged_text
from .tokens import has_tokens, read_tokens
from .trees import read_trees
from .webanno import FIRST_LINE, read_webanno

HEAD = 200  # lines by which a format is recognised
LONGEST = 10_000  # characters of a header
PROBED = 100  # sentences in which words are looked for that are none
CHARACTERS = (".bmes", ".bioes")
_CONLLU = re.compile(r"(1(-\d+)?|0\.1)\t[^\t]+(\t[^\t]*){8}")
_JSON = re.compile(r'\s*(\{|\[\s*([\[{"0-9]|$))')
_TREE = re.compile(r"\s*(<[^<>]*>\s*)*\(\s*(\(|[^\s()]+\s*[\s(])")


class Format(NamedTuple):
    """read(path, settings): the sentences and problems of a file. endings: of files in a folder that
    are read as this format if it is named. what: it gives, for people."""

    read: Callable[[Path, Settings], Items]
    endings: Sequence[str]
    what: str


def read_spacy_json(path: Path, settings: Settings) -> Items:
    """The sentences of spaCy's JSON for training, as `spacy convert` reads it; or one Problem."""
    lines = list(read_lines(path, settings.encodings))
    problem = next((line for line in lines if isinstance(line, Problem)), None)
    if problem:
        yield problem
        return
    try:
        docs = list(json_to_docs("\n".join(getattr(line, "text", "") for line in lines)))
    except Exception as error:  # of any kind: whatever the JSON has in place of what is expected
        yield Problem(path, 1, f"{type(error).__name__}: {error}"[:100], "JSON as spaCy trains on")
        return
    for sent in (sent for doc in docs for sent in doc.sents):
        yield Sentence(
            [token.text for token in sent],
            tags=[token.tag_ for token in sent],
            entities=[
                LabelledSpan(e.start - sent.start, e.end - sent.start, e.label_) for e in sent.ents
            ],
            pos=[token.pos_ for token in sent],
            morphs=[str(token.morph) for token in sent],
            lemmas=[token.lemma_ for token in sent],
            heads=[token.head.i - sent.start for token in sent] if sent[0].has_dep() else None,
            deps=[token.dep_ for token in sent],
        )


def read_characters(path: Path, settings: Settings) -> Items:
    """A character and its entity tag a line."""
    return read_columns(path, settings._replace(columns=Columns(1, 0, 0, -1)))


TREES = (".mrg", ".prd", ".parse", ".psd", ".ptb", ".fid", ".bracketed", ".tree", ".trees")
CTB_GENRES = (".nw", ".mz", ".bn", ".bc", ".wb", ".df", ".sc", ".cs")
FORMATS: dict[str, Format] = {
    "trees": Format(read_trees, (*TREES, *CTB_GENRES), "trees in brackets"),
    "tagged": Format(read_tagged_text, (".txt", ".tagged", ".pos", ".iob"), "words with tags"),
    "peoples-daily": Format(read_peoples_daily, (".txt",), "the People's Daily corpus"),
    "columns": Format(
        read_columns, (".tsv", ".conll", ".bio", ".iob", ".iob2", ".txt", *CHARACTERS), "columns"
    ),
    "characters": Format(read_characters, (*CHARACTERS, ".txt"), "characters with entity tags"),
    "conllu": Format(read_conllu, (".conllu",), "CoNLL-U"),
    "offsets": Format(read_offsets, (".jsonl", ".json"), "texts with spans by offsets"),
    "rows": Format(read_rows, (".jsonl", ".parquet"), "rows of `hoseq apply`"),
    "tokens": Format(read_tokens, (".jsonl", ".json", ".parquet"), "lists of tokens and tags"),
    "table": Format(read_table, (".csv", ".tsv"), "a table with a header"),
    "brat": Format(read_brat, (".ann",), "brat: texts with spans in .ann files"),
    "webanno": Format(read_webanno, (".tsv",), "TSV 3 of WebAnno and INCEpTION"),
    "spacy-json": Format(read_spacy_json, (".json",), "JSON of spaCy"),
}
ENDINGS = tuple(dict.fromkeys(ending for each in FORMATS.values() for ending in each.endings))


def recognised(path: Path, settings: Settings) -> str:
    """The name of the format of a file, by its first lines. RAISES ValueError [HS085]: it is none of
    the formats."""
    if path.suffix == ".spacy":
        do = "Train on it as it is"
        raise ValueError(Errors.HS085.format(path=path, seen="it has Docs already", do=do))
    if path.suffix == ".ann":
        return "brat"
    if path.suffix == ".parquet":
        return _json_format(path, parquet_rows(path))
    lines = islice(read_lines(path, settings.encodings), HEAD)
    texts = [line.text for line in lines if isinstance(line, Line) and line.text.strip()]
    if not texts:
        return "columns"
    first = texts[0]
    if _JSON.match(first):
        return _json_format(path, json_values(path, settings.encodings))
    plain = [text for text in texts if not text.startswith(BEGINS)]
    separated = settings.separator or found_separator(texts)
    told = [  # the first that is true
        ("webanno", first.startswith(FIRST_LINE)),
        ("conllu", any(map(_CONLLU.fullmatch, plain[:1]))),
        ("tagged", is_bracketed(texts)),
        ("trees", any(map(_TREE.match, plain[:20]))),
        ("peoples-daily", NUMBER.match(first)),
        ("table", header_of(first[:LONGEST])),
        ("characters", has_ending(path, CHARACTERS)),
        ("tagged", separated and "\t" not in first),
        ("columns", plain and _are_columns(plain)),
    ]
    name = next((name for name, is_so in told if is_so), "")
    if not name:
        raise _refused(path, f'lines such as "{first[:80]}"')
    return name


def _json_format(path: Path, rows: Iterator[Entry | Problem]) -> str:
    values = list(islice(rows, HEAD))
    good = [entry.value for entry in values if not isinstance(entry, Problem)]
    if not good:
        raise _refused(path, "JSON that cannot be read")
    first = good[0]
    if isinstance(first, dict) and "paragraphs" in first:
        return "spacy-json"
    if any(map(is_row, good)):
        return "rows"
    if has_tokens(first) and not isinstance(first.get("text"), str):
        return "tokens"
    for value in good:
        try:
            text_and_spans(value)
            return "offsets"
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            continue
    raise _refused(path, f"JSON without labels, such as {srsly.json_dumps(first)[:80]}")


def _are_columns(texts: Sequence[str]) -> bool:
    """Nearly all lines have two columns or more, and the same number of them."""
    separator = "\t" if any("\t" in text for text in texts[:5]) else None
    widths = [len(text.split(separator)) for text in texts]
    usual = max(set(widths), key=widths.count)
    return usual > 1 and widths.count(usual) >= 0.9 * len(widths)


def _refused(path: Path, seen: str) -> ValueError:
    do = f"Name the format if it is one of these (--format): {', '.join(FORMATS)}"
    return ValueError(Errors.HS085.format(path=path, seen=seen, do=do))


def read_corpus(path: Path, name: str, settings: Settings) -> Items:
    """The sentences and problems of a file. name: of the format.

    RAISES ValueError [HS085]: its words are numbers that count up, all of them "_", or words with
    their tags; and as the format does.
    """
    items = FORMATS[name].read(path, settings)
    first = list(islice(items, PROBED))
    _check_words(path, [item.words for item in first if isinstance(item, Sentence) and item.words])
    yield from first
    yield from items


def _check_words(path: Path, sentences: list[list[str]]) -> None:
    words = [word for sentence in sentences for word in sentence]
    if words and counts_up(sentences):
        do = "Say which column has the words (--word-column 2)"
        raise ValueError(Errors.HS085.format(path=path, seen="its words are 1, 2, 3 ...", do=do))
    if words and set(words) == {"_"}:
        do = "Add its words, or say which column has them (--word-column)"
        raise ValueError(Errors.HS085.format(path=path, seen='all its words are "_"', do=do))
    piped = [word for word in words if re.fullmatch(r"[^|]+\|[^|]+(\|[^|]+)?", word)]
    if len(words) > 2 and len(piped) > 0.9 * len(words):
        seen = f'its words are "{words[0]}", "{words[1]}" ...'
        do = 'Words with tags behind "|" are the format tagged (--format tagged)'
        raise ValueError(Errors.HS085.format(path=path, seen=seen, do=do))


def columns_read(path: Path, name: str, settings: Settings) -> str:
    """Columns of a file in words; "" if the format has none."""
    if name not in ("columns", "characters"):
        return ""
    columns = found_columns(path, settings) if name == "columns" else Columns(1, 0, 0, -1)
    kinds = ("words", "tags", "chunks", "entities")
    kind_of = {number: kind for number, kind in zip(columns, kinds, strict=True) if number}
    block = next(rows_of(path, settings), [])
    width = max((len(row.fields) for row in block if isinstance(row, Row)), default=0)
    others = range(1, width + (-1 not in kind_of))
    kind_of = {**dict.fromkeys(others, "not read"), **kind_of}
    named = [("last" if n == -1 else n, kind) for n, kind in sorted(kind_of.items())]
    return ", ".join(f"column {number}: {kind}" for number, kind in named)
