"""Words and labels as one line of a page or a picture shows them."""

import unicodedata
from typing import Iterable, List

from spacy.tokens import Token

WIDE = ("F", "W")  # of two columns: Chinese characters, emoji


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
