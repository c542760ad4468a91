"""What is right and what is wrong, against spaCy's scorer and against counting by hand."""

import numpy as np
import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.reporting.pages import round_ticks
from spacy_hoseq.reporting.scores import (
    by_knowledge,
    confusion_matrix,
    confusions_of,
    counts,
    items_of,
    label_scores,
    outside,
    scores_of,
)

VOCAB = spacy.blank("xx").vocab
WORDS = "the old dog runs a b c".split()


def tagged(tags, starts=(0, 4)):
    return Doc(
        VOCAB, words=WORDS, tags=tags.split(), sent_starts=[i in starts for i in range(len(WORDS))]
    )


def spanned(*spans):
    doc = tagged("D A N V D N N")
    doc.spans["chunks"] = [Span(doc, *span) for span in spans]
    return doc


GOLD, GUESS = tagged("D A N V D N N"), tagged("D N N V D A A")
CHUNKS, FOUND = (
    spanned((0, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")),
    spanned((0, 3, "NP"), (3, 4, "NP"), (4, 7, "NP")),
)


def test_tokens_of_each_sentence():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    of_sentence = counts([GOLD], gold, guess)
    assert of_sentence.tolist() == [[3, 4, 4], [1, 3, 3]]
    scores = scores_of(of_sentence, False)
    assert (
        scores["accuracy"].value
        == Scorer.score_token_attr([Example(GUESS, GOLD)], "tag")["tag_acc"]
        == 4 / 7
    )
    assert scores["sentences"].value == 0 and scores["sentences"].n == 2
    assert scores["accuracy"].low <= 4 / 7 <= scores["accuracy"].high


def test_spans():
    gold, guess = ([items_of(doc, "spans.chunks")] for doc in (CHUNKS, FOUND))
    of_sentence = counts([CHUNKS], gold, guess)
    assert of_sentence.tolist() == [[1, 2, 2], [0, 1, 1]]
    scores = scores_of(of_sentence, True)
    expected = Scorer.score_spans(
        [Example(FOUND, CHUNKS)], "spans_chunks", getter=lambda doc, _: doc.spans["chunks"]
    )
    assert [scores[name].value for name in ("precision", "recall", "f")] == pytest.approx(
        [expected[f"spans_chunks_{x}"] for x in "prf"]
    )


def test_labels():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    rows = {row["label"]: tuple(row.values()) for row in label_scores(gold, guess)}
    assert [row["label"] for row in label_scores(gold, guess)] == ["N", "D", "A", "V"]
    assert rows["N"] == ("N", 1 / 2, 1 / 3, 2 / 5, 3, 2) and rows["A"] == ("A", 0, 0, 0, 1, 2)


def test_what_is_not_annotated_does_not_count():
    part = tagged("D A N V D N N")
    part[6].tag_ = part[1].tag_ = ""
    gold, guess = ([items_of(doc, "tag")] for doc in (part, GUESS))
    assert counts([part], gold, guess).tolist() == [[3, 3, 3], [1, 2, 2]]
    assert {row["label"]: row["found"] for row in label_scores(gold, guess)} == {
        "D": 2,
        "N": 1,
        "V": 1,
        "A": 1,
    }
    assert [
        (one["gold"], one["guess"], one["n"])
        for one in confusions_of([part], gold, guess, "no label")
    ] == [("N", "A", 1)]


def test_confusions_with_their_sentences():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    first, second = confusions_of([GOLD], gold, guess, "no label")
    assert (first["gold"], first["guess"], first["n"]) == ("N", "A", 2)
    assert (second["gold"], second["guess"]) == ("A", "N")
    assert [(one["before"], one["words"], one["after"]) for one in first["examples"]] == [
        (["a "], ["b "], ["c "]),
        (["a ", "b "], ["c "], []),
    ]
    gold, guess = ([items_of(doc, "spans.chunks")] for doc in (CHUNKS, FOUND))
    pairs = [
        (one["gold"], one["guess"], one["n"])
        for one in confusions_of([CHUNKS], gold, guess, outside("spans.chunks"))
    ]
    assert pairs == [("NP", "no chunk", 1), ("VP", "NP", 1), ("no chunk", "NP", 1)]


def test_known_and_unknown_words():
    gold, guess = ([items_of(doc, "tag")] for doc in (GOLD, GUESS))
    shares = by_knowledge([GOLD], gold, guess, {"the", "old", "a"})
    assert [(share.value, share.n) for share in shares.values()] == [(2 / 3, 3), (2 / 4, 4)]
    assert by_knowledge([GOLD], gold, guess, {"The"})["known words"].n == 0, "as they are written"


def test_white_space_is_no_token():
    doc = Doc(VOCAB, words=["a", "\n", "b"], tags=["D", "_SP", "N"])
    assert items_of(doc, "tag") == [(0, 1, "D"), (2, 3, "N")]
    assert counts([Doc(VOCAB)], [[]], [[]]).shape == (0, 3)
    assert np.isfinite(scores_of(np.zeros((0, 3)), False)["accuracy"].value)


def test_precision_is_of_what_was_found():
    scores = scores_of(np.array([[1.0, 1.0, 3.0]]), True)
    assert scores["precision"].value == 1 and scores["recall"].value == pytest.approx(1 / 3)


@pytest.mark.parametrize("n_labels", [2, 5, 30])
def test_a_matrix_counts_each_pair(n_labels):
    """Against a plain loop; labels beyond the worst twelve are together."""
    rng = np.random.default_rng(n_labels)
    gold, guess = (
        [[(i, i + 1, f"L{x}") for i, x in enumerate(rng.integers(n_labels, size=400))]]
        for _ in range(2)
    )
    found = confusion_matrix(gold, guess, "no label")
    assert np.sum(found["counts"]) == 400 and len(found["labels"]) == min(n_labels, 13)
    others = {f"L{i}" for i in range(n_labels)} - set(found["labels"])
    assert ("others" in found["labels"]) == bool(others)
    for i, ours in enumerate(found["labels"]):
        for j, theirs in enumerate(found["labels"]):
            row, column = (others if label == "others" else {label} for label in (ours, theirs))
            n = sum(a[2] in row and b[2] in column for a, b in zip(gold[0], guess[0], strict=True))
            assert found["counts"][i][j] == n


def test_a_matrix_of_spans_has_what_is_missing():
    found = confusion_matrix(
        [[(0, 1, "PER"), (2, 4, "ORG")]], [[(0, 1, "PER"), (5, 6, "ORG")]], outside("ents")
    )
    assert found["labels"] == ["ORG", "no entity", "others"]
    assert found["counts"] == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    assert [outside(place) for place in ("tag", "ents", "spans.chunks", "spans.x")] == [
        "no label", "no entity", "no chunk", "no span",
    ]  # fmt: skip


@pytest.mark.parametrize("top", [1e-9, 0.0004, 0.013, 0.0999, 0.1, 1.0, 1.0001, 7.0, 1234.5])
def test_ticks_are_round(top):
    ticks = round_ticks(top)
    assert ticks[0] == 0 and ticks[-2] < top <= ticks[-1] * (1 + 1e-9) and 5 <= len(ticks) <= 7
    steps = {float(f"{b - a:.6g}") for a, b in zip(ticks, ticks[1:], strict=False)}
    assert len(steps) == 1 and f"{steps.pop():.1e}".partition("e")[0] in (
        "1.0",
        "2.0",
        "2.5",
        "5.0",
    )
    assert round_ticks(0.0) == [0.0, 1.0]
