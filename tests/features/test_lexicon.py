"""Values are remembered for each word type, and forgetting them changes nothing but time."""

import gc
import pickle
import threading
import weakref
import zlib

import numpy as np
import pytest
import spacy
from spacy.lookups import Lookups
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hoseq.features import lexicon
from spacy_hoseq.features.attributes import WORD_ATTRIBUTES, lexical_attribute, register_attribute
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.lexicon import Lexicon, lexicon_of
from spacy_hoseq.features.templates import parse_templates

from .values import value_of

NAMES = ["lower", "suffix2", "length", "is_alpha"]


@pytest.fixture(scope="module")
def vocab():
    return spacy.blank("xx").vocab


def orths_of(vocab, words):
    return np.array([vocab.strings.add(word) for word in words], np.uint64)


class Asking:
    def __init__(self, names):
        self.attributes = [lexical_attribute(name) for name in names]


def found_of(lex, vocab, words, names=NAMES):
    readers = lex.__dict__.setdefault("readers of tests", {})
    reader = readers.setdefault(tuple(names), Asking(names))
    return lex.of(vocab, vocab.lookups, reader, orths_of(vocab, words))


def values_of(lex, vocab, words, names=NAMES):
    found = found_of(lex, vocab, words, names)
    return found.table[found.rows[:, None], found.types].T


@pytest.fixture
def few_types(monkeypatch):
    monkeypatch.setattr(lexicon, "MAX_WORD_TYPES", 10)


def direct(vocab, words):
    return [[value_of(name, vocab[word]) for name in NAMES] for word in words]


def words_of(first, last):
    return [f"W{i}x" for i in range(first, last)]


def test_table_grows_and_keeps_its_values(vocab):
    lex = Lexicon()
    for last in (1, 2, 5, 40, 41, 300):
        words = words_of(0, last)[::-1]
        assert values_of(lex, vocab, words).tolist() == direct(vocab, words)


def test_no_words(vocab):
    assert values_of(Lexicon(), vocab, []).shape == (0, 4)
    assert values_of(Lexicon(), vocab, ["a", "b"], []).shape == (2, 0)


def test_the_empty_word_and_the_largest_number(vocab):
    words = ["", "a", "", "b"]
    lex = Lexicon()
    for _ in range(2):
        assert values_of(lex, vocab, words, ["lower", "length"])[:, 1].tolist() == [0, 1, 0, 1]
    found = found_of(lex, vocab, words)
    assert found.types[0] == found.types[2] and len(set(found.types.tolist())) == 3


def test_another_numbering_when_a_row_may_stand_for_another_word(vocab, few_types):
    lex, seen = Lexicon(), {}
    for first, last in ((0, 5), (3, 9), (9, 12), (0, 30), (0, 2), (0, 4)):
        words = words_of(first, last)
        found = found_of(lex, vocab, words)
        for word, row in zip(words, found.types.tolist(), strict=True):
            assert row >= 2, "those before are no words"
            assert seen.setdefault((id(found.numbering), row), word) == word
            seen[found.numbering] = found  # so that ids stay apart
    assert len({key[0] for key in seen if isinstance(key, tuple)}) > 2
    lex.clear()
    assert found_of(lex, vocab, ["a"]).numbering not in seen


def test_several_threads_learn_words(vocab):
    lex, wrong = Lexicon(), []
    words = words_of(0, 300)
    expected = dict(zip(words, direct(vocab, words), strict=True))

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(60):
            words = [f"W{i}x" for i in rng.integers(0, 300, size=20)]
            if rng.random() < 0.1:
                lex.clear()
            some = sorted(rng.choice(4, size=rng.integers(1, 5), replace=False).tolist())
            values = values_of(lex, vocab, words, [NAMES[a] for a in some])
            if values.tolist() != [[expected[word][a] for a in some] for word in words]:
                wrong.append(words)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_word_is_what_its_vocabulary_says():
    english, german = spacy.blank("en").vocab, spacy.blank("de").vocab
    for _ in range(2):
        for vocab, expected in ((english, [1, 0]), (german, [0, 1])):
            values = values_of(lexicon_of(vocab.lookups), vocab, ["the", "und"], ["is_stop"])
            assert values[:, 0].tolist() == expected


def test_a_lexicon_ends_with_its_vocabulary():
    nlp = spacy.blank("xx")
    lexicon = weakref.ref(lexicon_of(nlp.vocab.lookups))
    assert lexicon() is lexicon_of(nlp.vocab.lookups)
    del nlp
    gc.collect()
    assert lexicon() is None


@pytest.fixture
def calls():
    """The words that an attribute "counting" is asked for."""
    words = []
    register_attribute("counting")(words.append)
    yield words
    del WORD_ATTRIBUTES["counting"]


def test_components_share_the_values_of_words(calls):
    """Two extractors of one vocabulary; another vocabulary has its own words."""
    vocab = spacy.blank("xx").vocab
    texts = ("counting[0]", "counting[-1]+lower[0]")
    one, other = (FeatureExtractor(parse_templates([text])) for text in texts)
    doc = Doc(vocab, words=["a", "b", "a"])
    expected = [extractor.keys([doc]).tolist() for extractor in (one, other)]
    assert set(calls) == {"a", "b"}
    calls.clear()
    docs = [Doc(vocab, words=["a", "c", "a"])]
    for extractor in (one, other):
        extractor.keys(docs)
    assert calls == ["c"]
    elsewhere = [Doc(spacy.blank("xx").vocab, words=["a", "b", "a"])]
    assert one.keys(elsewhere).tolist() == expected[0] and sorted(calls) == ["a", "b", "c"]
    other.forget_words()
    other.keys(docs)
    assert sorted(calls) == ["a", "a", "b", "c", "c"]


def test_no_words_are_kept_for_tables_of_its_own(vocab):
    """They are looked up beside the vocabulary of the Docs, which knows nothing of such tables."""
    extractor = FeatureExtractor(parse_templates(["is_stop[0]", "suffix2[-1]"]))
    extractor.own_tables = Lookups()
    extractor.keys([Doc(vocab, words=["the", "unheardof"])])
    vocabs = [found for found in gc.get_objects() if isinstance(found, Vocab)]
    kept = [vocab for vocab in vocabs if "unheardof" in vocab.strings]
    assert kept == [vocab]


def test_a_copied_extractor_reads_the_same_values(vocab):
    docs = [Doc(vocab, words=["Some", "words"])]
    extractor = FeatureExtractor(parse_templates(["suffix2[0]", "length[0]"]))
    copied = pickle.loads(pickle.dumps(extractor))
    rows = [each.columns(docs).words.rows.tolist() for each in (extractor, copied)]
    assert rows[0] == rows[1]
    assert np.array_equal(extractor.keys(docs), copied.keys(docs))


def test_an_attribute_that_fails_is_asked_again(vocab, calls):
    """`word_class1` needs a table; whoever does not ask for it is not concerned."""
    lex = Lexicon()
    own = spacy.blank("xx").vocab
    for _ in range(2):
        with pytest.raises(ValueError, match="HS007"):
            values_of(lex, own, ["a", "b"], ["lower", "word_class1"])
        assert values_of(lex, own, ["b", "c"], ["length", "lower"])[:, 0].tolist() == [1, 1]
    table = {"columns": [["", "x"]], "rows": zlib.compress(b"")}
    own.lookups.add_table("hoseq_word_classes", table)
    assert values_of(lex, own, ["a", "b"], ["word_class1", "length"]).tolist() == [[0, 1], [0, 1]]


def test_values_are_the_same_with_and_without_eviction(vocab, few_types):
    lex = Lexicon()
    rng = np.random.default_rng(3)
    for size in (1, 5, 10, 11, 30, 3, 2, 10):  # also more types in one batch than may be kept
        words = [f"W{i}x" for i in rng.integers(0, 40, size=size)]
        assert values_of(lex, vocab, words).tolist() == direct(vocab, words)


def test_keys_of_a_memory_zone_are_those_outside():
    nlp = spacy.blank("xx")
    extractor = FeatureExtractor(parse_templates(["lower[0]", "suffix3[-1]+shape[0]"]))
    outside = extractor.keys([nlp("Blargish words appear briefly")])
    nlp = spacy.blank("xx")
    extractor.forget_words()
    with nlp.memory_zone():
        inside = extractor.keys([nlp("Blargish words appear briefly")])
    extractor.forget_words()
    assert np.array_equal(inside, outside)
    assert np.array_equal(extractor.keys([nlp("Blargish words appear briefly")]), outside)
