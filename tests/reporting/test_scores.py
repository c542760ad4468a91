"""What is right and what is wrong, against spaCy's scorer and against counting by hand."""

import numpy as np
import pytest
import spacy
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_hoseq.reporting.pages import round_ticks
from spacy_hoseq.reporting.scores import (
    Pair,
    by_knowledge,
    confusion_matrix,
    confusions_of,
    counts,
    feature_scores,
    label_scores,
    outside,
    pairs_of,
    scores_of,
)

VOCAB = spacy.blank("xx").vocab
WORDS = "The old dog runs a b c".split()


def tagged(tags, starts=(0, 4)):
    begins = [i in starts for i in range(len(WORDS))]
    return Doc(VOCAB, words=WORDS, tags=tags.split(), sent_starts=begins)


def spanned(*spans):
    doc = tagged("D A N V D N N")
    doc.spans["chunks"] = [Span(doc, *span) for span in spans]
    return doc


GOLD, GUESS = tagged("D A N V D N N"), tagged("D N N V D A A")
CHUNKS = spanned((0, 3, "NP"), (3, 4, "VP"), (4, 6, "NP"))
FOUND = spanned((0, 3, "NP"), (3, 4, "NP"), (4, 7, "NP"))


def test_tokens_of_each_sentence():
    of_sentence = counts([GOLD], pairs_of([GOLD], [GUESS], "tag"))
    assert of_sentence.tolist() == [[3, 4, 4], [1, 3, 3]]
    scores = scores_of(of_sentence, False)
    expected = Scorer.score_token_attr([Example(GUESS, GOLD)], "tag")["tag_acc"]
    assert scores["accuracy"]["value"] == expected == 4 / 7
    assert scores["sentences"]["value"] == 0 and scores["sentences"]["n"] == 2
    assert scores_of(np.array([[4.0, 4, 4], [1, 3, 3]]), False)["sentences"]["value"] == 0.5
    assert scores["accuracy"]["low"] <= 4 / 7 <= scores["accuracy"]["high"]


def test_spans():
    of_sentence = counts([CHUNKS], pairs_of([CHUNKS], [FOUND], "spans.chunks"))
    assert of_sentence.tolist() == [[1, 2, 2], [0, 1, 1]]
    scores = scores_of(of_sentence, True)
    settings = {"getter": lambda doc, _: doc.spans["chunks"]}
    expected = Scorer.score_spans([Example(FOUND, CHUNKS)], "spans_chunks", **settings)
    found = [scores[name]["value"] for name in ("precision", "recall", "f")]
    assert found == pytest.approx([expected[f"spans_chunks_{x}"] for x in "prf"])


def test_what_is_not_annotated_does_not_count():
    part = tagged("D A N V D N N")
    part[6].tag_ = part[1].tag_ = ""
    pairs = pairs_of([part], [GUESS], "tag")
    assert counts([part], pairs).tolist() == [[3, 3, 3], [1, 2, 2]]
    found = {row["label"]: row["found"] for row in label_scores(pairs)}
    assert found == {"D": 2, "N": 1, "V": 1, "A": 1}
    found = confusions_of([part], pairs, "no label")
    assert [(one["gold"], one["guess"], one["n"]) for one in found] == [("N", "A", 1)]


def test_confusions_with_their_sentences():
    pairs = pairs_of([GOLD], [GUESS], "tag")
    first, second = confusions_of([GOLD], pairs, "no label")
    assert (first["gold"], first["guess"], first["n"]) == ("N", "A", 2)
    assert (second["gold"], second["guess"]) == ("A", "N")
    assert [(one["before"], one["words"], one["after"]) for one in first["examples"]] == [
        (["a "], ["b "], ["c "]),
        (["a ", "b "], ["c "], []),
    ]
    pairs = pairs_of([CHUNKS], [FOUND], "spans.chunks")
    found = confusions_of([CHUNKS], pairs, outside("spans.chunks"))
    found = [(one["gold"], one["guess"], one["n"]) for one in found]
    assert found == [("NP", "no chunk", 1), ("VP", "NP", 1), ("no chunk", "NP", 1)]


def test_known_and_unknown_words():
    pairs = pairs_of([GOLD], [GUESS], "tag")
    shares = by_knowledge([GOLD], pairs, {"The", "old", "a"})
    assert [(share["value"], share["n"]) for share in shares.values()] == [(2 / 3, 3), (2 / 4, 4)]
    assert by_knowledge([GOLD], pairs, {"the"})["known words"]["n"] == 0, "as they are written"


def test_spans_of_the_same_tokens():
    """Each is right or wrong for itself; what is left over is paired."""
    gold, guess = spanned((0, 2, "A"), (0, 2, "B"), (0, 2, "C")), spanned((0, 2, "B"), (0, 2, "X"))
    pairs = pairs_of([gold], [guess], "spans.chunks")
    assert [pair[3:] for pair in pairs] == [("B", "B"), ("A", "X"), ("C", "")]
    assert counts([gold], pairs).tolist() == [[1, 2, 3], [0, 0, 0]]


def test_a_feature_is_right_with_its_value():
    first = Pair(0, 0, 1, "Case=Nom|Number=Sing", "Case=Gen|Number=Sing")
    pairs = [first, Pair(0, 1, 2, "Case=Nom", "Mood=Ind")]
    columns = ("precision", "recall", "gold", "found")
    rows = {row["label"]: tuple(row[name] for name in columns) for row in feature_scores(pairs)}
    assert rows == {"Case": (0, 0, 2, 1), "Number": (1, 1, 1, 1), "Mood": (0, 0, 0, 1)}


def test_precision_is_of_what_was_found():
    scores = scores_of(np.array([[1.0, 1.0, 3.0]]), True)
    assert scores["precision"]["n"] == 1 and scores["recall"]["n"] == 3
    assert scores["precision"]["value"] == 1 and scores["recall"]["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("n_labels", [2, 5, 30])
def test_a_matrix_counts_each_pair(n_labels):
    """Against a plain loop; labels beyond the worst twelve are together."""
    rng = np.random.default_rng(n_labels)
    labels = [[f"L{x}" for x in pair] for pair in rng.integers(n_labels, size=(400, 2))]
    pairs = [Pair(0, i, i + 1, *pair) for i, pair in enumerate(labels)]
    found = confusion_matrix(pairs, "no label")
    assert np.sum(found["counts"]) == 400 and len(found["labels"]) == min(n_labels, 13)
    others = {f"L{i}" for i in range(n_labels)} - set(found["labels"])
    assert ("others" in found["labels"]) == bool(others)
    for i, ours in enumerate(found["labels"]):
        for j, theirs in enumerate(found["labels"]):
            row, column = (others if label == "others" else {label} for label in (ours, theirs))
            n = sum(a in row and b in column for a, b in labels)
            assert found["counts"][i][j] == n


def test_a_matrix_of_spans_has_what_is_missing():
    pairs = [Pair(0, 0, 1, "PER", "PER"), Pair(0, 2, 4, "ORG", ""), Pair(0, 5, 6, "", "ORG")]
    found = confusion_matrix(pairs, outside("ents"))
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
    assert len(steps) == 1
    assert f"{steps.pop():.1e}".partition("e")[0] in ("1.0", "2.0", "2.5", "5.0")
    assert round_ticks(0.0) == [0.0, 1.0]
