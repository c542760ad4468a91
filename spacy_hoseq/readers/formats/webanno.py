"""TSV 3 of WebAnno and INCEpTION.

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value

    #Text=Ann Lee sleeps
    1-1   0-3    Ann     *[1]  PER[1]
    1-2   4-7    Lee     *[1]  PER[1]
    1-3   8-14   sleeps  _     _

Read are tags and lemmas, and entities: the layer `NamedEntity`, or else the first layer of spans of
one's own. Parts of tokens (1-1.1) are Problems.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from ..files import Line, blocks_of, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Unreadable, read_each
from ..settings import Format, Settings

FIRST_LINE = "#FORMAT=WebAnno TSV 3"


def webanno_format() -> Format:
    """Registered as `spacy_hoseq.webanno_format.v1`: TSV 3 of WebAnno and INCEpTION."""
    return Format(read_webanno, (".tsv",), "TSV 3 of WebAnno and INCEpTION")


def read_webanno(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of rows, or a Problem for its first row that cannot be read."""
    lines = list(read_lines(path, settings.encodings))
    layers, width = _layers(lines)
    blocks = blocks_of(lines, lambda text, begins: text.startswith("#"))
    yield from read_each(path, blocks, partial(_sentence, layers=layers, width=width))


def _layers(lines: Iterable[Line | Problem]) -> tuple[dict[str, int], int]:
    """The columns of the layers of spans, from 0, and the number of columns."""
    # the feature that counts; in other layers the last one
    known = {"POS": "PosValue", "Lemma": "value", "NamedEntity": "value"}
    layers: dict[str, int] = {}
    width = 3
    for line in lines:
        if not isinstance(line, Line):
            continue
        match = re.fullmatch(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)", line.text)
        if match:
            name = match[2].rpartition(".")[2]
            features = match[3].split("|")
            feature = known.get(name, features[-1])
            # chains and relations have columns, but no spans of words
            if match[1] == "SP" and feature and feature in features:
                layers.setdefault(name, width + features.index(feature))
            width += len(features)
    return layers, width


def _sentence(lines: Sequence[Line], layers: dict[str, int], width: int) -> list[Sentence]:
    """The sentence of a block. RAISES Unreadable."""
    words: list[str] = []
    rows: list[list[str]] = []
    spaces: list[bool] = []
    before = 0
    for number, text in lines:
        fields = text.rstrip("\t").split("\t")
        bounds = re.fullmatch(r"\d+-\d+\t(\d+)-(\d+)", "\t".join(fields[:2]))
        if len(fields) != width or not bounds or not fields[2]:
            expected = f"{width} columns, a word, an id such as 1-1 and offsets such as 0-3"
            raise Unreadable(number, f'"{text}"', expected)
        words.append(_unescaped(fields[2]))
        rows.append(fields)
        # before this word
        spaces.append(int(bounds[1]) > before)
        before = int(bounds[2])
    others = [name for name in layers if name not in ("POS", "Lemma", "MorphologicalFeatures")]
    entities: list[LabelledSpan] | None = None
    if others:
        name = "NamedEntity" if "NamedEntity" in layers else others[0]
        entities = _entities([fields[layers[name]] for fields in rows])
        # `doc.ents` cannot overlap
        for span, later in pairwise(entities):
            if later.first < span.end:
                number = lines[later.first].number
                actual = f'"{rows[later.first][2]}"'
                raise Unreadable(number, actual, "entities that do not overlap")
    return [
        Sentence(
            words,
            tags=_values(rows, layers.get("POS")),
            entities=entities,
            lemmas=_values(rows, layers.get("Lemma")),
            spaces=[*spaces[1:], True],
        )
    ]


def _values(rows: list[list[str]], column: int | None) -> list[str] | None:
    """The values in a column, "" for none; None if there is no such column."""
    if column is None:
        return None
    values: list[str] = []
    for fields in rows:
        value, _ = _value(fields[column])
        values.append(_unescaped(value) if value != "_" else "")
    return values


def _value(text: str) -> tuple[str, str]:
    """Value and number of "PER[1]"; "" = no number."""
    match = re.fullmatch(r"(.*)\[(\d+)\]", text, re.DOTALL)
    if match is None:
        return text, ""
    return match[1], match[2]


def _entities(cells: list[str]) -> list[LabelledSpan]:
    """The entities of a column. `PER[1]` in several rows is one entity, `PER` is one by itself; "|"
    separates several."""
    spans: dict[tuple[str, str], LabelledSpan] = {}
    for i, cell in enumerate(cells):
        for text in re.split(r"(?<!\\)\|", cell):
            value, number = _value(text)
            if value in ("_", "*"):
                continue
            name = _unescaped(value)
            key = (name, number or f"of {i}")
            spans.setdefault(key, LabelledSpan(i, i + 1, name))
            spans[key] = spans[key]._replace(end=i + 1)
    return sorted(spans.values())


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
