"""Docs without their white-space tokens: only words are part of a sequence.

A tokenizer makes tokens of line breaks, tabs and second spaces. No component sees them: in their
place it is given a copy of the Doc without them, and what it finds is carried back to the tokens of
the Doc. Checked in tests/components/test_white_space.py against texts that were never wrapped.
"""

import re
import struct
from typing import Any, Dict, Iterable, List, Tuple, cast

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
        """values (n, ...): of the words. RETURNS those of all tokens, `absent` at white space."""
        spread = np.full((len(self.original), *values.shape[1:]), absent, values.dtype)
        spread[self.places] = values
        return spread

    def heads(self) -> Keys:
        """How many words after each word its head is (n,), as `doc.to_array` has it."""
        offsets = self.original.to_array([HEAD])[self.places].astype(np.int64).reshape(-1)
        heads = np.searchsorted(self.places, self.places + offsets)
        return (heads - np.arange(len(heads))).astype(np.uint64)


def original_of(doc: Doc) -> Doc:
    return doc.original if isinstance(doc, Words) else doc


def tokens_of(doc: Doc) -> List[Token]:
    """The words, as tokens of the Doc that they come from: extensions may compute their values of all
    that is there."""
    return [doc.original[i] for i in doc.places.tolist()] if isinstance(doc, Words) else list(doc)


def spans_of(group: SpanGroup) -> List[Span]:
    """The spans of a group where their characters stand now: components may have merged or split
    tokens since they were found, which spaCy does not tell a group."""
    doc = group.doc
    try:
        spans = list(group)
        if all(map(_is_in_place, spans)):
            return spans
    except IndexError:  # there are fewer tokens
        pass
    found: List[Span] = []
    for packed in srsly.msgpack_loads(group.to_bytes())["spans"]:
        span_id, kb_id, label, _, _, start, end = SPAN.unpack(packed)
        names = {"label": label, "kb_id": kb_id, "span_id": span_id}
        span = doc.char_span(start, end, alignment_mode="expand", **names)
        found += [] if span is None else [span]
    return found


def _is_in_place(span: Span) -> bool:
    last = span.doc[span.end - 1]
    first = span.doc[span.start]
    return span.start_char == first.idx and span.end_char == last.idx + len(last)


def on_original(doc: Doc, first: List[int], end: List[int]) -> Tuple[List[int], List[int]]:
    """Where stretches first <= i < end of words lie among all tokens; they begin and end with a
    word."""
    if not isinstance(doc, Words):
        return first, end
    places = doc.places.tolist()
    return [places[i] for i in first], [places[i - 1] + 1 for i in end]


def without(doc: Doc, spaces: Mask) -> Words:
    """The words of a Doc. spaces (len(doc),): its white-space tokens. A sentence, an entity or a
    span that begins with white space begins with the word after it; what is nothing else is left
    out."""
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
        words.user_data.update(_user_data(doc, words))
    for key, group in doc.spans.items():
        words.spans[key] = SpanGroup(words, name=key, spans=_spans(spans_of(group), words))
    return words


def line_breaks(doc: Doc) -> Keys:
    """Kind of the line break before each word (len(doc),): 0 none, 1 the end of a line that
    was full (FULL characters), 2 that of a shorter line, 3 a blank line. Text that is wrapped has
    the first within its sentences, and the second where a paragraph or a heading ends."""
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


def trimmed(spans: Iterable[Span]) -> List[Span]:
    """Spans without white space where they begin and end, on the same Doc; those that are nothing
    else are left out."""
    trimmed_spans = []
    for span in spans:
        words = [token.i for token in span if not token.is_space]
        if words:
            ends = words[0], words[-1] + 1
            word_span = Span(span.doc, *ends, span.label, kb_id=span.kb_id, span_id=span.id)
            trimmed_spans.append(word_span)
    return trimmed_spans


def _annotation(values: NDArray[np.generic], places: Ints) -> NDArray[np.generic]:
    """values (N, A): `ANNOTATION` of all tokens. RETURNS that of the words (n, A)."""
    kept = values[places]
    # of the sentence and the entity of each word
    numbers = (values[:, :2] == [1, BEGINS]).cumsum(axis=0)[places]
    new = numbers > 0
    new[1:] = numbers[1:] > numbers[:-1]
    kept[new[:, 0], 0] = 1
    kept[new[:, 1] & (kept[:, 1] == INSIDE), 1] = BEGINS
    return kept


def _user_data(doc: Doc, words: Words) -> Dict[Any, object]:
    """Extensions of the Doc and its words: spaCy keeps those of a token by its first character."""
    data: Dict[object, object] = {}
    if not doc.user_data:
        return data
    moved = dict(
        zip(doc.to_array(IDX)[words.places].tolist(), words.to_array(IDX).tolist(), strict=True)
    )
    for key, value in doc.user_data.items():
        if not (isinstance(key, tuple) and len(key) >= 4 and key[0] == "._.") or key[2] is None:
            data[key] = value
        elif key[3] is None and key[2] in moved:
            data["._.", key[1], moved[key[2]], None] = value
    return data


def _spans(spans: Iterable[Span], words: Words) -> List[Span]:
    of_words = []
    for span in spans:
        first, end = np.searchsorted(words.places, [span.start, span.end]).tolist()
        if first < end:
            of_words.append(Span(words, first, end, span.label, kb_id=span.kb_id, span_id=span.id))
    return of_words
