"""Sparse linear emissions against a dict of features in plain Python, and their gradient."""

from collections import Counter

import numpy as np
import pytest
from thinc.api import set_dropout_rate

from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.layers import sparse_features, sparse_linear, sums
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.sum_emissions import SumEmissions
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.adagrad import Additive
from spacy_hoseq.learning.parameter import Parameter

from .contract import LayerContract
from .helpers import VOCAB, Doc, applied_gradients, doc_of, index_features, randomize, raw, zeros

TEMPLATES = ["bias", "lower[0]", "lower[-1]", "suffix2[0]+is_alpha[0]"]
L = 3


def docs_of():
    divided = doc_of("the end . So be it .", sent_starts=[1, 0, 0, 1, 0, 0, 0])
    docs = [doc_of("The cat saw the dog ."), doc_of("A dog"), Doc(VOCAB)]
    return [*docs, divided, doc_of("cat")]


def layer(templates=TEMPLATES, docs=None, seed=1, **settings):
    docs = docs_of() if docs is None else docs
    model = SparseLinear(templates, **settings)
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def keys_of(templates, docs):
    """(tokens, templates) of Python ints."""
    return FeatureExtractor(parse_templates(templates)).keys(docs).T.tolist()


def plain_scores(model, templates, docs):
    """Sum of the weights of the features at each token, by a dict of features."""
    table, extra = raw(model, "table").astype(np.float64), weights_of(model).extra
    row_of = {int(key): row for row, key in enumerate(extra["keys"])}
    rows = [[row_of[key] for key in keys if key in row_of] for keys in keys_of(templates, docs)]
    return np.array([table[r].sum(axis=0) for r in rows])


@pytest.mark.parametrize("settings", [{}, {"min_count": 2}, {"min_count": 9}])
def test_scores_are_sums_of_weights(settings):
    model = layer(**settings)
    docs = [*docs_of(), doc_of("unknown words the cat")]
    scores = model.predict(docs)
    assert [len(part) for part in scores] == [len(doc) for doc in docs]
    assert np.concatenate(scores) == pytest.approx(plain_scores(model, TEMPLATES, docs), abs=1e-5)


@pytest.mark.parametrize("zero", ["some", "all", "signed"])
def test_features_without_weight_are_left_out(zero):
    model = layer()
    table = raw(model, "table")
    n_features = len(table) - 1
    table[: n_features if zero == "all" else n_features // 2] = -0.0 if zero == "signed" else 0.0
    weights_of(model).set(Parameter("table", table, resumed=True))
    scores = np.concatenate(model.predict(docs_of()))
    assert scores == pytest.approx(plain_scores(model, TEMPLATES, docs_of()), abs=1e-5)
    weights = weights_of(model)
    used = model.attrs["type_scores"].used(weights.extra, weights.used_rows("table"))
    keys = weights_of(model).extra["keys"]
    has_weight = table[:-1].any(axis=1)
    assert len(used.table) == np.count_nonzero(has_weight) + 1 and not used.table[-1].any()
    assert np.array_equal(used.table[used.rows(keys)], table[:-1])
    assert (used.rows(keys)[~has_weight] == len(used.table) - 1).all()


def test_hashed_rows_are_refused():
    """Models of version 1.0 may have them."""
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong hash_rows: 50.*train the model again"):
        SparseLinear(TEMPLATES, hash_rows=50)


@pytest.mark.parametrize("settings", [{}, {"min_count": 2}])
def test_training_scores_are_those_of_prediction(settings):
    model = layer(**settings)
    docs = docs_of()
    predicted = np.concatenate(model.predict(docs))
    for _ in range(2):  # extracted, then remembered
        trained, _ = model.begin_update(docs)
        assert [len(part) for part in trained] == [len(doc) for doc in docs]
        assert np.concatenate(trained) == pytest.approx(predicted, abs=1e-6)


def test_features_are_counted_over_all_batches():
    docs = docs_of()
    counts = Counter(key for row in keys_of(TEMPLATES, docs) for key in row if key)
    for batches in ([docs], [docs[:2], docs[2:3], docs[3:]]):
        model = SparseLinear(TEMPLATES, min_count=2)
        index_features(model, iter(batches))
        known = sorted(key for key, n in counts.items() if n >= 2)
        assert weights_of(model).extra["keys"].tolist() == known


@pytest.mark.parametrize("cells", [0, 100])
def test_scores_do_not_depend_on_the_block(monkeypatch, cells):
    model, docs = layer(), docs_of()
    whole = model.predict(docs)
    monkeypatch.setattr(sparse_linear, "KEY_TOKENS", 5)
    monkeypatch.setattr(sums, "SUM_BLOCK_WEIGHTS", cells)
    pairs = zip(whole, model.predict(docs), strict=True)
    assert all(np.array_equal(part, other) for part, other in pairs)


class TestSparseLinear(LayerContract):
    def make(self, seed=0):
        return layer(seed=seed)

    def docs(self):
        return docs_of()


class TestSumEmissions(TestSparseLinear):
    def make(self, seed=0):
        model = SumEmissions(SparseLinear(["bias", "lower[0]"]), SparseLinear(["suffix2[0]"]))
        model.initialize(X=docs_of(), Y=zeros(docs_of(), L))
        for number, part in enumerate(model.layers):
            weights_of(part).name += str(number)  # names of gradients
        return randomize(model, seed)


def test_gradients_of_several_batches_add_up():
    docs = docs_of()
    once, twice = layer(), layer()
    G = zeros(docs, L)
    G[0][1, 2], G[1][0, 0], G[3][:, 1] = 1, -2, 0.5
    once.begin_update(docs)[1](G)
    for part in (slice(0, 2), slice(2, 5)):
        twice.begin_update(docs[part])[1](G[part])
    expected = applied_gradients(once)["sparse_linear", "table"]
    assert expected.any()
    assert applied_gradients(twice)["sparse_linear", "table"] == pytest.approx(expected, abs=1e-4)
    assert not applied_gradients(twice)["sparse_linear", "table"].any()


def test_dropout_leaves_out_features_and_scales_the_rest():
    docs = [doc_of("a b c d " * 1000)]
    model = layer(["bias"], docs)
    weight = raw(model, "table")[0]
    set_dropout_rate(model, 0.25)
    weights_of(model).configure(Additive(), seed=3)
    scores = model.begin_update(docs)[0][0]
    dropped = (scores == 0).all(axis=1)
    assert 0.22 < dropped.mean() < 0.28
    assert scores[~dropped] == pytest.approx(np.tile(weight / 0.75, (int((~dropped).sum()), 1)))
    assert model.predict(docs)[0] == pytest.approx(np.tile(weight, (4000, 1)))
    again = model.begin_update(docs)[0][0]
    assert not np.array_equal(again, scores), "drawn anew each time"
    weights_of(model).configure(Additive(), seed=3)
    assert np.array_equal(model.begin_update(docs)[0][0], scores), "by its own seed"
    set_dropout_rate(model, 0.0)
    assert model.begin_update(docs)[0][0] == pytest.approx(model.predict(docs)[0])


def test_dropout_of_gradient_and_scores_is_the_same():
    model, docs = layer(), docs_of()
    set_dropout_rate(model, 0.5)
    shapes = [part.shape for part in zeros(docs, L)]
    G = [np.random.default_rng(5).normal(size=shape).astype(np.float32) for shape in shapes]
    scores, backprop = model.begin_update(docs)
    backprop(G)
    product = sum(float((g * s).sum()) for g, s in zip(G, scores, strict=True))
    table = raw(model, "table").copy()
    gradient = applied_gradients(model)["sparse_linear", "table"]
    assert float((table * gradient).sum()) == pytest.approx(product, abs=1e-2)


def test_remembered_rows_are_not_changed_by_dropout():
    model, docs = layer(), docs_of()
    set_dropout_rate(model, 0.9)
    for _ in range(3):
        model.begin_update(docs)
    set_dropout_rate(model, 0.0)
    expected = np.concatenate(model.predict(docs))
    assert np.concatenate(model.begin_update(docs)[0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n_bytes", [0, 100, 10**9])
def test_remembered_rows_are_fresh_rows(monkeypatch, n_bytes):
    monkeypatch.setattr(sparse_features.TextRows, "room", n_bytes)
    model, docs = layer(), docs_of()
    for order in ([0, 1, 2], [3, 1, 4, 1], [4, 3, 2, 1, 0], [0, 0]):
        batch = [docs[i] for i in order]
        found, expected = model.begin_update(batch)[0], model.predict(batch)
        assert [len(part) for part in found] == [len(doc) for doc in batch]
        assert np.concatenate(found) == pytest.approx(np.concatenate(expected), abs=1e-6)


def test_remembered_rows_know_sentence_boundaries():
    one, two = doc_of("a b c d"), doc_of("a b c d", sent_starts=[1, 0, 1, 0])
    model = layer(["lower[-1]"], [one, two])
    for doc in (one, two, one):
        assert model.begin_update([doc])[0][0] == pytest.approx(model.predict([doc])[0], abs=1e-6)
    assert not np.allclose(model.predict([one])[0], model.predict([two])[0])


def test_features_of_annotation_are_read_anew():
    doc = doc_of("a b c", tags=["X", "Y", "X"])
    model = layer(["tag[-1]", "lower[0]"], [doc])
    before = model.begin_update([doc])[0][0].copy()
    doc[0].tag_ = "Y"
    after = model.begin_update([doc])[0][0]
    assert after == pytest.approx(model.predict([doc])[0], abs=1e-6)
    assert (before != after).any(axis=1).tolist() == [False, True, False]


def test_new_features_replace_the_remembered_rows():
    docs = [doc_of("a b")]
    model = layer(["lower[0]"], docs)
    model.begin_update(docs)
    index_features(model, [[doc_of("x y z b a")]])
    model.initialize(X=docs, Y=zeros(docs, L))
    randomize(model, 2)
    assert model.begin_update(docs)[0][0] == pytest.approx(model.predict(docs)[0])
    assert model.predict(docs)[0] == pytest.approx(plain_scores(model, ["lower[0]"], docs))


@pytest.mark.parametrize("min_count", [0, -1])
def test_min_count_that_cannot_be(min_count):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong min_count: {min_count}"):
        SparseLinear(TEMPLATES, min_count=min_count)


def test_annotation_that_no_word_has():
    """A component that sets tags is missing or disabled: that is said, once for a batch."""
    docs = docs_of()
    for doc in docs:
        for token in doc:
            token.tag_ = "X"
    model = SparseLinear(["lower[0]", "tag[0]", "tag[-1]"])  # what stands before a text is no tag
    model.initialize(X=docs, Y=zeros(docs, L))
    model.predict(docs)
    with pytest.warns(UserWarning, match=r"\[HW005\] Texts have no token.tag"):
        model.predict(docs_of())


def test_features_are_those_of_the_loaded_weights():
    docs, other = docs_of(), [doc_of("dog house yard moon star")]
    model = layer(docs=other, seed=2)
    model.predict(docs), model.begin_update(docs)  # its own index and rows of texts
    model.from_bytes(layer().to_bytes())
    expected = np.concatenate(layer().predict(docs))
    assert np.array_equal(np.concatenate(model.predict(docs)), expected)
    assert np.concatenate(model.begin_update(docs)[0]) == pytest.approx(expected, abs=1e-6)
