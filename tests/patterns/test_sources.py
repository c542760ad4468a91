"""Feature definitions, their storage, and several sources as one."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.patterns.frequent import FrequentTransitions
from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.sources import EVERYWHERE, PatternFeatures, PatternSources

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
        return np.zeros(0, np.intp), np.zeros(0, np.intp)


def assert_same(first, second):
    assert first.patterns == second.patterns
    assert first.weight_of.tolist() == second.weight_of.tolist()
    assert first.rule_of.tolist() == second.rule_of.tolist()


def test_several_sources_are_numbered_one_after_the_other():
    sources = PatternSources(FrequentTransitions(3, 1), RulePatterns(RULES), Own(), RulePatterns(RULES[::-1]))
    features = sources.define(LABELS, SEQUENCES)
    assert features.patterns == [
        (0, 1, 0), (1, 0, 1), (0, 1, 0, 1),  # frequent
        (0, 0), (0, 1), (0, 1), (1, 1),  # rules x, y
        (0, 0), (1, 1),  # own
        (0, 1), (1, 1), (0, 0), (0, 1),  # rules y, x
    ]  # fmt: skip
    assert features.weight_of.tolist() == [0, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7, 8, 9]
    assert features.rule_of.tolist() == [-1, -1, -1, 0, 0, 1, 1, -1, -1, 2, 2, 3, 3]
    assert features.n_weights == 10
    assert sources.n_rules == 4


def test_several_sources_fire_together():
    doc = Doc(spacy.blank("en").vocab, words=["x", "y", "z"])
    sources = PatternSources(FrequentTransitions(), RulePatterns(RULES), RulePatterns(RULES[::-1]))
    tokens, rules = sources.fire([doc, doc])
    assert sorted(zip(tokens.tolist(), rules.tolist(), strict=True)) == [
        (1, 0), (1, 3), (2, 1), (2, 2), (4, 0), (4, 3), (5, 1), (5, 2),
    ]  # fmt: skip


def test_sources_within_sources():
    inner = PatternSources(RulePatterns(RULES[:1]), FrequentTransitions(2, 1))
    nested = PatternSources(Own(), inner, RulePatterns(RULES[1:]))
    flat = PatternSources(Own(), RulePatterns(RULES[:1]), FrequentTransitions(2, 1), RulePatterns(RULES[1:]))
    assert_same(nested.define(LABELS, SEQUENCES), flat.define(LABELS, SEQUENCES))
    doc = Doc(spacy.blank("en").vocab, words=["x", "y", "z"])
    for found, expected in zip(nested.fire([doc]), flat.fire([doc]), strict=True):
        assert found.tolist() == expected.tolist() != []


def test_one_source_alone_changes_nothing():
    source = RulePatterns(RULES)
    assert_same(PatternSources(source).define(LABELS, SEQUENCES), source.define(LABELS, SEQUENCES))


def test_no_source():
    features = PatternSources().define(LABELS, SEQUENCES)
    assert (features.patterns, features.n_weights) == ([], 0)
    assert [part.tolist() for part in PatternSources().fire([])] == [[], []]


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
    found, at = features.expand(rules, tokens)
    expected = [(f, t) for r, t in zip(rules, tokens, strict=True) for f in range(30) if rule_of[f] == r]
    assert sorted(zip(found.tolist(), at.tolist(), strict=True)) == sorted(expected)


def test_expanding_nothing():
    features = PatternFeatures([(0, 1)], np.array([0]), np.array([0]))
    assert [part.tolist() for part in features.expand(np.zeros(0, np.intp), np.zeros(0, np.intp))] == [[], []]


class NoFire:
    def define(self, labels, sequences):
        return None


@pytest.mark.parametrize("source", ["frequent", 3, NoFire(), lambda labels: None])
def test_what_is_no_source(source):
    with pytest.raises(ValueError, match=r"\[HS035\].*`define\(labels, sequences\)`"):
        PatternSources(Own(), source)
    with pytest.raises(ValueError, match="HS035"):
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
