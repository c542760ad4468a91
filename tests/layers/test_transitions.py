"""`transitions` of the structured head: scores of label pairs that the text gives."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model

from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.layers.weights import weights_in
from spacy_hoseq.learning.objectives import OBJECTIVES
from spacy_hoseq.patterns.counted import FrequentTransitions

from ..builders import layer, unannotated
from ..components.helpers import sparse
from .helpers import applied_gradients, define, index_features, randomize, zeros
from .taggers import GOLD, LABELS, L, docs_of

EMISSIONS, PAIRS = ["bias", "lower[0]"], ["lower[0]", "lower[-1]"]


def tagger(seed=0, pairs=PAIRS):
    docs = docs_of()
    model = HigherOrderTagger(SparseLinear(EMISSIONS), transitions=SparseLinear(pairs))
    for each in model.layers:
        index_features(each, [docs])
    define(model, LABELS, GOLD)
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def parameters(model):
    shims = enumerate(weights_in(model))
    return {(i, name): p for i, shim in shims for name, p in shim.parameters.items()}


def plain_scores(layer, docs):
    """The rows of the features that fire at each token, added up in a loop. RETURNS (N, columns)."""
    features, table = layer.attrs["features"], weights_in(layer)[0].parameters["table"].values
    numbers = {int(key): row for row, key in enumerate(weights_in(layer)[0].extra["keys"])}
    keys = features.extractor.keys(docs)
    found = np.zeros((keys.shape[1], table.shape[1]))
    for n, column in enumerate(keys.T):
        for key in column.tolist():
            if key in numbers:
                found[n] += table[numbers[key]]
    return found


@pytest.mark.parametrize("seed", range(2))
def test_potentials_are_those_of_a_plain_loop(seed):
    model, docs = tagger(seed), docs_of()
    found = model.predict(docs)
    assert found.scores == pytest.approx(plain_scores(model.layers[0], docs), abs=1e-5)
    pairs = plain_scores(model.layers[1], docs)
    assert found.edge_scores.shape == (len(pairs), L, L) and np.abs(pairs).max() > 1
    for n, row in enumerate(pairs):
        for a in range(L):  # the earlier label
            for b in range(L):
                assert found.edge_scores[n, a, b] == pytest.approx(row[a * L + b], abs=1e-5)
    assert found.trans.tolist() == parameters(model)[0, "trans"].values.tolist()
    assert not found.weights.has_patterns and found.configurations is None
    trained, _ = model.begin_update(docs)
    assert trained.edge_scores == pytest.approx(found.edge_scores, abs=1e-6)


def test_pairs_at_first_tokens_have_no_gradient():
    """Only words that begin all sentences they are in."""
    texts = (["first", "x"], ["first"], ["first", "y", "x"])
    docs = [Doc(docs_of()[0].vocab, words=words) for words in texts]
    model = HigherOrderTagger(SparseLinear(["bias"]), transitions=SparseLinear(["lower[0]"]))
    for each in model.layers:
        index_features(each, [docs])
    model.initialize(X=docs, Y=zeros(docs, L))
    randomize(model)
    weights_in(model)[2].name = "pairs"
    potentials, backprop = model.begin_update(docs)
    gold = np.eye(L, dtype=bool)[[0, 1, 2, 0, 1, 2]]
    backprop(OBJECTIVES["log_likelihood"](potentials, gold).gradient)
    words = applied_gradients(model)["pairs", "table"]
    is_learnt = (np.abs(words) > 1e-3).any(axis=1)
    assert is_learnt.sum() == 2 and len(words) == 4, "first, x, y, and the row of no feature"


def test_not_together_with_patterns():
    with pytest.raises(ValueError, match=r"\[HS099\].*label patterns"):
        patterns = FrequentTransitions(3, 1)
        HigherOrderTagger(SparseLinear(EMISSIONS), patterns, transitions=SparseLinear(PAIRS))


@pytest.mark.parametrize("width", [L, L * L - 1, L * L + 1])
def test_wrong_width(width):
    model = tagger()
    model._layers[1] = Model(
        "pairs", lambda _, docs, is_train: (zeros(docs, width), lambda d: docs)
    )
    with pytest.raises(ValueError, match=rf"\[HS024\].*, {width}\).*{L * L}"):
        model.predict(docs_of())


# A word says which labels go together, and says nothing of either: "same" repeats the label before, "other" changes it.
PAIRED = [
    ("a same same", "A A A"), ("b same same", "B B B"), ("a other other", "A B A"), ("b other other", "B A B"),
    ("a same other same", "A A B B"), ("b other same other", "B A A B"), ("b same other", "B B A"),
]  # fmt: skip


def examples_of(nlp, corpus=PAIRED):
    docs = [Doc(nlp.vocab, words=text.split(), tags=tags.split()) for text, tags in corpus]
    return [Example(unannotated(doc, nlp.vocab), doc) for doc in docs]


def trained(objective, transitions):
    nlp = spacy.blank("xx")
    layers = {"emissions": sparse(["lower[0]"]), "transitions": transitions}
    model = layer("HigherOrderTagger", **layers)
    nlp.add_pipe("hoseq_tagger", config={"objective": objective, "model": model})
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    for _ in range(30):
        nlp.update(examples_of(nlp), sgd=optimizer, drop=0.0)
    return nlp


def test_dropout_of_transitions():
    """That of training holds for them, too."""
    nlp = trained("log_likelihood", sparse(["lower[0]"]))
    examples = examples_of(nlp)
    losses = [nlp.update(examples, drop=d, losses={})["hoseq_tagger"] for d in (0.0, 0.9)]
    assert losses[1] > losses[0] + 0.1
