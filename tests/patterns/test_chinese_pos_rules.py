"""Rules for tagging Chinese: each does what its example shows, and the families of Qian & Liu's Figure 9 are there."""

import math
import re

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.util import registry

from spacy_hoseq.patterns.chinese import chinese_pos_rules
from spacy_hoseq.patterns.rules import RulePatterns

# of the enumerating comma, prepositions, names
TAG_SETS = {"ctb": ("PU", "P", "NR"), "ud": ("EC", "IN", "NNP")}
pytestmark = pytest.mark.parametrize("tag_set", TAG_SETS)


def agree(labels, tags):
    """By the definition: a label is itself, a list is any of its labels, "*" is any label, and all places of a variable
    have one label."""
    for label, tag in zip(labels, tags, strict=True):
        if tag not in (label if isinstance(label, list) else [label]) and label[0] not in "?*":
            return False
    variables = {label for label in labels if label[0] == "?"}
    pairs = list(zip(labels, tags, strict=True))
    return all(len({tag for x, tag in pairs if x == v}) == 1 for v in variables)


def examples_of(rules):
    """Words and tags of each rule's example."""
    texts = [[pair.rsplit("/", 1) for pair in rule["example"].split(" ")] for rule in rules]
    return [zip(*pairs, strict=True) for pairs in texts]


def all_labels(rules):
    return sorted({label for rule in rules for some in rule["labels"] for label in np.atleast_1d(some).tolist()
                   if label[0] != "?"})  # fmt: skip


def test_each_rule_fires_at_the_end_of_its_example_and_its_tags_agree(tag_set):
    rules, vocab, docs = chinese_pos_rules(tag_set), spacy.blank("zh").vocab, []
    for rule, (words, tags) in zip(rules, examples_of(rules), strict=True):
        docs.append(Doc(vocab, words=words))
        assert agree(rule["labels"], tags) and len(words) == len(rule["labels"]), rule["name"]
    fired = RulePatterns(rules).fire(docs)
    ends = np.cumsum([len(doc) for doc in docs]) - 1
    found = set(zip(fired.tokens.tolist(), fired.rules.tolist(), strict=True))
    assert {(int(end), number) for number, end in enumerate(ends)} <= found
    assert not fired.sizes.any(), "all are label patterns, none a configuration"


def test_rules_tell_about_themselves(tag_set):
    rules = chinese_pos_rules(tag_set)
    families = {}
    for rule in rules:
        assert set(rule) == {*"name note example tokens labels count optional".split()}
        assert rule["optional"]
        assert re.fullmatch(r"[a-z -]+ [1-9]\d*", rule["name"])
        assert rule["note"].strip() == rule["note"] != ""
        assert 0 < rule["count"][0] <= rule["count"][1]
        assert len(rule["labels"]) >= 3 or len(set(map(str, rule["labels"]))) == 2
        family, number = rule["name"].rsplit(" ", 1)
        families.setdefault(family, []).append(int(number))
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in families.values())
    distinct = {str([rule["tokens"], rule["labels"]]) for rule in rules}
    assert len(families) >= 13 and len(distinct) == len(rules) >= 80


def test_families_of_the_paper(tag_set):
    comma, preposition, _ = TAG_SETS[tag_set]
    shown = [rule for rule in chinese_pos_rules(tag_set) if "Figure 9" in rule["note"]]
    labels = {rule["name"]: rule["labels"] for rule in shown}
    assert labels["coordination 1"] == ["?y", comma, "?y", comma, "?y"]
    assert labels["coordination 2"] == ["?y", comma, "?y", "CC", "?y"]
    assert labels["percentage 1"] == ["CD", "CC", "CD"]
    first, y, until, again = labels["from-to 1"]
    assert (first, until[0]) == (preposition, preposition) and y == again == "?y"


def test_label_patterns_say_what_the_rules_do(tag_set):
    rules = chinese_pos_rules(tag_set)
    labels = all_labels(rules)
    features = RulePatterns(rules).define(labels, [])
    assert not features.is_span.any() and features.n_weights == len(rules)
    assert features.rule_of.tolist() == features.weight_of.tolist()
    found = {(rule, tuple(labels[y] for y in pattern))
             for pattern, rule in zip(features.patterns, features.rule_of.tolist(), strict=True)}  # fmt: skip
    assert len(found) == len(features.patterns)
    for number, rule in enumerate(rules):
        own = [pattern for other, pattern in found if other == number]
        assert all(agree(rule["labels"], pattern) for pattern in own)
        variables = {some for some in rule["labels"] if some[0] == "?"}
        sizes = [len(some) for some in rule["labels"] if isinstance(some, list)]
        assert len(own) == len(labels) ** len(variables) * math.prod(sizes)


def test_rules_whose_labels_are_missing_are_left_out(tag_set):
    """Without names, nothing that needs the tag of names; rules that allow others, too, are left out as well."""
    name, rules = TAG_SETS[tag_set][2], chinese_pos_rules(tag_set)
    others = [label for label in all_labels(rules) if label != name]
    features = RulePatterns(rules).define(others, [])
    labels = [np.hstack([np.atleast_1d(some) for some in rule["labels"]]) for rule in rules]
    without = [name not in some for some in labels]
    assert sorted(set(features.rule_of.tolist())) == np.flatnonzero(without).tolist()
    assert 30 < sum(without) < len(rules) - 5
    assert RulePatterns(rules).define(["X", "Y"], []).patterns == []


def test_rules_are_registered_and_can_be_changed(tag_set):
    settings = {"rules": {"@misc": "spacy_hoseq.chinese_pos_rules.v1", "tag_set": tag_set}}
    rules = registry.resolve(settings)["rules"]
    assert rules == chinese_pos_rules(tag_set)
    rules[0]["tokens"].clear()
    assert rules != chinese_pos_rules(tag_set) and (rules == chinese_pos_rules()) is False
