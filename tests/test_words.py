"""Docs without their white-space tokens."""

import spacy
from spacy.tokens import Doc, Span

from spacy_hoseq.words import spans_of, without


def test_a_line_break_parts_two_words_as_a_space_does():
    doc = Doc(spacy.blank("xx").vocab, words=["a", "\n", "b", "c", "\t", "."], spaces=[False] * 6)
    words = without(doc, doc.to_array(["IS_SPACE"]).astype(bool))
    assert words.text == "a bc ." and words.places.tolist() == [0, 2, 3, 5]


def test_annotation_of_words():
    """A sentence or an entity that begins with white space begins with the word after it; all else stays."""
    words = ["a", "b", "\n", "c", "d", " ", "e"]
    vocab, tags = spacy.blank("xx").vocab, [*"AB_CD_E"]
    doc = Doc(vocab, words=words, tags=tags, sent_starts=[1, 0, 1, 0, 0, 0, 0])
    doc.set_ents([Span(doc, 0, 2, "X"), Span(doc, 2, 4, "Y"), Span(doc, 6, 7, "Z")])
    doc.spans["s"] = [Span(doc, 1, 3, "S"), Span(doc, 2, 3, "none"), Span(doc, 2, 5, "T")]
    found = without(doc, doc.to_array(["IS_SPACE"]).astype(bool))
    assert [token.tag_ for token in found] == [*"ABCDE"]
    assert [bool(token.is_sent_start) for token in found] == [True, False, True, False, False]
    assert [(ent.text, ent.label_) for ent in found.ents] == [("a b", "X"), ("c", "Y"), ("e", "Z")]
    found = [(span.start, span.end, span.label_) for span in found.spans["s"]]
    assert found == [(1, 2, "S"), (2, 4, "T")]


def test_spans_where_their_characters_stand_now():
    """Tokens were merged before a span, within it, and across its end."""
    for merged, expected in (((0, 2), (0, 2)), ((1, 3), (0, 2)), ((2, 4), (0, 3))):
        doc = Doc(spacy.blank("xx").vocab, words=["a", "b", "c", "d", "e"])
        doc.spans["one"] = [Span(doc, 0, 3, "S")]
        doc.spans["last"] = [Span(doc, 4, 5, "T")]
        with doc.retokenize() as retokenizer:
            retokenizer.merge(doc[slice(*merged)])
        spans = [span for name in ("one", "last") for span in spans_of(doc.spans[name])]
        assert [(span.start, span.end) for span in spans] == [expected, (3, 4)]
