"""TSV 3 of WebAnno and INCEpTION.

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value

    #Text=Ann Lee sleeps
    1-1   0-3    Ann     *[1]  PER[1]
    1-2   4-7    Lee     *[1]  PER[1]
    1-3   8-14   sleeps  _     _

Read are tags and lemmas, and entities: the layer `NamedEntity`, or else the first layer of spans of
one's own. Annotations of parts of tokens (1-1.1), those without a label, and entities on others (without
`spans_key`) are dropped and counted. Links between spans (slots) are no labels.
"""

import re
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from ..files import Line, blocks_of, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Unreadable, read_each
from ..settings import Format, Settings

FIRST_LINE = "#FORMAT=WebAnno TSV 3"


def webanno_format() -> Format:
    """Registered as `spacy_hoseq.webanno_format.v1`: TSV 3 of WebAnno and INCEpTION."""
    return Format(read_webanno, (".tsv",), "TSV 3 of WebAnno and INCEpTION")


class Layers(NamedTuple):
    """columns: of the layers of spans, from 0. width (int): of all rows. bare: layers without
    features. entities: the layer that has them; "" = none. others: layers of spans that are not read."""

    columns: dict[str, int]
    width: int
    bare: set[str]
    entities: str
    others: list[str]


def read_webanno(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of rows, or a Problem for its first row that cannot be read."""
    lines = list(read_lines(path, settings.encodings))
    blocks = blocks_of(lines, lambda text, begins: text.startswith("#"))
    overlap = settings.spans_key != ""
    yield from read_each(path, blocks, partial(_sentence, layers=_layers(lines), overlap=overlap))


def _layers(lines: Iterable[Line | Problem]) -> Layers:
    """The layers that the first lines of a file name."""
    # the feature that counts; in other layers the last one
    known = {"POS": "PosValue", "Lemma": "value", "NamedEntity": "value"}
    columns: dict[str, int] = {}
    bare = set()
    width = 3
    for line in lines:
        match = isinstance(line, Line) and re.fullmatch(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)", line.text)
        if not match:
            continue
        name = match[2].rpartition(".")[2]
        features = match[3].split("|")
        # a slot, "ROLE_layer:feature_link", and the type of its targets are no labels
        labels = list(takewhile(lambda feature: feature[:5] != "ROLE_", features))
        feature = known.get(name, (labels or [None])[-1])
        # chains and relations have columns, but no spans of words
        if match[1] == "SP" and feature in features:
            columns.setdefault(name, width + features.index(feature))
            if not feature:
                bare.add(name)
        width += len(features)
    others = [name for name in columns if name not in ("POS", "Lemma", "MorphologicalFeatures")]
    entities = (others or [""])[0]
    if "NamedEntity" in others:
        entities = "NamedEntity"
    return Layers(columns, width, bare, entities, [name for name in others if name != entities])


def _sentence(lines: Sequence[Line], layers: Layers, overlap: bool) -> list[Sentence]:
    """The sentence of a block. overlap: entities may. RAISES Unreadable."""
    rows = []
    spaces = []
    before = 0
    column = layers.columns.get(layers.entities, 0)
    n_dropped = 0
    for number, text in lines:
        fields = text.rstrip("\t").split("\t")
        # a part of a token
        if re.fullmatch(r"\d+-\d+\.\d+", fields[0]):
            n_dropped += column > 0 and len(fields) == layers.width and fields[column] != "_"
            continue
        bounds = re.fullmatch(r"\d+-\d+\t(\d+)-(\d+)", "\t".join(fields[:2]))
        if len(fields) != layers.width or not bounds or not fields[2]:
            expected = f"{layers.width} columns, a word, an id such as 1-1 and offsets such as 0-3"
            raise Unreadable(number, f'"{text}"', expected)
        rows.append(fields)
        # before this word
        spaces.append(int(bounds[1]) > before)
        before = int(bounds[2])
    sentence = Sentence(
        [_unescaped(fields[2]) for fields in rows],
        tags=_values(rows, layers.columns.get("POS")),
        lemmas=_values(rows, layers.columns.get("Lemma")),
        spaces=[*spaces[1:], True],
        n_dropped=n_dropped,
        unread=[f"layer {name}: spans" for name in layers.others],
    )
    if not column:
        return [sentence]
    label = layers.entities if layers.entities in layers.bare else ""
    entities, n_unnamed = _entities([fields[column] for fields in rows], label)
    # `doc.ents` cannot overlap
    kept: list[LabelledSpan] = []
    for span in entities:
        if overlap or not kept or kept[-1].end <= span.first:
            kept.append(span)
    n_dropped += n_unnamed + len(entities) - len(kept)
    return [sentence._replace(entities=kept, n_dropped=n_dropped)]


def _values(rows: list[list[str]], column: int | None) -> list[str] | None:
    """The values in a column, "" for none; None if there is no such column."""
    if column is None:
        return None
    values = []
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


def _entities(cells: list[str], layer: str) -> tuple[list[LabelledSpan], int]:
    """The entities of a column, longer ones first, and how many have no label. `PER[1]` in several
    rows is one entity, `PER` is one by itself; "|" separates several. layer: the label if spans have
    no features, `*`."""
    spans: dict[tuple[str, str], LabelledSpan] = {}
    unnamed = set()
    for i, cell in enumerate(cells):
        for text in re.split(r"(?<!\\)\|", cell):
            value, number = _value(text)
            key = number or f"of {i}"
            name = layer or _unescaped(value)
            if value == "_":
                continue
            if value == "*" and not layer:
                unnamed.add(key)
                continue
            first = spans.get((name, key), LabelledSpan(i, i, name)).first
            spans[name, key] = LabelledSpan(first, i + 1, name)
    return sorted(spans.values(), key=lambda span: (span.first, -span.end)), len(unnamed)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
