"""Patterns that are counted, against counting in plain Python."""

import math
from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.patterns.counted import FrequentTransitions, WordPatterns
from spacy_hoseq.patterns.sources import EVERYWHERE

from ..builders import learn

NLP = spacy.blank("xx")
LABELS = ["A", "B", "C"]


def text(seed, n=30, n_words=4):
    """Docs of two sentences each, and their gold labels, some unknown."""
    rng = np.random.default_rng(seed)
    docs, gold = [], []
    for _ in range(n):
        lengths = rng.integers(1, 6, 2)
        words = [f"w{i}" for i in rng.integers(0, n_words, lengths.sum())]
        starts = [i in (0, lengths[0]) for i in range(len(words))]
        docs.append(Doc(NLP.vocab, words=words, sent_starts=starts))
        labels = rng.integers(0, 3, len(words)) * (rng.random(len(words)) < 0.8)
        labels[rng.random(len(words)) < 0.05] = -1
        gold += [labels[: lengths[0]].astype(np.int32), labels[lengths[0] :].astype(np.int32)]
    return docs, gold


def sentences(docs):
    return [[token.text for token in sentence] for doc in docs for sentence in doc.sents]


# frequent transitions


def plain_patterns(sequences, max_order, min_count):
    """All label sequences of 3 to max_order + 1 labels without a gap, by length, then by label ids."""
    counts = Counter()
    for sequence in sequences:
        for length in range(3, max_order + 2):
            firsts = range(len(sequence) - length + 1)
            windows = [tuple(sequence.tolist()[i : i + length]) for i in firsts]
            counts.update(window for window in windows if -1 not in window)
    return sorted((p for p, n in counts.items() if n >= min_count), key=lambda p: (len(p), p))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_order, min_count", [(2, 1), (2, 4), (3, 3), (5, 1), (20, 2)])
def test_frequent_patterns_are_the_counted_ones(seed, max_order, min_count):
    _, sequences = text(seed, 60)
    expected = plain_patterns(sequences, max_order, min_count)
    found = FrequentTransitions(max_order, min_count).define(LABELS, sequences)
    assert expected and found.patterns == expected
    assert found.weight_of.tolist() == list(range(len(expected))), "one weight each"
    assert found.rule_of.tolist() == [EVERYWHERE] * len(expected)


def test_nothing_is_counted_across_sequences_or_gaps():
    def patterns(*sequences):
        ids = [np.array(sequence, np.int32) for sequence in sequences]
        return FrequentTransitions(3, 1).define(LABELS, ids).patterns

    assert patterns([0, 1, 0, 1], [2, 0]) == [(0, 1, 0), (1, 0, 1), (0, 1, 0, 1)]
    assert patterns([0, 1, -1, 2, 0, 1]) == [(2, 0, 1)]
    for nothing in ([], [[]], [[0]], [[0, 1], [2, 0], [1]], [[-1] * 4], [[0, 1, -1, 2, 0]]):
        assert patterns(*nothing) == []


# patterns of words


def counted(docs, gold, max_order, min_count):
    """(word, place, labels) -> gain, as the docstring of WordPatterns has it."""
    counts = {}
    for length in range(2, max_order + 2):
        for words, labels in zip(sentences(docs), gold, strict=True):
            for end in range(length - 1, len(words)):
                window = tuple(labels[end - length + 1 : end + 1].tolist())
                if -1 not in window:
                    for place in range(length):
                        counts.setdefault((words[end - place], place, length), []).append(window)
    gains = {}
    for (word, place, _), windows in counts.items():
        whole, head, tail, middle = (
            Counter(w[a:b] for w in windows)
            for a, b in ((None, None), (None, -1), (1, None), (1, -1))
        )
        for w, n in whole.items():
            gain = n * math.log(n * middle[w[1:-1]] / (head[w[:-1]] * tail[w[1:]]))
            if n >= min_count and gain > 1e-9:
                gains[word, place, w] = gain
    return gains


def as_named(source, features, docs):
    """(word, place, labels) of features, by trying all words and places."""
    word_of = {}
    doc = Doc(NLP.vocab, words=["elsewhere"] * (source.max_order + 1))
    elsewhere = set(source.fire([doc]).rules.tolist())
    for word in {token.text for doc in docs for token in doc}:
        fired = source.fire([Doc(NLP.vocab, words=[word, *["elsewhere"] * source.max_order])])
        for token, rule in zip(fired.tokens.tolist(), fired.rules.tolist(), strict=True):
            if rule not in elsewhere:
                word_of[rule] = (word, token)
    pairs = zip(features.patterns, features.rule_of.tolist(), strict=True)
    return [(*word_of[rule], pattern) for pattern, rule in pairs]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1, 2, 3])
def test_patterns_of_words_are_those_of_largest_gain(seed, order):
    docs, gold = text(seed)
    expected = counted(docs, gold, order, 2)
    source = WordPatterns(order, min_count=2, most=10_000)
    source.see(docs[:11])
    source.see(docs[11:])
    named = as_named(source, source.define(LABELS, gold), docs)
    assert set(named) == set(expected) and len(named) == len(expected)
    source = WordPatterns(order, min_count=2, most=20)
    source.see(docs)
    few = as_named(source, source.define(LABELS, gold), docs)
    least = sorted(expected.values())[-20]
    assert len(few) == 20 and all(expected[name] >= least - 1e-9 for name in few)


def test_tagger_learns_and_saves_them(tmp_path):
    """The last label follows from the first one by the word between them: neither emissions nor transitions tell."""
    nlp = spacy.blank("xx")
    words = {"@misc": "spacy_hoseq.word_patterns.v1", "min_count": 2}
    model = {"patterns": words, "emissions": {"templates": ["orth[0]"]}}
    nlp.add_pipe("hoseq_tagger", config={"model": model})
    corpus = [("a x b", "A X A"), ("c x b", "C X C"), ("a y b", "A X C"), ("c y b", "C X A")] * 3
    docs = [(nlp.make_doc(text), tags.split()) for text, tags in corpus]
    examples = [Example.from_dict(doc, {"tags": tags}) for doc, tags in docs]
    learn(nlp, examples, 20)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        found = [" ".join(token.tag_ for token in pipeline(words)) for words, _ in corpus]
        assert found == [tags for _, tags in corpus]


@pytest.mark.parametrize("kind, settings, expected", [
    (FrequentTransitions, {"max_order": 1}, "max_order: 1. Expected 2 to 20"),
    (FrequentTransitions, {"max_order": 21}, "max_order: 21"),
    (FrequentTransitions, {"min_count": 0}, "min_count: 0. Expected 1 or more"),
    (WordPatterns, {"max_order": 0}, "max_order: 0. Expected 1 to 8"),
    (WordPatterns, {"max_order": 9}, "max_order: 9"),
    (WordPatterns, {"min_count": 0}, "min_count: 0"),
    (WordPatterns, {"most": 0}, "most: 0"),
])  # fmt: skip
def test_settings_out_of_range(kind, settings, expected):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong " + expected):
        kind(**settings)
