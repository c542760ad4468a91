"""Weights of a pipeline, as text and as a page."""

from collections.abc import Sequence
from typing import Any

from .pages import rendered
from .sentence import shown

MOST = 60  # labels of a picture of transitions
PAIRS = 10  # rows of the text
LABELS = 12


def inspection_text(one: dict[str, Any]) -> str:
    """RETURNS (str): one component, of `inspected`, in tables."""
    counts = one["counts"]
    labels = sorted(one["strongest"], key=lambda label: -counts.get(label, 0))[:LABELS]
    features = []
    for label in labels:
        best = [row for row in one["strongest"][label] if row["weight"] > 0][:3]
        said = [" ".join(map(shown, row["name"].split(" "))) or row["key"] for row in best]
        told = [f"{name} {row['weight']:+.2f}" for name, row in zip(said, best, strict=True)]
        features.append((label, f"{counts[label]:,}" if counts[label] else "", "; ".join(told)))
    names = one["labels"]
    pairs = [
        (x, f"{names[a]} {names[b]}")
        for a, row in enumerate(one["transitions"] or [])
        for b, x in enumerate(row)
        if x
    ]
    pairs.sort(key=lambda pair: -abs(pair[0]))
    values = {
        "features": features if any(one["strongest"].values()) else [],
        "pairs": [(f"{x:+.2f}", pair) for x, pair in pairs[:PAIRS]],
        "patterns": [
            (f"{p['weight']:+.2f}", " ".join(p["labels"]), rule_of(p), p["example"])
            for p in one["patterns"][:PAIRS]
        ],
    }
    return rendered("inspection.txt.jinja", one=one, **values)


def rule_of(pattern: dict[str, Any]) -> str:
    return "" if pattern["rule"] < 0 else f"rule {pattern['rule']}"


def inspection_page(components: Sequence[dict[str, Any]], *, title: str) -> str:
    """RETURNS (str): a page of its own, for all components."""
    rows = [row for one in components for of in one["strongest"].values() for row in of]
    values = {"nameless": not all(row["name"] for row in rows), "most": MOST, "rule_of": rule_of}
    return rendered("inspection.html.jinja", title=title, components=components, **values)
