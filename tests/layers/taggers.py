"""Small models of the structured head, with every kind of pattern."""

import numpy as np

from spacy_hoseq.layers.sparse_linear import SparseLinear
from spacy_hoseq.layers.structured import HigherOrderTagger
from spacy_hoseq.patterns.counted import FrequentTransitions
from spacy_hoseq.patterns.rules import RulePatterns
from spacy_hoseq.patterns.sources import PatternSources

from .helpers import VOCAB, Doc, define, doc_of, index_features, randomize, zeros

TEMPLATES = ["bias", "lower[0]", "lower[-1]"]
LABELS = ["A", "B", "C"]
L = len(LABELS)
TIED = {"name": "tied", "tokens": [{"LOWER": "x"}, {}, {}], "labels": ["?l", "A", "?l"]}
UNTIED = {"name": "untied", "tokens": [{"LOWER": "y"}, {}], "labels": ["?l", "C"], "tied": False}
GOLD = [np.array(y, np.int32) for y in ([0, 1, 0, 2], [2, 1], [], [1, 0, 1, 0, 2])]
SOURCES = {
    "none": lambda: None,
    "frequent": lambda: FrequentTransitions(3, 1),
    "tied": lambda: RulePatterns([TIED]),
    "untied": lambda: RulePatterns([UNTIED]),
    "all": lambda: PatternSources(
        RulePatterns([TIED, UNTIED]), FrequentTransitions(2, 1), RulePatterns([TIED])
    ),
}


def docs_of():
    last = doc_of("x y x y z", sent_starts=[1, 0, 0, 1, 0])
    return [doc_of("x y z x"), doc_of("y z"), Doc(VOCAB), last]


def tagger(source="all", seed=0):
    docs = docs_of()
    model = HigherOrderTagger(SparseLinear(TEMPLATES), SOURCES[source]())
    index_features(model.layers[0], [docs])
    define(model, LABELS, GOLD)
    model.initialize(X=docs, Y=zeros(docs, L))
    return randomize(model, seed)


def gold_mask():
    """GOLD as a mask, with a token that is not annotated and one that is annotated in part."""
    mask = np.eye(L, dtype=bool)[np.concatenate(GOLD)]
    mask[3] = True
    mask[5] = [True, False, True]
    return mask
