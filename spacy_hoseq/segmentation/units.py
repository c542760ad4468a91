"""Units, the smallest pieces of words, and sentence starts by signs.

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

# ends of sentences; quotes and brackets that close; ends, unless between letters or digits: 3.14,
# U.S.A, example.com
ENDS, CLOSES, STOPS = range(1, 4)
_SIGNS = np.zeros(sys.maxunicode + 1, np.uint8)
for _signs, _meaning in (
    ("。！？!?｡…", ENDS),
    ("”’\"'」』）)》〉】〕］]｝}", CLOSES),
    (".．", STOPS),
):
    _SIGNS[list(map(ord, _signs))] = _meaning

INNER = "hoseq_inner_cuts"  # table of a vocabulary; under the same name: ends of runs of letters
APOSTROPHES = ("'", "’")


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
    apart: list[int] = []
    if whole is not None:
        apart = _make_whole(begins, text, whole)
    pieces = np.flatnonzero(begins)
    # white space is no unit, but parts units
    at = np.flatnonzero(kinds[pieces[:-1]] != SPACE)
    starts = pieces[at]
    after_space = np.isin(starts, apart) | (np.diff(at, prepend=-2) > 1)
    sentence = _sentence_starts(codes, kinds, starts, after_space)
    return Units(starts, pieces[at + 1], after_space, _after_blank(text, starts), sentence)


def units_of_each(
    texts: Sequence[str], cuts: Pattern[str] | None = None, whole: Pattern[str] | None = None
) -> Iterator[Units]:
    """`units_of` for many texts together."""
    between = "\n\n\0\n\n"  # a sign that is a unit of neither text
    together = units_of(between.join(texts), cuts, whole)
    sizes = np.array([len(text) for text in texts], np.intp)
    offsets = np.cumsum(sizes + len(between)) - sizes - len(between)
    bounds = together.starts.searchsorted([offsets, offsets + sizes])
    for offset, (first, end) in zip(offsets.tolist(), bounds.T.tolist(), strict=True):
        units = Units._make(column[first:end] for column in together)
        yield units._replace(starts=units.starts - offset, ends=units.ends - offset)


def _begins(codes: "NDArray[np.uint32]", kinds: "NDArray[np.uint8]", is_mark: Mask) -> Mask:
    """True where a unit or white space begins, and at the end of the text (characters + 1,)."""
    begins = np.ones(len(codes) + 1, bool)
    same = kinds[1:] == kinds[:-1]
    begins[1:-1] = ~(same & (kinds[1:] != SIGN))
    if is_mark.any():
        begins[1:-1] &= ~(is_mark[1:] & (kinds[:-1] != SPACE))
        # what follows a zero-width joiner belongs to the same sign
        begins[1:-1] &= ~((codes[:-1] == 0x200D) & (kinds[1:] != SPACE))
    return begins


def _make_whole(begins: Mask, text: str, whole: Pattern[str]) -> list[int]:
    """Makes each match of `whole` one unit. begins: changed in place. RETURNS (list): where matches
    begin and end."""
    apart: list[int] = []
    for match in whole.finditer(text):
        begins[match.start() + 1 : match.end()] = False
        apart += match.span()
    begins[apart] = True
    return apart


def _after_blank(text: str, starts: Ints) -> Mask:
    """Units after a blank line or the beginning of the text (U,)."""
    ends = [0, *(match.end() for match in re.finditer(r"\n[^\S\n]*\n\s*", text))]
    is_after = np.zeros(len(starts) + 1, bool)
    is_after[np.searchsorted(starts, ends)] = True
    return is_after[:-1]


def inner_cuts(vocab: Vocab) -> Pattern[str] | None:
    """A pattern for places where a unit may begin within letters, by the vocabulary's table; None =
    no table."""
    table = vocab.lookups.get_table(INNER, None)
    if not table or not any(table.values()):
        return None
    return cuts_at(table[INNER], table.get("beginnings", ()))


def cuts_at(ends: Sequence[str], beginnings: Sequence[str] = ()) -> Pattern[str]:
    """A pattern that matches where one of these ends of a run of letters begins, or one of these
    beginnings ends, within the run."""
    places = []
    if ends:
        patterns = []
        for end in ends:
            is_letters = end[-1] not in APOSTROPHES
            patterns.append(re.escape(end) + is_letters * r"(?!\w)")
        places.append(rf"(?<=[^\W\d_])(?=({'|'.join(patterns)}))")
    # each looks behind by its own width
    places += [rf"(?<=\b{re.escape(beginning)})(?=[^\W\d_])" for beginning in beginnings]
    return re.compile("|".join(places) or "(?!)", re.IGNORECASE)


def are_parted(before: str, after: str) -> bool:
    """True if two words need a space between them. before, after: the characters that meet."""
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
    # two regional indicators make a flag
    if category[0] != "L" and not name.startswith("REGIONAL INDICATOR"):
        return SIGN
    # scripts in which a letter is a unit
    han = ("CJK", "IDEOGRAPHIC", "YI SYLLABLE", "TANGUT", "BOPOMOFO")
    kana = ("HIRAGANA", "KATAKANA", "HALFWIDTH KATAKANA")
    return SIGN if name.startswith(han + kana) else LETTER


def _with_marks(kinds: "NDArray[np.uint8]", is_mark: Mask) -> "NDArray[np.uint8]":
    """Kinds in which marks have the kind of their base character. Marks on white space are
    signs."""
    base = np.maximum.accumulate(np.where(is_mark, 0, np.arange(len(kinds))))
    base_kinds = kinds[base]
    base_kinds[is_mark & ((base_kinds == SPACE) | (base_kinds == MARK))] = SIGN
    return base_kinds


def _sentence_starts(
    codes: "NDArray[np.uint32]",
    kinds: "NDArray[np.uint8]",
    starts: Ints,
    after_space: Mask,
) -> Mask:
    """True for units that begin a sentence (U,): behind 。！？ and what closes there, and behind a
    line break."""
    signs = _SIGNS.take(codes[starts])
    is_word = np.isin(kinds[starts], (LETTER, DIGIT))
    is_between = np.zeros(len(starts), bool)
    is_between[1:-1] = is_word[:-2] & is_word[2:] & ~after_space[2:]
    is_end = (signs == ENDS) | ((signs == STOPS) & ~is_between)
    closes = is_end | ((signs == CLOSES) & ~after_space)
    place = np.arange(len(starts))
    last_end = np.maximum.accumulate(np.where(is_end, place, -1))
    last_other = np.maximum.accumulate(np.where(closes, -1, place))
    # behind an end, and what closes there
    begins = np.append(True, closes & (last_end > last_other))
    begins[1:-1] &= ~closes[1:]
    line_breaks = np.flatnonzero((codes == ord("\n")) | (codes == 0x2029))
    begins[np.searchsorted(starts, line_breaks)] = True
    return begins[:-1]


def _address() -> Pattern[str]:
    """Addresses of the web and of e-mail, where Chinese characters end them."""
    name = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
    domain = "com|org|net|edu|gov|info|io|cn|tw|hk|jp|kr|uk|de|fr|eu|ru"
    path = r"(?::[0-9]+)?(?:[/?#](?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*[A-Za-z0-9_~/#=&])?)?"
    return re.compile(
        rf"(?<![A-Za-z0-9])(?:https?://{name}(?:\.{name})*{path}"
        rf"|[A-Za-z0-9](?:[A-Za-z0-9._%+-]*[A-Za-z0-9_])?@{name}(?:\.{name})+"
        rf"|(?:{name}\.)+(?:{domain})(?![A-Za-z0-9-]|\.[A-Za-z]){path})"
    )


ADDRESS = _address()
