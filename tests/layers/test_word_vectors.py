"""Vectors of networks of spaCy's, embedded once for each word: as those of the network itself."""

import numpy as np
import pytest
import spacy
from thinc.api import Model, fix_random_seed

from spacy_hoseq.layers.neural import MIX, predict_vectors

from .helpers import VOCAB, Doc, doc_of

DOCS = [doc_of("a bb a ccc a"), Doc(VOCAB), doc_of("bb Bb eee"), doc_of("a")]
SETTINGS = {
    "pretrained_vectors": None, "width": 8, "depth": 2, "embed_size": 50, "window_size": 1, "maxout_pieces": 2,
    "subword_features": True,
}  # fmt: skip


def network(**changes):
    fix_random_seed(0)
    make = spacy.registry.get("architectures", "spacy.HashEmbedCNN.v2")
    model = make(**{**SETTINGS, **changes})
    model.initialize(X=[doc for doc in DOCS if len(doc)])
    return model


def watch(layer, seen):
    """Keep the numbers of rows that a layer is given."""
    forward = layer._func

    def watched(model, X, is_train):
        seen.append(len(X.dataXd))
        return forward(model, X, is_train)

    layer._func = watched


@pytest.mark.parametrize("changes", [{}, {"subword_features": False}, {"depth": 1, "window_size": 2}])
def test_vectors_are_those_of_the_network(changes):
    model, seen = network(**changes), []
    expected = model.predict(DOCS)
    watch(model.layers[0].layers[2], seen)
    vectors = predict_vectors(model, DOCS)
    assert [part.shape for part in vectors] == [(5, 8), (0, 8), (3, 8), (1, 8)]
    assert np.concatenate(vectors) == pytest.approx(np.concatenate(expected), abs=1e-6)
    assert np.abs(np.concatenate(expected)).max() > 0.1 and all(part.dtype == np.float32 for part in vectors)
    n_types = 5 if changes.get("subword_features", True) else 4  # a, bb, ccc, Bb, eee; Bb has the NORM of bb
    assert seen == [n_types], "of nine tokens"


@pytest.mark.parametrize("docs", [[Doc(VOCAB)], [Doc(VOCAB), doc_of("a")]])
def test_docs_without_tokens(docs):
    model = network()
    assert [part.shape for part in predict_vectors(model, docs)] == [(len(doc), 8) for doc in docs]


def test_other_networks_are_asked_as_they_are():
    asked = []

    def forward(model, docs, is_train):
        asked.append((docs, is_train))
        return [np.ones((len(doc), 2), np.float32) for doc in docs], lambda d_vectors: docs

    for layers in ([], [Model("inner", forward)]):
        predict_vectors(Model("own", forward, layers=layers), DOCS)
    assert asked == [(DOCS, False)] * 2


def test_two_words_with_one_number():
    """Found out, and not mistaken for each other."""
    model = network()

    def mixed(value):
        product = np.uint64(value) * MIX
        return product ^ (product >> np.uint64(29))

    with np.errstate(over="ignore"):
        rows = np.zeros((2, 4), np.uint64)
        rows[:, 0] = 1, 2
        rows[1, 1] = mixed(1) ^ mixed(2)
    extract = Model("extract_features", lambda model, docs, is_train: ([rows], lambda d: []))
    model.layers[0].layers[0]._func, model.layers[0].layers[0]._attrs = extract._func, extract.attrs
    vectors = predict_vectors(model, [doc_of("a b")])
    assert np.array_equal(vectors[0], model.predict([doc_of("a b")])[0])
    assert np.abs(vectors[0][0] - vectors[0][1]).max() > 1e-3
