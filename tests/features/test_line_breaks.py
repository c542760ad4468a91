"""The line break before a word: `line_break` in templates."""

import spacy

from spacy_hoseq.features.attributes import token_values
from spacy_hoseq.features.sequences import words_of
from spacy_hoseq.words import FULL

NLP = spacy.blank("xx")


def kinds(text):
    (words,) = words_of([NLP.make_doc(text)])
    return dict(zip([token.text for token in words], token_values(words, "line_break").tolist(), strict=True))


def test_kinds():
    long = "x" * FULL
    assert kinds("a b") == {"a": 0, "b": 0}
    assert kinds("a\nb\n\nc \n d\te  f") == {"a": 0, "b": 2, "c": 3, "d": 2, "e": 0, "f": 0}
    assert kinds(f"{long}\nb") == {long: 0, "b": 1}
    assert kinds(f"{long[1:]}\nb") == {long[1:]: 0, "b": 2}
    assert kinds(f"a\n{long} b\nc") == {"a": 0, long: 2, "b": 0, "c": 1}
    assert kinds("a\r\nb\r\rc\u2029d") == {"a": 0, "b": 2, "c": 3, "d": 2}
    assert kinds("\n\na") == {"a": 3}
    assert kinds("\n") == {}
