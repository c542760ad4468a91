"""Cross entropy with a teacher's marginals: its value by enumeration, its gradient by finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hoseq.components.extensions import write_marginals
from spacy_hoseq.components.structured import soft_gold
from spacy_hoseq.learning import distillation, log_likelihood

from ..oracle import central_differences, joint_table
from ..strategies import cases, cases_with_edge_scores

SMALL = dict(max_labels=3, max_tokens=3, max_sequences=2, masks=False, forbidden=False)


def teacher_of(case, seed):
    """Marginals of a teacher, who says nothing about some tokens."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.ones(case.n_labels), len(case.scores))
    return q * (rng.random((len(q), 1)) < 0.8)


def marginals(case):
    """Of the student, by enumeration."""
    rows = []
    for single in case.singles():
        table = joint_table(single)
        weights = np.exp(table.scores - table.scores.max())
        p = weights / weights.sum()
        rows += [np.bincount(labels, p, case.n_labels) for labels in np.array(table.labellings).T]
    return np.array(rows)


def likely(case):
    """Marginals, none of which is near the bound at which the loss ends."""
    p = marginals(case)
    assume(p.min() > 1e-6)
    return p


@given(case=cases(**SMALL), seed=st.integers(0, 10**6))
def test_value_is_the_enumerated_one(case, seed):
    case, q = case.doubles(), teacher_of(case, seed)
    expected = -(q * np.log(likely(case))).sum()
    assert distillation(case.potentials(), q).value == pytest.approx(expected, abs=1e-8)


@given(case=cases_with_edge_scores(**SMALL) | cases(**SMALL), seed=st.integers(0, 10**6))
def test_gradient_is_that_of_finite_differences(case, seed):
    case, q = case.doubles(), teacher_of(case, seed)
    likely(case)
    got = distillation(case.potentials(), q).gradient
    for field in ("scores", "trans", "edge_scores"):
        at = getattr(case, field)
        if at is None:
            continue
        numeric = central_differences(
            lambda moved, of=field: (
                distillation(replace(case, **{of: moved}).potentials(), q).value
            ),
            at,
        )
        np.testing.assert_allclose(getattr(got, field), numeric, atol=1e-6)


@given(case=cases(**SMALL), seed=st.integers(0, 10**6))
def test_certain_teacher_of_labels_that_do_not_depend_on_each_other(case, seed):
    """The log-likelihood; so is a mask of the same labels."""
    labels = np.random.default_rng(seed).integers(0, case.n_labels, len(case.scores))
    gold = np.eye(case.n_labels, dtype=bool)[labels]
    case = replace(case.doubles(), lengths=np.ones(len(labels), np.intp), patterns=(), fired=())
    case = replace(case, configurations=())
    expected = log_likelihood(case.potentials(), gold)
    for teacher in (gold, gold.astype(float)):
        loss = distillation(case.potentials(), teacher)
        assert loss.value == pytest.approx(expected.value, abs=1e-8)
        np.testing.assert_allclose(loss.gradient.scores, expected.gradient.scores, atol=1e-8)


def test_probabilities_on_gold_docs():
    """By the component that has the labels; renamed labels that have become one are added up."""
    vocab = Vocab()
    docs = [Doc(vocab, words=["a", "b"]), Doc(vocab, words=["c", "d"])]
    gold = np.array([[1, 0], [1, 1], [0, 1], [1, 1]], bool)
    assert soft_gold(docs, ["A", "B"], gold) is gold
    write_marginals(docs[0], "others", ["C", "A"], np.ones((2, 2), np.float32) / 2)
    p = np.array([[0.2, 0.2, 0.4, 0.2], [0, 0, 0.5, 0.5]], np.float32)
    write_marginals(docs[0], "teacher", ["A", "A", "B", "C"], p)
    q = soft_gold(docs, ["A", "B"], gold)
    np.testing.assert_allclose(q, [[0.5, 0.5], [0, 1], [0, 1], [0, 0]], atol=1e-6)
