"""Rules with label sets, gaps and "OP": what fires, how tokens belong to slots, and which features they stand for."""

import itertools

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns.rules import MAX_EXPANDED, RulePatterns
from spacy_hoseq.patterns.sources import FiredRules

from .plain import longest_matches, spans_of

LABELS = ["B-PER", "I-PER", "O"]
VOCAB = spacy.blank("xx").vocab
PROFESSOR = {
    "name": "professor-said",
    "tokens": [{"LOWER": "professor"}, {"IS_TITLE": True}, {"IS_TITLE": True, "OP": "*"}, {"LOWER": "said"}],
    "labels": ["*", "B-PER", "I-PER", "*"],
}
PAIR = {"name": "pair", "tokens": [{"LOWER": "a"}, {"LOWER": "b"}], "labels": ["O", "O"]}


def doc_of(text, **annotation):
    return Doc(VOCAB, words=text.split(), **annotation)


def fire(rules, *docs):
    fired = RulePatterns(rules).fire(list(docs))
    assert isinstance(fired, FiredRules)
    assert {part.dtype for part in fired} == {np.dtype(np.intp)}
    return spans_of(fired)


def rule(tokens, labels, **more):
    return {"name": "r", "tokens": tokens, "labels": labels, **more}


def letters(*descriptions):
    """Token descriptions: a letter and an operator, such as "x*"; "." is any token."""
    result = []
    for text in descriptions:
        token = {} if text[0] == "." else {"LOWER": text[0]}
        result.append({**token, "OP": text[1:]} if text[1:] else token)
    return result


def sets_of(features):
    """Configurations as (weight, rule, label names of each slot)."""
    sets, slots, n_slots, weight_of, rule_of = features.configurations
    names = [tuple(label for label, inside in zip(LABELS, row, strict=True) if inside) for row in sets[slots]]
    ends = np.cumsum(n_slots).tolist()
    parts = [names[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert sum(map(len, parts)) == len(names)
    return list(zip(weight_of.tolist(), rule_of.tolist(), parts, strict=True))


def test_a_gap_of_any_length():
    docs = [doc_of("Yes professor Waals said"), doc_of("professor Van Der Waals said so"), doc_of("professor said")]
    assert fire([PROFESSOR], *docs) == [(0, 1, [0, 1, 3]), (0, 4, [0, 1, 2, 2, 3])]


OPERATORS = {
    "?": ["a", "x?", "b"],
    "+": ["a", "x+", "b"],
    "*": ["a", "x*", "b"],
    "number": ["a", "x{2}", "b"],
    "numbers": ["a", "x{1,2}", "b"],
    "at least": ["a", "x{2,}", "b"],
    "any word": ["a", ".*", "b"],
    "first": ["a*", "b"],
    "last": ["a", "b+"],
    "two": ["a", "x*", "b?", "a"],
    "nothing needed": ["a?", "b?"],
}


@pytest.mark.parametrize("groups", OPERATORS.values(), ids=OPERATORS)
def test_tokens_belong_to_slots_as_in_a_regular_expression(groups):
    rng = np.random.default_rng(0)
    n_found = 0
    texts = ["".join(rng.choice(list("abx"), size=n, p=[0.3, 0.3, 0.4])) for n in (1, 2, 5, 8, 12, 12, 30, 30)]
    for text in [*texts, "abaxbaxxbaxxxbaxxbxaxxab"]:
        found = fire([rule(letters(*groups), ["*"] * len(groups))], doc_of(" ".join(text)))
        assert found == [(0, first, slots) for first, _, slots in longest_matches(groups, text)], text
        n_found += len(found)
    assert n_found > 1


def test_of_overlapping_matches_the_longest_counts():
    gap = rule(letters("a", ".*", "b"), ["O", "*", "O"])
    assert fire([gap], doc_of("a x b x b x")) == [(0, 0, [0, 1, 1, 1, 2])]
    assert fire([gap], doc_of("b a x")) == []


def test_rules_without_operators_all_fire():
    wide = rule(letters("a", ".", "."), ["O", "*", "O"])
    assert fire([wide], doc_of("a a a a")) == [(0, 0, [0, 1, 2]), (0, 1, [0, 1, 2])]


def test_different_rules_do_not_shadow_each_other():
    rules = [rule(letters("a", ".*", "b"), ["O", "*", "O"]), PAIR, rule(letters("b", "a?"), ["O", "O"])]
    assert fire(rules, doc_of("a b a b")) == [(0, 0, [0, 1, 1, 2]), (1, 1, []), (1, 3, []), (2, 1, [0, 1]), (2, 3, [0])]


def test_spans_lie_within_one_sentence():
    gap = rule(letters("a", "x*", "b"), ["O"] * 3)
    text = "a x b a x x b"
    assert fire([gap], doc_of(text, sent_starts=[1, 0, 0, 1, 0, 0, 0])) == [(0, 0, [0, 1, 2]), (0, 3, [0, 1, 1, 2])]
    assert fire([gap], doc_of(text, sent_starts=[1, 0, 0, 0, 0, 1, 0])) == [(0, 0, [0, 1, 2])]
    assert fire([gap], doc_of(text, sent_starts=[1, 0, 1, 0, 0, 0, 1])) == []


def test_sentences_are_matched_apart():
    """A longest match over a sentence boundary would hide those within the sentences."""
    gap = rule(letters("a", ".*", "b"), ["O", "*", "O"])
    expected = fire([gap], doc_of("a b"), doc_of("a x b"))
    assert expected == [(0, 0, [0, 2]), (0, 2, [0, 1, 2])]
    assert fire([gap], doc_of("a b a x b", sent_starts=[1, 0, 1, 0, 0])) == expected


def test_slots_of_a_rule_with_gaps():
    features = RulePatterns([PROFESSOR]).define(LABELS, [])
    everything = tuple(LABELS)
    assert features.patterns == [] and features.weight_of.tolist() == features.rule_of.tolist() == []
    assert sets_of(features) == [(0, 0, [everything, ("B-PER",), ("I-PER",), everything])]
    assert features.n_weights == 1


def test_sets_are_kept_once():
    features = RulePatterns([PROFESSOR, {**PROFESSOR, "name": "again"}]).define(LABELS, [])
    assert features.configurations.sets.astype(int).tolist() == [[1, 1, 1], [1, 0, 0], [0, 1, 0]]
    assert features.configurations.slots.tolist() == [0, 1, 2, 0] * 2


@pytest.mark.parametrize("tied, weights", [(True, [0, 0, 0]), (False, [0, 1, 2])])
def test_variables_of_a_rule_with_gaps(tied, weights):
    gap = rule(letters("a", ".*", "b"), ["?y", "*", "?y"], tied=tied)
    features = RulePatterns([gap, PAIR]).define(LABELS, [])
    anything = tuple(LABELS)
    assert sets_of(features) == [(w, 0, [(y,), anything, (y,)]) for w, y in zip(weights, LABELS, strict=True)]
    assert features.patterns == [(2, 2)]
    assert features.weight_of.tolist() == [weights[-1] + 1] and features.rule_of.tolist() == [1]
    assert features.n_weights == weights[-1] + 2


def test_two_variables_beside_a_label_set():
    gap = rule(letters("a", "x?", "b"), ["?p", ["O", "B-PER"], "?q"], tied=False)
    found = sets_of(RulePatterns([PAIR, gap]).define(LABELS, []))
    assert found == [
        (1 + i, 1, [(p,), ("B-PER", "O"), (q,)]) for i, (p, q) in enumerate(itertools.product(LABELS, LABELS))
    ]


def test_small_sets_are_written_out():
    """Without gaps, few label sequences are cheaper as patterns of the trie, and mean the same."""
    sets = rule([{}, {}, {}], [["O", "B-PER"], "I-PER", ["I-PER", "O"]])
    features = RulePatterns([PAIR, sets]).define(LABELS, [])
    assert features.configurations is None
    assert features.patterns == [(2, 2), (0, 1, 1), (0, 1, 2), (2, 1, 1), (2, 1, 2)]
    assert features.weight_of.tolist() == [0, 1, 1, 1, 1] and features.rule_of.tolist() == [0, 1, 1, 1, 1]
    assert fire([PAIR, sets], doc_of("a b c")) == [(0, 1, []), (1, 2, [])]


def test_sets_with_a_variable_are_written_out():
    features = RulePatterns([rule([{}, {}], ["?y", ["O", "B-PER"]], tied=False)]).define(LABELS, [])
    assert features.configurations is None
    assert features.patterns == [(0, 0), (0, 2), (1, 0), (1, 2), (2, 0), (2, 2)]
    assert features.weight_of.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("n_tokens, n_patterns", [(6, 64), (7, 0)])
def test_what_is_too_much_to_write_out(n_tokens, n_patterns):
    features = RulePatterns([rule([{}] * n_tokens, [["O", "B-PER"]] * n_tokens)]).define(LABELS, [])
    assert MAX_EXPANDED == 64 and len(features.patterns) == n_patterns
    assert (features.configurations is None) == (n_patterns > 0)
    assert features.n_weights == 1
    if not n_patterns:
        assert sets_of(features) == [(0, 0, [("B-PER", "O")] * n_tokens)]


def test_any_label_is_never_written_out():
    features = RulePatterns([rule([{}, {}], ["*", "O"])]).define(LABELS, [])
    assert features.patterns == [] and sets_of(features) == [(0, 0, [tuple(LABELS), ("O",)])]
    assert fire([rule([{}, {}], ["*", "O"])], doc_of("a b c")) == [(0, 0, [0, 1]), (0, 1, [0, 1])]


WRONG = {
    "\"labels\" must be a list of strings, or of lists of strings, none empty": [
        ["O", []], ["O", ""], ["O", [""]], ["O", ["B-PER", 1]], ["O", None], ["O", [["O"]]], "OO",
    ],
    "at most 2 different variables": [["?a", "?b", "?c"]],
    "the label \"X\" is unknown": [["O", "X"], ["O", ["B-PER", "X"]], ["X", "*"]],
    "the label \"\\*\" is unknown": [["O", ["*", "O"]]],
    "the label \"\\?a\" is unknown": [["?a", ["?a", "O"]]],
}  # fmt: skip


@pytest.mark.parametrize("problem, labels", [(problem, labels) for problem in WRONG for labels in WRONG[problem]])
def test_labels_that_cannot_be(problem, labels):
    with pytest.raises(ValueError, match=rf"\[HS034\] Rule \"r\": {problem}"):
        RulePatterns([PAIR, rule([{}] * len(labels), labels)]).define(LABELS, [])


@pytest.mark.parametrize("operator", ["%", "", "1", "{x}", 2])
def test_operator_that_the_matcher_does_not_know(operator):
    with pytest.raises(ValueError, match=r"(?s)\[HS034\] Rule \"r\": .*OP"):
        RulePatterns([rule([{}, {"OP": operator}], ["O", "O"])])


def test_rule_from_a_config():
    text = """
    [source]
    @misc = "spacy_hoseq.rule_patterns.v1"
    rules = [{"name":"r","tokens":[{"LOWER":"a"},{"OP":"*"},{"LOWER":"b"}],"labels":[["O","B-PER"],"*","?y"]}]
    """
    source = spacy.registry.resolve(spacy.util.Config().from_str(text))["source"]
    anything = tuple(LABELS)
    assert sets_of(source.define(LABELS, [])) == [(0, 0, [("B-PER", "O"), anything, (y,)]) for y in LABELS]
    assert spans_of(source.fire([doc_of("a x b")])) == [(0, 0, [0, 1, 2])]
