"""Weights of a pipeline, as text and as a page."""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from .pages import rendered
from .sentence import shown


def inspection_text(one: dict[str, Any]) -> str:
    """One component, of `inspected`, in tables: its twelve most frequent labels, ten transitions and
    ten label patterns."""
    values = {
        "features": _feature_rows(one),
        "pairs": _transition_rows(one)[:10],
        "patterns": _pattern_rows(one["patterns"][:10]),
    }
    return rendered("inspection.txt.jinja", one=one, **values)


def _feature_rows(one: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Label, its count in the corpus, and its three strongest features. Nothing if no feature is
    known."""
    strongest = one["strongest"]
    if not any(strongest.values()):
        return []
    counts = one["counts"]
    rows = []
    for label in frequent_labels(one, 12):
        features = []
        for row in [row for row in strongest[label] if row["weight"] > 0][:3]:
            # a feature without a name in the corpus is shown by its key
            name = " ".join(map(shown, row["words"].split(" "))) or row["key"]
            features.append(f"{name} {row['weight']:+.2f}")
        count = f"{counts[label]:,}" if counts[label] else ""
        rows.append((label, count, "; ".join(features)))
    return rows


def frequent_labels(one: dict[str, Any], number: int) -> list[str]:
    """The labels that are most frequent in the corpus; without one, those with the largest weights."""

    def order(label: str) -> tuple[int, float]:
        weights = [abs(row["weight"]) for row in one["strongest"][label]]
        return -one["counts"].get(label, 0), -max(weights, default=0.0)

    labels = one["strongest"]
    return sorted(labels, key=order)[:number] if len(labels) > number else list(labels)


def _transition_rows(one: dict[str, Any]) -> list[tuple[str, str]]:
    """Weight and labels of each transition, the largest weight of either sign first."""
    names = one["labels"]
    pairs = []
    for a, row in enumerate(one["transitions"] or []):
        for b, weight in enumerate(row):
            if weight:
                pairs.append((weight, f"{names[a]} {names[b]}"))
    pairs.sort(key=lambda pair: -abs(pair[0]))
    return [(f"{weight:+.2f}", pair) for weight, pair in pairs]


def _pattern_rows(patterns: Sequence[dict[str, Any]]) -> list[tuple[str, str, str, str]]:
    rows = []
    for pattern in patterns:
        labels = " ".join(pattern["labels"])
        rows.append((f"{pattern['weight']:+.2f}", labels, rule_of(pattern), pattern["example"]))
    return rows


def rule_of(pattern: dict[str, Any]) -> str:
    """The rule that makes a pattern fire; "" = it always can."""
    return "" if pattern["rule"] < 0 else f"rule {pattern['rule']}"


def inspection_page(components: Sequence[dict[str, Any]], *, title: str) -> str:
    """A page of HTML for all components."""
    # the page says how to get names, if a feature has none
    nameless = not all(map(has_names, components))
    # more than 60 labels are too many for a picture of transitions, and for a page
    values = {
        "nameless": nameless,
        "most": 60,
        "rule_of": rule_of,
        "frequent_labels": frequent_labels,
        "signs_of": _signs,
    }
    return rendered("inspection.html.jinja", title=title, components=components, **values)


def _signs(one: dict[str, Any]) -> list[int]:
    """1 if features speak for labels, -1 if features speak against some."""
    signs = set()
    for row in chain.from_iterable(one["strongest"].values()):
        signs.add(1 if row["weight"] > 0 else -1)
    return sorted(signs, reverse=True)


def has_names(one: dict[str, Any]) -> bool:
    """True if all features that are shown for a component have a name."""
    return all(row["name"] for row in chain.from_iterable(one["strongest"].values()))
