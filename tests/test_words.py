"""Docs without their white-space tokens."""

import spacy
from spacy.tokens import Doc

from spacy_hoseq.words import without


def test_a_line_break_parts_two_words_as_a_space_does():
    doc = Doc(spacy.blank("xx").vocab, words=["a", "\n", "b", "c", "\t", "."], spaces=[False] * 6)
    words = without(doc, doc.to_array(["IS_SPACE"]).astype(bool))
    assert words.text == "a bc ." and words.places.tolist() == [0, 2, 3, 5]
