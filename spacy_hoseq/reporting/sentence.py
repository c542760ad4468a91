"""A tagged sentence as a picture: each word above its label, with a bar as long as the label's
probability."""

import unicodedata
from html import escape
from textwrap import wrap
from typing import Collection, Iterable, List, Sequence

from spacy.tokens import Token

CHARACTER = 8.6  # widths and heights in pixels, for a 14 px fixed-width font
GAP = 12
LINE = 62
MARGIN = 14
NOTE = 16
FEWEST = 3  # characters a word's box is wide at least
WIDE = ("F", "W")  # of two columns: Chinese characters, emoji


def draw_sentence(
    words: Sequence[str],
    labels: Sequence[str],
    probabilities: Sequence[float],
    *,
    width: int = 900,
    starts: Collection[int] = (),
    note: str = "",
) -> str:
    """RETURNS (str): SVG. probabilities: of each label, 0 to 1; the bar is red below one half, else
    blue. starts: words that begin a sentence, which begins a line. note: what to say of the
    probabilities, below."""
    boxes: List[str] = []
    most = int((width - 2 * MARGIN) / CHARACTER)
    x = float(MARGIN)
    y = float(MARGIN)
    for i, (word, label, probability) in enumerate(zip(words, labels, probabilities, strict=True)):
        word = cut(shown(word), most)
        label = cut(shown(label), most)
        box = max(columns(word), columns(label), FEWEST) * CHARACTER
        if (i in starts or x + box > width - MARGIN) and x > MARGIN:
            x = float(MARGIN)
            y = y + LINE
        colour = "#2f6fb3" if probability >= 0.5 else "#c0392b"
        boxes.append(
            f'<text x="{x:.1f}" y="{y + 14:.1f}" class="word">{escape(word)}</text>'
            f'<text x="{x:.1f}" y="{y + 32:.1f}" class="label">{escape(label)}</text>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box:.1f}" height="4" fill="#e3e6ea"/>'
            f'<rect x="{x:.1f}" y="{y + 38:.1f}" width="{box * probability:.1f}" height="4" fill="{colour}">'
            f"<title>{probability:.3f}</title></rect>"
        )
        x += box + GAP
    for line in wrap(note, most):
        boxes.append(f'<text x="{MARGIN}" y="{y + LINE + 8:.1f}" class="note">{escape(line)}</text>')
        y += NOTE
    style = (
        ".word{font:14px monospace;fill:#1c2733}.label{font:bold 12px monospace;fill:#2f6fb3}"
        ".note{font:11px monospace;fill:#51606f}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y + LINE:.0f}" '
        f'viewBox="0 0 {width} {y + LINE:.0f}"><style>{style}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        + "\n".join(boxes)
        + "</svg>\n"
    )


def columns(text: str) -> int:
    """How wide a text is in a fixed-width font."""
    return sum(
        2 if unicodedata.east_asian_width(c) in WIDE else not unicodedata.combining(c) for c in text
    )


def cut(text: str, most: int) -> str:
    """A text of at most so many columns; what is cut off is three dots."""
    if columns(text) <= most:
        return text
    while columns(text) >= most:
        text = text[:-1]
    return f"{text}\u2026"


def written(tokens: Iterable[Token]) -> List[str]:
    """Words as they are shown, each with the space that follows it in the text."""
    return [shown(token.text) + " " * bool(token.whitespace_) for token in tokens]


def shown(text: str) -> str:
    """A word or a label for one line of a picture: white space and control characters become an
    open box."""
    return "".join(c if c.isprintable() and not c.isspace() else "\u2423" for c in text)
