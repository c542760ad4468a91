"""Copies are exact, and what is made of weights and words stays behind."""

import copy
import pickle

import numpy as np
import pytest

from spacy_hoseq.layers.shim import weights_in

from .local_models import trained as local_classifiers
from .taggers import LABELS, docs_of, tagger

SPARE = 500  # bytes of names of classes
COPIES = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "deepcopy": copy.deepcopy,
    "copy": lambda model: model.copy(),
}


def loaded(model, fresh):
    return fresh.from_bytes(model.to_bytes())


def scores_of(model):
    potentials = model.predict(docs_of())
    return potentials.scores, potentials.trans


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("source", ["none", "all"])
def test_copies_of_loaded_weights_are_the_same(source, copied):
    model = loaded(tagger(source), tagger(source, seed=1))
    again = copied(model)
    for found, expected in zip(scores_of(again), scores_of(model), strict=True):
        assert np.array_equal(found, expected)
    assert again.to_bytes() == model.to_bytes()
    for one, other in zip(weights_in(again), weights_in(model), strict=True):
        assert all(one.parameters[name].nonnegative == p.nonnegative for name, p in other.parameters.items())


def test_use_adds_nothing_to_a_pickle():
    model = loaded(tagger("all"), tagger("all", seed=1))
    before = len(pickle.dumps(model))
    for _ in range(2):
        model.predict(docs_of())
        model.begin_update(docs_of())
    assert len(pickle.dumps(model)) <= before + SPARE


def test_use_adds_nothing_to_a_pickle_of_local_classifiers():
    model = local_classifiers(2).model
    before = len(pickle.dumps(model))
    docs = docs_of()
    again = pickle.loads(pickle.dumps(model))
    for _ in range(2):
        model.predict(docs)
    assert len(pickle.dumps(model)) <= before + SPARE
    assert again.to_bytes() == model.to_bytes() and len(LABELS) == 3
