"""Short texts: the features of a batch, and scores that are the same to the last bit."""

import numpy as np
import pytest

from spacy_hoseq.layers.listening.marginal_features import MarginalFeatures
from spacy_hoseq.layers.listening.marginal_linear import MarginalLinear
from spacy_hoseq.layers.tuning import Tuning
from spacy_hoseq.layers.weights.shim import weights_of

from ..helpers import index_features, randomize, zeros
from .test_marginal_linear import L, plain_scores, source
from .test_upstream import docs_of, labels_of
from .test_words_with_labels import numbered, texts

TEMPLATES = [
    "upstream[-1..1]",
    "upstream[3]",
    "upstream[-1]+upstream[0]",
    "upstream[0]+upstream[1]",
    "upstream[-1]+upstream[0]+upstream[1]",
    "upstream[-2]+upstream[1]",
    "upstream[0]+lower[0]",
    "upstream[0]+lower[1]",
    "upstream[-1]+suffix1[1]",
    "upstream[0]+lower[-1]+suffix1[1]",
]


def layer(docs, labels, templates=TEMPLATES, **settings):
    model = MarginalLinear(source(labels), templates, **settings)
    index_features(model, [(docs, labels)])
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, 1)


def features_of(model):
    return model.attrs["features"]


def as_set(active, nothing):
    """Every feature that has a weight: (template, token, row, value), in order of template, token and n-gram."""
    first = [(k, n, int(active.rows[k, n]), float(active.values[k, n])) for k, n in np.argwhere(active.rows < nothing)]
    others = active.others
    columns = (others.templates, others.tokens, others.rows, others.values)
    return sorted(first), list(zip(*(column.tolist() for column in columns), strict=True))


def assert_same(model, docs, labels, order=None):
    """order: of the ids of the labels, None = as they are."""
    plain, labels = labels, labels if order is None else numbered(labels, order)
    features = features_of(model)
    index = features.index(weights_of(model).extra)
    short = features.active_of_short(docs, labels, index)
    assert short is not None
    batch = features.batch(docs, labels)
    n_tokens = int(batch.lengths.sum())
    assert short[0].tolist() == batch.lengths.tolist()
    expected = as_set(features.active(batch, index, 0, n_tokens, np.float64), index.n_rows)
    assert as_set(short[1], index.n_rows) == expected
    model.layers[0] = source(labels)
    scores = np.concatenate(model.predict(docs))
    assert scores == pytest.approx(plain_scores(model, features.names, docs, plain), abs=1e-5)
    features.tuning = Tuning(short_tokens=0)
    assert np.array_equal(scores, np.concatenate(model.predict(docs)))
    features.tuning = Tuning()
    return expected


@pytest.mark.parametrize("threshold", [0.0, 0.25])
@pytest.mark.parametrize("min_count", [1, 2, 99])
def test_features_are_those_of_a_batch(threshold, min_count):
    docs = docs_of()
    model = layer(docs, labels_of(docs), min_count=min_count)
    seen = [assert_same(model, docs, labels_of(docs, seed, threshold)) for seed in range(3)]
    assert all(bool(first) == (min_count < 99) for first, _ in seen)
    assert threshold or min_count == 99 or all(others for _, others in seen)


@pytest.mark.parametrize("template", TEMPLATES)
def test_each_template_alone(template):
    docs = docs_of()
    labels = labels_of(docs)
    assert_same(layer(docs, labels, [template]), docs, labels)


def test_labels_numbered_anew_and_words_that_are_new():
    docs = texts()
    model = layer(docs[:20], labels_of(docs[:20], seed=5))
    for i in range(0, 30, 3):
        some = docs[i : i + 3]
        assert_same(model, some, labels_of(some, seed=i), [2, 0, 3, 1])


def test_other_features_have_other_rows():
    docs = docs_of()
    labels = labels_of(docs)
    model, other = layer(docs, labels), layer(docs, labels_of(docs, 3), min_count=2)
    assert_same(model, docs, labels)
    model.attrs["features"].index(weights_of(other).extra)
    other.attrs["features"] = features_of(model)
    assert_same(other, docs, labels)


def test_memory_is_bounded():
    docs = texts()
    model = layer(docs, labels_of(docs))
    model.attrs["features"] = MarginalFeatures(TEMPLATES, Tuning(short_strings=5))
    for doc in docs:
        assert_same(model, [doc], labels_of([doc]))
    for of_shape in features_of(model)._short._shapes:
        assert len(of_shape._rows.latest) <= 5 + 9 * 5**3  # and what one text needs


def test_words_with_several_labels_are_left_to_the_batch():
    docs = docs_of()
    labels = labels_of(docs)
    template = "upstream[-1]+upstream[0]+lower[0]"
    model = layer(docs, labels, ["upstream[0]", template])
    assert features_of(model).active_of_short(docs, labels, None) is None
    expected = plain_scores(model, ["upstream[0]", template], docs, labels)
    assert np.concatenate(model.predict(docs)) == pytest.approx(expected, abs=1e-5)


def test_long_text_is_left_to_the_batch():
    docs = docs_of()
    labels, n_tokens = labels_of(docs), sum(map(len, docs))
    model = layer(docs, labels)
    features = features_of(model)
    index = features.index(weights_of(model).extra)
    for short_tokens, is_short in ((n_tokens, True), (n_tokens - 1, False)):
        features.tuning = Tuning(short_tokens=short_tokens)
        assert (features.active_of_short(docs, labels, index) is not None) == is_short
