"""Are probabilities right? Expected against observed, and errors among the surest predictions."""

from ..inspection import Quality
from .pages import rendered, round_ticks
from .sentence import cut, shown


def draw_calibration(before: Quality, after: Quality, *, title: str) -> str:
    """Probabilities before and after calibration, as SVG. Left, a dot for each bin: the mean
    probability of its predictions, and the share of them that is right; on the diagonal both are
    the same. Right, the share of errors among the surest predictions."""
    lines = {"before": ("#c0392b", before), "after": ("#2f6fb3", after)}
    ticks = round_ticks(max([risk for _, risk in before.curve + after.curve], default=0.0))
    words = " ".join(map(shown, title.split(" ")))
    short = cut(words, 110)  # columns of the picture
    values = {"title": title, "shown_title": short, "lines": lines, "ticks": ticks}
    return rendered("calibration.svg.jinja", **values) + "\n"
