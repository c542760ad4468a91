"""Pairs of mentions of one word, against a search for all pairs."""


import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.same_word import SameWordPairs

from .plain import configurations_of, named_features, spans_of

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
    """Neighbouring mentions, by looking at every pair."""
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
}


@pytest.mark.parametrize("max_distance", [1, 2, 3, 50])
@pytest.mark.parametrize("token, counts", FILTERS.values(), ids=FILTERS)
def test_pairs_are_those_of_a_search(token, counts, max_distance):
    rng = np.random.default_rng(max_distance)
    n_found = 0
    for n in (0, 1, 2, 8, 20, 20, 40, 40):
        starts = [i == 0 or rng.random() < 0.05 for i in range(n)]
        doc = Doc(VOCAB, words=rng.choice(["a", "A", "b", "Bc", "Dd"], size=n).tolist(), sent_starts=starts)
        expected = plain_pairs(doc, counts, max_distance)
        assert pairs(SameWordPairs([["B"]], token, max_distance), doc) == expected
        n_found += len(expected)
    assert n_found > 1


def test_neighbouring_mentions_only():
    assert pairs(SameWordPairs([["B"]], {}), doc_of("a x a y a")) == [(0, 2), (2, 4)]


def test_distance_limit():
    doc = doc_of("a 1 2 3 a")
    assert pairs(SameWordPairs([["B"]], {"LOWER": "a"}, 4), doc) == [(0, 4)]
    assert pairs(SameWordPairs([["B"]], {"LOWER": "a"}, 3), doc) == []
    assert pairs(SameWordPairs([["B"]], {}, 1), doc_of("a a")) == [(0, 1)]
    far = doc_of(" ".join(["a", *["1"] * 19, "a", "b", *["1"] * 20, "b"]))
    assert pairs(SameWordPairs([["B"]], {"IS_ALPHA": True}), far) == [(0, 20)], "20 unless told otherwise"


def test_the_last_mention_counts_even_if_it_is_too_far():
    assert pairs(SameWordPairs([["B"]], {"LOWER": "a"}, 2), doc_of("a 1 2 a 4 a")) == [(3, 5)]


def test_words_are_compared_as_written():
    assert pairs(SameWordPairs([["B"]], {}), doc_of("Ford ford Ford")) == [(0, 2)]


def test_pairs_lie_within_one_sentence_and_doc():
    source = SameWordPairs([["B"]], {})
    assert pairs(source, doc_of("a b a b", sent_starts=[1, 0, 1, 0])) == []
    assert pairs(source, doc_of("a a b b", sent_starts=[1, 0, 1, 0])) == [(0, 1), (2, 3)]
    assert pairs(source, doc_of("a b"), doc_of("a"), doc_of(""), doc_of("c c x c")) == [(3, 4), (4, 6)]
    assert pairs(source) == pairs(source, doc_of("")) == []


def test_mentions_of_a_description_with_an_operator():
    assert pairs(SameWordPairs([["B"]], {"LOWER": "a", "OP": "+"}), doc_of("a a x a")) == [(0, 1), (1, 3)]


def test_sets_may_overlap_and_repeat():
    features = SameWordPairs([["B", "I"], ["I"], ["I", "I"]], {}).define(LABELS, [])
    both, every = {"B", "I"}, set(LABELS)
    expected = [(0, 0, [both, every, both]), *((i, 0, [{"I"}, every, {"I"}]) for i in (1, 2))]
    assert named_features(features, LABELS) == expected


def test_configurations_of_several_sets():
    found = configurations_of(SameWordPairs([["B", "I"], ["O"]], {}), LABELS, [doc_of("x a a x")])
    every = set(LABELS)
    expected = [(0, [some, every, every, some], i) for i, some in enumerate([{"B", "I"}, {"O"}])]
    expected += [(1, [some, some], i) for i, some in enumerate([{"B", "I"}, {"O"}])]
    assert sorted(found, key=str) == sorted(expected, key=str)


WRONG = [
    ({"label_sets": [], "token": {}}, "`label_sets` needs at least one set"),
    ({"label_sets": [["B"], []], "token": {}}, "`label_sets` needs at least one set.*none of them empty"),
    ({"label_sets": [["B"]], "token": {}, "max_distance": 0}, "`max_distance` must be at least 1, got 0"),
    ({"label_sets": [["B"]], "token": {}, "max_distance": -2}, "`max_distance` must be at least 1, got -2"),
    ({"label_sets": [["B"]], "token": {"WORDFORM": "x"}}, "Invalid token patterns"),
    ({"label_sets": [["B"]], "token": {"LOWER": {"REGEX": "("}}}, "."),
]


@pytest.mark.parametrize("settings, problem", WRONG)
def test_settings_that_cannot_work(settings, problem):
    with pytest.raises(ValueError, match=rf"(?s)\[HS034\] Rule \"same_word_pairs\": .*{problem}"):
        SameWordPairs(**settings)


def test_unknown_label():
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"same_word_pairs\": the label \"X\" is unknown"):
        SameWordPairs([["B"], ["I", "X", "Y"]], {}).define(LABELS, [])


def test_pairs_of_a_config():
    text = """
    [source]
    @misc = "spacy_hoseq.same_word_pairs.v1"
    label_sets = [["B","I"],["O"]]
    token = {"IS_TITLE": true}
    max_distance = 2
    """
    source = spacy.registry.resolve(spacy.util.Config().from_str(text))["source"]
    assert pairs(source, doc_of("Ab Ab x Ab x x Ab")) == [(0, 1), (1, 3)]
    with pytest.raises(ValueError, match="label_sets"):
        spacy.registry.resolve({"source": {"@misc": "spacy_hoseq.same_word_pairs.v1", "token": {}}})
