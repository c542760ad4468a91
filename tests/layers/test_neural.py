"""Emissions from a network, and sums of emissions: values and gradients by hand."""

import numpy as np
import pytest
from thinc.api import Model, fix_random_seed

from spacy_hoseq.features.sequences import words_of
from spacy_hoseq.layers.neural import Tok2VecLinear
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.layers.sum_emissions import SumEmissions
from spacy_hoseq.learning.objectives import OBJECTIVES
from spacy_hoseq.learning.parameter import Parameter

from .helpers import VOCAB, Doc, doc_of, index_features, randomize, zeros

L, WIDTH = 3, 2
DOCS = [doc_of("a bb ccc"), Doc(VOCAB), doc_of("dddd")]
VECTORS = np.array([[1, 1], [2, 1], [3, 1], [4, 1]], np.float32)  # word length and one


def lengths_of_words(received, width=WIDTH):
    """A tok2vec whose vector of a word is its length and 1."""

    def forward(model, docs, is_train):
        X = [np.array([[len(t), 1] for t in doc], np.float32).reshape(-1, WIDTH) for doc in docs]
        return X, lambda dX: received.append(dX) or docs

    return Model("lengths", forward, dims={"nO": width})


def tok2vec_linear(received=None, width=WIDTH):
    fix_random_seed(0)
    model = Tok2VecLinear(lengths_of_words([] if received is None else received, width))
    model.initialize(X=DOCS, Y=zeros(DOCS, L))
    return model


def random_gradient():
    shapes = [part.shape for part in zeros(DOCS, L)]
    return [np.random.default_rng(1).normal(size=s).astype(np.float32) for s in shapes]


def test_scores_are_a_linear_function_of_the_vectors():
    model = tok2vec_linear()
    output = model.get_ref("output_layer")
    output.set_param("b", np.array([1, 2, 3], np.float32))
    scores = model.predict(DOCS)
    assert [part.shape for part in scores] == [(3, L), (0, L), (1, L)]
    expected = VECTORS @ output.get_param("W").T + [1, 2, 3]
    assert np.concatenate(scores) == pytest.approx(expected, abs=1e-6)
    trained, _ = model.begin_update(DOCS)
    assert np.array_equal(np.concatenate(trained), np.concatenate(scores))


def test_gradient_of_the_linear_layer_and_of_the_vectors():
    received = []
    model = tok2vec_linear(received)
    output, G = model.get_ref("output_layer"), random_gradient()
    _, backprop = model.begin_update(DOCS)
    backprop(G)
    flat = np.concatenate(G)
    assert output.get_grad("W") == pytest.approx(flat.T @ VECTORS, abs=1e-5)
    assert output.get_grad("b") == pytest.approx(flat.sum(axis=0), abs=1e-5)
    assert [len(part) for part in received[0]] == [3, 0, 1]
    assert np.concatenate(received[0]) == pytest.approx(flat @ output.get_param("W"), abs=1e-5)


def test_width_is_found_in_initialization():
    model = tok2vec_linear(width=None)
    assert model.get_ref("output_layer").get_dim("nI") == WIDTH
    assert model.predict(DOCS)[0].shape == (3, L)


def summed():
    received = []
    sparse = SparseLinear(["lower[0]"])
    network = Tok2VecLinear(lengths_of_words(received))
    index_features(sparse, [DOCS])
    fix_random_seed(0)
    model = SumEmissions(sparse, network)
    model.initialize(X=DOCS, Y=zeros(DOCS, L))
    randomize(sparse)
    return model, sparse, network


def test_sum_is_the_sum():
    model, sparse, network = summed()
    expected = [a + b for a, b in zip(sparse.predict(DOCS), network.predict(DOCS), strict=True)]
    assert np.abs(np.concatenate(sparse.predict(DOCS))).max() > 0.1
    for scores in (model.predict(DOCS), model.begin_update(DOCS)[0]):
        assert [len(part) for part in scores] == [3, 0, 1]
        assert np.concatenate(scores) == pytest.approx(np.concatenate(expected), abs=1e-6)
    assert model.get_dim("nO") == L


def test_head_gives_the_network_the_gradient_of_the_loss():
    received = []
    model = HigherOrderTagger(Tok2VecLinear(lengths_of_words(received)))
    fix_random_seed(0)
    model.initialize(X=DOCS, Y=zeros(DOCS, L))
    potentials, backprop = model.begin_update(DOCS)
    loss = OBJECTIVES["log_likelihood"](potentials, np.eye(L, dtype=bool)[[0, 1, 2, 0]])
    backprop(loss.gradient)
    output = model.layers[0].get_ref("output_layer")
    assert np.abs(loss.gradient.scores).max() > 0.1
    assert output.get_grad("W") == pytest.approx(loss.gradient.scores.T @ VECTORS, abs=1e-5)
    expected = loss.gradient.scores @ output.get_param("W")
    assert np.concatenate(received[0]) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("place", ["alone", "first", "second", "both"])
def test_layer_that_puts_other_scores_in_place(place):
    """Scores come in one array where they can; a layer in between may replace some of them in the list."""

    def doubled(model, docs, is_train):
        scores, backprop = model.layers[0](docs, is_train)
        for i, part in enumerate(scores):
            scores[i] = 2 * part
        return scores, backprop

    def sparse():
        layer = SparseLinear(["lower[0]", "suffix1[-1]"])
        layer.initialize(X=DOCS, Y=zeros(DOCS, L))
        return layer

    plain, twice = sparse(), Model("doubled", doubled, layers=[sparse()])
    if place == "alone":
        model, factor = twice, 2
    else:
        first = twice if place in ("first", "both") else plain
        second = twice if place in ("second", "both") else plain
        model, factor = SumEmissions(first, second), 4 if place == "both" else 3
    tagger = HigherOrderTagger(model)
    tagger.initialize(X=DOCS)
    tagger.shims[0].set(Parameter("trans", np.zeros((L, L))))
    expected = np.concatenate(randomize(plain, 3).predict(DOCS))
    randomize(twice.layers[0], 3)
    found = tagger.predict(DOCS)
    assert expected.any() and found.scores == pytest.approx(factor * expected, abs=1e-5)
    assert found.lengths.tolist() == [3, 1]


def test_a_sum_reads_docs_anew_for_each_batch():
    docs = [doc_of("a b c"), doc_of("d")]
    layers = [SparseLinear([template]) for template in ("lower[0]", "orth[-1]")]
    for i, layer in enumerate(layers):
        index_features(layer, [docs])
        layer.initialize(X=docs, Y=zeros(docs, 2))
        randomize(layer, i)
    tagger = HigherOrderTagger(SumEmissions(*layers))
    tagger.shims[0].set(Parameter("trans", np.zeros((2, 2))))
    before = tagger.predict(docs).scores
    docs[0][1].is_sent_start = True
    after = tagger.predict(docs).scores
    assert (before != after).any(axis=1).tolist() == [False, True, False, False]
    expected = sum(np.concatenate(layer.predict(docs)) for layer in layers)
    assert after == pytest.approx(expected, abs=1e-6)


class Listening(Model):
    upstream_name = "tok2vec"


@pytest.mark.parametrize("known_by", ["class", "attrs"])
def test_what_listens_hears_of_white_space(known_by):
    """Its rows of white space are left out, and have no gradient; a network of its own sees the words."""
    docs, received = [Doc(VOCAB, words=["\n", "a", " ", "bb"]), doc_of("ccc")], []
    for listens in (True, False):
        plain = lengths_of_words(received)
        kind, attrs = (Listening, {}) if known_by == "class" else (Model, {"_upstream_name": "*"})
        layer = kind("lengths", plain._func, dims={"nO": WIDTH}, attrs=attrs) if listens else plain
        model = Tok2VecLinear(layer)
        model.initialize(X=[doc_of("a")], Y=zeros([doc_of("a")], L))
        model.get_ref("output_layer").set_param("W", np.array([[1, 0], [0, 2], [3, 4]], np.float32))
        scores, backprop = model.begin_update(words_of(docs))
        assert np.concatenate(scores).tolist() == [[1, 2, 7], [2, 2, 10], [3, 2, 13]]
        backprop([np.array([[1, 0, 0], [0, 1, 0]], np.float32), np.array([[0, 0, 1]], np.float32)])
    given, own = received
    assert [rows.tolist() for rows in given] == [[[0, 0], [1, 0], [0, 0], [0, 2]], [[3, 4]]]
    assert [rows.tolist() for rows in own] == [[[1, 0], [0, 2]], [[3, 4]]]
