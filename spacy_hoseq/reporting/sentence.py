"""Words and labels as one line of a page or a picture shows them."""

import re
import unicodedata
from collections.abc import Iterable

from spacy.tokens import Doc, Span, Token

FLAG_TAGS = "".join(map(chr, range(0xE0020, 0xE0080)))  # spell the regions of flags
EMOJI = re.compile(  # flags; emoji with others, or with colours and forms
    f"[\U0001f1e6-\U0001f1ff]{{2}}|\\S+(\u200d\\S|[\u200d\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff{FLAG_TAGS}]+)"
)


def sentences_in(doc: Doc) -> list[Span]:
    """The sentences of a Doc; all of it is one if none are marked."""
    if doc.has_annotation("SENT_START"):
        return list(doc.sents)
    return [doc[:]] if len(doc) else []


def columns(text: str) -> int:
    """The width of a text in a fixed-width font."""
    width = 0
    for character in text:
        if _is_wide(character):
            width += 2
        elif not unicodedata.combining(character):
            width += 1
    return width


def cut(text: str, most: int) -> str:
    """A text of at most so many columns. Three dots stand for what is cut off."""
    if columns(text) <= most:
        return text
    while columns(text) >= most:
        text = text[:-1]
    return f"{text}\u2026"


def written(tokens: Iterable[Token]) -> list[str]:
    """Words as they are shown, each with the space that follows it in the text."""
    return [shown(token.text) + token.whitespace_ for token in tokens]


def around(doc: Doc, start: int, first: int, end: int, stop: int) -> dict[str, list[str]]:
    """The tokens first <= i < end in the sentence start <= i < stop: before, words, after, each
    word with the space that follows it."""
    return {
        "before": written(doc[start:first]),
        "words": written(doc[first:end]),
        "after": written(doc[end : max(stop, end)]),
    }


def shown(text: str) -> str:
    """A word or a label for one line of a picture: white space and control characters become an
    open box."""
    if text.isprintable() and " " not in text:
        return text
    # joiners change the letters beside them, and make one emoji of several
    harmless = "\u200c\u200d"
    if "\U0001f3f4" in text:
        harmless += FLAG_TAGS
    characters = []
    for character in text:
        is_seen = character.isprintable() and character != " "
        characters.append(character if is_seen or character in harmless else "\u2423")
    return "".join(characters)


def may_break(text: str, following: str) -> bool:
    """True if a line may end between words without a space: at Chinese characters, but not before
    punctuation, and not after what opens brackets and quotations."""
    is_wide = _is_wide(text[-1]) or _is_wide(following[0])
    opens = unicodedata.category(text[-1]) in ("Ps", "Pi")
    return is_wide and following[0].isalnum() and not opens


def _is_wide(character: str) -> bool:
    # two columns: Chinese characters, emoji
    return unicodedata.east_asian_width(character) in ("F", "W")
