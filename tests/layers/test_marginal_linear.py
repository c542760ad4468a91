"""Emissions from probable labels against dictionaries of features in plain Python, and their gradient."""

import itertools
from collections import Counter

import numpy as np
import pytest
from spacy.strings import get_string_id
from thinc.api import Model, set_dropout_rate

from spacy_hoseq.decoders.answers.label_ngrams import AFTER, BEFORE
from spacy_hoseq.decoders.problem import ProbableLabels, certain_labels
from spacy_hoseq.features import keys
from spacy_hoseq.features.extract import FeatureExtractor
from spacy_hoseq.features.keys import label_values
from spacy_hoseq.features.templates import parse_templates
from spacy_hoseq.layers import marginal_linear
from spacy_hoseq.layers.listener import make_marginal_listener
from spacy_hoseq.layers.marginal_linear import MarginalLinear
from spacy_hoseq.layers.scorer import no_backprop
from spacy_hoseq.layers.upstream import upstream_labels, write_upstream
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.adagrad import Additive
from spacy_hoseq.learning.parameter import Parameter

from ..decoders.answers.test_label_ngrams import by_the_formula
from .contract import LayerContract
from .helpers import VOCAB, Doc, doc_of, index_features, randomize, raw, zeros
from .test_upstream import LABELS, docs_of, labels_of

TEMPLATES = "upstream[-1..1] upstream[-1]+upstream[0] upstream[1]+upstream[-1]+upstream[0]"
TEMPLATES += " upstream[-2]+upstream[1] upstream[0]+lower[0] upstream[0]+lower[-1]+suffix2[1]"
TEMPLATES = f"{TEMPLATES} upstream[4]".split()
L = 3


def source(labels, received=None):
    """A listener that gives the given labels, whatever the docs are."""
    backprop = no_backprop if received is None else received.append
    return Model("upstream", lambda model, docs, is_train: (labels, backprop))


def layer(templates=TEMPLATES, docs=None, labels=None, seed=1, received=None, **settings):
    docs = docs_of() if docs is None else docs
    labels = labels_of(docs) if labels is None else labels
    model = MarginalLinear(source(labels, received), templates, **settings)
    index_features(model, [(docs, labels)])
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def mixed(state, value):
    """The finaliser of splitmix64 over their exclusive or."""
    z = state ^ value
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    return ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64


def plain_features(templates, docs, labels):
    """(template, token, key, value) of every feature: q of the n-gram, with the words of the template."""
    names = {BEFORE: int(keys.BEFORE_SENTENCE), AFTER: int(keys.AFTER_SENTENCE)}
    names.update({y: get_string_id(f"label={label}") for y, label in enumerate(LABELS)})
    lengths = np.array([len(sentence) for doc in docs for sentence in sentences(doc)], int)
    found = []
    for template in map(str, parse_templates(templates)):
        parts = template.split("+")
        upstream = [part for part in parts if part.startswith("upstream")]
        places = sorted(int(part[len("upstream[") : -1]) for part in upstream)
        words = "+".join(part for part in parts if not part.startswith("upstream"))
        extractor = FeatureExtractor(parse_templates([words])) if words else None
        of_words = extractor.keys(docs)[0].tolist() if words else None
        ids = np.argmax(labels.probable.labels[:, None] == label_values(LABELS), axis=1)
        probable = labels.probable._replace(labels=ids)
        ngrams = by_the_formula(probable, lengths, places, labels.threshold)
        for (token, *ngram), q in ngrams.items():
            key = get_string_id(template)
            if of_words is not None:
                if not of_words[token]:
                    continue
                key = mixed(key, of_words[token])
            for y in ngram:
                key = mixed(key, names[y])
            found.append((template, token, key, q))
    return found


def sentences(doc):
    starts = [token.i for token in doc if token.i == 0 or token.is_sent_start]
    return [doc[a:b] for a, b in itertools.pairwise([*starts, len(doc)])]


def plain_scores(model, templates, docs, labels):
    table = raw(model, "table").astype(np.float64)
    row_of = {int(key): row for row, key in enumerate(weights_of(model).extra["keys"])}
    scores = np.zeros((sum(map(len, docs)), table.shape[1]))
    for _, token, key, q in plain_features(templates, docs, labels):
        if key in row_of:
            scores[token] += q * table[row_of[key]]
    return scores


def with_source(model, labels):
    model.layers[0] = source(labels)
    return model


@pytest.mark.parametrize("threshold", [0.0, 0.25])
@pytest.mark.parametrize("settings", [{}, {"min_count": 2}, {"min_count": 99}])
@pytest.mark.parametrize("seed", range(2))
def test_scores_are_sums_of_weights_times_values(seed, settings, threshold):
    model, docs = layer(**settings), docs_of()
    labels = labels_of(docs, seed, threshold)
    scores = with_source(model, labels).predict(docs)
    expected = plain_scores(model, TEMPLATES, docs, labels)
    assert [len(part) for part in scores] == [len(doc) for doc in docs]
    assert np.concatenate(scores) == pytest.approx(expected, abs=1e-5)
    assert np.abs(expected).max() > 1 or settings == {"min_count": 99}


def test_features_are_counted_once_for_each_place():
    """Whatever their probability is."""
    docs, labels = docs_of(), labels_of(docs_of())
    counts = Counter(key for _, _, key, _ in plain_features(TEMPLATES, docs, labels))
    for least in (1, 2, 5):
        model = MarginalLinear(source(labels), TEMPLATES, min_count=least)
        index_features(model, [(docs, labels), ([Doc(VOCAB)], labels_of([Doc(VOCAB)]))])
        known = sorted(key for key, n in counts.items() if n >= least)
        assert weights_of(model).extra["keys"].tolist() == known


def test_blocks_of_tokens_and_rows(monkeypatch):
    model, docs = layer(), docs_of()
    predicted = np.concatenate(model.predict(docs))
    monkeypatch.setattr(marginal_linear, "NGRAM_BLOCK_TOKENS", 2)
    assert np.concatenate(model.predict(docs)) == pytest.approx(predicted, abs=1e-6)


def test_tokens_with_two_three_one_and_two_labels():
    """The second and later ones are those of tokens 0, 1, 1, 3: as many as tokens from 0 to 3."""
    tokens, ids = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [2, 0], [3, 0], [3, 1]]).T
    probable = ProbableLabels(tokens, ids, np.full(8, 0.5), *np.zeros((2, 0), int), np.zeros(0))
    docs, labels = [doc_of("a b c d")], upstream_labels(probable, LABELS, 0.0)
    model = layer(["upstream[0]"], docs, labels)
    expected = plain_scores(model, ["upstream[0]"], docs, labels)
    assert model.predict(docs)[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("threshold, drop", [(0.0, 0.0), (0.25, 0.3)])
def test_gradients_are_those_of_finite_differences(threshold, drop):
    """Of every weight; and that of the probabilities, handed to the source once."""
    docs, received = docs_of(), []
    labels = labels_of(docs, 0, threshold)
    model = layer(labels=labels, received=received, min_count=2)
    set_dropout_rate(model, drop)
    table = raw(model, "table").astype(np.float64)
    weights_of(model).set(Parameter("table", table))
    G = [np.random.default_rng(5).normal(size=part.shape) for part in zeros(docs, L)]
    G[1][2] = 0  # nothing to learn at this token

    def loss(labels=labels):
        model.layers[0] = source(labels, received)
        weights_of(model).configure(Additive(), seed=3)
        scores, backprop = model.begin_update(docs)
        return sum(float((g * s).sum()) for g, s in zip(G, scores, strict=True)), backprop

    expected = np.zeros(table.shape)
    for i in np.ndindex(table[:-1].shape):  # linear: a wide step is exact
        kept = table[i]
        table[i] = kept + 1
        up = loss()[0]
        table[i] = kept - 1
        expected[i] = (up - loss()[0]) / 2
        table[i] = kept
    loss()[1](G)
    (rows, gradient), *others = weights_of(model)._pending["table"]
    dense = np.zeros(table.shape)
    dense[rows] = gradient
    assert others == [] and np.abs(expected).max() > 1
    assert dense == pytest.approx(expected, rel=1e-9, abs=1e-9)
    (found,) = received
    for name, got in zip(("probabilities", "pairs"), found, strict=True):
        values = getattr(labels.probable, name)
        for i in range(len(values)):
            ends = [values.copy(), values.copy()]
            ends[0][i] += 1e-5
            ends[1][i] -= 1e-5
            changed = [labels.probable._replace(**{name: value}) for value in ends]
            up, down = (loss(labels._replace(probable=probable))[0] for probable in changed)
            assert got[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-6)
        assert np.abs(got).max() > 0.5


def test_only_weights_of_tokens_with_a_gradient_are_touched():
    docs, labels = docs_of(), labels_of(docs_of())
    model, G = layer(), zeros(docs, L)
    taught = np.zeros(sum(map(len, docs)), bool)
    taught[[1, 6]] = True
    G[1][1] = G[4][0] = 1
    model.begin_update(docs)[1](G)
    ((rows, _),) = weights_of(model)._pending["table"]
    keys = weights_of(model).extra["keys"][rows].tolist()
    features = plain_features(TEMPLATES, docs, labels)
    assert set(keys) == {key for _, token, key, _ in features if taught[token]}


def certain(n, label=0):
    probable = certain_labels(np.full(n, label), np.array([n]))
    return upstream_labels(probable, LABELS, 0.0)


def test_dropout_leaves_out_templates_at_tokens():
    docs, n = [doc_of("a " * 4000)], 4000
    model = layer(["upstream[0]", "upstream[0]+lower[0]"], docs, certain(n))
    one, two = raw(model, "table")[:2].astype(float)
    set_dropout_rate(model, 0.25)
    weights_of(model).configure(Additive(), seed=3)
    scores = model.begin_update(docs)[0][0]
    kinds = (0 * one, one / 0.75, two / 0.75, (one + two) / 0.75)
    share = [(np.abs(scores - expected) < 1e-5).all(axis=1).mean() for expected in kinds]
    assert share == pytest.approx([0.0625, 0.1875, 0.1875, 0.5625], abs=0.025)
    assert scores.mean(axis=0) == pytest.approx(one + two, abs=0.05), "the mean is what predicts"
    assert model.predict(docs)[0] == pytest.approx(np.tile(one + two, (n, 1)), abs=1e-5)
    weights_of(model).configure(Additive(), seed=3)
    assert np.array_equal(model.begin_update(docs)[0][0], scores), "by its own seed"
    set_dropout_rate(model, 1.0)
    assert not model.begin_update(docs)[0][0].any()


def test_dropout_is_of_a_template_with_all_its_ngrams():
    """Three labels at each token, all kept or all left out."""
    rng, n = np.random.default_rng(0), 500
    three = [np.repeat(np.arange(n), 3), np.tile([0, 1, 2], n), rng.uniform(0.1, 1, 3 * n)]
    probable = ProbableLabels(*three, *np.zeros((2, 0), int), np.zeros(0))
    labels = upstream_labels(probable, LABELS, 0.0)
    docs = [doc_of("a " * n)]
    model = layer(["upstream[0]"], docs, labels)
    whole = model.predict(docs)[0]
    set_dropout_rate(model, 0.5)
    scores = model.begin_update(docs)[0][0]
    kept = scores.any(axis=1)
    assert 0.4 < kept.mean() < 0.6 and scores[kept] == pytest.approx(2 * whole[kept], abs=1e-4)


def test_settings_that_cannot_be():
    for min_count in (0, -1):
        with pytest.raises(ValueError, match=rf"\[HS027\] Wrong min_count: {min_count}"):
            MarginalLinear(make_marginal_listener(), TEMPLATES, min_count=min_count)
    for templates, code in (([], "HS027"), (["upstream["], "HS010"), (["lower[0]"], "HS027")):
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            MarginalLinear(make_marginal_listener(), templates)


def test_before_initialization():
    docs = docs_of()
    model = MarginalLinear(source(labels_of(docs)), TEMPLATES)
    with pytest.raises(ValueError, match=r"\[HS052\].*training texts were not searched"):
        model.predict(docs)
    with pytest.raises(ValueError, match=r"\[HS052\]"):
        model.initialize(X=docs, Y=zeros(docs, L))
    index_features(model, [(docs, labels_of(docs))])
    with pytest.raises(ValueError, match=r"\[HS052\].*holds no weights"):
        model.predict(docs)


class TestMarginalLinear(LayerContract):
    threshold = 0.0

    def docs(self):
        docs, labels = docs_of(), labels_of(docs_of())
        p = labels.probable.probabilities
        least = np.minimum(p[labels.probable.earlier], p[labels.probable.later])
        pairs = labels.probable.pairs * least
        probable = labels.probable._replace(pairs=pairs.astype(np.float32).astype(float))
        listener = make_marginal_listener(threshold=self.threshold)
        changed = labels._replace(probable=probable, threshold=self.threshold)
        write_upstream(docs, listener.key, changed)
        return docs

    def make(self, seed=0):
        listener = make_marginal_listener(threshold=self.threshold)
        model = MarginalLinear(listener, TEMPLATES)
        docs = self.docs()
        index_features(model, [(docs, listener.predict(docs))])
        model.initialize(X=docs, Y=zeros(docs, L))
        return randomize(model, seed)


class TestMarginalLinearWithAThreshold(TestMarginalLinear):
    threshold = 0.25
