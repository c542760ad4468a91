"""A layer of somebody else's, over the public names: it scores, is explained, inspected, saved and copied."""

import copy

import numpy as np
import pytest
import spacy
from spacy.training import Example
from thinc.api import Linear, Model, Relu, chain, with_array

from spacy_hoseq.features.sequences import sequence_lengths
from spacy_hoseq.inspection import explain
from spacy_hoseq.inspection.reading import Reading
from spacy_hoseq.inspection.weights import inspected
from spacy_hoseq.layers import Feature, FlatScores, Scorer, SumEmissions, scorer_of, scoring_layer

from ..builders import layer
from .helpers import VOCAB, doc_of

TEXTS = ["a cat walks homewards", "the cat walks", "a mouse sings homewards", "mouse finds cat"]
TAGS = [["D", "N", "V", "A"], ["D", "N", "V"], ["D", "N", "V", "A"], ["N", "V", "N"]]
LONGEST = 6


class Lengths(Scorer):
    """One weight for each label and length of a word."""

    def scores(self, docs, *, is_train):
        lengths = [min(len(token), LONGEST) for doc in docs for token in doc]
        table = self.model.get_param("W")

        def backprop(d_scores):
            d_table = np.zeros_like(table)
            for length, row in zip(lengths, d_scores, strict=True):
                d_table[length] += row
            self.model.inc_grad("W", d_table)

        return FlatScores(table[lengths], sequence_lengths(docs), backprop)

    def features_at(self, docs, words):
        scores = self.scores(docs, is_train=False).scores
        length = [min(len(token), LONGEST) for doc in docs for token in doc]
        for word in words:
            name = f"length = {length[word]}"
            yield Feature(name, word, (word,), scores[word].astype(float), key=length[word])

    def keyed_weights(self):
        yield np.arange(1, LONGEST + 1, dtype=np.uint64), self.model.get_param("W")[1:]

    def initialize(self, X=None, Y=None):
        self.model.set_dim("nO", Y[0].shape[1])
        self.model.set_param("W", np.zeros((LONGEST + 1, Y[0].shape[1]), np.float32))

    def forget_words(self):
        self.model.attrs["forgotten"] = self.model.attrs.get("forgotten", 0) + 1


@spacy.registry.architectures("tests.Lengths.v1")
def make_lengths():
    return scoring_layer("lengths", Lengths)


@spacy.registry.architectures("tests.PlainNetwork.v1")
def make_network():
    """thinc's interface alone."""

    def vectors(model, docs, is_train):
        rows = [[[len(t), t.is_alpha] for t in doc] for doc in docs]
        rows = [np.array(row, np.float32).reshape(-1, 2) for row in rows]
        return rows, lambda d_rows: []

    return chain(Model("word_lengths", vectors), with_array(chain(Relu(8, 2), Linear(nI=8))))


def pipeline(architecture):
    nlp = spacy.blank("xx")
    emissions = {"@architectures": architecture}
    model = layer("HigherOrderTagger", emissions=emissions, patterns=None)
    nlp.add_pipe("hoseq_tagger", config={"model": model, "objective": "log_likelihood"})
    return nlp


def trained(architecture, n_updates=30):
    nlp = pipeline(architecture)
    pairs = zip(TEXTS, TAGS, strict=True)
    examples = [Example.from_dict(nlp.make_doc(text), {"tags": tags}) for text, tags in pairs]
    optimizer = nlp.initialize(lambda: examples)
    optimizer.learn_rate = 0.1
    losses = []
    for _ in range(n_updates):
        losses.append(nlp.update(examples, sgd=optimizer)["hoseq_tagger"])
    assert losses[-1] < losses[0] / 1.2
    return nlp


@pytest.fixture(scope="module")
def nlp():
    return trained("tests.Lengths.v1")


def test_of_a_third_party_learns_and_predicts(nlp):
    layers = nlp.get_pipe("hoseq_tagger").model.layers
    assert any(np.abs(node.get_param("W")).max() > 0.1 for node in layers)
    assert [[t.tag_ for t in nlp(text)] for text in TEXTS] == TAGS


def test_of_a_third_party_is_explained(nlp):
    pipe = nlp.get_pipe("hoseq_tagger")
    found = explain(pipe, nlp(TEXTS[0]), 1)
    assert "length = 3" in {term.name for term in found.terms}
    reading = Reading(pipe, [nlp(TEXTS[0])])
    features = list(scorer_of(pipe.model.layers[0]).features_at(reading.docs, range(4)))
    totals = np.array([feature.weights for feature in features])
    assert totals == pytest.approx(pipe.model.predict([nlp(TEXTS[0])]).scores, abs=1e-6)


def test_of_a_third_party_is_inspected(nlp):
    (component,) = inspected(nlp, list(nlp.pipe(TEXTS)), top=1)
    names = {row["name"] for rows in component["strongest"].values() for row in rows}
    assert names and all(name.startswith("length = ") for name in names)


def test_of_a_third_party_is_saved_and_copied(nlp):
    expected = [[t.tag_ for t in doc] for doc in nlp.pipe(TEXTS)]
    fresh = pipeline("tests.Lengths.v1").from_bytes(nlp.to_bytes())
    for other in (fresh, copy.deepcopy(nlp)):
        assert [[t.tag_ for t in doc] for doc in other.pipe(TEXTS)] == expected
    copied = nlp.get_pipe("hoseq_tagger").model.copy()
    assert scorer_of(copied.layers[0]).model is copied.layers[0]


def test_of_a_third_party_forgets_words(nlp):
    layer = nlp.get_pipe("hoseq_tagger").model.layers[0]
    before = layer.attrs.get("forgotten", 0)
    with nlp.memory_zone():
        list(nlp.pipe(TEXTS))
    assert layer.attrs["forgotten"] == before + 1


def test_layer_without_a_scorer():
    """Any model of thinc's that gives an array for each Doc: its scores are one feature, "network"."""
    nlp = trained("tests.PlainNetwork.v1")
    pipe = nlp.get_pipe("hoseq_tagger")
    reading = Reading(pipe, [nlp(TEXTS[0])])
    features = list(scorer_of(pipe.model.layers[0]).features_at(reading.docs, range(4)))
    assert {feature.name for feature in features} == {"network"}
    totals = np.array([feature.weights for feature in features])
    assert totals == pytest.approx(pipe.model.predict([nlp(TEXTS[0])]).scores, abs=1e-6)
    assert explain(pipe, nlp(TEXTS[0]), 1).label


def test_scores_in_one_array_and_by_doc():
    """Both interfaces of a layer agree, and so do their ways back."""
    layer = make_lengths()
    docs = [doc_of("a cat"), doc_of(""), doc_of("the dogs run")]
    layer.initialize(docs, [np.zeros((len(doc), 3), np.float32) for doc in docs])
    layer.set_param("W", np.arange(21, dtype=np.float32).reshape(7, 3))
    flat = scorer_of(layer).scores(docs, is_train=True)
    parts, backprop = layer.begin_update(docs)
    assert np.array_equal(np.concatenate(parts), flat.scores)
    assert [len(part) for part in parts] == [2, 0, 3]
    backprop([np.ones_like(part) for part in parts])
    by_doc = layer.get_grad("W").copy()
    flat.backprop(np.ones_like(flat.scores))
    assert np.array_equal(layer.get_grad("W"), 2 * by_doc)


def test_sum_of_a_third_party_and_another():
    both = SumEmissions(make_lengths(), make_lengths())
    docs = [doc_of("a cat")]
    both.initialize(docs, [np.zeros((2, 3), np.float32)])
    for each in both.layers:
        each.set_param("W", np.ones((7, 3), np.float32))
    assert np.array_equal(both.predict(docs)[0], np.full((2, 3), 2.0))
    names = [feature.name for feature in scorer_of(both).features_at(docs, [1])]
    assert names == ["length = 3", "length = 3"] and VOCAB is docs[0].vocab
