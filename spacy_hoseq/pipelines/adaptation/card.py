"""The card of an adapted pipeline: what it was made of, what was won, and what was lost."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..treebanks.card import markdown
from .adaptation import Adaptation
from .comparison import Comparison

CARD = """# {name}

{description}

```python
import spacy

nlp = spacy.load("{folder}")
```

{tables}

{notes}

Licence: {licence}. Made by `python -m spacy hoseq adapt`.
"""


def meta_of(name: str, before: Mapping[str, Any], result: Adaptation) -> dict[str, Any]:
    """What changes in the meta of a pipeline. before: as it was."""
    names = ", ".join(component.name for component in result.components)
    made_of = f"{before['lang']}_{before['name']} {before['version']}"
    return {
        "name": name,
        "description": f"{made_of}, whose {names} were adapted to {result.texts['train']:,} texts.",
        "performance": {
            each.name: each.new.after for each in result.components if each.new is not None
        },
    }


def card_of(folder: str, meta: Mapping[str, Any], result: Adaptation) -> str:
    """The card as Markdown."""
    tables = []
    for header, rows in score_rows(result):
        tables.append(markdown(header, rows))
    return CARD.format(
        name=f"{meta['lang']}_{meta['name']}",
        description=meta["description"],
        folder=folder,
        tables="\n\n".join(tables),
        notes="\n".join(f"- {note}" for note in notes_of(result)),
        licence=meta.get("license") or "unknown",
    )


def score_rows(result: Adaptation) -> Iterator[tuple[Sequence[str], list[Sequence[str]]]]:
    """Header and rows of a table for each component, and kind of text that it was measured on."""
    for component in result.components:
        texts = {"new text": component.new, "old text": component.old}
        for text, comparison in texts.items():
            if comparison is not None:
                title = (f"{component.name}, {text}", "annotated", "before", "after", "change")
                yield title, _rows(comparison)


def notes_of(result: Adaptation) -> list[str]:
    """Sentences on how it was measured, and what is different now."""
    how = "that were kept apart"
    if result.folds:
        how = f"by cross-validation in {result.folds} parts"
    notes = [
        f"Learnt from {result.texts['train']:,} texts; measured on {result.texts['test']:,} {how}.",
        "p: two-sided bootstrap over sentences.",
    ]
    for component in result.components:
        if component.labels:
            notes.append(f"{component.name} has new labels: {', '.join(component.labels)}.")
        if component.missing:
            notes.append(
                f"{component.name}: no text has {', '.join(component.missing)}, so nothing was learnt "
                "about them, and they do not count here."
            )
        if component.temperature is None:
            notes.append(f"{component.name} was not calibrated anew, and has no prediction sets.")
        if component.old is None:
            notes.append(
                f"{component.name}: what was forgotten on old text was not measured (--old)."
            )
    return notes


def _rows(comparison: Comparison) -> list[Sequence[str]]:
    """All labels together, then each."""
    n = sum(n for n, _, _ in comparison.labels.values())
    p = "p < 0.001"
    if comparison.p >= 0.001:
        p = f"p = {comparison.p:.3f}"
    values = comparison.before, comparison.after
    gain = f"{100 * (values[1] - values[0]):+.1f} ({p})"
    rows: list[Sequence[str]] = [("all", f"{n:,}", *map(_percent, values), gain)]
    for label, (n, before, after) in comparison.labels.items():
        change = f"{100 * (after - before):+.1f}"
        rows.append((label, f"{n:,}", _percent(before), _percent(after), change))
    return rows


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
