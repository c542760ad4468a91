"""Docs without their white-space tokens: only words are part of a sequence.

A tokenizer makes tokens of line breaks, tabs and second spaces. No component sees them: it is given
a copy of the Doc without them, and its labels are carried back to the tokens of the Doc.
tests/components/test_white_space.py compares wrapped texts with texts that were never wrapped.
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
FULL_LINE_CHARACTERS = 50  # shorter lines end where their author wanted it


class Words(Doc):
    """A copy of a Doc without its white-space tokens, with its annotation (without heads and
    vectors).

    original: that Doc. places (n,): where each token stands there.
    """

    original: Doc
    places: Ints

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
    if isinstance(doc, Words):
        return [doc.original[i] for i in doc.places.tolist()]
    return list(doc)


def spans_of(group: SpanGroup) -> list[Span]:
    """Spans of a group at the tokens that now hold their characters. If components have merged or
    split tokens since the spans were found, the token numbers in the group are wrong."""
    try:
        spans = list(group)
        if all(map(_is_in_place, spans)):
            return spans
    except IndexError:
        # a span ends beyond the last token
        pass
    placed = []
    for span_id, kb_id, label, start, end in saved_spans(group):
        span = group.doc.char_span(
            start, end, label, kb_id, span_id=span_id, alignment_mode="expand"
        )
        if span is not None:
            placed.append(span)
    return placed


def saved_spans(group: SpanGroup) -> list[tuple[int, int, int, int, int]]:
    """Id, KB id, label, start and end of each span, by characters of the text. They stay true when
    tokens are merged or split; spaCy gives them only as it saves them."""
    rows = []
    for data in srsly.msgpack_loads(group.to_bytes())["spans"]:
        # id, KB id, label, tokens, characters
        span_id, kb_id, label, _, _, start, end = struct.unpack(">QQQllll", data)
        rows.append((span_id, kb_id, label, start, end))
    return rows


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
        # only what there is: morphology costs more than all else together
        there = np.flatnonzero(values.any(axis=0))
        if len(there):
            words.from_array([ANNOTATION[a] for a in there.tolist()], cast(Any, values[:, there]))
        if doc.user_data:
            words.user_data.update(_user_data(doc, words))
    for key, group in doc.spans.items():
        words.spans[key] = SpanGroup(words, name=key, spans=_spans(spans_of(group), words))
    return words


def line_breaks(doc: Doc) -> Keys:
    """Kind of the line break before each word (len(doc),): 0 none, 1 the end of a full line, 2 the
    end of a line of less than FULL_LINE_CHARACTERS, 3 a blank line. Wrapped text has kind 1 within
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
        n_breaks = len(re.findall(r"\r\n|[\n\r\u2028\u2029]", space))
        if n_breaks > 1:
            kinds[i] = 3
        elif n_breaks == 1:
            n_characters = first - (text.rfind("\n", 0, first) + 1)
            kinds[i] = 1 if n_characters >= FULL_LINE_CHARACTERS else 2
    return kinds


def trimmed(spans: Iterable[Span]) -> list[Span]:
    """Spans without white space where they begin and end, on the same Doc. Spans of white space only
    are left out."""
    shorter = []
    for span in spans:
        words = [token.i for token in span if not token.is_space]
        if words:
            first = words[0]
            end = words[-1] + 1
            new = Span(span.doc, first, end, span.label, kb_id=span.kb_id, span_id=span.id)
            shorter.append(new)
    return shorter


def _annotation(values: NDArray[np.generic], places: Ints) -> NDArray[np.generic]:
    """Annotation of the words (n, A). values (N, A): `ANNOTATION` of all tokens."""
    annotation = values[places]
    # number of the sentence and of the entity of each word; ENT_IOB is 3 where an entity begins
    numbers = (values[:, :2] == [1, 3]).cumsum(axis=0)[places]
    is_new = numbers > 0
    is_new[1:] = numbers[1:] > numbers[:-1]
    # what white space has begun begins with the word after it; ENT_IOB is 1 within an entity
    annotation[is_new[:, 0], 0] = 1
    annotation[is_new[:, 1] & (annotation[:, 1] == 1), 1] = 3
    return annotation


def _user_data(doc: Doc, words: Words) -> dict[Any, object]:
    """Extensions of the Doc and its words. The key of one is "._.", its name, and the characters of
    the token or span, which differ in the copy."""
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
    copies = []
    for span in spans:
        first, end = np.searchsorted(words.places, [span.start, span.end]).tolist()
        if first < end:
            copies.append(Span(words, first, end, span.label, kb_id=span.kb_id, span_id=span.id))
    return copies
