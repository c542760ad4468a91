"""n-best and marginals against enumeration of all labellings."""

import itertools

import numpy as np
import pytest
from spacy.tokens import Doc

from spacy_hoseq.decoders.problem import path_score
from spacy_hoseq.layers.shim import weights_of
from spacy_hoseq.learning.parameter import Parameter

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
    trained,
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


@pytest.mark.long
@pytest.mark.parametrize("variant", VARIANTS)
def test_first_is_the_prediction(variant):
    nlp = trained(variant, 3)
    docs = random_docs(nlp, 30)
    tagger = tagger_of(nlp)
    for doc, best in zip(docs, tagger.top_k(docs, 4), strict=True):
        guess = [LABELS[y] for y in tagger.predict([doc]).label_ids[0]]
        assert best[0].labels == guess or best[0].score == pytest.approx(best[1].score, abs=1e-6)
        scores = [scored.score for scored in best]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(scored.labels) for scored in best}) == len(best) == min(4, L ** len(doc))


def test_fewer_labellings_than_asked_for():
    nlp = ready()
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "cat")], 100)[0]) == L
    assert len(tagger_of(nlp).top_k([doc_of(nlp, "a cat", sent_starts=[1, 1])], 100)[0]) == L * L
    assert tagger_of(nlp).top_k([doc_of(nlp, "")], 3) == [[([], 0.0)]]
    assert tagger_of(nlp).top_k([], 3) == []
    assert tagger_of(nlp).top_k(doc_of(nlp, "a cat"), 2) == tagger_of(nlp).top_k([doc_of(nlp, "a cat")], 2)


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_labelling(k):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong k: {k}\."):
        tagger_of(ready()).top_k([doc_of(ready(), "a cat")], k)


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


@pytest.mark.parametrize("patterns", [None, ALL_PATTERNS], ids=["chain", "all"])
def test_marginals_of_a_batch(patterns):
    nlp = with_marginals(model=tagger_model(patterns=patterns))
    docs = random_docs(nlp, 20)
    singles = [marginals_of(tagger_of(nlp)(doc.copy()))["probabilities"] for doc in docs]
    for doc, single in zip(tagger_of(nlp).pipe(docs, batch_size=7), singles, strict=True):
        assert single.shape == (len(doc), L)
        assert marginals_of(doc)["probabilities"] == pytest.approx(single, abs=1e-6)


@pytest.mark.parametrize("patterns", [None, FREQUENT], ids=["chain", "frequent"])
def test_probabilities_of_weights_beyond_all_bounds(patterns):
    """Where inclusive messages would cancel, longest matches give the probabilities."""
    nlp = with_marginals(model=tagger_model(patterns=patterns))
    weights_of(tagger_of(nlp).model).set(Parameter("trans", 1e4 * np.eye(L)))
    doc = tagger_of(nlp)(doc_of(nlp, "the cat runs"))
    assert marginals_of(doc)["probabilities"] == pytest.approx(plain_marginals(nlp, doc), abs=1e-5)
    assert len({token.tag_ for token in doc}) == 1, "all labels equal"
    assert np.isfinite(train(nlp, 1))
