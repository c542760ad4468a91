"""Words and sequences of a batch against what spaCy says Doc by Doc."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hoseq.features.attributes import token_values
from spacy_hoseq.features.sequences import (
    WordDocs,
    by_doc,
    pieces_of,
    sentence_starts,
    sequence_lengths,
    vocab_of,
    words_and_lengths,
    words_of,
)
from spacy_hoseq.words import FULL_LINE_CHARACTERS

VOCAB = spacy.blank("xx").vocab


def doc_of(*sentences, known=True):
    words = [word for sentence in sentences for word in sentence.split()]
    starts = [i == 0 for sentence in sentences for i in range(len(sentence.split()))]
    return Doc(VOCAB, words=words, sent_starts=starts if known else None)


BATCHES = {
    "none": [],
    "empty": [Doc(VOCAB), Doc(VOCAB)],
    "no boundaries": [doc_of("a b c", known=False), doc_of("d", known=False)],
    "sentences": [doc_of("a b", "c", "d e f"), doc_of("g")],
    "both": [Doc(VOCAB), doc_of("a", "b c"), doc_of("d e", known=False), doc_of("f g", "h")],
    "unknown ones": [Doc(VOCAB, words=["a", "b", "c", "d"], sent_starts=[None, False, True, None])],
    "none at the beginning": [Doc(VOCAB, words=["a", "b", "c"], sent_starts=[False, False, True])],
}
C = Doc(VOCAB, words=["c"], sent_starts=[False])
BATCHES["one word, not at the beginning"] = [doc_of("a b"), C, doc_of("d")]


@pytest.mark.parametrize("name", BATCHES)
def test_words_and_sequences(name):
    docs = BATCHES[name]
    expected = []
    for doc in docs:
        for token in doc:
            if token.i == 0 or token.is_sent_start:
                expected.append(0)
            expected[-1] += 1
    words, lengths = words_and_lengths(docs)
    assert words.tolist() == [token.orth for doc in docs for token in doc]
    assert words.dtype == np.uint64
    assert lengths.tolist() == sequence_lengths(docs).tolist() == expected
    assert lengths.dtype == sequence_lengths(docs).dtype == np.int32
    for doc in docs:
        expected = [token.i == 0 or bool(token.is_sent_start) for token in doc]
        assert sentence_starts(doc).tolist() == expected


@pytest.mark.parametrize("name", BATCHES)
def test_parts(name):
    docs = BATCHES[name]
    values = np.arange(2 * sum(map(len, docs))).reshape(-1, 2)
    parts = by_doc(values, docs)
    assert [len(part) for part in parts] == [len(doc) for doc in docs]
    assert all(part.base is not None and part.shape[1] == 2 for part in parts), "views"
    assert [row for part in parts for row in part.tolist()] == values.tolist()


def test_docs_of_several_vocabularies():
    docs = [doc_of("a cat"), Doc(VOCAB), doc_of("it sees")]
    assert vocab_of(docs) is VOCAB
    with pytest.raises(ValueError, match=r"\[HS008\] The Doc 'the dog ' does not share"):
        vocab_of([*docs, Doc(spacy.blank("xx").vocab, words=["the", "dog"])])
    with pytest.raises(ValueError, match=r"\[HS008\]"):  # equal words are not the same strings
        vocab_of([Doc(Vocab(), words=["dog"]), Doc(Vocab(), words=["dog"])])


def test_docs_of_several_layers_are_read_once():
    docs = [doc_of("a b c"), doc_of("d")]
    once = WordDocs(docs)
    orths, lengths = words_and_lengths(once)
    assert list(once) == docs and lengths.tolist() == [3, 1]
    assert orths.tolist() == [token.orth for doc in docs for token in doc]
    docs[0][1].is_sent_start = True
    assert words_and_lengths(once)[1] is lengths
    assert words_and_lengths(WordDocs(docs))[1].tolist() == [1, 2, 1]


@pytest.mark.parametrize("most", [1, 2, 3, 5, 9, 50])
def test_pieces_of_a_doc(most):
    """Cut between sentences; with the annotation, and what extensions read."""
    starts = [True, False, False, True, True, False, False, False, True, False]
    doc = Doc(VOCAB, words=list("abcdefghij"), sent_starts=starts, tags=list("ABCDEFGHIJ"))
    doc.user_data["key"] = "value"
    pieces = pieces_of(doc, most)
    assert [token.tag_ for piece in pieces for token in piece] == list("ABCDEFGHIJ")
    assert [token.is_sent_start for piece in pieces for token in piece] == starts
    assert len(pieces) == {1: 4, 2: 4, 3: 3}.get(most, 1)
    assert all(piece.user_data["key"] == "value" for piece in pieces)
    one = Doc(doc.vocab, words=list("abcdefghij"))
    assert pieces_of(one, most) == [one]
    early = Doc(doc.vocab, words=list("abcdefghij"), sent_starts=[i < 2 for i in range(10)])
    assert pieces_of(early, 3) == [early], "no piece is shorter than that"


# The line break before a word: `line_break` in templates


NLP = spacy.blank("xx")


def kinds(text):
    (words,) = words_of([NLP.make_doc(text)])
    values = token_values(words, "line_break").tolist()
    return dict(zip([token.text for token in words], values, strict=True))


def test_kinds():
    long = "x" * FULL_LINE_CHARACTERS
    assert kinds("a b") == {"a": 0, "b": 0}
    assert kinds("a\nb\n\nc \n d\te  f") == {"a": 0, "b": 2, "c": 3, "d": 2, "e": 0, "f": 0}
    assert kinds(f"{long}\nb") == {long: 0, "b": 1}
    assert kinds(f"{long[1:]}\nb") == {long[1:]: 0, "b": 2}
    assert kinds(f"a\n{long} b\nc") == {"a": 0, long: 2, "b": 0, "c": 1}
    assert kinds("a\r\nb\r\rc\u2029d") == {"a": 0, "b": 2, "c": 3, "d": 2}
    assert kinds("\n\na") == {"a": 3}
    assert kinds("\n") == {}
