"""What a template may look at, and how its value becomes a uint64 (0 = the attribute has no value here).

Lexical attributes depend on the word alone and are computed once per word type (`lexicon.py`). All others are read
from the Doc each time: spaCy's own through `doc.to_array`, extensions ("_.name") token by token.
"""

import unicodedata
from functools import lru_cache, partial
from typing import Any, Callable, Dict, Optional

import numpy as np
from numpy.typing import NDArray
from spacy.attrs import IDS
from spacy.lexeme import Lexeme
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token

from ..errors import Errors
from .keys import Keys
from .known_tags import known_tag
from .pixels import COLUMNS, ROWS, pixel

LexicalAttribute = Callable[[Lexeme], int]
TextAttribute = Callable[[str], int]

_STRINGS = ("orth", "lower", "norm", "shape", "prefix", "suffix", "cluster")
_FLAGS = (
    "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title", "is_punct", "is_space", "is_bracket",
    "is_quote", "is_left_punct", "is_right_punct", "is_currency", "like_num", "like_url", "like_email", "is_stop",
)  # fmt: skip


def _field(name: str, lexeme: Lexeme) -> int:
    return int(getattr(lexeme, name))


def _of_text(function: TextAttribute, lexeme: Lexeme) -> int:
    return function(lexeme.text)


def _prefix(length: int, text: str) -> int:
    return int(get_string_id(text[:length])) if len(text) >= length else 0


def _suffix(length: int, text: str) -> int:
    return int(get_string_id(text[-length:])) if len(text) >= length else 0


def _has_digit(text: str) -> int:
    return int(any(map(str.isdigit, text)))


def _has_upper(text: str) -> int:
    return int(any(map(str.isupper, text)))


def _initial_upper(text: str) -> int:
    return int(text[:1].isupper())


def _edge(text: str) -> int:
    """No word has it, only the places before and after a sentence: "edge[-1]" fires at first words."""
    return 0


def _has_hyphen(text: str) -> int:
    return int("-" in text)


def _short_shape(lexeme: Lexeme) -> int:
    """spaCy's shape with every run of one character class written once: "Mid-1990s" -> "Xx-dx"."""
    return _short(lexeme.shape_)


@lru_cache(maxsize=10_000)  # there are fewer shapes than words
def _short(shape: str) -> int:
    return int(get_string_id("".join(c for i, c in enumerate(shape) if i == 0 or c != shape[i - 1])))


def _char_classes(text: str) -> int:
    """The set of Unicode general categories in the word: "３０％" -> {Nd, Po}. For scripts without case."""
    return int(get_string_id("".join(sorted({unicodedata.category(c) for c in text}))))


def _repeated_char(text: str) -> int:
    """How a word repeats characters: 高高兴兴 -> "AABB", 试试 -> "AA"; no value if it repeats none."""
    if not 2 <= len(text) <= 6:
        return 0
    letters = {c: chr(ord("A") + i) for i, c in enumerate(dict.fromkeys(text))}
    return int(get_string_id("".join(letters[c] for c in text))) if len(letters) < len(text) else 0


_OF_TEXT: Dict[str, TextAttribute] = {
    "has_digit": _has_digit,
    "has_upper": _has_upper,
    "has_hyphen": _has_hyphen,
    "initial_upper": _initial_upper,
    "edge": _edge,
    "length": len,
    "char_classes": _char_classes,
    "repeated_char": _repeated_char,
}


def text_attribute(name: str) -> Optional[TextAttribute]:
    """The function of a word's characters that `name` stands for, or None if it is no such attribute."""
    for affix, function in (("prefix", _prefix), ("suffix", _suffix)):
        if name.startswith(affix) and name[len(affix) :].isdigit():
            return partial(function, int(name[len(affix) :]))
    return _OF_TEXT.get(name)


def lexical_attribute(name: str) -> Optional[LexicalAttribute]:
    """The function of a word that `name` stands for, or None if the name is not a lexical attribute."""
    if name in _STRINGS or name in _FLAGS:
        return partial(_field, name)
    if name == "short_shape":
        return _short_shape
    if name.startswith("pixel") and name[5:].isdigit() and int(name[5:]) < ROWS * COLUMNS:
        return partial(pixel, int(name[5:]))
    if name.startswith("known_tag") and name[9:].isdigit():
        return partial(known_tag, int(name[9:]))
    of_text = text_attribute(name)
    return None if of_text is None else partial(_of_text, of_text)


def check_attribute(name: str) -> None:
    """RAISES ValueError [HS013]: the attribute is neither lexical, nor a token attribute, nor an extension."""
    if name != "bias" and not name.startswith("_.") and not lexical_attribute(name) and name.upper() not in IDS:
        others = ["prefixN", "suffixN", "pixelN", "known_tagN", "bias", "_.extension", "tag", "pos", "lemma"]
        known = sorted([*_STRINGS, *_FLAGS, *_OF_TEXT, "short_shape", *others])
        raise ValueError(Errors.HS013.format(name=name, known=", ".join(known)))


def token_values(doc: Doc, name: str) -> Keys:
    """Values of a non-lexical attribute. RETURNS (len(doc),) uint64. RAISES ValueError [HS014]: unknown extension."""
    if not name.startswith("_."):
        values: NDArray[Any] = doc.to_array([name.upper()])
        return values.reshape(len(doc)).astype(np.uint64)
    if not Token.has_extension(name[2:]):
        raise ValueError(Errors.HS014.format(name=name))
    return np.fromiter((_value(getattr(token._, name[2:])) for token in doc), dtype=np.uint64, count=len(doc))


def _value(value: Any) -> int:
    if isinstance(value, str):
        return int(get_string_id(value))  # 0 for the empty string
    if value is None or isinstance(value, (bool, int, np.integer)):
        return int(value or 0) & 0xFFFFFFFFFFFFFFFF
    raise ValueError(Errors.HS015.format(value=repr(value), type=type(value).__name__))
