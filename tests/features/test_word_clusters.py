"""The exchange algorithm, against the objective written from its definition and counted from the text."""

import math
from collections import Counter

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc

from spacy_hoseq.features.word_clusters import ClassBigrams, bigrams_of, exchange_words

VOCAB = spacy.blank("xx").vocab
SEEDS = range(4)


def random_text(seed, n_words=12, n_sentences=25):
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, n_words + 1)
    draw = lambda: rng.choice(n_words, rng.integers(0, 9), p=chances / chances.sum())  # noqa: E731
    return [[f"w{i}" for i in draw()] for _ in range(n_sentences)]


def docs_of(text):
    return [Doc(VOCAB, words=sentence) for sentence in text]


def log_likelihood(text, class_of):
    """sum of log p(class | class before) p(word | class) over the text, by counting; "|" is beyond each sentence."""
    classes, words = [], []
    for sentence in text:
        if sentence:
            words += ["|", *sentence]
            classes += ["|", *(class_of.get(word, "rare") for word in sentence)]
    pairs = Counter(zip(classes, [*classes[1:], classes[0]], strict=True))
    singles, of_words = Counter(classes), Counter(words)
    word_class = dict(zip(words, classes, strict=True))
    total = sum(n * math.log(n / singles[before]) for (before, _), n in pairs.items())
    # words without a class are one word to the model: what they are is not counted
    known = [word for word in of_words if word in class_of]
    ratios = {word: of_words[word] / singles[word_class[word]] for word in known}
    return total + sum(of_words[word] * math.log(ratios[word]) for word in known)


def case(seed, n_classes=4, min_count=2):
    text = random_text(seed)
    bigrams = bigrams_of(docs_of(text), min_count)
    classes = np.random.default_rng(seed).integers(0, n_classes, len(bigrams.words))
    return text, bigrams, classes


def objective(bigrams, classes):
    """sum of g(N(a, b)) - 2 sum of g(N(a)), by counting."""
    all_classes = np.append(classes, [-1, -2])
    pairs, singles = Counter(), Counter()
    rows = zip(bigrams.first, bigrams.second, bigrams.counts.tolist(), strict=True)
    for first, second, n in rows:
        pairs[all_classes[first], all_classes[second]] += n
        singles[all_classes[first]] += n
    return sum(n * math.log(n) for n in pairs.values()) - 2 * sum(
        n * math.log(n) for n in singles.values()
    )


def gains(state, word):
    """Of the objective with the word in each class, as `exchange` finds them."""
    neighbours, own = state._neighbours(word), state._all[word]
    state._add(neighbours, own, -1)
    found = state._gains(neighbours)
    state._add(neighbours, own, 1)
    return found - found[own]


def named(bigrams, classes):
    return dict(zip(bigrams.words, classes.tolist(), strict=True))


def test_words_and_pairs():
    text = ["b a b".split(), ["a", "x"], ["b"], [], ["\u2028", "b", "\u2028"]]
    bigrams = bigrams_of(docs_of(text), 2)
    assert bigrams.words == ["b", "a"]
    rows = zip(bigrams.first, bigrams.second, bigrams.counts, strict=True)
    pairs = {(a, b): n for a, b, n in rows}
    assert pairs == {
        (2, 0): 2, (0, 1): 1, (1, 0): 1, (0, 2): 2, (2, 1): 1, (1, 3): 1, (3, 2): 1,
        **{(2, 0): 3, (0, 2): 3},
    }  # fmt: skip


def test_sentences_of_a_doc_and_docs_are_the_same():
    one = Doc(VOCAB, words="a b a c".split(), sent_starts=[True, False, True, False])
    two = docs_of(["a b".split(), "a c".split()])
    for ours, theirs in zip(bigrams_of([one], 1), bigrams_of(two, 1), strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("seed", SEEDS)
def test_objective_is_the_likelihood_but_for_a_constant(seed):
    text, bigrams, classes = case(seed)
    other = np.random.default_rng(seed + 100).integers(0, 4, len(classes))
    ours = objective(bigrams, classes) - objective(bigrams, other)
    likelihoods = [log_likelihood(text, named(bigrams, each)) for each in (classes, other)]
    expected = likelihoods[0] - likelihoods[1]
    assert ours == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_gain_of_every_exchange(seed):
    text, bigrams, classes = case(seed)
    state = ClassBigrams(bigrams, classes, 4)
    before = log_likelihood(text, named(bigrams, classes))
    for word in range(len(classes)):
        expected = []
        for to in range(4):
            moved = classes.copy()
            moved[word] = to
            expected.append(log_likelihood(text, named(bigrams, moved)) - before)
        np.testing.assert_allclose(gains(state, word), expected, atol=1e-8)
    assert np.array_equal(state.classes, classes), "looking changes nothing"


@pytest.mark.parametrize("seed", SEEDS)
def test_each_exchange_is_the_best_one(seed):
    """What is kept from exchange to exchange stays what counting gives."""
    text, bigrams, classes = case(seed)
    state = ClassBigrams(bigrams, classes, 4)
    for word in [*range(len(classes))] * 2:
        possible, before = gains(state, word), log_likelihood(text, named(bigrams, state.classes))
        moved = state.exchange(word)
        after = log_likelihood(text, named(bigrams, state.classes))
        assert after - before == pytest.approx(max(possible.max(), 0), abs=1e-6)
        assert moved == (possible.max() > 1e-6)
        fresh = ClassBigrams(bigrams, state.classes, 4)
        assert all(map(np.array_equal, state._pairs, fresh._pairs))


@pytest.mark.parametrize("seed", SEEDS)
def test_sweeps_never_make_it_worse_and_end(seed):
    _, bigrams, _ = case(seed)
    scores, sweeps = [], []
    for n in range(1, 12):
        seen = []
        classes = exchange_words(bigrams, 4, n, lambda words, i, seen=seen: seen.append(i) or words)
        scores.append(objective(bigrams, classes))
        sweeps.append(len(seen))
    start = objective(bigrams, np.arange(len(bigrams.words)) % 4)
    assert scores[0] >= start and all(b >= a for a, b in zip(scores, scores[1:], strict=False))
    assert sweeps[-1] < 11, "no word moves any more"
    last = ClassBigrams(bigrams, classes, 4)
    assert all(gains(last, word).max() <= 1e-6 for word in range(len(classes)))


def test_classes_that_are_there():
    rng = np.random.default_rng(0)
    text = [[str(rng.choice(list(kind))) for kind in ("abc", "xyz", "123")] for _ in range(60)]
    bigrams = bigrams_of(docs_of(text), 1)
    class_of = named(bigrams, exchange_words(bigrams, 3, 10))
    assert [len({class_of[word] for word in kind}) for kind in ("abc", "xyz", "123")] == [1, 1, 1]
    assert len(set(class_of.values())) == 3 and exchange_words(bigrams, 50, 3).max() < 50
