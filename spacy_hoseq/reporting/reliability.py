"""Are probabilities right? Expected against observed, and errors among the surest predictions."""

from typing import Any, Dict, List

from ..inspection import Quality
from .pages import rendered, round_ticks
from .sentence import cut, shown

TITLE = 110  # columns


def draw_calibration(before: Quality, after: Quality, *, title: str) -> str:
    """RETURNS (str): SVG. Left, a dot for each bin: how probable its predictions are, and the share
    of them that is right; on the diagonal both are the same. Right, the share of errors among the
    surest predictions."""
    lines: List[Dict[str, Any]] = []
    for name, colour, quality in (("before", "#c0392b", before), ("after", "#2f6fb3", after)):
        bins = quality.reliability
        columns = (bins.expected.tolist(), bins.observed.tolist(), bins.counts.tolist())
        points = [point for point in zip(*columns, strict=True) if point[2]]
        line = {"name": name, "colour": colour, "points": points, "error": bins.error}
        lines.append({**line, "area": quality.area, "curve": quality.curve})
    ticks = round_ticks(max([risk for line in lines for _, risk in line["curve"]], default=0.0))
    short = cut(" ".join(map(shown, title.split(" "))), TITLE)
    values = {"lines": lines, "ticks": ticks, "top": ticks[-1], "shown_title": short}
    return rendered("calibration.svg.jinja", title=title, **values) + "\n"
