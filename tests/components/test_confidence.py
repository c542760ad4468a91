"""n-best and marginals against enumeration of all labellings."""

import itertools

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders.problem import path_score

from .helpers import (
    ALL_PATTERNS,
    FREQUENT,
    LABELS,
    VARIANTS,
    blank,
    doc_of,
    examples_of,
    random_docs,
    ready,
    tagger_model,
    tagger_of,
    train,
)

L = len(LABELS)


def enumerated(nlp, doc):
    """Score of every labelling of a Doc."""
    potentials = tagger_of(nlp).model.predict([doc])
    return {
        y: float(path_score(potentials, np.array(y, np.int32)).sum())
        for y in itertools.product(range(L), repeat=len(doc))
    }


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text, starts", [("the cat run .", None), ("run . the cat", [1, 0, 1, 0]), ("cat", None)])
def test_best_of_all_labellings(variant, text, starts):
    nlp = ready(variant)
    doc = doc_of(nlp, text, sent_starts=starts)
    table = enumerated(nlp, doc)
    k = min(30, len(table))
    best = tagger_of(nlp).top_k([doc], k)[0]
    assert [scored.score for scored in best] == pytest.approx(sorted(table.values(), reverse=True)[:k], abs=1e-6)
    for labels, score in best:
        assert table[tuple(LABELS.index(label) for label in labels)] == pytest.approx(score, abs=1e-6)
    assert len({tuple(labels) for labels, _ in best}) == k
    assert [token.tag_ for token in doc] == [""] * len(doc), "nothing is written"


def test_fewer_labellings_than_asked_for():
    nlp = ready()
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "cat")], 100)[0]) == L
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "a cat", sent_starts=[1, 1])], 100)[0]) == L * L
    assert tagger_of(nlp).top_k([doc_of(nlp, "")], 3) == [[([], 0.0)]]
    assert tagger_of(nlp).top_k([], 3) == []
    assert tagger_of(nlp).top_k(doc_of(nlp, "a cat"), 2) == tagger_of(nlp).top_k([doc_of(nlp, "a cat")], 2)


def with_marginals(**config):
    nlp = blank(**{"objective": "log_likelihood", "save_marginals": True, **config})
    nlp.initialize(lambda: examples_of(nlp))
    train(nlp, 3)
    return nlp


def marginals_of(doc, name="hoseq_tagger"):
    return doc._.hoseq_marginals[name]


def plain_marginals(nlp, doc, keep=lambda y: True):
    table = {y: score for y, score in enumerated(nlp, doc).items() if keep(y)}
    top = max(table.values())
    expected = np.zeros((len(doc), L))
    for y, score in table.items():
        expected[np.arange(len(doc)), y] += np.exp(score - top)
    return expected / expected.sum(axis=1, keepdims=True)


@pytest.mark.long
@pytest.mark.filterwarnings(r"ignore:\[HW003")
@pytest.mark.parametrize("patterns", [None, FREQUENT, ALL_PATTERNS], ids=["chain", "frequent", "all"])
@pytest.mark.parametrize("objective", ["log_likelihood", "max_margin"])
@pytest.mark.parametrize("text, starts", [("the cat run .", None), ("run . the cat", [1, 0, 1, 0]), ("cat", None)])
def test_marginals_are_the_enumerated_ones(objective, text, starts, patterns):
    nlp = with_marginals(objective=objective, model=tagger_model(patterns=patterns))
    doc = tagger_of(nlp)(doc_of(nlp, text, sent_starts=starts))
    found = marginals_of(doc)
    assert found["labels"] == list(LABELS)
    assert found["probabilities"].dtype == np.float32
    assert found["probabilities"] == pytest.approx(plain_marginals(nlp, doc), abs=1e-5)
    assert found["probabilities"].sum(axis=1) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("patterns", [None, ALL_PATTERNS], ids=["chain", "all"])
def test_marginals_respect_what_is_preset(patterns):
    nlp = with_marginals(model=tagger_model(patterns=patterns))
    doc = Doc(nlp.vocab, words="the cat run".split(), tags=["", "V", ""])
    expected = plain_marginals(nlp, Doc(nlp.vocab, words="the cat run".split()), lambda y: LABELS[y[1]] == "V")
    assert marginals_of(tagger_of(nlp)(doc))["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert expected[1, LABELS.index("V")] == 1


def test_marginals_of_texts_that_are_decoded_some_at_a_time():
    nlp = with_marginals()
    tagger_of(nlp).label_cells = 1
    for doc in tagger_of(nlp).pipe(random_docs(nlp, 5)):
        assert marginals_of(doc)["probabilities"].sum(axis=1) == pytest.approx(np.ones(len(doc)), abs=1e-5)
