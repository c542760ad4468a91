"""Values are remembered for each word type, and forgetting them changes nothing but time."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.features import lexicon, word_types
from spacy_hoseq.features.attributes import lexical_attribute
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.lexicon import Lexicon
from spacy_hoseq.features.templates import parse_templates

NAMES = ["lower", "suffix2", "length", "is_alpha"]


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


def orths_of(vocab, words):
    return np.array([vocab.strings.add(word) for word in words], np.uint64)


def direct(vocab, words):
    return [[lexical_attribute(name)(vocab[word]) for name in NAMES] for word in words]


def words_of(first, last):
    return [f"W{i}x" for i in range(first, last)]


def test_values_of_each_token_in_order(vocab):
    words = ["Dog", "cat", "Dog", "TIME", "mark", "a", "cat"]
    values = Lexicon(NAMES).values(vocab, orths_of(vocab, words))
    assert values.tolist() == direct(vocab, words)
    assert values.dtype == np.uint64


def test_table_grows_and_keeps_its_values(vocab):
    lex = Lexicon(NAMES)
    for last in (1, 2, 5, 40, 41, 300):
        words = words_of(0, last)[::-1]
        assert lex.values(vocab, orths_of(vocab, words)).tolist() == direct(vocab, words)


def test_no_words(vocab):
    assert Lexicon(NAMES).values(vocab, np.zeros(0, np.uint64)).shape == (0, 4)
    assert Lexicon([]).values(vocab, orths_of(vocab, ["a", "b"])).shape == (2, 0)


def counting(monkeypatch):
    """Counts how many word types are worked out."""
    calls = []
    monkeypatch.setattr(lexicon, "lexical_attribute", lambda name: lambda lexeme: calls.append(lexeme.orth_) or 1)
    return calls


def test_each_type_is_worked_out_once(vocab, monkeypatch):
    calls = counting(monkeypatch)
    lex = Lexicon(["lower"])
    for words in (["a", "b", "a"], ["b", "c"], ["a", "b", "c"]):
        lex.values(vocab, orths_of(vocab, words))
    assert sorted(calls) == ["a", "b", "c"]
    lex.clear()
    lex.values(vocab, orths_of(vocab, ["c"]))
    assert sorted(calls) == ["a", "b", "c", "c"]


def test_all_is_forgotten_when_there_are_too_many_types(vocab, monkeypatch):
    monkeypatch.setattr(word_types, "MAX_WORD_TYPES", 10)
    calls = counting(monkeypatch)
    lex = Lexicon(["lower"])
    lex.values(vocab, orths_of(vocab, words_of(0, 8)))
    lex.values(vocab, orths_of(vocab, words_of(0, 2)))
    assert len(calls) == 8
    lex.values(vocab, orths_of(vocab, words_of(8, 12)))  # 8 + 4 > 10
    assert len(calls) == 12
    lex.values(vocab, orths_of(vocab, words_of(0, 1)))
    assert len(calls) == 13, "the first words had been forgotten"


def test_values_are_the_same_with_and_without_eviction(vocab, monkeypatch):
    monkeypatch.setattr(word_types, "MAX_WORD_TYPES", 6)
    lex = Lexicon(NAMES)
    rng = np.random.default_rng(3)
    for size in (1, 5, 6, 7, 30, 3, 2, 6):  # also more types in one batch than may be kept
        words = [f"W{i}x" for i in rng.integers(0, 40, size=size)]
        assert lex.values(vocab, orths_of(vocab, words)).tolist() == direct(vocab, words)


def test_keys_after_forgetting(vocab):
    extractor = FeatureExtractor(parse_templates(["lower[0]", "shape[-1]"]))
    docs = [Doc(vocab, words=["Some", "Words", "here"])]
    before = extractor.keys(docs)
    extractor.forget_words()
    assert np.array_equal(extractor.keys(docs), before)


def test_keys_of_a_memory_zone_are_those_outside():
    nlp = spacy.blank("en")
    extractor = FeatureExtractor(parse_templates(["lower[0]", "suffix3[-1]+shape[0]"]))
    outside = extractor.keys([nlp("Blargish words appear briefly")])
    nlp = spacy.blank("en")
    extractor.forget_words()
    with nlp.memory_zone():
        inside = extractor.keys([nlp("Blargish words appear briefly")])
    extractor.forget_words()
    assert np.array_equal(inside, outside)
    assert np.array_equal(extractor.keys([nlp("Blargish words appear briefly")]), outside)
