"""The same seed and data give the same model, and labels depend on nothing but the Doc and the weights."""

import numpy as np
import pytest
from spacy.util import fix_random_seed

from spacy_hoseq.layers.emissions import sparse_linear

from .helpers import (
    CORPUS,
    VARIANTS,
    blank,
    examples_of,
    random_docs,
    ready,
    tagger_of,
    train,
    trained,
)


def model_bytes(nlp):
    return tagger_of(nlp).model.to_bytes()


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_same_seed_and_data_give_the_same_bytes(variant):
    first, second = (trained(variant, 5, drop=0.4) for _ in range(2))
    assert model_bytes(first) == model_bytes(second)
    assert first.to_bytes() == second.to_bytes()


def test_seed_is_the_components_own():
    first = trained(n_updates=3, drop=0.4)
    fix_random_seed(12345)
    second = trained(n_updates=3, drop=0.4)
    assert model_bytes(first) == model_bytes(second), "global random numbers are not used"
    assert model_bytes(trained(n_updates=3, drop=0.4, seed=1)) != model_bytes(first)
    assert model_bytes(trained(n_updates=3, seed=1)) == model_bytes(trained(n_updates=3)), "no dropout, no chance"


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


def labels_of(nlp, order, batch_size):
    docs = random_docs(nlp, 60)
    batch = [docs[i] for i in order]
    found = list(tagger_of(nlp).pipe(iter(batch), batch_size=batch_size))
    assert all(a is b for a, b in zip(found, batch, strict=True))
    return {i: [token.tag_ for token in docs[i]] for i in order}


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_do_not_depend_on_the_batch(variant):
    nlp = ready(variant)
    n = len(random_docs(nlp, 60))
    expected = labels_of(nlp, range(n), 1)
    assert {tag for tags in expected.values() for tag in tags} == set(tagger_of(nlp).labels)
    for batch_size in (2, 7, 1000):
        assert labels_of(nlp, range(n), batch_size) == expected
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(n).tolist()
        assert labels_of(nlp, order, 13) == expected


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_calling_and_piping_are_the_same(variant):
    nlp = ready(variant)
    docs, piped, whole = (random_docs(nlp, 20) for _ in range(3))
    called = [[token.tag_ for token in tagger_of(nlp)(doc)] for doc in docs]
    assert [[token.tag_ for token in doc] for doc in tagger_of(nlp).pipe(piped)] == called
    assert [[token.tag_ for token in doc] for doc in nlp.pipe(whole)] == called
    guesses = tagger_of(nlp).predict(random_docs(nlp, 20)).label_ids
    assert [[tagger_of(nlp).labels[y] for y in labels] for labels in guesses] == called


def test_prediction_leaves_docs_and_weights_alone():
    nlp = ready()
    before = model_bytes(nlp)
    docs = random_docs(nlp, 10)
    stored = [doc.to_bytes() for doc in docs]
    tagger_of(nlp).predict(docs)
    assert [doc.to_bytes() for doc in docs] == stored
    assert model_bytes(nlp) == before


def test_labels_during_training_are_those_of_the_saved_model():
    nlp = blank()
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(4):
        train(nlp, 1, optimizer=optimizer)
        with nlp.use_params(optimizer.averages):
            now = labels_of(nlp, range(30), 10)
        saved = blank()
        tagger_of(saved).from_bytes(tagger_of(nlp).to_bytes())
        assert labels_of(saved, range(30), 10) == now
