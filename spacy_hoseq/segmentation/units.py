"""Text -> the smallest pieces that a word is made of, and which of them begin a sentence.

A unit is one character of a script without spaces (Han, kana), a run of letters of any other
script, a run of digits, or one sign; with the marks and joiners that belong to it. White space is
no unit: it parts units. Words of Chinese text are runs of units, so that "iPhone" and "2008" stay
whole.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from re import Pattern
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from spacy.vocab import Vocab

from ..arrays import Ints, Mask

UNKNOWN, SPACE, SIGN, LETTER, DIGIT, MARK = range(6)
_KINDS = np.zeros(sys.maxunicode + 1, np.uint8)  # of every code point, when it is first seen
# scripts in which a letter is a unit, by the names of their characters
ONE_BY_ONE = (
    "CJK",
    "HIRAGANA",
    "KATAKANA",
    "HALFWIDTH KATAKANA",
    "BOPOMOFO",
    "IDEOGRAPHIC",
    "YI SYLLABLE",
    "TANGUT",
)
BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
BETWEEN = "\n\n\0\n\n"  # texts that are looked at together: a sign that is none of their units
JOINER = 0x200D  # what follows it belongs to the same sign, too

ENDS = 1  # a sentence
CLOSES = 2  # a quote or a bracket
STOPS = 3  # a sentence, unless between letters or digits: 3.14, U.S.A, example.com
_SIGNS = np.zeros(sys.maxunicode + 1, np.uint8)
for _signs, _meaning in (
    ("。！？!?｡…", ENDS),
    ("”’\"'」』）)》〉】〕］]｝}", CLOSES),
    (".．", STOPS),
):
    _SIGNS[list(map(ord, _signs))] = _meaning

INNER = "hoseq_inner_cuts"  # table of a vocabulary; under the same name: a list
APOSTROPHES = ("'", "’")

# addresses of the web and of e-mail, where Chinese characters end them
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_ENDS = "com|org|net|edu|gov|info|io|cn|tw|hk|jp|kr|uk|de|fr|eu|ru"
_PATH = r"(?::[0-9]+)?(?:[/?#](?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*[A-Za-z0-9_~/#=&])?)?"

ADDRESS = re.compile(
    rf"(?<![A-Za-z0-9])(?:https?://{_NAME}(?:\.{_NAME})*{_PATH}"
    rf"|[A-Za-z0-9](?:[A-Za-z0-9._%+-]*[A-Za-z0-9_])?@{_NAME}(?:\.{_NAME})+"
    rf"|(?:{_NAME}\.)+(?:{_ENDS})(?![A-Za-z0-9-]|\.[A-Za-z]){_PATH})"
)


class Units(NamedTuple):
    """Units of a text. starts, ends (U,): first character, and the one after the last. after_space (U,) bool: white
    space, or the beginning of the text, stands before it. after_blank (U,) bool: a blank line, or
    the beginning of the text. sentence (U,) bool: it begins a sentence by the signs before it."""

    starts: Ints
    ends: Ints
    after_space: Mask
    after_blank: Mask
    sentence: Mask

    def of(self, text: str) -> list[str]:
        """The units as strings."""
        bounds = zip(self.starts.tolist(), self.ends.tolist(), strict=True)
        return [text[start:end] for start, end in bounds]


def units_of(
    text: str, cuts: Pattern[str] | None = None, whole: Pattern[str] | None = None
) -> Units:
    """The units of a text, in order.

    cuts: a unit begins wherever it matches, within runs of letters too. whole: each match is one
    unit, parted from others as by spaces.
    """
    codes: NDArray[np.uint32] = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    kinds = _kinds(codes)
    is_mark = kinds == MARK
    if is_mark.any():
        kinds = _with_marks(kinds, is_mark)
    begins = _begins(codes, kinds, is_mark)
    if cuts is not None:
        begins[[match.start() for match in cuts.finditer(text)]] = True
    apart = [] if whole is None else _make_whole(begins, text, whole)
    pieces = np.flatnonzero(begins)
    at = np.flatnonzero(kinds[pieces[:-1]] != SPACE)
    starts = pieces[at]
    after_space = np.isin(starts, apart) | (np.diff(at, prepend=-2) > 1)
    sentence = _sentence_starts(codes, kinds, starts, after_space)
    return Units(starts, pieces[at + 1], after_space, _after_blank(text, starts), sentence)


def units_of_each(
    texts: Sequence[str], cuts: Pattern[str] | None = None, whole: Pattern[str] | None = None
) -> Iterator[Units]:
    """`units_of` of each text, in one go."""
    together = units_of(BETWEEN.join(texts), cuts, whole)
    sizes = np.array([len(text) for text in texts], np.intp)
    offsets = np.cumsum(sizes + len(BETWEEN)) - sizes - len(BETWEEN)
    bounds = together.starts.searchsorted([offsets, offsets + sizes])
    for offset, (first, end) in zip(offsets.tolist(), bounds.T.tolist(), strict=True):
        own = Units._make(column[first:end] for column in together)
        yield own._replace(starts=own.starts - offset, ends=own.ends - offset)


def _begins(codes: "NDArray[np.uint32]", kinds: "NDArray[np.uint8]", is_mark: Mask) -> Mask:
    """True where a unit or white space begins, and at the end of the text (characters + 1,)."""
    begins = np.ones(len(codes) + 1, bool)
    same = kinds[1:] == kinds[:-1]
    begins[1:-1] = ~(same & (kinds[1:] != SIGN))
    if is_mark.any():
        begins[1:-1] &= ~(is_mark[1:] & (kinds[:-1] != SPACE)) & ~(
            (codes[:-1] == JOINER) & (kinds[1:] != SPACE)
        )
    return begins


def _make_whole(begins: Mask, text: str, whole: Pattern[str]) -> list[int]:
    """Bounds of what `whole` matches. begins: changed in place."""
    apart: list[int] = []
    for match in whole.finditer(text):
        begins[match.start() + 1 : match.end()] = False
        apart += match.span()
    begins[apart] = True
    return apart


def _after_blank(text: str, starts: Ints) -> Mask:
    """Units after a blank line or the beginning of the text (U,)."""
    ends = [0, *(match.end() for match in BLANK_LINE.finditer(text))]
    is_after = np.zeros(len(starts) + 1, bool)
    is_after[np.searchsorted(starts, ends)] = True
    return is_after[:-1]


def inner_cuts(vocab: Vocab) -> Pattern[str] | None:
    """Places where a unit may begin within a run of letters, by the table of a vocabulary; None if
    there are none."""
    table = vocab.lookups.get_table(INNER, None)
    return cuts_at(table[INNER]) if table and table[INNER] else None


def cuts_at(ends: Sequence[str]) -> Pattern[str]:
    """Places where one of these ends of a run of letters begins."""
    whole = [re.escape(end) if end[-1] in APOSTROPHES else f"{end}(?!\\w)" for end in ends]
    return re.compile(f"(?<=[^\\W\\d_])(?=({'|'.join(whole)}))", re.IGNORECASE)


def are_parted(before: str, after: str) -> bool:
    """True if two words need a space between them, by the last character of one and the first of
    the other."""
    kinds = _kinds(np.array([ord(before), ord(after)], np.uint32))
    return int(kinds[0]) in (LETTER, DIGIT, MARK) and int(kinds[1]) in (LETTER, DIGIT)


def _kinds(codes: "NDArray[np.uint32]") -> "NDArray[np.uint8]":
    """Kind of each character."""
    kinds = _KINDS.take(codes)
    if not kinds.all():
        for code in np.unique(codes[kinds == UNKNOWN]).tolist():
            _KINDS[code] = _kind(chr(code))
        kinds = _KINDS.take(codes)
    return kinds


def _kind(character: str) -> int:
    """Kind of one character."""
    if character.isspace():
        return SPACE
    category = unicodedata.category(character)
    if category[0] == "M" or category == "Cf" or 0x1F3FB <= ord(character) <= 0x1F3FF:  # skin tones
        return MARK
    if category == "Nd":
        return DIGIT
    name = unicodedata.name(character, "")
    # two of them make a flag
    is_letter = category[0] == "L" or name.startswith("REGIONAL INDICATOR")
    return LETTER if is_letter and not name.startswith(ONE_BY_ONE) else SIGN


def _with_marks(kinds: "NDArray[np.uint8]", is_mark: Mask) -> "NDArray[np.uint8]":
    """Kinds, in which marks have the kind of the character that they stand on. Marks on white space
    are signs."""
    base = np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(kinds))))
    of_base = kinds[base]
    of_base[is_mark & ((of_base == SPACE) | (of_base == MARK))] = SIGN
    return of_base


def _sentence_starts(
    codes: "NDArray[np.uint32]",
    kinds: "NDArray[np.uint8]",
    starts: Ints,
    after_space: Mask,
) -> Mask:
    """Units that begin a sentence (U,): those after 。！？ with the quotes and brackets that close
    there, and after a line break."""
    signs = _SIGNS.take(codes[starts])
    is_word = np.isin(kinds[starts], (LETTER, DIGIT))
    is_between = np.zeros(len(starts), bool)
    is_between[1:-1] = is_word[:-2] & is_word[2:] & ~after_space[2:]
    is_end = (signs == ENDS) | ((signs == STOPS) & ~is_between)
    closes = is_end | ((signs == CLOSES) & ~after_space)
    place = np.arange(len(starts))
    last_end, last_other = (
        np.maximum.accumulate(np.where(mask, place, -1)) for mask in (is_end, ~closes)
    )
    begins = np.append(True, closes & (last_end > last_other))
    begins[1:-1] &= ~closes[1:]
    line_breaks = np.flatnonzero((codes == ord("\n")) | (codes == 0x2029))
    begins[np.searchsorted(starts, line_breaks)] = True
    return begins[:-1]
