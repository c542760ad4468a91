"""Rules for tagging Chinese: each does what its example shows, and the families of Qian & Liu's Figure 9 are there."""

import math
import re

import numpy as np
import pytest
import spacy
from spacy.matcher import Matcher
from spacy.tokens import Doc
from spacy.util import registry

from spacy_hoseq.patterns.chinese import chinese_pos_rules
from spacy_hoseq.patterns.rules import RulePatterns

TAG_SETS = {"ctb": ("PU", "P", "NR"), "ud": ("EC", "IN", "NNP")}  # of the enumerating comma, prepositions, names
RULES = [pytest.param(tag_set, rule, id=f"{tag_set} {rule['name']}") for tag_set in TAG_SETS
         for rule in chinese_pos_rules(tag_set)]  # fmt: skip


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("zh").vocab


def example_of(rule):
    """Words, tags."""
    pairs = [pair.rsplit("/", 1) for pair in rule["example"].split(" ")]
    return [word for word, _ in pairs], [tag for _, tag in pairs]


def agree(labels, tags):
    """By the definition: a label is itself, a list is any of its labels, "*" is any label, and all places of a variable
    have one label."""
    assert len(labels) == len(tags)
    places = {label: [i for i, other in enumerate(labels) if other == label] for label in labels if type(label) is str}
    for label, tag in zip(labels, tags, strict=True):
        if tag not in (label if isinstance(label, list) else [label]) and label[0] not in "?*":
            return False
    return all(len({tags[i] for i in at}) == 1 for label, at in places.items() if label[0] == "?")


@pytest.mark.parametrize("tag_set, rule", RULES)
def test_example_is_matched_and_its_tags_agree(tag_set, rule, vocab):
    words, tags = example_of(rule)
    matcher = Matcher(vocab, validate=True)
    matcher.add("rule", [rule["tokens"]])
    assert (0, len(words)) in {(start, end) for _, start, end in matcher(Doc(vocab, words=words))}
    assert agree(rule["labels"], tags)


@pytest.mark.parametrize("tag_set, rule", RULES)
def test_what_a_rule_says_about_itself(tag_set, rule):
    assert set(rule) == {"name", "note", "example", "tokens", "labels", "count", "optional"} and rule["optional"]
    assert re.fullmatch(r"[a-z -]+ [1-9]\d*", rule["name"]), "family and number"
    assert rule["note"].strip() == rule["note"] != ""
    n_agree, n_matches = rule["count"]
    assert 0 < n_agree <= n_matches
    assert len(rule["labels"]) >= 3 or len(set(map(str, rule["labels"]))) == 2, "more than a transition"


def families(tag_set):
    return {rule["name"].rsplit(" ", 1)[0] for rule in chinese_pos_rules(tag_set)}


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_names_are_distinct_and_numbered(tag_set):
    names = [rule["name"] for rule in chinese_pos_rules(tag_set)]
    assert len(names) == len(set(names)) >= 80
    for family in families(tag_set):
        own = [int(name.rsplit(" ", 1)[1]) for name in names if name.rsplit(" ", 1)[0] == family]
        assert own == list(range(1, len(own) + 1)), family


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_no_rule_is_there_twice(tag_set):
    said = [(str(rule["tokens"]), str(rule["labels"])) for rule in chinese_pos_rules(tag_set)]
    assert len(set(said)) == len(said)


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_families_of_the_paper_and_more(tag_set):
    comma, preposition, _ = TAG_SETS[tag_set]
    labels = {rule["name"]: rule["labels"] for rule in chinese_pos_rules(tag_set)}
    assert labels["coordination 1"] == ["?y", comma, "?y", comma, "?y"]
    assert labels["coordination 2"] == ["?y", comma, "?y", "CC", "?y"]
    assert labels["percentage 1"] == ["CD", "CC", "CD"]
    first, y, until, again = labels["from-to 1"]
    assert (first, until[0]) == (preposition, preposition) and y == again == "?y"
    assert all("Figure 9" in rule["note"] for rule in chinese_pos_rules(tag_set)
               if rule["name"] in ("coordination 1", "coordination 2", "percentage 1", "from-to 1"))  # fmt: skip
    assert len(families(tag_set) - {"coordination", "percentage", "from-to"}) >= 10


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_each_rule_fires_at_the_end_of_its_example(tag_set, vocab):
    rules = chinese_pos_rules(tag_set)
    docs = [Doc(vocab, words=example_of(rule)[0]) for rule in rules]
    source = RulePatterns(rules)
    fired = source.fire(docs)
    ends = np.cumsum([len(doc) for doc in docs]) - 1
    found = set(zip(fired.tokens.tolist(), fired.rules.tolist(), strict=True))
    assert {(int(end), number) for number, end in enumerate(ends)} <= found
    assert not fired.sizes.any(), "all are label patterns, none a configuration"


def all_labels(tag_set):
    return sorted({label for rule in chinese_pos_rules(tag_set) for some in rule["labels"]
                   for label in ([some] if isinstance(some, str) else some) if label[0] != "?"})  # fmt: skip


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_label_patterns_are_what_the_rules_say(tag_set):
    labels, rules = all_labels(tag_set), chinese_pos_rules(tag_set)
    features = RulePatterns(rules).define(labels, [])
    assert not features.is_span.any() and features.n_weights == len(rules), "one weight for each rule"
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


@pytest.mark.parametrize("tag_set", TAG_SETS)
def test_rules_whose_labels_are_missing_are_left_out(tag_set):
    """Without names, nothing that needs the tag of names; what allows others, too, is left out as well."""
    name = TAG_SETS[tag_set][2]
    labels, rules = [label for label in all_labels(tag_set) if label != name], chinese_pos_rules(tag_set)
    features = RulePatterns(rules).define(labels, [])
    without = [name not in np.hstack([np.atleast_1d(some) for some in rule["labels"]]) for rule in rules]
    assert sorted(set(features.rule_of.tolist())) == np.flatnonzero(without).tolist()
    assert 30 < sum(without) < len(rules) - 5
    none = RulePatterns(rules).define(["X", "Y"], [])
    assert none.patterns == [] and none.n_weights == 0


def test_rules_are_registered():
    settings = {"rules": {"@misc": "spacy_hoseq.chinese_pos_rules.v1", "tag_set": "ud"}}
    assert registry.resolve(settings)["rules"] == chinese_pos_rules("ud")
    settings["rules"].pop("tag_set")
    assert registry.resolve(settings)["rules"] == chinese_pos_rules("ctb") == chinese_pos_rules()


def test_rules_can_be_changed_by_who_gets_them():
    chinese_pos_rules("ctb")[0]["tokens"].clear()
    assert len(chinese_pos_rules("ctb")[0]["tokens"]) == 5
