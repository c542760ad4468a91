"""Feature definitions, their storage, and several sources as one."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.patterns.frequent import FrequentTransitions
from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.same_word import SameWordPairs
from spacy_hoseq.patterns.sources import (
    EVERYWHERE,
    ConfigurationFeatures,
    FiredRules,
    PatternFeatures,
    PatternSources,
    check_features,
    fired_rules,
)

from .plain import spans_of

LABELS = ["A", "B"]
SEQUENCES = [np.array([0, 1, 0, 1], np.int32)]
RULES = [
    {"name": "x", "tokens": [{"LOWER": "x"}, {}], "labels": ["A", "?l"], "tied": False},
    {"name": "y", "tokens": [{"LOWER": "y"}, {}], "labels": ["?l", "B"]},
]


class Own:
    """A user's source without rules: two patterns that share a weight, everywhere."""

    n_rules = 0

    def define(self, labels, sequences):
        return PatternFeatures([(0, 0), (1, 1)], np.array([0, 0]), np.full(2, EVERYWHERE))

    def fire(self, docs):
        return fired_rules(np.zeros(0, np.intp), np.zeros(0, np.intp))


def assert_same(first, second):
    assert first.patterns == second.patterns
    assert first.weight_of.tolist() == second.weight_of.tolist()
    assert first.rule_of.tolist() == second.rule_of.tolist()
    assert_same_configurations(first.configurations, second.configurations)


def assert_same_configurations(first, second):
    assert (first is None) == (second is None)
    for ours, theirs in zip(first or (), second or (), strict=True):
        assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()


def test_one_source_alone_changes_nothing():
    source = RulePatterns(RULES)
    assert_same(PatternSources(source).define(LABELS, SEQUENCES), source.define(LABELS, SEQUENCES))


def test_no_source():
    features = PatternSources().define(LABELS, SEQUENCES)
    assert (features.patterns, features.n_weights) == ([], 0)
    assert [part.tolist() for part in PatternSources().fire([])] == [[], [], [], []]


@pytest.mark.parametrize(
    "features",
    [
        PatternFeatures([], np.zeros(0, np.intp), np.zeros(0, np.intp)),
        PatternFeatures([(0, 1)], np.array([0]), np.array([EVERYWHERE])),
        PatternFeatures([(0, 1, 2), (2, 2), (1, 0, 1, 0)], np.array([1, 0, 1]), np.array([EVERYWHERE, 1, 0])),
    ],
)
def test_storage(features):
    arrays = features.to_arrays()
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.int32)}
    back = PatternFeatures.from_arrays(arrays)
    assert_same(back, features)
    assert all(isinstance(label, int) for pattern in back.patterns for label in pattern)


@pytest.mark.parametrize("seed", range(3))
def test_expanding_fired_rules(seed):
    rng = np.random.default_rng(seed)
    rule_of = rng.integers(-1, 5, size=30)
    features = PatternFeatures([(0, 1)] * 30, np.zeros(30, np.intp), rule_of)
    rules, tokens = rng.integers(0, 7, size=12), rng.integers(0, 50, size=12)
    found, at = features.expand(fired_rules(tokens, rules))
    expected = [(f, t) for r, t in zip(rules, tokens, strict=True) for f in range(30) if rule_of[f] == r]
    assert sorted(zip(found.tolist(), at.tolist(), strict=True)) == sorted(expected)


def test_expanding_nothing():
    features = PatternFeatures([(0, 1)], np.array([0]), np.array([0]))
    nothing = fired_rules(np.zeros(0, np.intp), np.zeros(0, np.intp))
    assert [part.tolist() for part in features.expand(nothing)] == [[], []]


class NoFire:
    def define(self, labels, sequences):
        return None


@pytest.mark.parametrize("source", ["frequent", 3, NoFire(), lambda labels: None])
def test_what_is_no_source(source):
    with pytest.raises(ValueError, match=r"\[HS027\].*`define\(labels, sequences\)`"):
        PatternSources(Own(), source)
    with pytest.raises(ValueError, match="HS027"):
        HigherOrderTagger(None, source)


def test_sources_of_a_config():
    config = spacy.util.Config().from_str(
        """
        [source]
        @misc = "spacy_hoseq.pattern_sources.v1"

        [source.*.frequent]
        @misc = "spacy_hoseq.frequent_transitions.v1"
        max_order = 2
        min_count = 1

        [source.*.rules]
        @misc = "spacy_hoseq.rule_patterns.v1"
        rules = [{"name": "x", "tokens": [{"LOWER": "x"}, {}], "labels": ["A", "B"]}]
        """
    )
    source = spacy.registry.resolve(config)["source"]
    features = source.define(LABELS, SEQUENCES)
    assert features.patterns == [(0, 1, 0), (1, 0, 1), (0, 1)]
    assert features.rule_of.tolist() == [-1, -1, 0]
    wrong = {"source": {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 2.5}}
    with pytest.raises(ValueError, match="max_order"):
        spacy.registry.resolve(wrong)


GAP = {"name": "gap", "tokens": [{"LOWER": "x"}, {"OP": "*"}, {"LOWER": "z"}], "labels": ["?l", "*", "B"]}


def mixed():
    """Patterns and configurations by turns: rules 0-2, 3, 4-5; weights 0-2, 3-7, 8-9, 10-13."""
    return PatternSources(
        FrequentTransitions(3, 1),
        RulePatterns([RULES[0], GAP, {**GAP, "tied": False}]),
        SameWordPairs([["A"], ["A", "B"]], {}),
        RulePatterns([{**GAP, "tied": False}, RULES[0]]),
    )


def test_sources_with_configurations_are_numbered_one_after_the_other():
    sources = mixed()
    features = sources.define(LABELS, SEQUENCES)
    assert sources.n_rules == 6 and features.n_weights == 14
    assert features.weight_of.tolist() == [0, 1, 2, 3, 4, 12, 13]
    assert features.rule_of.tolist() == [-1, -1, -1, 0, 0, 5, 5]
    sets, slots, n_slots, weight_of, rule_of = features.configurations
    assert rule_of.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert weight_of.tolist() == [5, 5, 6, 7, 8, 9, 10, 11]
    assert n_slots.tolist() == [3] * 8
    names = ["".join(np.array(LABELS)[row]) for row in sets[slots]]
    gaps = [["A", "AB", "B"], ["B", "AB", "B"]]
    pairs = [["A", "AB", "A"], ["AB", "AB", "AB"]]
    assert [names[i : i + 3] for i in range(0, 24, 3)] == gaps * 2 + pairs + gaps


def test_sources_with_configurations_fire_together():
    doc = Doc(spacy.blank("xx").vocab, words=["x", "y", "x", "z"])
    gap = [(0, [0, 1, 1, 2])]
    expected = [(0, 1, []), (0, 3, []), *((1, *g) for g in gap), *((2, *g) for g in gap), (3, 0, [0, 1, 2])]
    expected += [*((4, *g) for g in gap), (5, 1, []), (5, 3, [])]
    assert spans_of(mixed().fire([doc])) == expected


def test_sources_with_configurations_within_sources():
    parts = mixed().sources
    nested = PatternSources(parts[0], PatternSources(*parts[1:3]), PatternSources(parts[3]))
    assert_same(nested.define(LABELS, SEQUENCES), mixed().define(LABELS, SEQUENCES))
    doc = Doc(spacy.blank("xx").vocab, words=["x", "y", "x", "z", "y", "z"])
    assert spans_of(nested.fire([doc, doc])) == spans_of(mixed().fire([doc, doc])) != []


def test_weights_of_configurations_are_counted():
    nothing = np.zeros(0, np.intp)
    assert PatternFeatures([], nothing, nothing).n_weights == 0
    one = ConfigurationFeatures(np.ones((1, 2), bool), np.array([0]), np.array([1]), np.array([3]), np.array([0]))
    assert PatternFeatures([], nothing, nothing, one).n_weights == 4
    assert PatternFeatures([(0, 1)], np.array([6]), np.array([0]), one).n_weights == 7


@pytest.mark.parametrize("seed", range(4))
def test_expanding_spans(seed):
    """Of the configurations of a rule, slot by slot; matches of one token for each label are not theirs."""
    rng = np.random.default_rng(seed)
    rule_of = rng.integers(0, 5, size=12)
    own = [rng.integers(0, 20, size=n).tolist() for n in rng.integers(2, 5, size=5)[rule_of]]  # slots of a rule
    n_slots = np.array([len(slots) for slots in own])
    features = ConfigurationFeatures(
        np.zeros((20, 2), bool), np.concatenate(own).astype(np.intp), n_slots, np.arange(12), rule_of
    )
    rules, tokens = rng.integers(0, 6, size=10), rng.integers(20, 50, size=10)
    sizes = np.where(rng.random(10) < 0.3, 0, rng.integers(1, 6, size=10))
    alignments = []
    for rule, size in zip(rules, sizes, strict=True):
        limit = min(n_slots[rule_of == rule], default=2)
        alignments.append(np.sort(rng.integers(0, limit, size=size)).tolist())
    fired = FiredRules(tokens, rules, sizes, np.array(sum(alignments, []), np.intp))
    found, first, size, rows = (part.tolist() for part in features.expand(fired))
    expected = [
        (f, tokens[i] - sizes[i] + 1, sizes[i], [own[f][slot] for slot in alignments[i]])
        for i in range(10)
        for f in range(12)
        if sizes[i] and rule_of[f] == rules[i]
    ]
    ends = np.cumsum([0, *size]).tolist()
    got = [(*span, rows[a:b]) for *span, a, b in zip(found, first, size, ends, ends[1:], strict=False)]
    assert sorted(got) == sorted(expected) and len(got) > 3 and ends[-1] == len(rows)


@pytest.mark.parametrize(
    "rules, sizes, slots",
    [([0], [3], [0, 1, 2]), ([0], [3], [0, 3, 1]), ([1], [4], [0, 1, 2, 3]), ([1, 0], [2, 3], [1, 2, 0, 1, 2])],
)
def test_more_slots_than_the_features_have(rules, sizes, slots):
    """Rule 0 has two slots, rule 1 has three; slots of the next feature must not stand for those that lack."""
    features = ConfigurationFeatures(
        np.ones((5, 2), bool), np.arange(5), np.array([2, 3]), np.array([0, 1]), np.array([0, 1])
    )
    with pytest.raises(ValueError, match=r"\[HS058\] A rule has matched with more token descriptions than"):
        features.expand(FiredRules(np.full(len(rules), 9), np.array(rules), np.array(sizes), np.array(slots)))
    one = features.expand(FiredRules(np.array([9]), np.array([1]), np.array([3]), np.array([0, 1, 2])))
    assert [part.tolist() for part in one] == [[1], [7], [3], [2, 3, 4]]
    less = features.expand(FiredRules(np.array([9]), np.array([0]), np.array([3]), np.array([0, 1, 1])))
    assert [part.tolist() for part in less] == [[0], [7], [3], [0, 1, 1]]


def test_spans_are_no_matches_of_patterns():
    features = PatternFeatures([(0, 1)], np.array([0]), np.array([0]))
    fired = FiredRules(np.array([4, 7]), np.array([0, 0]), np.array([3, 0]), np.array([0, 1, 1]))
    assert [part.tolist() for part in features.expand(fired)] == [[0], [7]]


def test_what_can_never_be_learnt_is_refused():
    """Patterns are named by their labels."""
    labels, sequences = ["A", "B"], [np.array([0, 1, 0], np.int32)]
    everywhere = np.full(2, EVERYWHERE, np.intp)

    def features(*patterns):
        return PatternFeatures(list(patterns), np.arange(2), everywhere)

    check_features(features((0, 1, 0), (0, 1)), labels, sequences)
    for patterns, message in (
        (((0, 1), (0, 1)), r"\[HS037\] The pattern A-B is given twice"),
        (((0, 1), (0, 1, 0, 1)), r"\[HS037\] The pattern A-B-A-B has 4 labels, more than .* \(at most 3\)"),
        (((0, 1), (0,)), r"\[HS027\] .*\(0,\)"),
        (((0, 1), (0, 2)), r"\[HS027\] .*\(0, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            check_features(features(*patterns), labels, sequences)
