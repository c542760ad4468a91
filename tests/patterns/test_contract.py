"""What every source of patterns keeps to: matches of a batch are those of its Docs, in any vocabulary, of any copy."""

import copy
import pickle

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.patterns import (
    ChunkWords,
    FrequentTransitions,
    PatternSources,
    RulePatterns,
    SameWordPairs,
)
from spacy_hoseq.patterns.counted import WordPatterns
from spacy_hoseq.patterns.sources import PatternFeatures, PatternSource

from .plain import spans_of

LABELS = ["O", "B-X", "I-X", "L-X", "U-X"]
SENTENCES = [["a", "b", "c", "a"], ["b", "a"], ["c"], ["a", "c", "b", "b", "a", "c"]]
GOLD = [np.array(ids, np.int32) for ids in ([1, 2, 3, 0], [1, 3], [4], [0, 1, 3, 4, 0, 0])]
WORD_RULE = {"tokens": [{"LOWER": "a"}, {}], "labels": ["O", "?l"], "tied": False}
GAP_RULE = {"tokens": [{"LOWER": "a"}, {"OP": "*"}, {"LOWER": "c"}], "labels": ["?l", "*", "O"]}
ANY_RULE = {"tokens": [{"LOWER": "b"}, {}, {"LOWER": "a"}], "labels": ["O", "*", "O"]}
RULES = [{"name": "words", **WORD_RULE}, {"name": "gap", **GAP_RULE}, {"name": "any", **ANY_RULE}]
CLASSES = [{"name": "end", "where": "ends", "words": ["a", "bc"]}]
CLASSES += [{"name": "begin", "where": "begins", "words": ["b"]}]


def word_patterns():
    source = WordPatterns(2, 1, 20)
    source.see(docs_of(spacy.blank("xx").vocab))
    return source


SOURCES = {
    "frequent": lambda: FrequentTransitions(3, 1),
    "rules": lambda: RulePatterns(RULES),
    "rules of words": lambda: RulePatterns(RULES[:1]),
    "same word": lambda: SameWordPairs([["O"], ["B-X", "U-X"]], {}, 3),
    "chunk words": lambda: ChunkWords(
        "X", CLASSES, ["ends", "begins+inner", "before+after+size"], 3
    ),
    "words": word_patterns,
    "several": lambda: PatternSources(
        FrequentTransitions(2, 1), RulePatterns(RULES), SameWordPairs([["O"]], {})
    ),
}


def docs_of(vocab):
    """Two sentences in the first, none in the second, one in each other."""
    docs = [[*SENTENCES[:2]], [], *([sentence] for sentence in SENTENCES[2:])]
    starts = [[i == 0 for s in doc for i in range(len(s))] for doc in docs]
    words = [[word for s in doc for word in s] for doc in docs]
    pairs = zip(words, starts, strict=True)
    return [Doc(vocab, words, sent_starts=starts) for words, starts in pairs]


def matches_of(source, docs):
    fired = source.fire(docs)
    assert {array.dtype for array in fired} == {np.dtype(np.intp)}
    return spans_of(fired)


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]()


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("xx").vocab


def test_matches_of_a_batch_are_those_of_its_docs(source, vocab):
    docs = docs_of(vocab)
    expected = []
    for before, doc in zip(np.cumsum([0, *map(len, docs)]).tolist(), docs, strict=False):
        found = matches_of(source, [doc])
        expected += [(rule, before + first, slots) for rule, first, slots in found]
    assert matches_of(source, docs) == sorted(expected)
    assert isinstance(source, PatternSource) and bool(expected) == (source.n_rules > 0)


def test_matches_lie_within_one_sequence(source, vocab):
    docs = docs_of(vocab)
    sequence = np.repeat(np.arange(len(SENTENCES)), [*map(len, SENTENCES)])
    for rule, first, slots in matches_of(source, docs):
        assert 0 <= rule < source.n_rules
        assert not slots or sequence[first] == sequence[first + len(slots) - 1]


def test_no_docs_and_no_tokens(source, vocab):
    assert matches_of(source, []) == matches_of(source, [Doc(vocab)]) == []


def test_copies_and_other_vocabularies(source, vocab):
    expected = matches_of(source, docs_of(vocab))
    for other in (copy.deepcopy(source), pickle.loads(pickle.dumps(source))):
        assert matches_of(other, docs_of(vocab)) == expected
    assert matches_of(source, docs_of(spacy.blank("xx").vocab)) == expected
    assert matches_of(source, docs_of(vocab)) == expected


def test_definitions(source):
    """They can be learnt, name the rules that fire, and are read from arrays as they were."""
    features = source.define(LABELS, GOLD)
    assert features.n_weights > 0 and features.rule_of.max(initial=-1) < source.n_rules
    back = PatternFeatures.from_arrays(features.to_arrays())
    assert back.patterns == features.patterns
    assert all(isinstance(label, int) for pattern in back.patterns for label in pattern)
    for name in ("weight_of", "rule_of", "is_span"):
        ours, theirs = getattr(back, name), getattr(features, name)
        assert ours.dtype == theirs.dtype and ours.tolist() == theirs.tolist()
    assert back.sets.tolist() == features.sets.tolist()
