"""A tagged sentence as a picture: each word above its label, with a bar as long as the label's
probability."""

from html import escape
from typing import Collection, List, Sequence

CHARACTER = 8.6  # widths and heights in pixels, for a 14 px fixed-width font
GAP = 12
LINE = 62
MARGIN = 14
FEWEST = 3  # characters a word's box is wide at least


def draw_sentence(
    words: Sequence[str],
    labels: Sequence[str],
    probabilities: Sequence[float],
    *,
    width: int = 900,
    starts: Collection[int] = (),
) -> str:
    """RETURNS (str): SVG. probabilities: of each label, 0 to 1; the bar is red below one half, else
    blue. starts: words that begin a sentence, which begins a line."""
    boxes: List[str] = []
    x = float(MARGIN)
    y = float(MARGIN)
    for i, (word, label, probability) in enumerate(zip(words, labels, probabilities, strict=True)):
        box = max(len(word), len(label), FEWEST) * CHARACTER
        if (i in starts or x + box > width - MARGIN) and x > MARGIN:
            x = float(MARGIN)
            y = y + LINE
        colour = "#2f6fb3" if probability >= 0.5 else "#c0392b"
        boxes.append(
            f'<text x="{x:.1f}" y="{y + 14:.1f}" class="word">{escape(shown(word))}</text>'
            f'<text x="{x:.1f}" y="{y + 32:.1f}" class="label">{escape(shown(label))}</text>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box:.1f}" height="4" fill="#e3e6ea"/>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box * probability:.1f}" height="4" fill="{colour}">'
            f"<title>{probability:.3f}</title></rect>"
        )
        x += box + GAP
    style = ".word{font:14px monospace;fill:#1c2733}.label{font:bold 12px monospace;fill:#2f6fb3}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + LINE:.0f}" '
        f'viewBox="0 0 {width} {y + LINE:.0f}"><style>{style}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        + "\n".join(boxes)
        + "</svg>\n"
    )


def shown(text: str) -> str:
    """A word or a label for one line of a picture: white space and control characters become an
    open box."""
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in text)
