"""The attributes of words that are always there: spaCy's own, affixes, and what the characters
say."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from spacy.lexeme import Lexeme

from .attributes import register_attribute
from .simplified import in_simplified

AFFIX_LENGTHS = range(1, 128)  # characters

for _name in (
    "orth", "lower", "norm", "shape", "prefix", "suffix",
    "is_alpha", "is_ascii", "is_digit", "is_lower", "is_upper", "is_title", "is_punct", "is_space", "is_bracket",
    "is_quote", "is_left_punct", "is_right_punct", "is_currency", "like_num", "like_url", "like_email", "is_stop",
):  # fmt: skip
    register_attribute(_name, word="lexeme")(attrgetter(_name))  # spaCy's own

register_attribute("length")(len)


@register_attribute("bias")
def bias(word: str) -> bool:
    return True


@register_attribute("prefix", numbers=AFFIX_LENGTHS, word="texts")
def prefix(length: int, words: Sequence[str]) -> list[str]:
    return [word[:length] if len(word) >= length else "" for word in words]


@register_attribute("suffix", numbers=AFFIX_LENGTHS, word="texts")
def suffix(length: int, words: Sequence[str]) -> list[str]:
    return [word[-length:] if len(word) >= length else "" for word in words]


@register_attribute("infix", numbers=AFFIX_LENGTHS, word="texts")
def infix(place: int, words: Sequence[str]) -> list[str]:
    """The three characters before the last `place` characters: endings of number, mood and
    possession stand before those of case ("ház|ak|ban", "ír|hat|ott")."""
    return [word[-place - 3 : -place] if len(word) >= place + 3 else "" for word in words]


@register_attribute("short_infix", numbers=AFFIX_LENGTHS, word="texts")
def short_infix(place: int, words: Sequence[str]) -> list[str]:
    """The two characters before the last `place` characters."""
    return [word[-place - 2 : -place] if len(word) >= place + 2 else "" for word in words]


@register_attribute("several_chars")
def several_chars(word: str) -> bool:
    """True for words of two characters and more. A template with it never fires in texts that are
    split into characters."""
    return len(word) > 1


@register_attribute("has_digit")
def has_digit(word: str) -> bool:
    return not word.isalpha() and any(map(str.isdigit, word))


@register_attribute("has_upper")
def has_upper(word: str) -> bool:
    return not word.islower() and any(map(str.isupper, word))


@register_attribute("has_hyphen")
def has_hyphen(word: str) -> bool:
    return "-" in word


@register_attribute("initial_upper")
def initial_upper(word: str) -> bool:
    return word[:1].isupper()


@register_attribute("edge")
def edge(word: str) -> None:
    """No word has a value. The places before and after a sentence have: "edge[-1]" fires at first
    words."""


@register_attribute("short_shape", word="lexeme")
def short_shape(word: Lexeme) -> str:
    """spaCy's shape with every run of one character class written once: "Mid-1990s" -> "Xx-dx"."""
    return _short(word.shape_)


@lru_cache(maxsize=10_000)  # (there are fewer shapes than words)
def _short(shape: str) -> str:
    return "".join(char for char, _ in groupby(shape))


@register_attribute("char_classes")
def char_classes(word: str) -> str:
    """The set of Unicode general categories in the word: "３０％" -> {Nd, Po}. For scripts without
    case."""
    return "".join(sorted({*map(unicodedata.category, word)}))


@register_attribute("folded")
def folded(word: str) -> str:
    """The word in lower case, with punctuation marks of one width and style: "，" -> ",", "。" -> ".",
    "「" -> "“", "Ａ" -> "a"."""
    marks = str.maketrans("。「」『』﹑", ".“”“”、")
    return unicodedata.normalize("NFKC", word.translate(marks)).lower()


@register_attribute("simplified", word="texts")
def simplified(words: Sequence[str]) -> list[str]:
    """`folded`, with traditional Chinese characters as simplified ones: "網路" -> "网路"."""
    return [_simplified(word) for word in words]


@lru_cache(maxsize=10_000)  # prefixes and suffixes of the same word follow
def _simplified(word: str) -> str:
    return folded(in_simplified(word))


@register_attribute("simplified_prefix", numbers=AFFIX_LENGTHS, word="texts")
def simplified_prefix(length: int, words: Sequence[str]) -> list[str]:
    return prefix(length, simplified(words))


@register_attribute("simplified_suffix", numbers=AFFIX_LENGTHS, word="texts")
def simplified_suffix(length: int, words: Sequence[str]) -> list[str]:
    return suffix(length, simplified(words))


@register_attribute("repeated_char")
def repeated_char(word: str) -> str:
    """Pattern of repeated characters: 高高兴兴 -> "AABB", 试试 -> "AA"; no value if it repeats none."""
    if not 2 <= len(word) <= 6:
        return ""
    distinct = "".join(dict.fromkeys(word))
    if len(distinct) == len(word):
        return ""
    return word.translate(str.maketrans(distinct, "ABCDE"[: len(distinct)]))
