"""Bidirectional taggers and chunkers, trained on tiny corpora."""

from functools import cache

import spacy
from spacy.training import Example

from ..builders import doc_of
from .helpers import CORPUS, examples_of

NAME = "hoseq_bidirectional_tagger"
STRATEGIES = [
    "easiest_first", "easiest_last", "left_to_right", "right_to_left", "dependency_network", "full_bidirectional",
]  # fmt: skip
TEMPLATES = [
    "bias", "lower[0]", "lower[-1]", "suffix2[0]",
    "label[-1]", "label[1]", "label[-1]+label[1]", "label[-1]+orth[0]",
]  # fmt: skip
CHUNKED = [  # (text, chunks); several meet, one is of one token, one of three
    ("the old dog sees a cat .", [(0, 3, "NP"), (3, 4, "VP"), (4, 6, "NP")]),
    ("dogs run .", [(0, 1, "NP"), (1, 2, "VP")]),
    ("she gave him a cat .", [(0, 1, "NP"), (1, 2, "VP"), (2, 3, "NP"), (3, 5, "NP")]),
    ("oh well .", []),
]


def local(templates=TEMPLATES, **settings):
    return {"@architectures": "spacy_hoseq.LocalClassifiers.v1", "templates": templates, **settings}


def blank(**config):
    """A pipeline with one bidirectional tagger, not initialized. Narrow constraints, to learn a few sentences."""
    nlp = spacy.blank("xx")
    nlp.add_pipe(NAME, config={"model": local(), "width": 0.05, **config})
    return nlp


def tagger_of(nlp):
    return nlp.get_pipe(NAME)


def train(nlp, n_updates=15, examples=examples_of, optimizer=None, **settings):
    """One update a batch of all examples. RETURNS the last loss."""
    losses = {}
    for _ in range(n_updates):
        sgd = optimizer or nlp.create_optimizer()
        losses = nlp.update(examples(nlp), sgd=sgd, losses={}, **settings)
    return losses.get(NAME, 0.0)


def trained(n_updates=15, examples=examples_of, drop=0.0, seed=0, **config):
    nlp = blank(**config)
    nlp.config["training"]["seed"] = seed
    weights = {"tag_acc": 0.4, "spans_chunks_f": 0.3, "spans_phrases_f": 0.3}
    nlp.config["training"]["score_weights"] = weights
    train(nlp, n_updates, examples, nlp.initialize(lambda: examples(nlp)), drop=drop)
    return nlp


def of(corpus):
    """Examples of another tagged corpus."""
    return lambda nlp: examples_of(nlp, corpus)


@cache
def ready(order=2, strategy="easiest_first"):
    """A trained pipeline, shared by tests that do not change it."""
    return trained(strategy=strategy, model=local(order=order))


def tags_of(nlp, text, **annotation):
    return [token.tag_ for token in tagger_of(nlp)(doc_of(nlp, text, **annotation))]


def predicted(nlp, corpus=CORPUS):
    return [tags_of(nlp, text) for text, _ in corpus]


def chunked_examples(nlp, corpus=CHUNKED, key="chunks"):
    return [Example(doc_of(nlp, text), doc_of(nlp, text, chunks=c, key=key)) for text, c in corpus]


def chunks_on(doc, key="chunks"):
    return [(span.start, span.end, span.label_) for span in doc.spans[key]]


def chunks_of(nlp, text, **annotation):
    return chunks_on(tagger_of(nlp)(doc_of(nlp, text, **annotation)))


def chunker(representation="iob2", n_updates=15, examples=chunked_examples, **config):
    settings = {"scorer": {"@scorers": "spacy_hoseq.chunk_scorer.v1"}, **config}
    return trained(n_updates, examples, representation=representation, **settings)
