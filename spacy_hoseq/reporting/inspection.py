"""What a pipeline has learnt, as text and as a page."""

from typing import Any, Dict, Sequence

from wasabi import table

from .pages import rendered
from .sentence import shown

MOST = 60  # labels of a picture of transitions
PAIRS = 10  # rows of the text
LABELS = 12


def inspection_text(one: Dict[str, Any]) -> str:
    """RETURNS (str): one component, of `inspected`, in tables."""
    parts = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in one["sizes"].items())
    lines = [
        f"{one['name']} ({one['kind']}): {len(one['labels'])} labels, {one['n_features']:,} features, "
        f"{one['n_weights']:,} weights that are not 0; {parts}"
    ]
    rows = []
    counts = one["counts"]
    for label in sorted(one["labels"], key=lambda label: -counts.get(label, 0))[:LABELS]:
        best = [row for row in one["strongest"].get(label, []) if row["weight"] > 0][:3]
        names = [" ".join(map(shown, row["name"].split(" "))) or row["key"] for row in best]
        told = [f"{name} {row['weight']:+.2f}" for name, row in zip(names, best, strict=True)]
        rows.append((label, f"{counts[label]:,}" if counts[label] else "", "; ".join(told)))
    if any(one["strongest"].values()):
        header = ("label", "in corpus", "strongest features")
        lines.append(table(rows, header=header, aligns=("l", "r", "l")))
    names = one["labels"]
    pairs = [
        (x, f"{names[a]} {names[b]}")
        for a, row in enumerate(one["transitions"] or [])
        for b, x in enumerate(row)
        if x
    ]
    if pairs:
        pairs.sort(key=lambda pair: -abs(pair[0]))
        weights = [(f"{x:+.2f}", pair) for x, pair in pairs[:PAIRS]]
        lines.append(table(weights, header=("weight", "transition")))
    if one["patterns"]:
        of_patterns = [
            (f"{p['weight']:+.2f}", " ".join(p["labels"]), _rule(p["rule"]), p["example"])
            for p in one["patterns"][:PAIRS]
        ]
        lines.append(table(of_patterns, header=("weight", "pattern", "", "as in")))
    return "\n".join(lines)


def inspection_page(components: Sequence[Dict[str, Any]], *, title: str) -> str:
    """RETURNS (str): a page of its own, for all components."""
    shown_components = []
    for one in components:
        pairs = one["transitions"] or []
        more = {
            "picture": one["transitions"] is not None and len(one["labels"]) <= MOST,
            "largest": max((abs(x) for row in pairs for x in row), default=0.0) or 1.0,
            "patterns": [{**p, "rule": _rule(p["rule"])} for p in one["patterns"]],
            "size": sum(one["sizes"].values()),
            "nameless": any(not row["name"] for rows in one["strongest"].values() for row in rows),
        }
        shown_components.append({**one, **more})
    return rendered("inspection.html.jinja", title=title, components=shown_components)


def _rule(number: int) -> str:
    return "" if number < 0 else f"rule {number}"
