"""Rules that look at words alone match for whole batches what spaCy's Matcher matches in each text."""

import pickle

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.matcher import Matcher
from spacy.tokens import Doc

from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.word_rules import WordRules, looks_at_words

WORDS = ["a", "A", "the", "The", "10", "ten", ",", "(", " ", "\n", "$", "$5", "x.org", "百分之十", "至", "Ünï"]
TESTS = [
    {}, {"ORTH": "a"}, {"LOWER": "the"}, {"IS_TITLE": True}, {"IS_PUNCT": False}, {"LENGTH": {">=": 3}},
    {"TEXT": {"REGEX": "^百分之"}}, {"ORTH": {"IN": ["a", "至", ","]}}, {"LOWER": {"NOT_IN": ["a", "the"]}},
    {"IS_DIGIT": True, "LENGTH": 2}, {"LIKE_NUM": True}, {"SHAPE": "dd"}, {"IS_STOP": True}, {"is_space": True},
    {"LIKE_URL": True}, {"IS_CURRENCY": True}, {"text": {"FUZZY": "thee"}},
]  # fmt: skip


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


def doc_of(vocab, sentences):
    starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
    return Doc(vocab, words=[word for sentence in sentences for word in sentence], sent_starts=starts)


def by_matcher(tokens, docs):
    """(last token, rule) by one Matcher a rule on every sentence."""
    found, start = [], 0
    for doc in docs:
        for sentence in doc.sents if len(doc) else []:
            for rule, descriptions in enumerate(tokens):
                matcher = Matcher(doc.vocab)
                matcher.add("rule", [descriptions])
                found += [(start + sentence.start + end - 1, rule) for _, _, end in matcher(sentence)]
        start += len(doc)
    return sorted(found)


def fired(rules, docs):
    return list(zip(*(part.tolist() for part in rules.fire(docs)), strict=True))


SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
RULE = st.lists(st.sampled_from(TESTS), min_size=1, max_size=5)


@pytest.mark.long
@given(st.lists(RULE, min_size=1, max_size=6), st.lists(st.lists(SENTENCE, max_size=3), min_size=1, max_size=4))
@settings(max_examples=max(40, settings.default.max_examples))
def test_matches_are_those_of_the_matcher(tokens, texts):
    vocab = spacy_vocab()
    docs = [doc_of(vocab, text) for text in texts]
    assert fired(WordRules(tokens), docs) == by_matcher(tokens, docs)


def spacy_vocab(memo={}):  # noqa: B006
    return memo.setdefault("en", spacy.blank("en").vocab)


def test_more_rules_than_bits_of_a_machine_word(vocab):
    tokens = [[{"ORTH": f"w{i}"}, *[{}] * (i % 4)] for i in range(200)]
    docs = [doc_of(vocab, [[f"w{i}", "x", "y", "z"] for i in range(0, 200, 3)])]
    result = fired(WordRules(tokens), docs)
    assert result == [(4 * k + i % 4, i) for k, i in enumerate(range(0, 200, 3))]


def test_a_match_lies_within_one_sentence(vocab):
    rules = WordRules([[{"ORTH": "a"}, {"ORTH": "b"}], [{"ORTH": "b"}]])
    docs = [doc_of(vocab, [["a"], ["b"], ["a", "b"]]), Doc(vocab), doc_of(vocab, [["b"]])]
    assert fired(rules, docs) == [(1, 1), (3, 0), (3, 1), (4, 1)]


def forgetful(rules, doc):
    rules.forget_words()
    return fired(rules, [doc])


def test_forgetting_words_changes_nothing(vocab):
    docs = [doc_of(vocab, [[f"w{i}", "a", "the"]]) for i in range(30)]
    tokens = [[{"TEXT": {"REGEX": "[13579]$"}}, {}], [{"LOWER": "the"}]]
    expected = fired(WordRules(tokens), docs)
    rules = WordRules(tokens)
    one_by_one = [(3 * i + token, rule) for i, doc in enumerate(docs) for token, rule in forgetful(rules, doc)]
    odd_and_the = [match for i in range(30) for match in [*[(3 * i + 1, 0)] * (i % 2), (3 * i + 2, 1)]]
    assert expected == one_by_one == odd_and_the


@pytest.mark.parametrize("token", [{"TAG": "NN"}, {"LEMMA": "go"}, {"NORM": "x"}, {"IS_SENT_START": True},
                                   {"SPACY": False}, {"_": {"x": 1}}, {"ORTH": "a", "OP": "?"}])  # fmt: skip
def test_what_depends_on_more_than_the_word_is_left_to_the_matcher(token):
    assert not looks_at_words([{"ORTH": "a"}, token])
    assert looks_at_words([{"ORTH": "a"}, {}])


def test_rules_of_both_kinds_keep_their_numbers(vocab):
    rules = [
        {"name": "tag", "tokens": [{"TAG": "X"}, {}], "labels": ["N", "N"]},
        {"name": "word", "tokens": [{"ORTH": "a"}, {}], "labels": ["N", "N"]},
        {"name": "gap", "tokens": [{"ORTH": "a"}, {"OP": "*"}, {"ORTH": "c"}], "labels": ["N", "*", "N"]},
        {"name": "any", "tokens": [{"ORTH": "a"}, {}, {"ORTH": "c"}], "labels": ["N", "*", "N"]},
    ]
    doc = doc_of(vocab, [["a", "b", "c"]])
    for token in doc:
        token.tag_ = "X"
    found = RulePatterns(rules).fire([Doc(vocab), doc])
    ends = np.cumsum(found.sizes)
    matches = sorted(
        (token, rule, found.slots[end - size : end].tolist())
        for token, rule, size, end in zip(*(x.tolist() for x in (*found[:3], ends)), strict=True)
    )
    assert matches == [(1, 0, []), (1, 1, []), (2, 0, []), (2, 2, [0, 1, 2]), (2, 3, [0, 1, 2])]


def test_words_are_tested_anew_in_another_vocabulary(vocab):
    source = RulePatterns([{"name": "stop", "tokens": [{"IS_STOP": True}, {}], "labels": ["N", "N"]}])
    other = spacy.blank("zh").vocab
    words = ["the", "x", "的", "x"]
    assert source.fire([Doc(vocab, words=words)]).tokens.tolist() == [1]
    assert source.fire([Doc(other, words=words)]).tokens.tolist() == [3]
    again = pickle.loads(pickle.dumps(source))
    assert again.fire([Doc(vocab, words=words)]).tokens.tolist() == [1]


def test_an_optional_rule_needs_its_labels():
    rule = {"name": "r", "tokens": [{}, {}], "labels": ["N", "Z"], "note": "why", "example": "x/N y/Z", "count": {}}
    known = {"name": "s", "tokens": [{}, {}], "labels": ["N", "?y"], "optional": True}
    with pytest.raises(ValueError, match=r"\[HS034\].*\"Z\" is unknown"):
        RulePatterns([rule]).define(["N", "V"], [])
    features = RulePatterns([{**rule, "optional": True}, known]).define(["N", "V"], [])
    assert features.patterns == [(0, 0), (0, 1)] and features.n_weights == 1
    assert features.rule_of.tolist() == [1, 1] and features.weight_of.tolist() == [0, 0]
