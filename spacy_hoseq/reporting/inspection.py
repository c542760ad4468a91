"""What a pipeline has learnt, as text and as a page."""

from typing import Any, Dict, List, Sequence

from wasabi import table

from ..inspection.weights import Component
from .pages import rendered
from .sentence import shown

MOST = 60  # labels of a picture of transitions
PAIRS = 10  # rows of the text
LABELS = 12


def as_data(components: Sequence[Component]) -> List[Dict[str, Any]]:
    """For JSON."""
    data = []
    for one in components:
        rows = one._asdict()
        rows["strongest"] = {
            label: [s._asdict() for s in strong] for label, strong in one.strongest.items()
        }
        rows["patterns"] = [pattern._asdict() for pattern in one.patterns]
        data.append(rows)
    return data


def inspection_text(one: Component) -> str:
    """RETURNS (str): one component in tables."""
    parts = ", ".join(f"{name} {size / 1e6:.2f} MB" for name, size in one.sizes.items())
    lines = [
        f"{one.name} ({one.kind}): {len(one.labels)} labels, {one.n_features:,} features, {one.n_weights:,} weights "
        f"that are not 0; {parts}"
    ]
    by_count = sorted(one.labels, key=lambda label: -one.counts.get(label, 0))
    rows = []
    for label in by_count[:LABELS]:
        best = [
            f"{' '.join(map(shown, s.name.split(' '))) or s.key} {s.weight:+.2f}"
            for s in one.strongest.get(label, [])
            if s.weight > 0
        ]
        rows.append(
            (label, f"{one.counts[label]:,}" if one.counts[label] else "", "; ".join(best[:3]))
        )
    if any(one.strongest.values()):
        lines.append(
            table(rows, header=("label", "in corpus", "strongest features"), aligns=("l", "r", "l"))
        )
    if one.transitions is not None:
        names = one.labels
        pairs = sorted(
            (
                (x, f"{names[a]} {names[b]}")
                for a, row in enumerate(one.transitions)
                for b, x in enumerate(row)
                if x
            ),
            key=lambda pair: -abs(pair[0]),
        )
        lines.append(
            table(
                [(f"{x:+.2f}", pair) for x, pair in pairs[:PAIRS]], header=("weight", "transition")
            )
        )
    if one.patterns:
        of_patterns = [
            (f"{p.weight:+.2f}", " ".join(p.labels), rule(p.rule), p.example)
            for p in one.patterns[:PAIRS]
        ]
        lines.append(table(of_patterns, header=("weight", "pattern", "", "as in")))
    return "\n".join(lines)


def inspection_page(components: Sequence[Component], *, title: str) -> str:
    """RETURNS (str): a page of its own, for all components."""
    data = as_data(components)
    for one in data:
        one["picture"] = one["transitions"] is not None and len(one["labels"]) <= MOST
        largest = max((abs(x) for row in one["transitions"] or [] for x in row), default=0.0)
        one["largest"] = largest or 1.0
        one["patterns"] = [{**p, "rule": rule(p["rule"])} for p in one["patterns"]]
        one["size"] = sum(one["sizes"].values())
    return rendered("inspection.html.jinja", title=title, components=data)


def rule(number: int) -> str:
    return "" if number < 0 else f"rule {number}"
