"""Labellings drawn from the posterior, against enumeration."""

import itertools
from collections import Counter

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.util import fix_random_seed

from spacy_hoseq.decoders.problem import path_score

from .decoding import SPANS
from .helpers import (
    ALL_PATTERNS,
    LABELS,
    doc_of,
    tagger_model,
    tagger_of,
    trained,
)

L = len(LABELS)
PATTERNS = {"chain": None, "patterns": ALL_PATTERNS, "spans": SPANS}


def ready(kind="spans", n_updates=2, **settings):
    return trained("log_likelihood", n_updates, model=tagger_model(patterns=PATTERNS[kind]), **settings)


def probabilities(nlp, doc, keep=lambda labels: True):
    """p(labels | doc), of the labellings that may be, by enumeration."""
    potentials = tagger_of(nlp).model.predict([doc])
    table = {}
    for y in itertools.product(range(L), repeat=len(doc)):
        if keep(tuple(LABELS[label] for label in y)):
            score = path_score(potentials, np.array(y, np.int32))
            table[tuple(LABELS[label] for label in y)] = float(np.exp(score.sum()))
    total = sum(table.values())
    return {labels: p / total for labels, p in table.items()}


def assert_drawn_from(drawn, expected):
    """Frequencies of single labels and whole labellings lie within five standard deviations."""
    n = len(drawn)
    counts = Counter(map(tuple, drawn))
    assert set(counts) <= set(expected)
    for labels, p in expected.items():
        assert abs(counts[labels] - n * p) < 5 * np.sqrt(n * p * (1 - p)) + 5, labels  # rare ones have a long tail
    assert len(counts) > 1


@pytest.mark.long
@pytest.mark.parametrize("text, starts", [("old the old", None), ("the cat .", [1, 0, 0]), ("the old cat", [1, 1, 0])])
@pytest.mark.parametrize("kind", PATTERNS)
def test_draws_are_of_the_posterior(kind, text, starts):
    nlp = ready(kind)
    doc = doc_of(nlp, text, sent_starts=starts)
    drawn = tagger_of(nlp).sample([doc], 3000, seed=5)[0]
    assert len(drawn) == 3000
    assert_drawn_from(drawn, probabilities(nlp, doc))
    assert [token.tag_ for token in doc] == [""] * 3, "nothing is written"


def test_the_seed_decides():
    nlp = ready()
    docs = [doc_of(nlp, "the old dog sees the old cat ."), doc_of(nlp, "she runs home .")]
    first = tagger_of(nlp).sample(docs, 20, seed=3)
    fix_random_seed(1)
    assert tagger_of(nlp).sample(iter(docs), 20, seed=3) == first
    assert tagger_of(nlp).sample(docs, 20, seed=4) != first
    assert tagger_of(nlp).sample(docs, 20) == tagger_of(nlp).sample(docs, 20, seed=0) != first
    assert len({tuple(labels) for labels in first[0]}) > 1
    same = tagger_of(nlp).sample([docs[0], docs[0]], 20, seed=3)
    assert same[0] == first[0] != same[1], "docs are drawn one after the other, from one source"


@pytest.mark.long
@pytest.mark.parametrize("kind", PATTERNS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_labels_that_are_set(kind, overwrite):
    nlp = ready(kind, overwrite=overwrite)
    doc = Doc(nlp.vocab, words="old the old".split(), tags=["", "V", ""])
    expected = probabilities(nlp, doc_of(nlp, "old the old"), lambda labels: overwrite or labels[1] == "V")
    drawn = tagger_of(nlp).sample([doc], 2000, seed=1)[0]
    assert_drawn_from(drawn, expected)
    assert ({labels[1] for labels in drawn} == {"V"}) != overwrite
    assert [token.tag_ for token in doc] == ["", "V", ""]


@pytest.mark.parametrize("text", ["cat", "the cat"])
def test_at_least_one_sample(text):
    nlp = ready("chain", 0)
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong n_samples: 0\."):
        tagger_of(nlp).sample([doc_of(nlp, text)], 0)
