"""The card of a student: who taught it, on what, how well it agrees, and what it costs."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from ..treebanks.card import markdown, pipeline_meta
from .silver import Silver
from .student import TITLES, Scores

Table = tuple[Sequence[str], Sequence[Sequence[str]]]  # header and rows

CARD = """# {meta[lang]}_{meta[name]}

{meta[description]}

```python
import spacy

nlp = spacy.load("{folder}")
doc = nlp("...")
print(doc.ents)
```

## How well it agrees with its teacher

From raw text, on {silver.words[test]:,} words that it was not trained on. Percentages.

{agreement}
{people}
## What it costs

{costs}

## Would more text help?

{curve}

## What it was made of

Teacher: {meta[sources][0][name]} {teacher[version]}, licence: {meta[sources][0][license]}. It annotated {words:,} words
of {texts}.
Training: {silver.words[train]:,} words{gold}; best epoch and calibration: {silver.words[dev]:,} words.

Licence of this pipeline: {meta[license]}.
Trained by `python -m spacy hoseq distil`.
"""


def meta_of(
    name: str,
    lang: str,
    silver: Silver,
    agreement: Scores,
    teacher: Mapping[str, Any],
    licence: str,
) -> dict[str, Any]:
    """The meta of a student. teacher: that of its teacher. licence: as the user gave it."""
    full_name = f"{teacher['lang']}_{teacher['name']}"
    source = {
        "name": full_name,
        "url": teacher.get("url", ""),
        "license": teacher.get("license") or "unknown: the teacher does not say",
        "author": teacher.get("author", ""),
    }
    kinds = [kind for kind in silver.kinds if kind != "chunks"] + silver.keys
    return pipeline_meta(
        name,
        lang,
        f"{', '.join(kinds)}, taught by {full_name}",
        licence or "unknown: ask for the terms of the teacher and of the texts (--licence)",
        [source, *(teacher.get("sources") or [])],
        agreement,
    )


def card_of(
    folder: str,
    meta: Mapping[str, Any],
    teacher: Mapping[str, Any],
    silver: Silver,
    result: Mapping[str, Any],
) -> str:
    """The card as Markdown. result: of the command, as in report.json."""
    parts = {"people": "", "curve": "Not measured (--curve)."}
    for name, (header, rows) in tables_of(result).items():
        parts[name] = markdown(header, rows)
    if result["people"]:
        parts["people"] = f"\n## Against people's labels\n\n{parts['people']}"
    if result["curve"]:
        parts["curve"] += f"\n\n{more_text(result['curve'])}"
    gold = ""
    if silver.words["gold"]:
        gold = f", and {silver.words['gold']:,} words annotated by people"
    return CARD.format(
        folder=folder,
        meta=meta,
        teacher=teacher,
        silver=silver,
        words=sum(silver.words.values()) - silver.words["gold"],
        texts=result["texts"],
        gold=gold,
        **parts,
    )


def tables_of(result: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of what was measured, for the card and the command."""
    both = ("teacher", "student")
    tables: dict[str, Table] = {
        "agreement": (("from raw text", "agreement"), score_rows(result["agreement"]))
    }
    if result["people"]:
        tables["people"] = ("people's labels", *both), score_rows(*result["people"])
    if result["curve"]:
        points = [(f"{words:,}", _percent(score)) for words, score in result["curve"]]
        tables["curve"] = ("words", "agreement"), points
    rows = []
    for title, (teacher, student) in result["costs"].items():
        rows.append((title, f"{teacher:,.4g}", f"{student:,.4g}"))
    tables["costs"] = ("", *both), rows
    return tables


def score_rows(*scores: Scores) -> list[tuple[str, ...]]:
    """Names of scores with their values of one or two pipelines, in percent: below each F those of the
    types."""
    rows = []
    for score in scores[-1]:
        if score.endswith("_per_type"):
            continue
        title = TITLES.get(score, f"{score[6:-2]}, F")
        rows.append((title, *(_percent(each.get(score)) for each in scores)))
        types = [each.get(f"{score[:-2]}_per_type") or {} for each in scores]
        for label in sorted({*chain(*types)}):
            of_label = [each.get(label, {}).get("f") for each in types]
            rows.append((f"- {label}", *map(_percent, of_label)))
    return rows


def more_text(points: Sequence[Sequence[float]]) -> str:
    """A sentence on what the last doubling of the text has brought."""
    gain = 100 * (points[-1][1] - points[-2][1])
    if gain < 0.5:
        return f"The last doubling of the text changed the agreement by {gain:+.1f}: more text will hardly help."
    return f"The last doubling of the text changed the agreement by {gain:+.1f}: twice the text is worth a try."


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.1f}"
