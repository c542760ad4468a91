"""Rules: where they fire, against regular expressions and spaCy's Matcher; what they stand for; what cannot work."""

import numpy as np
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.matcher import Matcher
from spacy.tokens import Doc

from spacy_hoseq.patterns import PatternSources, RulePatterns, SameWordPairs
from spacy_hoseq.patterns.matchers import WordRules, looks_at_words

from .plain import longest_matches, named_features, spans_of

LABELS = ["N", "V", "P"]
ANY = set(LABELS)
VOCAB = spacy.blank("en").vocab
FROM_TO = {"name": "from-to", "labels": ["P", "?y", "P", "?y"]}
FROM_TO["tokens"] = [{"LOWER": "from"}, {}, {"LOWER": "to"}, {}]
AFTER_THE = {"name": "after-the", "tokens": [{"LOWER": "the"}, {}], "labels": ["P", "N"]}


def doc_of(text, **annotation):
    return Doc(VOCAB, words=text.split(), **annotation)


def fire(rules, *docs):
    return spans_of(RulePatterns(rules).fire(list(docs)))


def rule(tokens, labels, **more):
    return {"name": "r", "tokens": tokens, "labels": labels, **more}


def letters(*descriptions):
    """Token descriptions: a letter and an operator, such as "x*"; "." is any token."""
    tokens = [({} if text[0] == "." else {"LOWER": text[0]}, text[1:]) for text in descriptions]
    return [{**token, "OP": operator} if operator else token for token, operator in tokens]


def named(rules, labels=LABELS):
    return named_features(RulePatterns(rules).define(labels, []), labels)


# where they fire


@pytest.mark.parametrize("groups", ["a x? b", "a x+ b", "a x* b", "a x{2} b", "a x{1,2} b", "a x{2,} b", "a .* b",
                                    "a* b", "a b+", "a x* b? a", "a? b?"])  # fmt: skip
def test_tokens_belong_to_slots_as_in_a_regular_expression(groups):
    groups = groups.split()
    rng = np.random.default_rng(0)
    n_found = 0
    sizes, p = (1, 2, 5, 8, 12, 12, 30, 30), [0.3, 0.3, 0.4]
    texts = ["".join(rng.choice(list("abx"), size=size, p=p)) for size in sizes]
    for text in [*texts, "abaxbaxxbaxxxbaxxbxaxxab"]:
        found = fire([rule(letters(*groups), ["*"] * len(groups))], doc_of(" ".join(text)))
        assert found == [(0, first, slots) for first, _, slots in longest_matches(groups, text)]
        n_found += len(found)
    assert n_found > 1


def test_matches_overlap_but_for_those_of_one_rule_with_operators():
    pair = rule(letters("a", "b"), ["N", "N"])
    gap = rule(letters("a", ".*", "b"), ["N", "*", "N"])
    rules = [gap, pair, rule(letters("b", "a?"), ["N", "N"]), {**pair, "labels": ["N", "V"]}]
    spans = [(0, 0, [0, 1, 1, 2]), (1, 1, []), (1, 3, []), (2, 1, [0, 1]), (2, 3, [0])]
    spans += [(3, 1, []), (3, 3, [])]
    assert fire(rules, doc_of("a b a b")) == spans
    # a longest match does not hide those within sentences
    expected = [(0, 0, [0, 2]), (0, 2, [0, 1, 2])]
    assert fire([gap], doc_of("a b a x b", sent_starts=[1, 0, 1, 0, 0])) == expected


def test_rules_of_both_kinds_keep_their_numbers():
    rules = [
        rule([{"TAG": "X"}, {}], ["N", "N"]),
        rule([{"ORTH": "a"}, {}], ["N", "N"]),
        rule([{"ORTH": "a"}, {"OP": "*"}, {"ORTH": "c"}], ["N", "*", "N"]),
        rule([{"ORTH": "a"}, {}, {"ORTH": "c"}], ["N", "*", "N"]),
    ]
    doc = doc_of("a b c", tags=["X"] * 3)
    expected = [(0, 1, []), (0, 2, []), (1, 1, []), (2, 0, [0, 1, 2]), (3, 2, [])]
    assert fire(rules, Doc(VOCAB), doc) == expected


@pytest.mark.parametrize("more", [{}, {"NORM": "dog"}], ids=["words alone", "all others"])
def test_rules_survive_a_memory_zone(more):
    """Numbers of rules must not be strings that vanish with the zone in which a rule was used first."""
    nlp = spacy.blank("xx")
    source = RulePatterns([{**AFTER_THE, "tokens": [{"LOWER": f"w{i}"}, more]} for i in range(60)])
    with nlp.memory_zone():
        assert spans_of(source.fire([nlp("w47 dog")])) == [(47, 1, [])]
    assert spans_of(source.fire([nlp("w47 dog")])) == [(47, 1, [])]


def test_words_are_tested_anew_in_another_vocabulary():
    source = RulePatterns([rule([{"IS_STOP": True}, {}], ["N", "N"])])
    words = ["the", "x", "的", "x"]
    for vocab, token in ((VOCAB, 1), (spacy.blank("zh").vocab, 3), (VOCAB, 1)):
        assert source.fire([Doc(vocab, words=words)]).tokens.tolist() == [token]


# rules that look at words alone

WORDS = ["a", "A", "the", "The", "10", "ten", ",", "(", " ", "\n"]
WORDS += ["$", "$5", "x.org", "百分之十", "至", "Ünï"]
TESTS = [
    {}, {"ORTH": "a"}, {"LOWER": "the"}, {"IS_TITLE": True}, {"IS_PUNCT": False}, {"LENGTH": {">=": 3}},
    {"TEXT": {"REGEX": "^百分之"}}, {"ORTH": {"IN": ["a", "至", ","]}}, {"LOWER": {"NOT_IN": ["a", "the"]}},
    {"IS_DIGIT": True, "LENGTH": 2}, {"LIKE_NUM": True}, {"SHAPE": "dd"}, {"IS_STOP": True}, {"is_space": True},
    {"LIKE_URL": True}, {"IS_CURRENCY": True}, {"text": {"FUZZY": "thee"}},
]  # fmt: skip
SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7)
RULE = st.lists(st.sampled_from(TESTS), min_size=1, max_size=5)


def sentences_of(text):
    starts = [i == 0 for sentence in text for i in range(len(sentence))]
    return Doc(VOCAB, words=[word for sentence in text for word in sentence], sent_starts=starts)


def by_matcher(tokens, docs):
    """(last token, rule) by one Matcher a rule on every sentence."""
    found, start = [], 0
    for doc in docs:
        for sentence in doc.sents if len(doc) else []:
            for number, descriptions in enumerate(tokens):
                matcher = Matcher(doc.vocab)
                matcher.add("rule", [descriptions])
                first = start + sentence.start - 1
                found += [(first + end, number) for _, _, end in matcher(sentence)]
        start += len(doc)
    return sorted(found)


def fired(rules, docs):
    return list(zip(*(part.tolist() for part in rules.fire(docs)), strict=True))


@pytest.mark.long
@given(
    st.lists(RULE, min_size=1, max_size=6),
    st.lists(st.lists(SENTENCE, max_size=3), min_size=1, max_size=4),
)
@settings(max_examples=max(40, settings.default.max_examples))
def test_matches_are_those_of_the_matcher(tokens, texts):
    docs = [sentences_of(text) for text in texts]
    rules = WordRules(tokens)
    assert fired(rules, docs) == fired(rules, docs) == by_matcher(tokens, docs)


def test_many_rules_of_several_lengths():
    tokens = [[{"ORTH": f"w{i}"}, *[{}] * (i % 4)] for i in range(200)]
    docs = [sentences_of([[f"w{i}", "x", "y", "z"] for i in range(0, 200, 3)])]
    expected = [(4 * k + i % 4, i) for k, i in enumerate(range(0, 200, 3))]
    assert fired(WordRules(tokens), docs) == expected


@pytest.mark.parametrize("token", [{"TAG": "NN"}, {"LEMMA": "go"}, {"NORM": "x"}, {"IS_SENT_START": True},
                                   {"SPACY": False}, {"_": {"x": 1}}, {"ORTH": "a", "OP": "?"}])  # fmt: skip
def test_rules_that_look_at_more_than_words(token):
    assert not looks_at_words([{"ORTH": "a"}, token])
    assert looks_at_words([{"ORTH": "a"}, {}])


# what they stand for: (weight, rule, labels), a set where several are possible


def test_variables_take_every_label():
    assert named([FROM_TO]) == [(0, 0, ["P", y, "P", y]) for y in LABELS]
    two = rule([{}] * 3, ["?b", "?a", "?b"])
    assert named([two]) == [(0, 0, [b, a, b]) for b in LABELS for a in LABELS]


def test_tied_rules_have_one_weight():
    again = {**FROM_TO, "tied": False, "name": "again"}
    rules = [{**FROM_TO, "tied": False}, AFTER_THE, FROM_TO, again]
    owners = [(weight, number) for weight, number, _ in named(rules)]
    expected = [(0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (4, 2), (4, 2), (5, 3), (6, 3), (7, 3)]
    assert owners == expected


def test_small_sets_are_written_out():
    """Without gaps, few label sequences are cheaper as patterns of the trie, and mean the same."""
    sets = rule([{}, {}, {}], [["P", "N"], "V", ["V", "P"]])
    several = [(1, 1, list(labels)) for labels in ("NVV", "NVP", "PVV", "PVP")]
    assert named([AFTER_THE, sets]) == [(0, 0, ["P", "N"]), *several]
    untied = rule([{}, {}], ["?y", ["P", "N"]], tied=False)
    assert named([untied]) == [(i, 0, [y, z]) for i, y in enumerate(LABELS) for z in "NP"]
    seven = [["P", "N"]] * 7
    assert len(named([rule([{}] * 6, seven[1:])])) == 64
    assert named([rule([{}] * 7, seven)]) == [(0, 0, [{"N", "P"}] * 7)]


def test_rules_with_gaps_are_configurations():
    gap = rule(letters("a", ".*", "b"), ["?p", "*", ["N", "P"]])
    expected = [[{p}, ANY, {"N", "P"}] for p in LABELS]
    assert named([AFTER_THE, gap]) == [(0, 0, ["P", "N"]), *((1, 1, sets) for sets in expected)]
    untied = [{**gap, "tied": False}, AFTER_THE]
    assert named(untied) == [*((i, 0, sets) for i, sets in enumerate(expected)), (3, 1, ["P", "N"])]
    assert named([rule([{}, {}], ["*", "N"])]) == [(0, 0, [ANY, {"N"}])]
    rules = [gap, gap | {"name": "again", "tied": False}]
    assert len(RulePatterns(rules).define(LABELS, []).sets) == 5, "each once"


def test_an_optional_rule_needs_its_labels():
    lacks = rule([{}, {}], ["N", "Z"], note="why", example="x/N y/Z", count={}, optional=True)
    assert named([lacks, {**AFTER_THE, "optional": True}]) == [(0, 1, ["P", "N"])]
    assert named([]) == named([lacks]) == []


def test_digest_is_of_what_rules_do():
    """Names and notes do nothing; the order numbers the weights."""
    second = {"name": "b", "tokens": [{"LOWER": "to"}, {}], "labels": ["TO", "VB"]}
    digest = RulePatterns([AFTER_THE, second]).digest()
    first = {**AFTER_THE, "name": "c", "note": "of articles", "tied": True}
    assert RulePatterns([first, {**second, "optional": False}]).digest() == digest
    others = [[second, AFTER_THE], [AFTER_THE]]
    others += [[AFTER_THE, second | more] for more in ({"tied": False}, {"labels": ["TO", "NN"]})]
    assert digest not in [RulePatterns(rules).digest() for rules in others]
    several = PatternSources(RulePatterns([AFTER_THE, second]), SameWordPairs([["NN"]], {}))
    assert several.digest() == [digest, None]


# what cannot work

KEYS = "a rule has the keys"
WRONG = [
    *((KEYS, wrong) for wrong in (None, "from-to", [], {}, {"name": "r", "tokens": [{}, {}]}, {**AFTER_THE, "x": 2})),
    ("at least two labels", rule([{}], ["N"])),
    ("at least two labels", rule([], [])),
    ("3 tokens but 2 labels", rule([{}] * 3, ["N", "V"])),
    ('"OP": "!" matches no token', rule([{}, {"LOWER": "a", "op": "!"}], ["N", "V"])),
    ("at most 2 different variables", rule([{}] * 3, ["?a", "?b", "?c"])),
    *(("", rule(tokens, ["N", "V"])) for tokens in (
        [{"WORDFORM": "x"}, {}], ["the", "dog"], "ab", None, [{"LOWER": {"REGEX": "("}}, {}])),
    *((".*OP", rule([{}, {"OP": operator}], ["N", "V"])) for operator in ("%", "", "1", "{x}", 2)),
    *(('"labels" must be a list', rule([{}] * 2, labels)) for labels in (
        ["O", []], ["O", ""], ["O", [""]], ["O", ["N", 1]], [1, 2], ["O", None], ["O", [["O"]]], "OO", None)),
    *(('the label "X" is unknown', rule([{}] * 2, labels)) for labels in (["N", "X"], ["N", ["V", "X"]], ["X", "*"])),
    ('the label "\\*" is unknown', rule([{}] * 2, ["N", ["*", "N"]])),
    ('the label "\\?a" is unknown', rule([{}] * 2, ["?a", ["?a", "N"]])),
]  # fmt: skip


@pytest.mark.parametrize("problem, wrong", WRONG)
def test_rule_that_cannot_work(problem, wrong):
    """Such a rule is refused when it is written, by its name, not when it is first used."""
    with pytest.raises(ValueError, match=rf"(?s)\[HS034\] Rule .*{problem}"):
        RulePatterns([AFTER_THE, wrong]).define(LABELS, [])
