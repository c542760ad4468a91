"""Words with labels: the same scores, bit for bit, whatever was seen before, never of other features."""

import copy
import pickle

import numpy as np
import pytest
from thinc.api import Model

from spacy_hoseq.features.keys import label_values
from spacy_hoseq.layers.listening.listener import no_backprop
from spacy_hoseq.layers.listening.marginal_features import MarginalFeatures
from spacy_hoseq.layers.listening.marginal_linear import MarginalLinear
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.tuning import Tuning

from ..helpers import doc_of, in_threads, index_features, randomize, zeros
from .test_marginal_linear import L, plain_scores
from .test_upstream import LABELS, labels_of

TEMPLATES = [
    "upstream[0]+lower[0]",
    "upstream[-1]+lower[1]",
    "upstream[1]+suffix2[-1]",
    "upstream[-1]+upstream[0]+lower[0]",
]
ORDERS = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]  # of the ids of the labels


def texts(seed=0, n=30):
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in "the cat Dog a b 12".split() for b in ("", "s", "ing", "x")]
    return [doc_of(" ".join(rng.choice(words, rng.integers(1, 9)))) for _ in range(n)]


def numbered(labels, order):
    """The same labels with other ids."""
    place = np.argsort(order)
    probable = labels.probable._replace(labels=place[labels.probable.labels])
    return labels._replace(probable=probable, keys=label_values([LABELS[y] for y in order]))


def heard(model, docs, is_train):
    """Labels that depend on the docs alone, with ids that differ from batch to batch."""
    return numbered(labels_of(docs, seed=len(docs)), ORDERS[len(docs) % 3]), no_backprop


def layer(docs, seed=1, n_indexed=None, **tuning):
    model = MarginalLinear(Model("heard", heard), TEMPLATES)
    model.attrs["features"] = MarginalFeatures(TEMPLATES, Tuning(**tuning))
    index_features(model, [(docs[:n_indexed], labels_of(docs[:n_indexed], seed=5))])
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def expected(model, docs):
    """From the definition."""
    return pytest.approx(plain_scores(model, TEMPLATES, docs, labels_of(docs, seed=len(docs))), abs=1e-5)


def fresh(model, docs):
    """By a copy that has seen nothing."""
    return np.concatenate(pickle.loads(pickle.dumps(model)).predict(docs))


def parts_of(docs):
    return [docs[:1], docs[20:], docs[5:9], docs, docs[::-1], docs[3:6]]


def test_scores_do_not_depend_on_what_was_seen_before():
    docs = texts()
    model = layer(docs)
    for part in [*parts_of(docs), *parts_of(docs)]:
        got = np.concatenate(model.predict(part))
        assert np.array_equal(got, fresh(model, part)) and got == expected(model, part)
        assert np.abs(got).max() > 1


def test_training_and_prediction_keep_the_same_rows():
    docs = texts()
    model = layer(docs)
    for part in parts_of(docs):
        assert np.array_equal(np.concatenate(model.begin_update(part)[0]), np.concatenate(model.predict(part)))


def test_other_features_have_other_rows():
    docs = texts()
    model, other = layer(docs), layer(docs, seed=7, n_indexed=12)
    model.predict(docs)
    model.from_bytes(other.to_bytes())
    assert np.array_equal(np.concatenate(model.predict(docs)), fresh(other, docs))


def test_words_that_are_numbered_anew():
    """When too many words are known, or a memory zone ends, numbers stand for other words."""
    docs = texts()
    model = layer(docs, word_types=26)
    for i, doc in enumerate(docs):
        asked = [doc_of(f"{doc.text} new{i // 3}")]
        assert np.array_equal(np.concatenate(model.predict(asked)), fresh(model, asked))
        if i % 5 == 0:
            scorer_of(model).forget_words()


def test_labels_that_come_later():
    docs = texts()
    model = layer(docs)
    model.layers[0]._func = lambda model, docs, is_train: (few(docs), no_backprop)
    before = np.concatenate(model.predict(docs[:4]))
    model.layers[0]._func = heard
    assert np.array_equal(np.concatenate(model.predict(docs)), fresh(model, docs))
    model.layers[0]._func = lambda model, docs, is_train: (few(docs), no_backprop)
    assert np.array_equal(np.concatenate(model.predict(docs[:4])), before)


def few(docs):
    """One label at each token, without pairs."""
    n = sum(map(len, docs))
    labels = labels_of([])
    one = [np.arange(n), np.full(n, 2), np.full(n, 0.75), *np.zeros((2, 0), int), np.zeros(0)]
    return labels._replace(probable=type(labels.probable)(*one))


def test_copies_say_the_same():
    docs = texts()
    model = layer(docs)
    scores = np.concatenate(model.predict(docs))
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), model.copy()):
        assert np.array_equal(np.concatenate(other.predict(docs)), scores)


@pytest.mark.long
def test_several_threads():
    docs = texts(n=120)
    model = layer(docs, word_types=16)  # words are forgotten again and again
    expected = [fresh(model, [doc]) for doc in docs]
    for scores, answers in zip(expected, in_threads(model, docs), strict=True):
        assert len(answers) == 4 and all(np.array_equal(answer, scores) for answer in answers)
