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
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple, Union

from ..files import Line, read_lines
from ..sentences import Items, LabelledSpan, Problem, Sentence, Settings

FIRST_LINE = "#FORMAT=WebAnno TSV 3"
_LAYER = re.compile(r"#T_(SP|CH|RL)=([^|]*)\|?(.*)")
_RANGE = re.compile(r"\d+-\d+")
_VALUE = re.compile(r"(.*?)(?:\[(\d+)\])?", re.DOTALL)
_KNOWN = {"POS": "PosValue", "Lemma": "value", "NamedEntity": "value"}


class Row(NamedTuple):
    line: int
    fields: List[str]


def read_webanno(path: Path, settings: Settings) -> Items:
    """A Sentence for each block of rows, or a Problem for its first row that cannot be read."""
    layers: Dict[str, int] = {}  # name -> column, from 0
    width = 3
    rows: List[Row] = []
    problem: Optional[Problem] = None
    for line in [*read_lines(path, settings.encodings), Line(0, "")]:
        if isinstance(line, Problem):
            problem = problem or line
            continue
        layer = _LAYER.fullmatch(line.text)
        if layer:
            width = _add_layer(layers, width, *layer.groups())
        elif not line.text.strip():
            if problem or rows:
                yield problem or _sentence(path, rows, layers)
            problem = None
            rows = []
        elif not line.text.startswith("#"):
            fields = line.text.rstrip("\t").split("\t")
            if len(fields) != width or not all(map(_RANGE.fullmatch, fields[:2])):
                expected = f"{width} columns, an id such as 1-1 and offsets such as 0-3"
                problem = problem or Problem(path, line.number, f'"{line.text}"', expected)
            rows.append(Row(line.number, fields))


def _add_layer(layers: Dict[str, int], width: int, kind: str, name: str, features: str) -> int:
    """Note the column of a layer that is read. RETURNS the number of columns with those of the
    layer."""
    name = name.rpartition(".")[2]
    names = features.split("|") if features else []
    wanted = _KNOWN.get(name, names[-1] if names else "")
    if kind == "SP" and wanted in names:
        layers.setdefault(name, width + names.index(wanted))
    return width + max(len(names), 1)


def _sentence(path: Path, rows: List[Row], layers: Dict[str, int]) -> Union[Sentence, Problem]:
    own = next(
        (name for name in layers if name not in ("POS", "Lemma", "MorphologicalFeatures")), ""
    )
    entities: Optional[List[LabelledSpan]] = None
    if own:
        name = "NamedEntity" if "NamedEntity" in layers else own
        entities = _entities([row.fields[layers[name]] for row in rows])
        clash = next(
            (b for a, b in zip(entities, entities[1:], strict=False) if b.first < a.end), None
        )
        if clash is not None:
            row = rows[clash.first]
            return Problem(path, row.line, f'"{row.fields[2]}"', "entities that do not overlap")
    bounds = [tuple(map(int, row.fields[1].split("-"))) for row in rows]
    gaps = [after[0] > before[1] for before, after in zip(bounds, bounds[1:], strict=False)]
    return Sentence(
        [_unescaped(row.fields[2]) for row in rows],
        tags=_values(rows, layers.get("POS")),
        entities=entities,
        lemmas=_values(rows, layers.get("Lemma")),
        spaces=[*gaps, True],
    )


def _values(rows: List[Row], column: Optional[int]) -> Optional[List[str]]:
    if column is None:
        return None
    values = [_VALUE.fullmatch(row.fields[column]) for row in rows]
    return [_unescaped(match[1]) if match and match[1] != "_" else "" for match in values]


def _entities(cells: List[str]) -> List[LabelledSpan]:
    """`PER[1]` in several rows is one entity, `PER` is one of its own; several are separated by
    "|"."""
    spans: Dict[Tuple[str, str], LabelledSpan] = {}
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
