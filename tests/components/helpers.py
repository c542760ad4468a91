"""A tiny tagged corpus, and taggers trained on it."""

from functools import cache

import numpy as np
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from ..builders import doc_of, layer, misc, sources, tagger_of

CORPUS = [
    ("the old dog sees a cat .", "D A N V D N ."),
    ("a cat runs .", "D N V ."),
    ("dogs run .", "N V ."),
    ("the run was long .", "D N V A ."),
    ("she runs home .", "N V R ."),
    ("old cats sleep here .", "A N V R ."),
]
LABELS = (".", "A", "D", "N", "R", "V")
TEMPLATES = ["bias", "lower[0]", "lower[-1]", "suffix2[0]"]
FREQUENT = {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 3, "min_count": 1}
THE = {"name": "the", "tokens": [{"LOWER": "the"}, {}], "labels": ["D", "?l"], "tied": False}
RUN = {"name": "run", "tokens": [{}, {"LOWER": "runs"}], "labels": ["?l", "V"]}
RULES = misc("rule_patterns", rules=[THE, RUN])
ALL_PATTERNS = sources(frequent=FREQUENT, rules=RULES)
ADDITIVE = {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1.0}
ADAGRAD = {"@misc": "spacy_hoseq.adagrad.v1", "learn_rate": 0.1}


def with_average(config, default="late"):
    """average: a field of the update rule."""
    average = config.pop("average", default)
    rule = config.get("update_rule", ADAGRAD)
    rule = {**rule, "average": average} if isinstance(rule, dict) else rule
    return {**config, "update_rule": rule}


def sparse(templates=TEMPLATES, **settings):
    return {"@architectures": "spacy_hoseq.SparseLinear.v1", "templates": templates, **settings}


def tagger_model(emissions=None, patterns=None):
    emissions = sparse() if emissions is None else emissions
    return layer("HigherOrderTagger", patterns=patterns, emissions=emissions)


VARIANTS = {
    "perceptron": {"objective": "perceptron", "update_rule": ADDITIVE},
    "max_margin": {"objective": "max_margin"},
    "log_likelihood": {"objective": "log_likelihood"},
    "frequent": {"objective": "max_margin", "model": tagger_model(patterns=FREQUENT)},
    "all patterns": {
        "objective": "perceptron",
        "update_rule": ADDITIVE,
        "average": False,  # the average would depend for long on how the first update, of zero weights, breaks ties
        "model": tagger_model(patterns=ALL_PATTERNS),
    },
    "likelihood of patterns": {
        "objective": "log_likelihood",
        "model": tagger_model(patterns=ALL_PATTERNS),
    },
}


def blank(variant="max_margin", **config):
    """A pipeline with one tagger, not initialized (of language "xx", which is made fast)."""
    nlp = spacy.blank("xx")
    settings = {"model": tagger_model(), **VARIANTS[variant], **config}
    nlp.add_pipe("hoseq_tagger", config=with_average(settings))
    return nlp


def examples_of(nlp, corpus=CORPUS):
    return [Example.from_dict(doc_of(nlp, text), {"tags": tags.split()}) for text, tags in corpus]


def train(nlp, n_updates=10, corpus=CORPUS, drop=0.0, optimizer=None):
    """One update a batch of all examples. RETURNS the last loss."""
    optimizer = optimizer or nlp.create_optimizer()
    losses = {}
    for _ in range(n_updates):
        losses = nlp.update(examples_of(nlp, corpus), sgd=optimizer, drop=drop, losses={})
    return losses.get("hoseq_tagger", 0.0)


def trained(variant="max_margin", n_updates=10, corpus=CORPUS, drop=0.0, seed=0, **config):
    nlp = blank(variant, **config)
    nlp.config["training"]["seed"] = seed
    optimizer = nlp.initialize(lambda: examples_of(nlp, corpus))
    train(nlp, n_updates, corpus, drop, optimizer)
    return nlp


@cache
def ready(variant="max_margin"):
    """A trained pipeline, shared by tests that do not change it."""
    return trained(variant)


def tags_of(nlp, text, **annotation):
    return [token.tag_ for token in tagger_of(nlp)(doc_of(nlp, text, **annotation))]


def gold(corpus=CORPUS):
    return [tags.split() for _, tags in corpus]


def predicted(nlp, corpus=CORPUS):
    return [tags_of(nlp, text) for text, _ in corpus]


def reloaded(nlp, data=None):
    """A new pipeline of the same config, in a fresh vocabulary, with the weights of `nlp`."""
    fresh = spacy.util.load_model_from_config(nlp.config, auto_fill=False, validate=True)
    return fresh.from_bytes(nlp.to_bytes() if data is None else data)


def random_docs(nlp, n=25, seed=0):
    """Docs of known and unknown words, of all lengths, with and without sentence boundaries."""
    rng = np.random.default_rng(seed)
    known = {word for text, _ in CORPUS for word in text.split()}
    words = sorted(known) + "12 unseen Zebra X1".split()
    docs = [Doc(nlp.vocab), Doc(nlp.vocab, words=["cat"])]
    for length in rng.integers(0, 15, size=n).tolist():
        is_divided = rng.random() < 0.5
        starts = [i == 0 or rng.random() < 0.2 for i in range(length)] if is_divided else None
        chosen = [words[i] for i in rng.integers(0, len(words), size=length)]
        docs.append(Doc(nlp.vocab, words=chosen, sent_starts=starts))
    return docs
