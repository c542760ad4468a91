"""The structured head against enumeration of all labellings, with scores computed from the weights in plain Python."""

import itertools

import numpy as np
import pytest
from thinc.api import Model

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import path_score
from spacy_hoseq.decoders.pruning import Bounds
from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.adagrad import AdaGrad
from spacy_hoseq.learning.objectives import OBJECTIVES
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.patterns.counted import FrequentTransitions

from ..cases import same_paths
from .helpers import define, doc_of, index_features, randomize, raw, zeros
from .taggers import GOLD, LABELS, SOURCES, TEMPLATES, L, docs_of, gold_mask, tagger


def plain_score(model, source, doc, labels):
    """Score of one sentence's labels, from the definition: emissions, transitions, patterns where they fire."""
    emissions = model.layers[0].predict([doc])[0].astype(np.float64)
    trans = raw(model, "trans")
    total = sum(emissions[t, y] for t, y in enumerate(labels))
    total += sum(trans[a, b] for a, b in itertools.pairwise(labels))
    if source is None:
        return total
    features = source.define(LABELS, GOLD)
    weights = raw(model, "patterns")
    found = source.fire([doc])
    fired = set(zip(found.tokens.tolist(), found.rules.tolist(), strict=True))
    for f, pattern in enumerate(features.patterns):
        for end in range(len(pattern) - 1, len(labels)):
            here = features.rule_of[f] < 0 or (end, features.rule_of[f]) in fired
            if here and tuple(labels[end - len(pattern) + 1 : end + 1]) == pattern:
                total += weights[features.weight_of[f]]
    return total


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("source", SOURCES)
def test_best_labels_are_the_enumerated_best(source, seed):
    model = tagger(source, seed)
    for doc in (docs_of()[0], docs_of()[1], doc_of("x y x z"), doc_of("new words")):
        paths = decode_exact(model.predict([doc]))
        every = itertools.product(range(L), repeat=len(doc))
        table = {y: plain_score(model, SOURCES[source](), doc, y) for y in every}
        assert paths.scores[0] == pytest.approx(max(table.values()), abs=1e-5)
        assert table[tuple(paths.labels.tolist())] == pytest.approx(max(table.values()), abs=1e-5)


def emitter(n_columns, received):
    def forward(model, docs, is_train):
        ones = [np.ones((len(doc), n_columns), "f") for doc in docs]
        return ones, lambda d_scores: received.append(d_scores) or docs

    return Model("own", forward)


def test_any_emissions_will_do():
    received = []
    docs = docs_of()
    model = HigherOrderTagger(emitter(L, received), FrequentTransitions(2, 1))
    define(model, LABELS, GOLD)
    model.initialize(X=docs, Y=zeros(docs, L))
    potentials, backprop = model.begin_update(docs)
    assert potentials.scores.tolist() == [[1] * L] * 11
    loss = OBJECTIVES["max_margin"](potentials, gold_mask())
    backprop(loss.gradient)
    assert [len(part) for part in received[0]] == [4, 2, 0, 5]
    assert np.array_equal(np.concatenate(received[0]), loss.gradient.scores)


def test_emissions_that_do_not_fit_the_labels():
    model = HigherOrderTagger(emitter(L + 1, []))
    model.initialize(X=docs_of(), Y=zeros(docs_of(), L))
    with pytest.raises(ValueError, match=r"\[HS024\].*emissions.*, 4\).*3"):
        model.predict(docs_of())


def test_loaded_patterns_replace_the_own_ones():
    model = tagger("frequent")
    other = HigherOrderTagger(SparseLinear(TEMPLATES), FrequentTransitions())
    docs = docs_of()
    index_features(other.layers[0], [docs])
    define(other, LABELS, [np.array([2, 2, 2] * 10, np.int32)])
    other.initialize(X=docs, Y=zeros(docs, L))
    nodes = [m.begin_update(docs)[0].weights.trie.node_of.tolist() for m in (other, model)]
    assert nodes[0] != nodes[1]
    other.from_bytes(model.to_bytes())
    found = [decode_exact(each.predict(docs)).scores.tolist() for each in (other, model)]
    assert found[0] == found[1]


def test_training_data_without_any_pattern():
    docs = [doc_of("a b")]
    model = HigherOrderTagger(SparseLinear(["lower[0]"]), FrequentTransitions(3, 100))
    index_features(model.layers[0], [docs])
    define(model, LABELS, [np.array([0, 1], np.int32)])
    randomize(model.initialize(X=docs, Y=zeros(docs, L)))
    assert not model.predict(docs).weights.has_patterns
    assert weights_of(model).parameters["patterns"].values.shape == (0,)
    fresh = HigherOrderTagger(SparseLinear(["lower[0]"]), FrequentTransitions(3, 100))
    fresh.from_bytes(model.to_bytes())
    found = [decode_exact(each.predict(docs)).scores.tolist() for each in (fresh, model)]
    assert found[0] == found[1]


@pytest.mark.parametrize("source", SOURCES)
def test_prediction_does_without_features_of_weight_0(source):
    """All fire in learning; prediction gives every labelling the same score without those of weight 0."""
    model, docs = tagger(source), docs_of()
    shim, rng = weights_of(model), np.random.default_rng(3)
    if "patterns" not in shim.parameters:
        return
    n_weights = len(shim.parameters["patterns"].values)
    n_nodes = []
    for share in (0.0, 0.5, 1.0, 0.2):
        weights = np.where(rng.random(n_weights) < share, rng.integers(1, 9, n_weights) / 4, 0.0)
        shim.set(Parameter("patterns", weights, nonnegative=True))
        both = nonzero, _ = model.predict(docs), model.begin_update(docs)[0]
        for _ in range(20):
            labels = rng.integers(0, L, len(nonzero.scores))
            scores = [path_score(p, labels) for p in both]
            assert scores[0] == pytest.approx(scores[1], abs=1e-9)
        n_nodes.append(len(nonzero.weights.trie) if nonzero.weights.has_patterns else 0)
    assert n_nodes[0] <= n_nodes[3] <= n_nodes[2] and n_nodes[0] < n_nodes[2]


def train_a_little(model, docs):
    """One update, from weights that score most sentences wrong."""
    weights_of(model).configure(AdaGrad(0.5), seed=0)
    weights_of(model.layers[0]).configure(AdaGrad(0.5), seed=0)
    potentials, backprop = model.begin_update(docs)
    gold = np.eye(L, dtype=bool)[np.arange(len(potentials.scores)) % L]
    backprop(OBJECTIVES["perceptron"](potentials, gold).gradient)
    model.finish_update(None)


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_kept_of_finished_weights_is_theirs(source):
    """The same object for all batches until the weights change, or while learning; then a new one."""
    model, docs = tagger(source), docs_of()
    first, other = model.predict(docs), model.predict(docs[:1])
    assert first.weights is other.weights
    before = decode_exact(first)
    assert model.begin_update(docs)[0].weights is not model.begin_update(docs)[0].weights
    for _ in range(3):
        train_a_little(model, docs)
        now = model.predict(docs)
        assert now.weights is not first.weights and now.weights is model.predict(docs).weights
        fresh = decode_exact(model.copy().predict(docs))
        got = decode_exact(now)
        assert same_paths(got, fresh)
    assert got.scores.tolist() != before.scores.tolist()
    assert same_paths(decode_exact(first), before)
    model.from_bytes(tagger(source, seed=5).to_bytes())
    loaded = model.predict(docs)
    assert loaded.weights is not now.weights
    expected = tagger(source, seed=5).predict(docs).trans.tolist()
    assert loaded.trans.tolist() == expected != now.trans.tolist()


def test_finished_weights_cannot_be_changed_in_place():
    model = tagger()
    potentials = model.predict(docs_of())
    for array in (potentials.trans, potentials.weights.node_weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    model.begin_update(docs_of())[0].trans[0] = 1
    assert not np.array_equal(model.predict(docs_of()).trans[0], np.ones(L))


def test_tables_of_learning_and_of_prediction_are_never_there_together():
    """Of many labels they are most of all memory."""
    model, docs = tagger("none"), docs_of()
    structure = model.attrs["structure"]
    first, _ = model.begin_update(docs)
    bounds = first.weights.prepared(Bounds.of)
    second, _ = model.begin_update(docs)
    assert second.weights.before(Bounds.of) is bounds  # to be adjusted
    finished = model.predict(docs).weights
    assert model.predict(docs).weights is finished and structure.learning is None
    third, _ = model.begin_update(docs)
    assert third.weights.before(Bounds.of) is None and structure.finished.latest is None
    assert np.array_equal(third.trans, first.trans)
