"""The same seed and data give the same model, and labels depend on nothing but the Doc and the weights."""

import numpy as np

from spacy_hoseq.layers import sparse_linear

from .helpers import (
    CORPUS,
    blank,
    examples_of,
    tagger_of,
    train,
    trained,
)


def model_bytes(nlp):
    return tagger_of(nlp).model.to_bytes()


def test_order_of_documents_does_not_matter_for_one_batch():
    forward, backward = (trained("perceptron", 4, corpus=corpus) for corpus in (CORPUS, CORPUS[::-1]))
    for one, other in zip(tagger_of(forward).model.walk(), tagger_of(backward).model.walk(), strict=True):
        for name, parameter in one.shims[0].parameters.items():
            assert np.allclose(parameter.values, other.shims[0].parameters[name].values, atol=1e-5)


def test_cache_of_training_texts_does_not_matter(monkeypatch):
    monkeypatch.setattr(sparse_linear, "CACHE_BYTES", 0)
    nlp = blank("all patterns")
    train(nlp, 4, drop=0.3, optimizer=nlp.initialize(lambda: examples_of(nlp)))
    assert model_bytes(nlp) == model_bytes(trained("all patterns", 4, drop=0.3))
