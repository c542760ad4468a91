"""Are probabilities right? Expected against observed, and errors among the surest predictions."""

from ..inspection import Quality
from .pages import rendered, round_ticks
from .sentence import cut, shown

TITLE = 110  # columns


def draw_calibration(before: Quality, after: Quality, *, title: str) -> str:
    """RETURNS (str): SVG. Left, a dot for each bin: how probable its predictions are, and the share
    of them that is right; on the diagonal both are the same. Right, the share of errors among the
    surest predictions."""
    lines = {"before": ("#c0392b", before), "after": ("#2f6fb3", after)}
    ticks = round_ticks(max([risk for _, risk in before.curve + after.curve], default=0.0))
    short = cut(" ".join(map(shown, title.split(" "))), TITLE)
    values = {"title": title, "shown_title": short, "lines": lines, "ticks": ticks}
    return rendered("calibration.svg.jinja", **values) + "\n"
