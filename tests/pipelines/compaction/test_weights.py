"""Weights of whole models, pruned: what stays, and that predictions do not change where nothing was lost."""

import numpy as np
import pytest

from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.pipelines.compaction.weights import (
    CompactWeights,
    Pruning,
    counts_of,
    feature_shims,
)

from ...components import morphology_helpers as morphology
from ...layers.helpers import doc_of, raw, zeros
from ...layers.local_models import Problem, all_scores, random_docs
from ...layers.taggers import tagger

TEMPLATES = ["bias", "lower[0]", "lower[-1]"]
DOCS = [doc_of("the cat saw the dog"), doc_of("a cat")]
NOTHING = Pruning(0.0, 0.0)


def layer(**settings):
    """Weights 1/4 or none; feature 2 has none, feature 3 the same of every label, feature 4 small ones."""
    model = SparseLinear(TEMPLATES, **settings)
    model.initialize(X=DOCS, Y=zeros(DOCS, 3))
    values = np.random.default_rng(0).integers(0, 2, raw(model, "table").shape)
    table = values.astype(np.float32) / 4
    table[:, 0] = 1
    table[2], table[3], table[4], table[-1] = 0, 0.5, [0, 0.0625, 0], 0
    weights_of(model).set(Parameter("table", table))
    return model


def scores(model):
    """Differences from the first label: all that decides."""
    found = np.concatenate(model.predict(DOCS))
    return found - found[:, :1]


def test_what_decides_nothing_is_dropped():
    model, fresh = layer(), SparseLinear(TEMPLATES)
    expected, before = scores(model), counts_of(model)
    weights = CompactWeights(model)
    weights.apply(NOTHING)
    assert np.array_equal(scores(model), expected) and expected.any()
    weights.finish()
    assert np.array_equal(scores(model), expected)
    after = counts_of(model)
    assert after.weights < before.weights and after.bytes < before.bytes
    assert after.bytes == len(weights_of(model).to_bytes())
    fresh.from_bytes(model.to_bytes())
    assert np.array_equal(scores(fresh), expected) and fresh.to_bytes() == model.to_bytes()
    assert (before.features, after.features) == (11, 9)
    keys = weights_of(model).extra["keys"]
    assert (np.diff(keys.astype(object)) > 0).all() and len(raw(model, "table")) == 10


def test_rows_of_parts_of_labels_stay():
    """What they have in common tells labels of several parts from others."""
    nlp = morphology.trained(5)
    (shim,) = feature_shims(nlp.get_pipe(morphology.NAME).model)
    before = [table.rounded().values for table in shim.feature_weights()]
    CompactWeights(nlp.get_pipe(morphology.NAME).model).apply(NOTHING)
    for table, expected in zip(shim.feature_weights(), before, strict=True):
        assert np.array_equal(table.values, expected) and len(expected)


def test_pruned_features_do_not_fire():
    model = layer()
    keys = weights_of(model).extra["keys"]
    weights = CompactWeights(model)
    assert sorted(weights.ranges().tolist())[0] == 0.0625 and len(weights.ranges()) == 9
    weights.apply(Pruning(0.1, 0.0))
    assert not raw(model, "table")[4].any() and raw(model, "table")[0].any()
    weights.apply(Pruning(0.0, 0.5))
    assert set(np.unique(raw(model, "table")).tolist()) <= {-1, -0.5, 0, 0.5, 1}
    weights.apply(Pruning(100.0, 0.0))
    assert not scores(model).any()
    weights.apply(None)
    assert np.array_equal(scores(model), scores(layer()))
    weights.apply(Pruning(0.1, 0.0))
    weights.finish()
    kept = weights_of(model).extra["keys"].tolist()
    others = np.delete(keys, [2, 3, 4])
    # 8 keys of 20 bits: 8 / 2^20 < 1e-5
    assert kept == sorted((others & np.uint64(0xFFFFF)).tolist())


def test_only_emissions_are_pruned():
    model = tagger("all")
    docs = [doc_of("x y z x")]
    head = model.predict(docs)
    assert [shim.name for shim in feature_shims(model)] == ["sparse_linear"]
    weights = CompactWeights(model)
    weights.apply(Pruning(1e6, 0.0))
    weights.finish()
    found = model.predict(docs)
    assert not found.scores.any() and np.array_equal(found.trans, head.trans)
    assert counts_of(model).features == counts_of(model).weights == 0


@pytest.mark.parametrize("order", [1, 2])
def test_local_classifiers(order):
    problem = Problem(order, 3)
    problem.train()
    docs = random_docs(np.random.default_rng(20), 8, 7)
    expected = all_scores(problem.model, docs, order)
    before, weights = counts_of(problem.model), CompactWeights(problem.model)
    weights.apply(NOTHING)
    found = all_scores(problem.model, docs, order)
    assert found - found[..., :1] == pytest.approx(expected - expected[..., :1], abs=0.02)
    weights.apply(Pruning(float(np.median(weights.ranges())), 0.0))
    pruned = all_scores(problem.model, docs, order)
    assert not np.allclose(pruned, found)
    weights.finish()
    # rows have new numbers, weights have not
    assert np.array_equal(all_scores(problem.model, docs, order), pruned)
    after = counts_of(problem.model)
    assert after.features < before.features and 0 < after.weights < before.weights
    assert after.bytes < before.bytes
    fresh = problem.make_model().from_bytes(problem.model.to_bytes())
    assert np.array_equal(all_scores(fresh, docs, order), pruned)
