"""Label patterns tied to words, against plain counting; and decoding with them, against enumeration."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hoseq.patterns.sources import PatternSources
from spacy_hoseq.patterns.words import WordPatterns

NLP = spacy.blank("xx")
LABELS = ["A", "B", "C"]


def text(seed, n=30, n_words=4):
    """Docs of some sentences each, and their gold labels, some unknown."""
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


def counted(docs, gold, max_order, min_count):
    """(word, place, labels) -> gain, as the docstring of WordPatterns has it."""
    counts = {}
    for length in range(2, max_order + 2):
        for words, labels in zip(sentences(docs), gold, strict=True):
            for end in range(length - 1, len(words)):
                window = tuple(labels[end - length + 1 : end + 1].tolist())
                if -1 not in window:
                    for place in range(length):
                        at = counts.setdefault((words[end - place], place, length), [])
                        at.append(window)
    gains = {}
    for (word, place, _), windows in counts.items():
        whole, head, tail, middle = (
            Counter(w[a:b] for w in windows) for a, b in ((None, None), (None, -1), (1, None), (1, -1))
        )
        for w, n in whole.items():
            gain = n * math.log(n * middle[w[1:-1]] / (head[w[:-1]] * tail[w[1:]]))
            if n >= min_count and gain > 1e-9:
                gains[word, place, w] = gain
    return gains


def as_named(source, features, docs):
    """(word, place, labels) of features, by trying all words and places."""
    word_of = {}
    for word in {token.text for doc in docs for token in doc}:
        fired = source.fire([Doc(NLP.vocab, words=[word, *["elsewhere"] * source.max_order])])
        elsewhere = set(source.fire([Doc(NLP.vocab, words=["elsewhere"] * (source.max_order + 1))]).rules.tolist())
        for token, rule in zip(fired.tokens.tolist(), fired.rules.tolist(), strict=True):
            if rule not in elsewhere:
                word_of[rule] = (word, token)
    return [(*word_of[rule], p) for p, rule in zip(features.patterns, features.rule_of.tolist(), strict=True)]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("order", [1, 2, 3])
def test_patterns_are_those_that_counting_gives(seed, order):
    docs, gold = text(seed)
    expected = counted(docs, gold, order, 2)
    source = WordPatterns(order, min_count=2, most=10_000)
    source.see(docs[:11])
    source.see(docs[11:])
    features = source.define(LABELS, gold)
    named = as_named(source, features, docs)
    assert set(named) == set(expected) and len(named) == len(expected)
    source = WordPatterns(order, min_count=2, most=20)
    source.see(docs)
    few = as_named(source, source.define(LABELS, gold), docs)
    least = sorted(expected.values())[-20]
    assert len(few) == 20 and all(expected[name] >= least - 1e-9 for name in few)


@pytest.mark.parametrize("seed", range(10))
def test_fires_where_the_word_is(seed):
    """The score of every labelling, by the definition, and by what is handed to decoders."""
    docs, gold = text(seed)
    source = PatternSources(WordPatterns(2, 2, 30))
    source.see(docs)
    features = source.define(LABELS, gold)
    named = as_named(source.sources[0], features, docs)
    weights = np.random.default_rng(seed).random(features.n_weights)
    fired = source.fire(docs[:1])
    which, matches = features.expand(fired)
    tokens = fired.tokens[matches]
    first = 0
    for words in sentences(docs[:1]):
        for labels in itertools.product(range(3), repeat=len(words)):
            expected = sum(
                weights[k]
                for k, (word, place, pattern) in enumerate(named)
                for end in range(len(pattern) - 1, len(words))
                if words[end - place] == word and labels[end - len(pattern) + 1 : end + 1] == pattern
            )
            score = 0.0
            for k, end in zip(which.tolist(), (tokens - first).tolist(), strict=True):
                pattern = features.patterns[k]
                if len(pattern) - 1 <= end < len(words) and labels[end - len(pattern) + 1 : end + 1] == pattern:
                    score += weights[features.weight_of[k]]
            assert score == pytest.approx(expected)
        first += len(words)


def test_nothing_seen():
    assert WordPatterns().define(LABELS, []).patterns == []
    assert len(WordPatterns().fire([Doc(NLP.vocab)]).tokens) == 0


@pytest.mark.parametrize("settings", [{"max_order": 0}, {"max_order": 9}, {"min_count": 0}, {"most": 0}])
def test_settings_out_of_range(settings):
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        WordPatterns(**settings)


def test_tagger_learns_and_saves_them(tmp_path):
    """The last label follows from the first one by the word between them: neither emissions nor transitions tell."""
    source = {"@misc": "spacy_hoseq.word_patterns.v1", "min_count": 2}
    emissions = {"templates": ["orth[0]"]}
    nlp = spacy.blank("xx")
    model = {"patterns": {"@misc": "spacy_hoseq.pattern_sources.v1", "*": {"words": source}}, "emissions": emissions}
    nlp.add_pipe("hoseq_tagger", config={"model": model})
    corpus = [("a x b", "A X A"), ("c x b", "C X C"), ("a y b", "A X C"), ("c y b", "C X A")] * 3
    examples = []
    for words, tags in corpus:
        gold = Doc(nlp.vocab, words=words.split(), tags=tags.split())
        examples.append(Example(Doc(nlp.vocab, words=words.split()), gold))
    nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples)
    nlp.to_disk(tmp_path)
    for pipeline in (nlp, spacy.load(tmp_path)):
        assert [" ".join(token.tag_ for token in pipeline(words)) for words, _ in corpus] == [t for _, t in corpus]
