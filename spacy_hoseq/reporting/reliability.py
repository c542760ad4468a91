"""Are probabilities right? Expected against observed, in bins of probability."""

from html import escape
from typing import List, NamedTuple, Sequence

import numpy as np

from ..arrays import Floats, Ints
from .sentence import shown

SIDE, MARGIN, TOP = 360, 46, 70  # pixels
BLUE, GREY = "#2f6fb3", "#51606f"


class Reliability(NamedTuple):
    """counts, expected, observed (B,): how many predictions fall into each bin, their mean probability, the share of
    them that is right (0 in empty bins). error (float): sum of counts |observed - expected| / number of predictions,
    the expected calibration error (Naeini, Cooper & Hauskrecht 2015)."""

    counts: Ints
    expected: Floats
    observed: Floats
    error: float


def reliability(probabilities: Sequence[float], right: Sequence[bool], n_bins: int = 15) -> Reliability:
    """probabilities, right (N,): of each prediction, and whether it is right. Bins are equally wide."""
    p, hits = np.asarray(probabilities, float), np.asarray(right, float)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    filled = np.maximum(counts, 1)
    expected = np.bincount(bins, p, n_bins) / filled
    observed = np.bincount(bins, hits, n_bins) / filled
    error = float((counts * np.abs(observed - expected)).sum() / max(1, counts.sum()))
    return Reliability(counts, expected, observed, error)


def draw_reliability(found: Reliability, *, title: str) -> str:
    """RETURNS (str): SVG. A bar in each bin is as high as the share that is right, a dot shows what was expected there;
    on the diagonal both are the same. Below, how many predictions each bin has."""
    n, width = len(found.counts), SIDE / len(found.counts)
    largest = max(1, int(found.counts.max(initial=0)))
    shapes: List[str] = []
    for i, (count, expected, observed) in enumerate(zip(found.counts, found.expected, found.observed, strict=True)):
        if not count:
            continue
        x, top = MARGIN + i * width, TOP + SIDE * (1 - observed)
        told = f"{count} predictions of {i / n:.2f} to {(i + 1) / n:.2f}: expected {expected:.3f}, right {observed:.3f}"
        shapes.append(
            f'<rect x="{x + 1:.1f}" y="{top:.1f}" width="{width - 2:.1f}" height="{SIDE * observed:.1f}" fill="{BLUE}" '
            f'fill-opacity="0.55"><title>{told}</title></rect>'
            f'<circle cx="{x + width / 2:.1f}" cy="{TOP + SIDE * (1 - expected):.1f}" r="3.5" fill="#c0392b"/>'
            f'<rect x="{x + 1:.1f}" y="{TOP + SIDE + 24:.1f}" width="{width - 2:.1f}" '
            f'height="{40 * count / largest:.1f}" fill="{GREY}" fill-opacity="0.5"><title>{told}</title></rect>'
        )
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = MARGIN + SIDE * tick, TOP + SIDE * (1 - tick)
        shapes.append(f'<text x="{x:.0f}" y="{TOP + SIDE + 16}" text-anchor="middle">{tick:g}</text>')
        shapes.append(f'<text x="{MARGIN - 6}" y="{y + 4:.0f}" text-anchor="end">{tick:g}</text>')
    box = f'x="{MARGIN}" y="{TOP}" width="{SIDE}" height="{SIDE}"'
    height = TOP + SIDE + 86
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SIDE + 2 * MARGIN}" height="{height}" '
        f'viewBox="0 0 {SIDE + 2 * MARGIN} {height}"><style>text{{font:12px system-ui,sans-serif;fill:{GREY}}}</style>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="{MARGIN}" y="18" font-weight="bold">{escape(" ".join(map(shown, title.split(" "))))}</text>'
        f'<text x="{MARGIN}" y="36">bars: share that is right; dots: mean probability</text>'
        f'<text x="{MARGIN}" y="54">expected calibration error {found.error:.4f}</text>'
        f'<rect {box} fill="none" stroke="#cfd6dd"/><line x1="{MARGIN}" y1="{TOP + SIDE}" x2="{MARGIN + SIDE}" '
        f'y2="{TOP}" stroke="#cfd6dd"/>' + "\n".join(shapes) + "</svg>\n"
    )
