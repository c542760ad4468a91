"""The card of a student: who taught it, on what, how well it agrees, and what it costs."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from spacy.util import get_lang_class

from .silver import Silver
from .student import Scores

TITLES = {  # score of spaCy -> its name in tables
    "sents_f": "sentences, F",
    "tag_acc": "tags",
    "pos_acc": "parts of speech",
    "morph_acc": "features",
    "lemma_acc": "lemmas",
    "ents_f": "names, F",
}

CARD = """# {name}

{description}

```python
import spacy

nlp = spacy.load("{folder}")
doc = nlp("...")
print(doc.ents)
```

## How well it agrees with its teacher

From raw text, on {test:,} words that it was not trained on. Percentages.

{agreement}
{people}
## What it costs

{costs}

## Would more text help?

{curve}

## What it was made of

Teacher: {teacher} {version}, licence: {teacher_licence}. It annotated {words:,} words of {texts}.
Training: {train:,} words{gold}; best epoch and calibration: {dev:,} words.

Licence of this pipeline: {licence}.
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
    return {
        "name": name,
        "version": "1.0.0",
        "spacy_version": ">=3.8.13,<3.9.0",  # as pyproject.toml has it
        "description": f"{get_lang_class(lang).__name__}: {', '.join(kinds)}, taught by {full_name}.",
        "license": licence
        or "unknown: ask for the terms of the teacher and of the texts (--licence)",
        "sources": [source, *(teacher.get("sources") or [])],
        "performance": agreement,
    }


def card_of(
    folder: str,
    meta: Mapping[str, Any],
    teacher: Mapping[str, Any],
    silver: Silver,
    result: Mapping[str, Any],
) -> str:
    """The card as Markdown. result: of the command, as in report.json."""
    people = ""
    if result["people"]:
        rows = score_rows(*result["people"])
        people = "\n## Against people's labels\n\n" + _table(("", "teacher", "student"), rows)
    source = meta["sources"][0]
    gold = ""
    if silver.words["gold"]:
        gold = f", and {silver.words['gold']:,} words annotated by people"
    return CARD.format(
        name=f"{result['lang']}_{meta['name']}",
        description=meta["description"],
        folder=folder,
        test=silver.words["test"],
        agreement=_table(("", "agreement"), score_rows(result["agreement"])),
        people=people,
        costs=_table(("", "teacher", "student"), cost_rows(result["costs"])),
        curve=_curve(result["curve"]),
        teacher=source["name"],
        version=teacher["version"],
        teacher_licence=source["license"],
        words=sum(silver.words.values()) - silver.words["gold"],
        texts=result["texts"],
        train=silver.words["train"],
        gold=gold,
        dev=silver.words["dev"],
        licence=meta["license"],
    )


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


def cost_rows(costs: Mapping[str, Sequence[float]]) -> list[tuple[str, str, str]]:
    """Speed, size and time to load, of the teacher and the student."""
    rows = []
    for title, (teacher, student) in costs.items():
        rows.append((title, f"{teacher:,.4g}", f"{student:,.4g}"))
    return rows


def curve_rows(points: Sequence[Sequence[float]]) -> list[tuple[str, str]]:
    """Words by the teacher, and agreement after training on them, in percent."""
    return [(f"{words:,}", f"{100 * score:.1f}") for words, score in points]


def more_text(points: Sequence[Sequence[float]]) -> str:
    """A sentence on what the last doubling of the text has brought."""
    gain = 100 * (points[-1][1] - points[-2][1])
    if gain < 0.5:
        return f"The last doubling of the text changed the agreement by {gain:+.1f}: more text will hardly help."
    return f"The last doubling of the text changed the agreement by {gain:+.1f}: twice the text is worth a try."


def _percent(share: float | None) -> str:
    return f"{100 * (share or 0.0):.1f}"


def _curve(points: Sequence[Sequence[float]]) -> str:
    if not points:
        return "Not measured (--curve)."
    return f"{_table(('words', 'agreement'), curve_rows(points))}\n\n{more_text(points)}"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
