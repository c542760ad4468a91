"""Pairs of mentions of one word, against a search for all pairs."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.same_word import SameWordPairs

from .plain import named_features, spans_of

VOCAB = spacy.blank("xx").vocab
LABELS = ["B", "I", "O"]


def doc_of(text, **annotation):
    return Doc(VOCAB, words=text.split(), **annotation)


def pairs(source, *docs):
    """(first, last) of each pair, and a check that first, gap and last have the slots 0, 1, 2."""
    spans = spans_of(source.fire(list(docs)))
    for rule, _, slots in spans:
        assert rule == 0 and slots == [0] + [1] * (len(slots) - 2) + [2]
    return sorted((first, first + len(slots) - 1) for _, first, slots in spans)


def plain_pairs(doc, counts, max_distance):
    """Neighbouring mentions in one sentence, by looking at every pair."""
    sentence = np.cumsum([bool(token.is_sent_start) or token.i == 0 for token in doc])
    found = []
    for a in range(len(doc)):
        for b in range(a + 1, len(doc)):
            same = doc[a].text == doc[b].text and counts(doc[a]) and b - a <= max_distance
            between = any(doc[i].text == doc[a].text for i in range(a + 1, b))
            if same and not between and sentence[a] == sentence[b]:
                found.append((a, b))
    return found


FILTERS = {
    "every word": ({}, lambda token: True),
    "title": ({"IS_TITLE": True}, lambda token: token.is_title),
    "one word": ({"LOWER": "a"}, lambda token: token.lower_ == "a"),
    "several at once": ({"LOWER": "a", "OP": "+"}, lambda token: token.lower_ == "a"),
}


@pytest.mark.parametrize("max_distance", [1, 2, 3, 50])
@pytest.mark.parametrize("token, counts", FILTERS.values(), ids=FILTERS)
def test_pairs_are_those_of_a_search(token, counts, max_distance):
    rng = np.random.default_rng(max_distance)
    source = SameWordPairs([["B"]], token, max_distance)
    docs, expected, n = [], [], 0
    for size in (0, 1, 2, 8, 20, 20, 40, 40):
        words = rng.choice(["a", "A", "b", "Bc", "Dd"], size=size).tolist()
        starts = [i == 0 or rng.random() < 0.05 for i in range(size)]
        docs.append(Doc(VOCAB, words=words, sent_starts=starts))
        expected += [(n + a, n + b) for a, b in plain_pairs(docs[-1], counts, max_distance)]
        n += size
    assert pairs(source, *docs) == expected and len(expected) > 1


def test_pairs_by_hand():
    every = SameWordPairs([["B"]], {})
    assert pairs(every, doc_of("Ford ford Ford")) == [(0, 2)], "words as they are written"
    assert pairs(SameWordPairs([["B"]], {"LOWER": "a"}, 2), doc_of("a 1 2 a 4 a")) == [(3, 5)]
    far = doc_of(" ".join(["a", *["1"] * 19, "a", "b", *["1"] * 20, "b"]))
    assert pairs(SameWordPairs([["B"]], {"IS_ALPHA": True}), far) == [(0, 20)]


def test_sets_may_overlap_and_repeat():
    features = SameWordPairs([["B", "I"], ["I"], ["I", "I"]], {}).define(LABELS, [])
    both, every = {"B", "I"}, set(LABELS)
    expected = [(0, 0, [both, every, both]), *((i, 0, [{"I"}, every, {"I"}]) for i in (1, 2))]
    assert named_features(features, LABELS) == expected


@pytest.mark.parametrize("settings, problem", [
    ({"label_sets": []}, "`label_sets` needs at least one set"),
    ({"label_sets": [["B"], []]}, "`label_sets` needs at least one set.*none of them empty"),
    ({"max_distance": 0}, "`max_distance` must be at least 1, got 0"),
    ({"token": {"WORDFORM": "x"}}, "Invalid token patterns"),
    ({"token": {"LOWER": {"REGEX": "("}}}, "."),
    ({"label_sets": [["B"], ["I", "X", "Y"]]}, 'the label "X" is unknown'),
])  # fmt: skip
def test_settings_that_cannot_work(settings, problem):
    with pytest.raises(ValueError, match=rf"(?s)\[HS034\] Rule \"same_word_pairs\": .*{problem}"):
        SameWordPairs(**{"label_sets": [["B"]], "token": {}, **settings}).define(LABELS, [])
