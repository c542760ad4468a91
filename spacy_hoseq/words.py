"""Docs without their white-space tokens: only words are part of a sequence.

A tokenizer makes tokens of line breaks, tabs and second spaces. No component sees them: in their
place it is given a copy of the Doc without them, and what it finds is carried back to the tokens of
the Doc. Checked in tests/components/test_white_space.py against texts that were never wrapped.
"""

import re
import struct
from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import srsly
from numpy.typing import NDArray
from spacy.attrs import (
    DEP,
    ENT_ID,
    ENT_IOB,
    ENT_KB_ID,
    ENT_TYPE,
    HEAD,
    IDX,
    LEMMA,
    MORPH,
    NORM,
    ORTH,
    POS,
    SENT_START,
    SPACY,
    TAG,
)
from spacy.tokens import Doc, Span, SpanGroup, Token

from .arrays import Ints, Keys, Mask

ANNOTATION = [SENT_START, ENT_IOB, TAG, POS, MORPH, LEMMA, NORM, DEP, ENT_TYPE, ENT_ID, ENT_KB_ID]
SPAN = struct.Struct(">QQQllll")  # id, KB id, label, tokens, characters: as spaCy saves a span
BEGINS = 3  # values of ENT_IOB
INSIDE = 1
BREAKS = re.compile(r"\r\n|[\n\r\u2028\u2029]")
FULL = 50  # characters: shorter lines end where their author wanted it


class Words(Doc):
    """A copy of a Doc without its white-space tokens, with its annotation (without heads and
    vectors).

    original: that Doc. places (n,): where each token stands there.
    """

    original: Doc
    places: Ints

    def on_tokens(self, values: NDArray[np.generic], absent: float) -> NDArray[np.generic]:
        """Values of all tokens, `absent` at white space. values (n, ...): of the words."""
        spread = np.full((len(self.original), *values.shape[1:]), absent, values.dtype)
        spread[self.places] = values
        return spread

    def heads(self) -> Keys:
        """How many words after each word its head is (n,), as `doc.to_array` has it."""
        offsets = self.original.to_array([HEAD])[self.places].astype(np.int64).reshape(-1)
        heads = np.searchsorted(self.places, self.places + offsets)
        return (heads - np.arange(len(heads))).astype(np.uint64)


def original_of(doc: Doc) -> Doc:
    """The Doc with all its tokens."""
    return doc.original if isinstance(doc, Words) else doc


def tokens_of(doc: Doc) -> list[Token]:
    """Words as tokens of the original Doc: extensions may compute their values from all of it."""
    return [doc.original[i] for i in doc.places.tolist()] if isinstance(doc, Words) else list(doc)


def spans_of(group: SpanGroup) -> list[Span]:
    """Spans of a group at the tokens that hold their characters now. Components may have merged or
    split tokens since the spans were found, which spaCy does not tell a group."""
    try:
        spans = list(group)
        if all(map(_is_in_place, spans)):
            return spans
    except IndexError:  # there are fewer tokens
        pass
    packed = map(SPAN.unpack, srsly.msgpack_loads(group.to_bytes())["spans"])
    placed = [
        group.doc.char_span(start, end, label, kb_id, span_id=span_id, alignment_mode="expand")
        for span_id, kb_id, label, _, _, start, end in packed
    ]
    return [span for span in placed if span is not None]


def _is_in_place(span: Span) -> bool:
    return span.start_char == span[0].idx and span.end_char == span[-1].idx + len(span[-1])


def without(doc: Doc, spaces: Mask) -> Words:
    """A Doc without its white-space tokens. spaces (len(doc),): these tokens. A sentence, an entity
    or a span that begins with white space begins with the word after it; one of white space only
    is left out."""
    places = np.flatnonzero(~spaces)
    orths, follows = doc.to_array([ORTH, SPACY])[places].T
    follows[:-1] |= places[1:] > places[:-1] + 1  # a line break parts two words as a space does
    strings = doc.vocab.strings
    words = Words(
        doc.vocab,
        words=[strings[orth] for orth in orths.tolist()],
        spaces=follows.astype(bool).tolist(),
    )
    words.original = doc
    words.places = places
    if len(places):
        values = _annotation(doc.to_array(ANNOTATION), places)
        there = np.flatnonzero(values.any(axis=0))  # (morphology costs more than all else together)
        if len(there):
            words.from_array([ANNOTATION[a] for a in there.tolist()], cast(Any, values[:, there]))
        words.user_data.update(_user_data(doc, words) if doc.user_data else {})
    for key, group in doc.spans.items():
        words.spans[key] = SpanGroup(words, name=key, spans=_spans(spans_of(group), words))
    return words


def line_breaks(doc: Doc) -> Keys:
    """Kind of the line break before each word (len(doc),): 0 none, 1 the end of a line of FULL
    characters or more, 2 that of a shorter line, 3 a blank line. Wrapped text has kind 1 within
    sentences, and kind 2 where a paragraph or a heading ends."""
    kinds = np.zeros(len(doc), np.uint64)
    if not isinstance(doc, Words):
        return kinds
    text = doc.original.text
    starts = doc.original.to_array(IDX)
    places = doc.places
    # words after white space of its own
    for i in np.flatnonzero(np.diff(places, prepend=-1) > 1).tolist():
        first = int(starts[places[i - 1] + 1]) if i else 0
        space = text[first : int(starts[places[i]])]
        if BREAKS.search(space):
            line = first - (text.rfind("\n", 0, first) + 1)
            kinds[i] = 3 if len(BREAKS.findall(space)) > 1 else 1 if line >= FULL else 2
    return kinds


def trimmed(spans: Iterable[Span]) -> list[Span]:
    """Spans without white space where they begin and end, on the same Doc. Spans of white space only
    are left out."""
    words = [(span, [token.i for token in span if not token.is_space]) for span in spans]
    return [
        Span(span.doc, at[0], at[-1] + 1, span.label, kb_id=span.kb_id, span_id=span.id)
        for span, at in words
        if at
    ]


def _annotation(values: NDArray[np.generic], places: Ints) -> NDArray[np.generic]:
    """Annotation of the words (n, A). values (N, A): `ANNOTATION` of all tokens."""
    kept = values[places]
    # of the sentence and the entity of each word
    numbers = (values[:, :2] == [1, BEGINS]).cumsum(axis=0)[places]
    new = numbers > 0
    new[1:] = numbers[1:] > numbers[:-1]
    kept[new[:, 0], 0] = 1
    kept[new[:, 1] & (kept[:, 1] == INSIDE), 1] = BEGINS
    return kept


def _user_data(doc: Doc, words: Words) -> dict[Any, object]:
    """Extensions of the Doc and its words: spaCy keeps those of a token by its first character."""
    data: dict[object, object] = {}
    before = doc.to_array(IDX)[words.places].tolist()
    place_of = dict(zip(before, words.to_array(IDX).tolist(), strict=True))
    for key, value in doc.user_data.items():
        if not (isinstance(key, tuple) and len(key) >= 4 and key[0] == "._.") or key[2] is None:
            data[key] = value
        elif key[3] is None and key[2] in place_of:
            data["._.", key[1], place_of[key[2]], None] = value
    return data


def _spans(spans: Iterable[Span], words: Words) -> list[Span]:
    """Spans of all tokens as spans of the words."""
    of_words = []
    for span in spans:
        first, end = np.searchsorted(words.places, [span.start, span.end]).tolist()
        if first < end:
            of_words.append(Span(words, first, end, span.label, kb_id=span.kb_id, span_id=span.id))
    return of_words
