"""Chunks as spans and as tags, one tag a token, in the representations of Tjong Kim Sang & Veenstra
(1999) and others.

    iob2        B begins every chunk, I goes on                                   (CoNLL-2000)
    iob1        I for all tokens, B only where a chunk follows one of its type
    ioe2        E ends every chunk, I for the tokens before
    ioe1        I for all tokens, E only where a chunk of its type follows
    bilou       B, I, L for the first, inner and last token of longer chunks, U for chunks of one token
    start_end   the same with other letters: B, I, E and S (Uchimoto et al. 2000)

O is outside of all chunks. A tag is a letter, "-" and the type: "B-NP".

Reading needs no name of a representation. A chunk begins at a token with B, S or U; where the token
before is outside, of another type, or the end of a chunk; and it ends accordingly. So every
sequence of tags stands for chunks: this is also the rule by which sequences that are not well
formed are repaired, that of the CoNLL-2000 scorer. A sequence is well formed if writing its chunks
gives it back.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .arrays import AnyInts, Ints, Mask
from .errors import unknown_name, wrong_value

OUTSIDE = "O"
TAG = re.compile(r"O|([BIELSU])-(.+)", re.DOTALL)
# the letter of the only, the first, the inner and the last token of a chunk
LETTERS: dict[str, str] = {
    "iob2": "BBII",
    "iob1": "IIII",
    "ioe2": "EIIE",
    "ioe1": "IIII",
    "bilou": "UBIL",
    "start_end": "SBIE",
}
# where two chunks of one type meet: a letter, at the first token of the second (0) or the last of the first (-1)
PARTING = {"iob1": ("B", 0), "ioe1": ("E", -1)}


class Chunks(NamedTuple):
    """Chunks of one sequence, in order, none overlapping. first, end (C,): tokens first <= i < end.
    types (C,)."""

    first: Ints
    end: Ints
    types: list[str]


def read_chunks(tags: Sequence[str]) -> Chunks:
    """Chunks that tags stand for, in any representation. RAISES ValueError [HS027]: a tag of no
    known form."""
    return TagTable(tags).chunks(np.arange(len(tags)), np.zeros(len(tags), bool))


class Grammar(NamedTuple):
    """Rules of well-formed sequences. first, last (L,) bool: tags that can begin and end one. pairs
    (L, L) bool: tags that can follow each other, the earlier one first."""

    first: Mask
    last: Mask
    pairs: Mask


def grammar(tags: Sequence[str], representation: str) -> Grammar:
    """Rules of these tags: a sequence is well formed if and only if its ends and its pairs are
    permitted.

    representation: "iob2", "bilou" or "start_end": those in which a tag says whether it begins a
        chunk.
    RAISES ValueError [HS027]: a tag of no known form; [HS161]: another representation.
    """
    check_representation(representation, ("iob2", "bilou", "start_end"))
    _, start, middle, last = list(LETTERS[representation])
    split = [_split(tag) for tag in tags]
    letters = np.array([letter for letter, _ in split], str)
    types = np.array([name for _, name in split], str)
    goes_on = np.isin(letters, [middle, last])  # continues the chunk of the tag before
    unfinished = np.isin(letters, [start, middle]) & (middle != last)  # has to be continued
    may_go_on = np.isin(letters, [start, middle])
    same = types[:, None] == types[None, :]
    pairs = np.where(goes_on[None, :], may_go_on[:, None] & same, ~unfinished[:, None])
    return Grammar(~goes_on, ~unfinished, pairs)


class TagTable:
    """Tags by id.

    tags: all tags, kept as `names`. RAISES ValueError [HS027]: one of no known form.
    """

    def __init__(self, tags: Sequence[str]) -> None:
        self.names = list(tags)
        # lists, for there is a table for each sentence that is read: np.isin takes twice as long
        letters, types = zip(*map(_split, tags), strict=True) if tags else ((), ())
        self._types = sorted(set(types))
        self._kind = np.array([self._types.index(name) for name in types], np.intp)
        self._inside = np.array([letter != OUTSIDE for letter in letters], bool)
        self._begins = np.array([letter in "BSU" for letter in letters], bool)
        self._ends = np.array([letter in "ELSU" for letter in letters], bool)

    def chunks(self, ids: AnyInts, cuts: Mask) -> Chunks:
        """Chunks that tags stand for. ids (n,): tags; cuts (n,): tokens at which a chunk cannot go
        on."""
        kind = self._kind[ids]
        inside = self._inside[ids]
        begins = self._begins[ids] | cuts
        ends = self._ends[ids]
        # between token i - 1 and token i
        cut = np.ones(len(ids) + 1, bool)
        cut[1:-1] = begins[1:] | ends[:-1] | ~inside[1:] | ~inside[:-1] | (kind[1:] != kind[:-1])
        first = np.flatnonzero(cut[:-1] & inside)
        end = np.flatnonzero(cut[1:] & inside) + 1
        return Chunks(first, end, [self._types[k] for k in kind[first].tolist()])


def write_chunks(chunks: Chunks, n_tokens: int, representation: str) -> list[str]:
    """The tags of n_tokens tokens. RAISES ValueError [HS161]: no such representation; [HS027]:
    chunks that overlap, or reach beyond the tokens."""
    check_representation(representation)
    tags = [OUTSIDE] * n_tokens
    only, start, middle, last = list(LETTERS[representation])
    before = 0
    for first, end, name in zip(
        chunks.first.tolist(), chunks.end.tolist(), chunks.types, strict=True
    ):
        if not before <= first < end <= n_tokens:
            raise wrong_value(
                "chunk",
                f"{name}, tokens {first} to {end}, after one that ends at {before}",
                f"chunks in order, without overlap, of the {n_tokens} tokens",
            )
        size = end - first
        letters = only
        if size > 1:
            letters = start + middle * (size - 2) + last
        tags[first:end] = [f"{letter}-{name}" for letter in letters]
        # two chunks of one type meet: only another letter tells them apart
        if 0 < first == before and tags[first - 1][1:] == f"-{name}" and representation in PARTING:
            letter, place = PARTING[representation]
            tags[first + place] = f"{letter}-{name}"
        before = end
    return tags


def check_representation(representation: str, known: Iterable[str] = LETTERS) -> None:
    """Check the name of a representation. RAISES ValueError [HS161]."""
    if representation not in known:
        raise unknown_name(representation, known)


def tag_names(types: Sequence[str], representation: str) -> list[str]:
    """All tags that a representation needs for chunks of these types, O first. RAISES ValueError
    [HS161]."""
    check_representation(representation)
    parting, _ = PARTING.get(representation, ("", 0))
    letters = dict.fromkeys(LETTERS[representation] + parting)
    return [OUTSIDE, *(f"{letter}-{name}" for name in types for letter in letters)]


def _split(tag: str) -> tuple[str, str]:
    """Letter and type of a tag."""
    match = TAG.fullmatch(tag)
    if match is None:
        raise wrong_value(
            "chunk tag",
            repr(tag),
            'O, or one of the letters B, I, E, L, S, U, a hyphen and a type ("B-NP")',
        )
    return match[1] or OUTSIDE, match[2] or ""
