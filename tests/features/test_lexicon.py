"""Values are remembered for each word type, and forgetting them changes nothing but time."""

import pickle
import threading

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.features.attributes import ATTRIBUTES, register_attribute
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.lexicon import Lexicon
from spacy_hoseq.features.templates import parse_templates

from .values import value_of

NAMES = ["lower", "suffix2", "length", "is_alpha"]


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("en").vocab


def orths_of(vocab, words):
    return np.array([vocab.strings.add(word) for word in words], np.uint64)


def values_of(lex, vocab, words):
    found = lex.of(vocab, orths_of(vocab, words))
    return found.table[found.rows]


def direct(vocab, words):
    return [[value_of(name, vocab[word]) for name in NAMES] for word in words]


def words_of(first, last):
    return [f"W{i}x" for i in range(first, last)]


def test_values_of_each_token_in_order(vocab):
    words = ["Dog", "cat", "Dog", "TIME", "mark", "a", "cat"]
    values = values_of(Lexicon(NAMES), vocab, words)
    assert values.tolist() == direct(vocab, words)
    assert values.dtype == np.uint64


def test_table_grows_and_keeps_its_values(vocab):
    lex = Lexicon(NAMES)
    for last in (1, 2, 5, 40, 41, 300):
        words = words_of(0, last)[::-1]
        assert values_of(lex, vocab, words).tolist() == direct(vocab, words)


def test_no_words(vocab):
    assert values_of(Lexicon(NAMES), vocab, []).shape == (0, 4)
    assert values_of(Lexicon([]), vocab, ["a", "b"]).shape == (2, 0)


def test_the_empty_word_and_the_largest_number(vocab):
    words = ["", "a", "", "b"]
    lex = Lexicon(["lower", "length"])
    for _ in range(2):
        assert values_of(lex, vocab, words)[:, 1].tolist() == [0, 1, 0, 1]
    found = lex.of(vocab, orths_of(vocab, words))
    assert found.rows[0] == found.rows[2] and len(set(found.rows.tolist())) == 3


def test_another_numbering_when_a_row_may_stand_for_another_word(vocab):
    lex, seen = Lexicon(["lower"], most=10), {}
    for first, last in ((0, 5), (3, 9), (9, 12), (0, 30), (0, 2), (0, 4)):
        words = words_of(first, last)
        found = lex.of(vocab, orths_of(vocab, words))
        for word, row in zip(words, found.rows.tolist(), strict=True):
            assert row >= 2, "those before are no words"
            assert seen.setdefault((id(found.numbering), row), word) == word
            seen[found.numbering] = found  # so that ids stay apart
    assert len({key[0] for key in seen if isinstance(key, tuple)}) > 2
    lex.clear()
    assert lex.of(vocab, orths_of(vocab, ["a"])).numbering not in seen


def test_several_threads_learn_words(vocab):
    lex, wrong = Lexicon(NAMES), []
    expected = {word: row for word, row in zip(words_of(0, 300), direct(vocab, words_of(0, 300)), strict=True)}

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            words = [f"W{i}x" for i in rng.integers(0, 300, size=20)]
            if rng.random() < 0.1:
                lex.clear()
            if values_of(lex, vocab, words).tolist() != [expected[word] for word in words]:
                wrong.append(words)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_word_is_what_its_vocabulary_says():
    english, german = spacy.blank("en").vocab, spacy.blank("de").vocab
    lex = Lexicon(["is_stop"])
    for _ in range(2):
        for vocab, expected in ((english, [1, 0]), (german, [0, 1])):
            assert values_of(lex, vocab, ["the", "und"])[:, 0].tolist() == expected
    again = pickle.loads(pickle.dumps(lex))
    assert values_of(again, english, ["the", "und"])[:, 0].tolist() == [1, 0]


@pytest.fixture
def calls():
    """The words that an attribute "counting" is asked for."""
    words = []
    register_attribute("counting")(words.append)
    yield words
    del ATTRIBUTES["counting"]


def test_each_type_is_worked_out_once(vocab, calls):
    lex = Lexicon(["counting"])
    for words in (["a", "b", "a"], ["b", "c"], ["a", "b", "c"]):
        values_of(lex, vocab, words)
    assert sorted(calls) == ["a", "b", "c"]
    lex.clear()
    values_of(lex, vocab, ["c"])
    assert sorted(calls) == ["a", "b", "c", "c"]


def test_all_is_forgotten_when_there_are_too_many_types(vocab, calls):
    lex = Lexicon(["counting"], most=10)
    values_of(lex, vocab, words_of(0, 8))
    values_of(lex, vocab, words_of(0, 2))
    assert len(calls) == 8
    values_of(lex, vocab, words_of(8, 12))
    assert len(calls) == 12
    values_of(lex, vocab, words_of(0, 1))
    assert len(calls) == 13, "the first words had been forgotten"


def test_values_are_the_same_with_and_without_eviction(vocab):
    lex = Lexicon(NAMES, most=6)
    rng = np.random.default_rng(3)
    for size in (1, 5, 6, 7, 30, 3, 2, 6):  # also more types in one batch than may be kept
        words = [f"W{i}x" for i in rng.integers(0, 40, size=size)]
        assert values_of(lex, vocab, words).tolist() == direct(vocab, words)


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
