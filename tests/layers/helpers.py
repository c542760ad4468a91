"""Docs and weights for the tests of layers."""

import threading
from types import SimpleNamespace

import numpy as np
import spacy
from spacy.tokens import Doc

from spacy_hoseq.layers.label_parts import PartScorer
from spacy_hoseq.layers.scorer import scorer_of
from spacy_hoseq.layers.structured import HeadScorer
from spacy_hoseq.layers.weights import weights_of
from spacy_hoseq.learning.adagrad import Additive
from spacy_hoseq.learning.parameter import Parameter

VOCAB = spacy.blank("xx").vocab
RATE = 1e-3


def doc_of(text, **annotation):
    return Doc(VOCAB, words=text.split(), **annotation)


def index_features(layer, *versions):
    scorer_of(layer).index(*versions)


def define(model, labels, sequences):
    """Patterns and parts of labels from gold labels."""
    texts = SimpleNamespace(labels=labels, gold=sequences, docs=lambda: [])
    for scorer in map(scorer_of, model.walk()):
        if isinstance(scorer, (HeadScorer, PartScorer)):
            scorer.define(texts)


def in_threads(model, docs):
    """The scores of each Doc, predicted by four threads at once, in other orders. RETURNS a list of answers a Doc."""
    answers = [[] for _ in docs]

    def work(order):
        for i in order:
            answers[i].append(np.concatenate(model.predict([docs[i]])))

    orders = [np.random.default_rng(seed).permutation(len(docs)) for seed in range(4)]
    threads = [threading.Thread(target=work, args=(order,)) for order in orders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def zeros(docs, n_labels):
    return [np.zeros((len(doc), n_labels), np.float32) for doc in docs]


def randomize(model, seed=0):
    """Random weights that half precision holds exactly, so that raw and finished ones are equal."""
    rng = np.random.default_rng(seed)
    for node in model.walk():
        for shim in node.shims:
            for name, old in list(shim.parameters.items()):
                shape = old.values.shape
                values = rng.uniform(0.1, 1, shape) if old.nonnegative else rng.normal(size=shape)
                if name == "table":
                    values[-1] = 0  # the row of "no feature"
                values = values.astype(np.float16).astype(old.values.dtype)
                shim.set(Parameter(name, values, nonnegative=old.nonnegative))
    return model


def applied_gradients(model):
    """What `finish_update` makes of the gradients, by layer and weight array, in units of the gradient."""
    shims = [shim for node in model.walk() for shim in node.shims]
    before = {}
    for shim in shims:
        before |= {(shim.name, name): p.values.copy() for name, p in shim.parameters.items()}
    for shim in shims:
        shim.configure(Additive(RATE, average=False), seed=0)
    model.finish_update(lambda *args: (args[1], args[2]))
    after = {(s.name, name): p.values for s in shims for name, p in s.parameters.items()}
    return {key: (before[key] - values) / RATE for key, values in after.items()}


def raw(model, name):
    return weights_of(model).parameters[name].values
