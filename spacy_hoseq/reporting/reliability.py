"""Are probabilities right? Expected against observed, in bins of probability."""

from html import escape
from typing import Any, Dict, List

from ..inspection.measures import Quality, Reliability, reliability
from .pages import rendered, round_ticks
from .sentence import cut, shown

__all__ = ["Reliability", "draw_calibration", "draw_reliability", "reliability"]

SIDE = 360  # pixels
TITLE = (56, 110)  # columns of a title over one picture, over two
MARGIN = 46
TOP = 70
BLUE = "#2f6fb3"
GREY = "#51606f"


def draw_reliability(found: Reliability, *, title: str) -> str:
    """RETURNS (str): SVG. A bar in each bin is as high as the share that is right, a dot shows what
    was expected there; on the diagonal both are the same. Below, how many predictions each bin
    has."""
    n = len(found.counts)
    width = SIDE / len(found.counts)
    largest = max(1, int(found.counts.max(initial=0)))
    shapes: List[str] = []
    for i, (count, expected, observed) in enumerate(
        zip(found.counts, found.expected, found.observed, strict=True)
    ):
        if not count:
            continue
        x = MARGIN + i * width
        top = TOP + SIDE * (1 - observed)
        told = f"{count} predictions of {i / n:.2f} to {(i + 1) / n:.2f}: expected {expected:.3f}, right {observed:.3f}"
        shapes.append(
            f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{SIDE * observed:.1f}" fill="{BLUE}" '
            f'fill-opacity="0.55"><title>{told}</title></rect>'
            f'<circle cx="{x + width / 2:.1f}" cy="{TOP + SIDE * (1 - expected):.1f}" r="3.5" fill="#c0392b"/>'
            f'<rect x="{x + 1:.1f}" y="{TOP + SIDE + 24:.1f}" width="{width - 2:.1f}" '
            f'height="{40 * count / largest:.1f}" fill="{GREY}" fill-opacity="0.5"><title>{told}</title></rect>'
        )
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = MARGIN + SIDE * tick
        y = TOP + SIDE * (1 - tick)
        shapes.append(
            f'<text x="{x:.0f}" y="{TOP + SIDE + 16}" text-anchor="middle">{tick:g}</text>'
        )
        shapes.append(f'<text x="{MARGIN - 6}" y="{y + 4:.0f}" text-anchor="end">{tick:g}</text>')
    box = f'x="{MARGIN}" y="{TOP}" width="{SIDE}" height="{SIDE}"'
    height = TOP + SIDE + 86
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 2 * MARGIN}" height="{height}" '
        f'viewBox="0 0 {SIDE + 2 * MARGIN} {height}"><style>text{{font:12px system-ui,sans-serif;fill:{GREY}}}</style>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="{MARGIN}" y="18" font-weight="bold">{escape(_title(title, TITLE[0]))}</text>'
        f'<text x="{MARGIN}" y="36">bars: share that is right; dots: mean probability</text>'
        f'<text x="{MARGIN}" y="54">expected calibration error {found.error:.4f}</text>'
        f'<rect {box} fill="none" stroke="#cfd6dd"/><line x1="{MARGIN}" y1="{TOP + SIDE}" x2="{MARGIN + SIDE}" '
        f'y2="{TOP}" stroke="#cfd6dd"/>' + "\n".join(shapes) + "</svg>\n"
    )


def draw_calibration(before: Quality, after: Quality, *, title: str) -> str:
    """RETURNS (str): SVG. Left, a dot for each bin: how probable its predictions are, and the share
    of them that is right; on the diagonal both are the same. Right, the share of errors among the
    surest predictions."""
    lines: List[Dict[str, Any]] = []
    for name, colour, quality in (("before", "#c0392b", before), ("after", BLUE, after)):
        of = quality.reliability
        filled = of.counts > 0
        points = zip(
            of.expected[filled].tolist(),
            of.observed[filled].tolist(),
            of.counts[filled].tolist(),
            strict=True,
        )
        known = {
            "name": name,
            "colour": colour,
            "error": of.error,
            "area": quality.area,
            "curve": quality.curve,
        }
        lines.append({**known, "points": list(points)})
    ticks = round_ticks(max([risk for line in lines for _, risk in line["curve"]], default=0.0))
    values = {"lines": lines, "ticks": ticks, "top": ticks[-1]}
    short = _title(title, TITLE[1])
    return rendered("calibration.svg.jinja", title=title, shown_title=short, **values) + "\n"


def _title(text: str, most: int) -> str:
    return cut(" ".join(map(shown, text.split(" "))), most)
