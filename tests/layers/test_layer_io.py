"""Copying, pickling and storing whole layers."""

import pickle

import numpy as np
import pytest
from thinc.api import set_dropout_rate

from spacy_hoseq.layers.shim import weights_of
from spacy_hoseq.layers.sparse_linear import SparseLinear

from .helpers import doc_of, randomize, raw, zeros

TEMPLATES = ["bias", "lower[0]", "lower[-1]"]
DOCS = [doc_of("the cat saw the dog"), doc_of("a cat")]


def layer(seed=0, templates=TEMPLATES, **settings):
    model = SparseLinear(templates, **settings)
    model.initialize(X=DOCS, Y=zeros(DOCS, 3))
    return randomize(model, seed)


def scores(model):
    return np.concatenate(model.predict(DOCS))


SETTINGS = [{}, {"hash_rows": 20}, {"min_count": 2}]


@pytest.mark.parametrize("settings", SETTINGS)
def test_bytes_restore_the_layer(settings):
    model = layer(**settings)
    data = model.to_bytes()
    for fresh in (SparseLinear(TEMPLATES, **settings), layer(seed=5, **settings)):
        fresh.from_bytes(data)
        assert np.array_equal(scores(fresh), scores(model))
        assert fresh.get_dim("nO") == 3
        assert fresh.to_bytes() == data


def test_features_are_those_of_the_loaded_weights():
    other = [doc_of("dog house yard moon star")]
    model = SparseLinear(TEMPLATES)
    model.initialize(X=other, Y=zeros(other, 3))
    scores(model), model.begin_update(DOCS)  # its own index and remembered rows
    model.from_bytes(layer().to_bytes())
    assert np.array_equal(scores(model), scores(layer()))
    assert np.concatenate(model.begin_update(DOCS)[0]) == pytest.approx(scores(layer()), abs=1e-6)


def test_pickled_layers_draw_the_same_dropout():
    model = layer()
    restored = pickle.loads(pickle.dumps(model))
    for one in (model, restored):
        set_dropout_rate(one, 0.5)
    assert np.array_equal(model.begin_update(DOCS)[0][0], restored.begin_update(DOCS)[0][0])


def test_initializing_again_starts_from_zero():
    model = layer()
    model.initialize(X=DOCS, Y=zeros(DOCS, 3))
    assert not scores(model).any()
    assert raw(model, "table").shape == (len(weights_of(model).extra["keys"]) + 1, 3)


def test_wrong_number_of_labels_in_the_config():
    model = SparseLinear(TEMPLATES, nO=4)
    with pytest.raises(ValueError, match="nO"):
        model.initialize(X=DOCS, Y=zeros(DOCS, 3))


def test_initializing_without_labels_counts_features_only():
    model = SparseLinear(TEMPLATES)
    model.initialize(X=DOCS)
    n_features = len(weights_of(model).extra["keys"])
    assert n_features == 11  # bias; the, cat, saw, dog, a; before them the, cat, saw, a and the sentence's beginning
    assert not weights_of(model).parameters
