"""Rules: where they fire, which patterns and weights they stand for, and what is wrong with those that cannot work."""


import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.same_word import SameWordPairs
from spacy_hoseq.patterns.sources import PatternSources

LABELS = ["N", "V", "P"]
FROM_TO = {
    "name": "from-to",
    "tokens": [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}],
    "labels": ["P", "?y", "P", "?y"],
}
AFTER_THE = {"name": "after-the", "tokens": [{"LOWER": "the"}, {}], "labels": ["P", "N"]}


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("xx").vocab


def fired(source, docs):
    tokens, rules, sizes, slots = source.fire(docs)
    assert {part.dtype for part in (tokens, rules, sizes, slots)} == {np.dtype(np.intp)}
    assert not sizes.any() and not len(slots), "rules of one token for each label"
    return sorted(zip(tokens.tolist(), rules.tolist(), strict=True))


def test_a_rule_fires_at_the_last_token_of_its_match(vocab):
    doc = Doc(vocab, words=["We", "go", "from", "home", "to", "work", "past", "the", "park"])
    assert fired(RulePatterns([FROM_TO, AFTER_THE]), [doc]) == [(5, 0), (8, 1)]


def test_overlapping_matches_all_fire(vocab):
    rule = {"name": "aa", "tokens": [{"LOWER": "a"}, {"LOWER": "a"}], "labels": ["N", "N"]}
    rules = RulePatterns([rule, {**rule, "name": "again"}])
    assert fired(rules, [Doc(vocab, words=["a", "a", "a"])]) == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_many_rules_keep_their_numbers(vocab):
    rules = [{**AFTER_THE, "tokens": [{"LOWER": f"w{i}"}, {}]} for i in range(120)]
    doc = Doc(vocab, words=["w119", "w7", "w70", "x"])
    assert fired(RulePatterns(rules), [doc]) == [(1, 119), (2, 7), (3, 70)]


def test_empty_list_of_rules(vocab):
    source = RulePatterns([])
    assert source.define(LABELS, []).patterns == []
    assert fired(source, [Doc(vocab, words=["a"])]) == []


def test_rules_survive_a_memory_zone():
    """Rule names must not be strings that vanish with the zone in which a rule was used first."""
    nlp = spacy.blank("xx")
    for more in ({}, {"NORM": "dog"}):  # words alone; all others
        rules = [{**AFTER_THE, "tokens": [{"LOWER": f"w{i}"}, more]} for i in range(60)]
        source = RulePatterns(rules)
        with nlp.memory_zone():
            assert fired(source, [nlp("w47 dog")]) == [(1, 47)]
        assert fired(source, [nlp("w47 dog")]) == [(1, 47)]


def test_variables_take_every_label(vocab):
    features = RulePatterns([FROM_TO]).define(LABELS, [])
    assert features.patterns == [(2, 0, 2, 0), (2, 1, 2, 1), (2, 2, 2, 2)]
    assert features.rule_of.tolist() == [0, 0, 0]


def test_two_variables_take_every_pair():
    rule = {"name": "r", "tokens": [{}, {}, {}], "labels": ["?b", "?a", "?b"]}
    features = RulePatterns([rule]).define(LABELS, [])
    assert features.patterns == [(b, a, b) for b in range(3) for a in range(3)]


@pytest.mark.parametrize("tied, expected", [(None, [0, 0, 0, 1]), (True, [0, 0, 0, 1]), (False, [0, 1, 2, 3])])
def test_tied_rules_have_one_weight(tied, expected):
    rule = FROM_TO if tied is None else {**FROM_TO, "tied": tied}
    features = RulePatterns([rule, AFTER_THE]).define(LABELS, [])
    assert features.weight_of.tolist() == expected
    assert features.n_weights == expected[-1] + 1
    assert features.rule_of.tolist() == [0, 0, 0, 1]


def test_tied_and_untied_side_by_side():
    rules = [{**FROM_TO, "tied": False}, AFTER_THE, FROM_TO, {**FROM_TO, "tied": False, "name": "again"}]
    features = RulePatterns(rules).define(LABELS, [])
    assert features.weight_of.tolist() == [0, 1, 2, 3, 4, 4, 4, 5, 6, 7]
    assert features.rule_of.tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 3, 3]


WRONG = {
    "a rule has the keys": [
        None,
        "from-to",
        [],
        {},
        {"name": "r", "tokens": [{}, {}]},
        {"tokens": [{}, {}], "labels": ["N", "V"]},
        {**AFTER_THE, "weight": 2},
    ],
    "at least two labels": [
        {"name": "r", "tokens": [{}], "labels": ["N"]},
        {"name": "r", "tokens": [], "labels": []},
    ],
    "3 tokens but 2 labels": [{"name": "r", "tokens": [{}, {}, {}], "labels": ["N", "V"]}],
    '"OP": "!" matches no token': [
        {"name": "r", "tokens": [{}, {"LOWER": "a", "OP": "!"}], "labels": ["N", "V"]},
        {"name": "r", "tokens": [{"LOWER": "a", "op": "!"}, {}], "labels": ["N", "V"]},
    ],
    "at most 2 different variables": [{"name": "r", "tokens": [{}] * 3, "labels": ["?a", "?b", "?c"]}],
}


@pytest.mark.parametrize("problem, rule", [(problem, rule) for problem in WRONG for rule in WRONG[problem]])
def test_rule_that_cannot_work(problem, rule):
    with pytest.raises(ValueError, match=rf"\[HS034\].*{problem}"):
        RulePatterns([AFTER_THE, rule])


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "bad", "tokens": [{"WORDFORM": "x"}, {}], "labels": ["N", "V"]},
        {"name": "bad", "tokens": ["the", "dog"], "labels": ["N", "V"]},
        {"name": "bad", "tokens": "ab", "labels": ["N", "V"]},
        {"name": "bad", "tokens": [{"LOWER": {"REGEX": "("}}, {}], "labels": ["N", "V"]},
        {"name": "bad", "tokens": [{}, {}], "labels": [1, 2]},
        {"name": "bad", "tokens": None, "labels": None},
    ],
)
def test_rule_that_the_matcher_cannot_read(rule):
    """Such a rule must be refused when it is written, by its name, not when it is first used."""
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"bad\""):
        RulePatterns([rule])


def test_rule_with_an_unknown_label():
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"after-the\": the label \"P\" is unknown"):
        RulePatterns([AFTER_THE]).define(["N", "V"], [])


def test_the_same_rule_twice():
    rule = {"name": "one", "tokens": [{"LOWER": "a"}, {}], "labels": ["A", "?y"]}
    with pytest.raises(ValueError, match=r"\[HS034\] Rule \"one\": it is given twice"):
        RulePatterns([rule, {**rule, "name": "two"}, dict(rule)])


def test_digest_is_of_what_rules_do():
    """Names and notes do nothing; the order numbers the weights."""
    first = {"name": "a", "tokens": [{"LOWER": "the"}, {}], "labels": ["DT", "NN"]}
    second = {"name": "b", "tokens": [{"LOWER": "to"}, {}], "labels": ["TO", "VB"]}
    digest = RulePatterns([first, second]).digest()
    same = [{**first, "name": "c", "note": "of articles", "tied": True}, {**second, "optional": False}]
    assert RulePatterns(same).digest() == digest
    others = [[second, first], [first], [first, {**second, "tied": False}], [first, {**second, "labels": ["TO", "NN"]}]]
    assert digest not in [RulePatterns(rules).digest() for rules in others]
    several = PatternSources(RulePatterns([first, second]), SameWordPairs([["NN"]], {}))
    assert several.digest() == [digest, None]
