"""Feature definitions, what fires of them, and several sources as one."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.patterns import FrequentTransitions, PatternSources, RulePatterns, SameWordPairs
from spacy_hoseq.patterns.sources import (
    EVERYWHERE,
    FiredRules,
    PatternFeatures,
    PatternSource,
    fired_rules,
)

from .plain import named_features, spans_of

LABELS = ["A", "B"]
SEQUENCES = [np.array([0, 1, 0, 1], np.int32)]
UNTIED = {"name": "x", "tokens": [{"LOWER": "x"}, {}], "labels": ["A", "?l"], "tied": False}
GAP = {"name": "gap", "labels": ["?l", "*", "B"]}
GAP["tokens"] = [{"LOWER": "x"}, {"OP": "*"}, {"LOWER": "z"}]


@pytest.mark.parametrize("seed", range(3))
def test_expanding_fired_rules(seed):
    rng = np.random.default_rng(seed)
    rule_of = rng.integers(-1, 5, size=30)
    features = PatternFeatures([(0, 1)] * 30, np.zeros(30, np.intp), rule_of)
    rules = rng.integers(0, 7, size=12)
    found, matches = features.expand(fired_rules(rules, rules))
    expected = [(f, m) for m, rule in enumerate(rules) for f in range(30) if rule_of[f] == rule]
    assert list(zip(found.tolist(), matches.tolist(), strict=True)) == expected
    nothing = features.expand(fired_rules(rules[:0], rules[:0]))
    assert [part.tolist() for part in nothing] == [[], []]


@pytest.mark.parametrize("seed", range(4))
def test_configurations_of_matches(seed):
    """Each token has the set, or the label, of its slot; without a size, one token for each."""
    rng = np.random.default_rng(seed)
    rule_of = rng.integers(0, 5, size=12)
    n_slots = rng.integers(2, 5, size=5)
    # label 0, 1; sets 0 to 6
    patterns = [tuple(rng.integers(0, 9, size=n_slots[rule]).tolist()) for rule in rule_of]
    sets = rng.random((7, 2)) < 0.5
    features = PatternFeatures(patterns, np.arange(12), rule_of, sets)
    assert features.is_span.tolist() == [max(pattern) > 1 for pattern in patterns]
    rules, tokens = rng.integers(0, 5, size=10), rng.integers(20, 50, size=10)
    sizes = np.where(rng.random(10) < 0.3, 0, rng.integers(1, 6, size=10))
    pairs = zip(rules, sizes, strict=True)
    slots = [np.sort(rng.integers(0, n_slots[rule], size=n)).tolist() for rule, n in pairs]
    fired = FiredRules(tokens, rules, sizes, np.array(sum(slots, []), np.intp))
    which, matches = features.expand(fired)
    made = features.configurations(fired, which, matches, np.arange(len(which), dtype=float))
    rows = np.split(made.sets[made.slots], made.sizes.cumsum()[:-1])
    table = np.concatenate([np.eye(2, dtype=bool), sets])
    for i, (f, match) in enumerate(zip(which, matches, strict=True)):
        own = slots[match] or range(n_slots[rules[match]])
        assert np.array_equal(rows[i], table[[patterns[f][slot] for slot in own]])
        first = tokens[match] - len(own) + 1
        assert (made.first[i], made.sizes[i], made.weights[i]) == (first, len(own), i)


@pytest.mark.parametrize(
    "rules, sizes, slots", [([0], [3], [0, 3, 1]), ([1, 0], [2, 3], [1, 2, 0, 1, 2])]
)
def test_more_slots_than_the_features_have(rules, sizes, slots):
    """Rule 0 has two slots, rule 1 has three; slots of the next feature must not stand for those that lack."""
    ids, sets = np.array([0, 1]), np.ones((5, 2), bool)
    features = PatternFeatures([(2, 3), (4, 5, 6)], ids, ids, sets)
    fired = FiredRules(np.full(len(rules), 9), *(np.array(part) for part in (rules, sizes, slots)))
    message = r"\[HS058\] A rule matches with more token descriptions than"
    with pytest.raises(ValueError, match=message):
        features.configurations(fired, *features.expand(fired), np.ones(len(rules)))


def mixed():
    """Patterns and configurations by turns: rules 0-2, 3, 4-5; weights 0-2, 3-7, 8-9, 10-13. Sources within sources."""
    rules = RulePatterns([UNTIED, GAP, {**GAP, "tied": False}])
    inner = PatternSources(rules, SameWordPairs([["A"], ["A", "B"]], {}))
    rules = RulePatterns([{**GAP, "tied": False}, UNTIED])
    return PatternSources(FrequentTransitions(3, 1), inner, rules)


def test_sources_are_numbered_one_after_the_other():
    features = mixed().define(LABELS, SEQUENCES)
    every = {"A", "B"}
    gaps = [[{"A"}, every, {"B"}], [{"B"}, every, {"B"}]]
    assert named_features(features, LABELS) == [
        (0, EVERYWHERE, ["A", "B", "A"]), (1, EVERYWHERE, ["B", "A", "B"]), (2, EVERYWHERE, ["A", "B", "A", "B"]),
        (3, 0, ["A", "A"]), (4, 0, ["A", "B"]),
        *((5, 1, gap) for gap in gaps), *((6 + i, 2, gap) for i, gap in enumerate(gaps)),
        (8, 3, [{"A"}, every, {"A"}]), (9, 3, [every, every, every]),
        *((10 + i, 4, gap) for i, gap in enumerate(gaps)), (12, 5, ["A", "A"]), (13, 5, ["A", "B"]),
    ]  # fmt: skip
    assert mixed().n_rules == 6 and features.n_weights == 14
    assert PatternSources().define(LABELS, SEQUENCES).patterns == []


def test_sources_fire_together():
    doc = Doc(spacy.blank("xx").vocab, words=["x", "y", "x", "z"])
    gap = (0, [0, 1, 1, 2])
    expected = [(0, 1, []), (0, 3, []), (1, *gap), (2, *gap), (3, 0, [0, 1, 2])]
    expected += [(4, *gap), (5, 1, []), (5, 3, [])]
    assert spans_of(mixed().fire([doc])) == expected
    assert spans_of(PatternSources().fire([doc])) == []


class NoSource:
    def define(self, labels, sequences):
        return None


@pytest.mark.parametrize("source", ["frequent", 3, NoSource(), lambda labels: None])
def test_no_source(source):
    for refuses in (
        lambda: PatternSources(PatternSource(), source),
        lambda: HigherOrderTagger(None, source),
    ):
        with pytest.raises(ValueError, match=r"\[HS027\].*`PatternSource`"):
            refuses()


def test_sources_of_a_config():
    text = """
    [source]
    @misc = "spacy_hoseq.pattern_sources.v1"

    [source.*.frequent]
    @misc = "spacy_hoseq.frequent_transitions.v1"
    max_order = 2
    min_count = 1

    [source.*.rules]
    @misc = "spacy_hoseq.rule_patterns.v1"
    rules = [{"name":"r","tokens":[{"LOWER":"a"},{"OP":"*"},{"LOWER":"b"}],"labels":[["A","B"],"*","B"]}]

    [source.*.pairs]
    @misc = "spacy_hoseq.same_word_pairs.v1"
    label_sets = [["A"]]
    token = {"IS_TITLE": true}
    """
    source = spacy.registry.resolve(spacy.util.Config().from_str(text))["source"]
    every = {"A", "B"}
    assert named_features(source.define(LABELS, SEQUENCES), LABELS) == [
        (0, EVERYWHERE, ["A", "B", "A"]), (1, EVERYWHERE, ["B", "A", "B"]),
        (2, 0, [every, every, {"B"}]), (3, 1, [{"A"}, every, {"A"}]),
    ]  # fmt: skip
    doc = Doc(spacy.blank("xx").vocab, words=["a", "X", "b", "X"])
    assert spans_of(source.fire([doc])) == [(0, 0, [0, 1, 2]), (1, 1, [0, 1, 2])]
