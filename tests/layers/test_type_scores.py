"""Cached scores of word types: the same numbers, bit for bit, whatever was tagged before, never of other weights."""

import pickle

import numpy as np
import pytest

from spacy_hoseq.features import lexicon
from spacy_hoseq.layers import type_scores
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.adagrad import Additive

from .helpers import doc_of, index_features, randomize, zeros

TEMPLATES = "bias lower[-2..2] suffix2[0] edge[-1] edge[1] shape[1] lower[0]+lower[1]".split()
L = 5


def texts(seed=0, n=40):
    rng = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in "the cat Dog a b 12".split() for b in ("", "s", "ing", "x")]
    return [doc_of(" ".join(rng.choice(words, rng.integers(1, 9)))) for _ in range(n)]


def layer(docs, seed=1):
    model = SparseLinear(TEMPLATES)
    index_features(model, [docs])
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def fresh(model, docs):
    """By a copy that has seen nothing."""
    return np.concatenate(pickle.loads(pickle.dumps(model)).predict(docs))


def kept(model):
    """How many sums."""
    scores = model.attrs["type_scores"]._scores.latest
    return 0 if scores is None else len(scores)


def test_scores_do_not_depend_on_what_was_seen_before():
    docs = texts()
    model = layer(docs)
    expected = fresh(model, docs)
    for part in (docs[:1], docs[30:], docs[5:9], docs, docs[::-1]):
        assert np.array_equal(np.concatenate(model.predict(part)), fresh(model, part))
    n_kept = kept(model)
    assert np.array_equal(np.concatenate(model.predict(docs)), expected)
    places = model.attrs["type_scores"].places
    most = len(places) * (len({t.orth for doc in docs for t in doc}) + 2)
    assert 0 < n_kept == kept(model) <= most


def test_other_weights_have_other_scores():
    docs = texts()
    model = layer(docs)
    before = np.concatenate(model.predict(docs))
    weights_of(model).configure(Additive(0.5), seed=0)
    for _ in range(2):
        scores, backprop = model.begin_update(docs)
        backprop([np.ones_like(part) * np.arange(L, dtype=np.float32) for part in scores])
        model.finish_update(lambda *args: (args[1], args[2]))
        now = np.concatenate(model.predict(docs))
        assert np.array_equal(now, fresh(model, docs)) and not np.array_equal(now, before)
        before = now
    other = layer(docs, seed=7)
    model.from_bytes(other.to_bytes())
    assert np.array_equal(np.concatenate(model.predict(docs)), fresh(other, docs))


@pytest.mark.parametrize("n_types", [0, 3, 12])
def test_memory_is_bounded(monkeypatch, n_types):
    """Scores are forgotten as soon as they are too many, but never while they are asked for."""
    docs = texts()
    model = layer(docs)
    places = len(model.attrs["type_scores"].places)
    monkeypatch.setattr(type_scores, "TYPE_SCORE_BYTES", n_types * places * L * 4)
    for doc in docs:
        assert np.array_equal(model.predict([doc])[0], fresh(model, [doc]))
        assert kept(model) <= n_types * places


def test_words_are_forgotten():
    docs = texts()
    model = layer(docs)
    expected = np.concatenate(model.predict(docs))
    assert kept(model)
    scorer_of(model).forget_words()
    assert not kept(model)
    assert np.array_equal(np.concatenate(model.predict(docs)), expected)


def test_words_that_are_numbered_anew(monkeypatch):
    """When too many words are known, all are forgotten, and their numbers stand for others."""
    docs = texts()
    model = layer(docs)
    monkeypatch.setattr(lexicon, "MAX_WORD_TYPES", 26)
    asked = [doc_of(f"{doc.text} new{i // 3}") for i, doc in enumerate(docs)]
    for doc, scores in [(doc, fresh(model, [doc])) for doc in asked]:
        assert np.array_equal(np.concatenate(model.predict([doc])), scores)
