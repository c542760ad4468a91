"""Words and labels as one line of a page or a picture shows them."""

import re
import unicodedata
from collections.abc import Iterable

from spacy.tokens import Doc, Token

WIDE = ("F", "W")  # of two columns: Chinese characters, emoji
OPENING = ("Ps", "Pi")  # brackets and quotation marks
JOINERS = "\u200c\u200d"  # beside them letters have other forms, and emoji are one
TAGS = "".join(map(chr, range(0xE0020, 0xE0080)))  # spell the regions of flags
SIGN = re.compile(  # flags; emoji with others, or with colours and forms
    f"[\U0001f1e6-\U0001f1ff]{{2}}|\\S+(\u200d\\S|[\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff{TAGS}]+)"
)


def columns(text: str) -> int:
    """How wide a text is in a fixed-width font."""
    return sum(2 if _is_wide(c) else not unicodedata.combining(c) for c in text)


def cut(text: str, most: int) -> str:
    """A text of at most so many columns; what is cut off is three dots."""
    if columns(text) <= most:
        return text
    while columns(text) >= most:
        text = text[:-1]
    return f"{text}\u2026"


def written(tokens: Iterable[Token]) -> list[str]:
    """Words as they are shown, each with the space that follows it in the text."""
    return [shown(token.text) + " " * bool(token.whitespace_) for token in tokens]


def around(doc: Doc, start: int, first: int, end: int, stop: int) -> dict[str, list[str]]:
    """The tokens first <= i < end in the sentence start <= i < stop: before, words, after, each
    word with the space that follows it."""
    parts = {
        "before": doc[start:first],
        "words": doc[first:end],
        "after": doc[end : max(stop, end)],
    }
    return {name: written(tokens) for name, tokens in parts.items()}


def shown(text: str) -> str:
    """A word or a label for one line of a picture: white space and control characters become an
    open box."""
    if text.isprintable() and " " not in text:
        return text
    kept = JOINERS + TAGS * ("\U0001f3f4" in text)
    seen = [c in kept or (c.isprintable() and c != " ") for c in text]
    return "".join(c if is_seen else "\u2423" for c, is_seen in zip(text, seen, strict=True))


def may_break(text: str, following: str) -> bool:
    """True if a line may end between words without a space: at Chinese characters, but not before
    what closes and after what opens."""
    is_wide = _is_wide(text[-1]) or _is_wide(following[0])
    return is_wide and following[0].isalnum() and unicodedata.category(text[-1]) not in OPENING


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in WIDE
