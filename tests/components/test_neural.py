"""The same head on neural emissions: alone, shared through a listener, and in a sum with sparse ones."""

import numpy as np
import spacy
from spacy.util import fix_random_seed

from ..builders import layer
from .helpers import examples_of, gold, reloaded, sparse, tagger_model, train

WIDTH = 16
CNN = {
    "@architectures": "spacy.HashEmbedCNN.v2", "pretrained_vectors": None, "width": WIDTH, "depth": 1,
    "embed_size": 100, "window_size": 1, "maxout_pieces": 2, "subword_features": True,
}  # fmt: skip
LISTENER = {"@architectures": "spacy.Tok2VecListener.v1", "width": WIDTH}


def network(tok2vec=CNN):
    return {"@architectures": "spacy_hoseq.Tok2VecLinear.v1", "tok2vec": tok2vec}


def summed(tok2vec=CNN):
    return layer("SumEmissions", first=sparse(), second=network(tok2vec))


EMISSIONS = {"alone": network(), "shared": network(LISTENER), "sum": summed()}
EMISSIONS["sum with shared"] = summed(LISTENER)


def pipeline(kind, patterns=None, objective="max_margin"):
    fix_random_seed(0)
    nlp = spacy.blank("xx")
    if "shared" in kind:
        nlp.add_pipe("tok2vec", config={"model": CNN})
    config = {"model": tagger_model(EMISSIONS[kind], patterns), "objective": objective}
    nlp.add_pipe("hoseq_tagger", config=config)
    return nlp


def fitted(kind, n_updates=60, **settings):
    nlp = pipeline(kind, **settings)
    optimizer = nlp.initialize(lambda: examples_of(nlp))
    optimizer.learn_rate = 0.01
    train(nlp, n_updates, optimizer=optimizer)
    return nlp


def tagged(nlp):
    docs = nlp.pipe(eg.predicted for eg in examples_of(nlp))
    return [[token.tag_ for token in doc] for doc in docs]


def state(nlp):
    """Weights of all parts but the embedding tables' (whose changes are many zeros)."""
    found = {}
    for pipe_name, pipe in nlp.pipeline:
        for i, node in enumerate(pipe.model.walk()):
            for name in node.param_names:
                if node.has_param(name):
                    found[pipe_name, i, node.name, name] = node.get_param(name).copy()
            for shim in node.shims:
                for p in shim.parameters.values():
                    found[pipe_name, i, shim.name, p.name] = p.values.copy()
    return found


def test_network_follows_the_optimizer_and_the_table_does_not():
    nlp = fitted("sum", 0)
    before = state(nlp)
    optimizer = nlp.create_optimizer()
    optimizer.learn_rate = 0.0
    train(nlp, 1, optimizer=optimizer)
    after = state(nlp)
    changed = {key[2:] for key in after if not np.array_equal(after[key], before[key])}
    assert changed == {("sparse_linear", "table"), ("higher_order_tagger", "trans")}


def test_listener_is_replaced():
    nlp = fitted("shared")
    nlp.replace_listeners("tok2vec", "hoseq_tagger", ["model.emissions.tok2vec"])
    nlp.remove_pipe("tok2vec")
    assert tagged(nlp) == gold()
    emissions = nlp.config["components"]["hoseq_tagger"]["model"]["emissions"]
    assert emissions["tok2vec"]["@architectures"] == CNN["@architectures"]
    assert tagged(reloaded(nlp)) == gold()


def test_frozen_upstream():
    nlp = fitted("shared")
    before = nlp.get_pipe("tok2vec").model.to_bytes()
    for _ in range(3):
        settings = {"exclude": ["tok2vec"], "annotates": ["tok2vec"]}
        nlp.update(examples_of(nlp), sgd=nlp.create_optimizer(), losses={}, **settings)
    assert nlp.get_pipe("tok2vec").model.to_bytes() == before
    assert tagged(nlp) == gold()
