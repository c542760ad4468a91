"""What is right and what is wrong, against spaCy's scorer and against counting by hand."""

import numpy as np
import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.reporting.scores import (
    by_knowledge,
    confusions_of,
    counts,
    items_of,
    label_scores,
    scores_of,
)

VOCAB = spacy.blank("xx").vocab
WORDS = "the old dog runs a b c".split()


def tagged(tags, starts=(0, 4)):
    return Doc(VOCAB, words=WORDS, tags=tags.split(), sent_starts=[i in starts for i in range(len(WORDS))])


def spanned(*spans):
    doc = tagged("D A N V D N N")
    doc.spans["chunks"] = [Span(doc, *span) for span in spans]
    return doc


GOLD, GUESS = tagged("D A N V D N N"), tagged("D N N V D A A")
CHUNKS, FOUND = spanned((0, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")), spanned((0, 3, "NP"), (3, 4, "NP"), (4, 7, "NP"))


def test_tokens_of_each_sentence():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    of_sentence = counts([GOLD], gold, guess)
    assert of_sentence.tolist() == [[3, 4, 4], [1, 3, 3]]
    scores = scores_of(of_sentence, False)
    assert scores["accuracy"].value == Scorer.score_token_attr([Example(GUESS, GOLD)], "tag")["tag_acc"] == 4 / 7
    assert scores["sentences"].value == 0 and scores["sentences"].n == 2
    assert scores["accuracy"].low <= 4 / 7 <= scores["accuracy"].high


def test_spans():
    gold, guess = ([items_of(doc, "spans.chunks")] for doc in (CHUNKS, FOUND))
    of_sentence = counts([CHUNKS], gold, guess)
    assert of_sentence.tolist() == [[1, 2, 2], [0, 1, 1]]
    scores = scores_of(of_sentence, True)
    expected = Scorer.score_spans([Example(FOUND, CHUNKS)], "spans_chunks", getter=lambda doc, _: doc.spans["chunks"])
    assert [scores[name].value for name in ("precision", "recall", "f")] == pytest.approx(
        [expected[f"spans_chunks_{x}"] for x in "prf"]
    )


def test_labels():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    rows = {row.label: row for row in label_scores(gold, guess)}
    assert [row.label for row in label_scores(gold, guess)] == ["N", "D", "A", "V"]
    assert rows["N"] == ("N", 1 / 2, 1 / 3, 2 / 5, 3, 2) and rows["A"] == ("A", 0, 0, 0, 1, 2)


def test_what_is_not_annotated_does_not_count():
    part = tagged("D A N V D N N")
    part[6].tag_ = part[1].tag_ = ""
    gold, guess = ([items_of(doc, "tag")] for doc in (part, GUESS))
    assert counts([part], gold, guess).tolist() == [[3, 3, 3], [1, 2, 2]]
    assert {row.label: row.found for row in label_scores(gold, guess)} == {"D": 2, "N": 1, "V": 1, "A": 1}
    assert [(one.gold, one.guess, one.n) for one in confusions_of([part], gold, guess)] == [("N", "A", 1)]


def test_confusions_with_their_sentences():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    first, second = confusions_of([GOLD], gold, guess)
    assert (first.gold, first.guess, first.n) == ("N", "A", 2) and (second.gold, second.guess) == ("A", "N")
    assert [(one.before, one.words, one.after) for one in first.examples] == [
        (["a"], ["b"], ["c"]),
        (["a", "b"], ["c"], []),
    ]
    gold, guess = ([items_of(doc, "spans.chunks")] for doc in (CHUNKS, FOUND))
    pairs = [(one.gold, one.guess, one.n) for one in confusions_of([CHUNKS], gold, guess)]
    assert pairs == [("-", "NP", 1), ("NP", "-", 1), ("VP", "NP", 1)]


def test_known_and_unknown_words():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    shares = by_knowledge([GOLD], gold, guess, {"the", "old", "a"})
    assert [(share.value, share.n) for share in shares.values()] == [(2 / 3, 3), (2 / 4, 4)]


def test_white_space_is_no_token():
    doc = Doc(VOCAB, words=["a", "\n", "b"], tags=["D", "_SP", "N"])
    assert items_of(doc, "tag") == [(0, 1, "D"), (2, 3, "N")]
    assert counts([Doc(VOCAB)], [[]], [[]]).shape == (0, 3)
    assert np.isfinite(scores_of(np.zeros((0, 3)), False)["accuracy"].value)


def test_known_words_are_known_as_they_are_written():
    from spacy.tokens import Doc
    from spacy.vocab import Vocab

    from spacy_hoseq.reporting.scores import by_knowledge

    items = [[(0, 1, "A"), (1, 2, "B")]]
    shares = by_knowledge([Doc(Vocab(), words=["May", "may"])], items, items, {"may"})
    assert {name: share.n for name, share in shares.items()} == {"known words": 1, "unknown words": 1}


def test_precision_is_of_what_was_found():
    scores = scores_of(np.array([[1.0, 1.0, 3.0]]), True)
    assert scores["precision"].value == 1 and scores["recall"].value == pytest.approx(1 / 3)
