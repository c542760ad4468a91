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
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

from ..files import Line, blocks_of, read_lines
from ..format import Format
from ..sentences import Items, LabelledSpan, Sentence, Unreadable, read_each
from ..settings import Settings
from .columns import Row

FIRST_LINE = "#FORMAT=WebAnno TSV 3"
_LAYER = re.compile(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)")
_RANGE = re.compile(r"\d+-\d+")
_VALUE = re.compile(r"(.*?)(?:\[(\d+)\])?", re.DOTALL)
_KNOWN = {"POS": "PosValue", "Lemma": "value", "NamedEntity": "value"}


def webanno_format() -> Format:
    """Registered as `spacy_hoseq.webanno_format.v1`: TSV 3 of WebAnno and INCEpTION."""
    return Format(read_webanno, (".tsv",), "TSV 3 of WebAnno and INCEpTION")


def read_webanno(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of rows, or a Problem for its first row that cannot be read."""
    lines = list(read_lines(path, settings.encodings))
    layers: dict[str, int] = {}  # name -> column, from 0
    width = 3
    for line in lines:
        match = _LAYER.fullmatch(line.text) if isinstance(line, Line) else None
        if match:
            name = match[2].rpartition(".")[2]
            features = match[3].split("|") if match[3] else []
            wanted = _KNOWN.get(name, features[-1] if features else "")
            if match[1] == "SP" and wanted in features:
                layers.setdefault(name, width + features.index(wanted))
            width += max(len(features), 1)
    blocks = blocks_of(lines, lambda text, begins: text.startswith("#"))
    yield from read_each(path, blocks, partial(_sentence, layers=layers, width=width))


def _sentence(lines: Sequence[Line], layers: dict[str, int], width: int) -> list[Sentence]:
    """The one of a block. RAISES Unreadable."""
    rows = [Row(number, text.rstrip("\t").split("\t")) for number, text in lines]
    for row, line in zip(rows, lines, strict=True):
        if len(row.fields) != width or not all(map(_RANGE.fullmatch, row.fields[:2])):
            expected = f"{width} columns, an id such as 1-1 and offsets such as 0-3"
            raise Unreadable(row.line, f'"{line.text}"', expected)
    own = [name for name in layers if name not in ("POS", "Lemma", "MorphologicalFeatures")]
    entities: list[LabelledSpan] | None = None
    if own:
        name = "NamedEntity" if "NamedEntity" in layers else own[0]
        entities = _entities([row.fields[layers[name]] for row in rows])
        for a, b in pairwise(entities):
            if b.first < a.end:
                row = rows[b.first]
                raise Unreadable(row.line, f'"{row.fields[2]}"', "entities that do not overlap")
    bounds = [tuple(map(int, row.fields[1].split("-"))) for row in rows]
    return [
        Sentence(
            [_unescaped(row.fields[2]) for row in rows],
            tags=_values(rows, layers.get("POS")),
            entities=entities,
            lemmas=_values(rows, layers.get("Lemma")),
            spaces=[*(b[0] > a[1] for a, b in pairwise(bounds)), True],
        )
    ]


def _values(rows: list[Row], column: int | None) -> list[str] | None:
    if column is None:
        return None
    values = [_VALUE.fullmatch(row.fields[column]) for row in rows]
    return [_unescaped(match[1]) if match and match[1] != "_" else "" for match in values]


def _entities(cells: list[str]) -> list[LabelledSpan]:
    """`PER[1]` in several rows is one entity, `PER` is one of its own; several are separated by
    "|"."""
    spans: dict[tuple[str, str], LabelledSpan] = {}
    for i, cell in enumerate(cells):
        for value in re.split(r"(?<!\\)\|", cell):
            match = _VALUE.fullmatch(value)
            if match is None or match[1] in ("_", "*"):
                continue
            name = _unescaped(match[1])
            key = (name, match[2] or f"of {i}")
            first = spans[key].first if key in spans else i
            spans[key] = LabelledSpan(first, i + 1, name)
    return sorted(spans.values())


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
