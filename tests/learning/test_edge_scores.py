"""Objectives where pairs of labels have scores at each token: loss and gradient against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import max_marginal
from spacy_hoseq.decoders.problem import NoPath
from spacy_hoseq.learning.objectives import (
    OBJECTIVES,
    log_likelihood,
    max_margin,
    objective_named,
    perceptron,
)

from .. import oracle
from ..cases import Case
from ..decoders.answers.posteriors import enumerated_arcs
from ..strategies import cases_with_edge_scores
from .gold import KINDS, gold_mask, tables

MARGINS = {"perceptron": 0.0, "max_margin": 1.0}
SMALL = dict(max_tokens=4, max_labels=3, masks=False)


def possible(case, kind, seed):
    """The case in double precision, and a gold mask that permits something."""
    case = case.doubles()
    gold = gold_mask(case, kind, seed)
    assume(all(permitted.best > -np.inf for _, permitted in tables(case, gold)))
    return case, gold


def counts(case, labels):
    """How often each score is used by a labelling of the batch. RETURNS as scores, transitions, edge_scores."""
    scores, trans, edge_scores = (
        np.zeros(case.scores.shape),
        np.zeros(case.trans.shape),
        np.zeros(case.edge_scores.shape),
    )
    for t, y in enumerate(labels):
        scores[t, y] += 1
        if t not in case.starts:
            trans[labels[t - 1], y] += 1
            edge_scores[t, labels[t - 1], y] += 1
    return scores, trans, edge_scores


def parts(gradient):
    return gradient.scores, gradient.trans, gradient.edge_scores


@given(kind=st.sampled_from(KINDS), case=cases_with_edge_scores(**SMALL), seed=st.integers(0, 10**6))
def test_log_likelihood_is_the_enumerated_one(kind, case, seed):
    case, gold = possible(case, kind, seed)
    got, pairs = log_likelihood(case.potentials(), gold), list(tables(case, gold))
    assert got.value == pytest.approx(sum(free.log_z - permitted.log_z for free, permitted in pairs), abs=1e-8)
    marginals = np.concatenate([free.marginals - permitted.marginals for free, permitted in pairs])
    np.testing.assert_allclose(got.gradient.scores, marginals, atol=1e-9)
    transitions = sum(free.transitions - permitted.transitions for free, permitted in pairs)
    np.testing.assert_allclose(got.gradient.trans, transitions, atol=1e-9)
    edge_scores = enumerated_arcs(case) - enumerated_arcs(replace(case, allowed=gold))
    np.testing.assert_allclose(got.gradient.edge_scores, edge_scores, atol=1e-9)


@pytest.mark.parametrize("name", MARGINS)
@given(kind=st.sampled_from(KINDS), case=cases_with_edge_scores(**SMALL), seed=st.integers(0, 10**6))
def test_loss_of_the_best_labelling_is_the_enumerated_one(kind, name, case, seed):
    """The best of all, wrong labels rewarded, less the best that is permitted; their counts, too."""
    case, gold = possible(case, kind, seed)
    got, pairs = objective_named(name)(case.potentials(), gold), list(tables(case, gold, MARGINS[name]))
    assert got.value == pytest.approx(sum(free.best - permitted.best for free, permitted in pairs), abs=1e-8)
    if not all(table.is_unique for pair in pairs for table in pair):
        return
    guess, right = (np.concatenate([pair[i].best_labels for pair in pairs]) for i in range(2))
    for mine, a, b in zip(parts(got.gradient), counts(case, guess), counts(case, right), strict=True):
        assert mine.tolist() == (a - b).tolist()


@pytest.mark.long
@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("kind", ["complete", "mixed"])
@given(
    case=cases_with_edge_scores(max_tokens=3, max_labels=3, max_sequences=2, masks=False, forbidden=False),
    seed=st.integers(0, 10**6),
)
def test_gradient_is_that_of_finite_differences(kind, name, case, seed):
    case, gold = possible(case, kind, seed)
    if name != "log_likelihood":  # smooth only where no two labellings are equally good
        assume(all(table.is_unique for pair in tables(case, gold, MARGINS[name]) for table in pair))

    def value(**changed):
        return objective_named(name)(replace(case, **changed).potentials(), gold).value

    got, step = objective_named(name)(case.potentials(), gold).gradient, 1e-8 if name in MARGINS else 1e-5
    for mine, field in zip(parts(got), ("scores", "trans", "edge_scores"), strict=True):
        given_values = getattr(case, field)
        numeric = oracle.central_differences(lambda moved, field=field: value(**{field: moved}), given_values, step)
        np.testing.assert_allclose(mine, numeric, atol=1e-5)


@pytest.mark.parametrize("name", OBJECTIVES)
@given(case=cases_with_edge_scores(max_tokens=4), seed=st.integers(0, 10**6))
def test_labels_that_cannot_be_chosen(name, case, seed):
    """A constraint is one on all labellings: the permitted ones are among them."""
    case = case.doubles()
    assume(case.allowed is not None)
    gold = gold_mask(case, "mixed", seed) & case.allowed
    assume(gold.any(axis=1).all())
    pairs = list(zip(case.singles(), replace(case, allowed=gold).singles(), strict=True))
    free, permitted = ([oracle.joint_table(one) for one in ones] for ones in zip(*pairs, strict=True))
    assume(all(table.best > -np.inf for table in permitted))
    got = objective_named(name)(case.potentials(), gold)
    if name == "log_likelihood":
        expected = sum(a.log_z - b.log_z for a, b in zip(free, permitted, strict=True))
        edge_scores = enumerated_arcs(case) - enumerated_arcs(replace(case, allowed=gold))
        np.testing.assert_allclose(got.gradient.edge_scores, edge_scores, atol=1e-9)
    else:
        margin, masks = MARGINS[name], np.split(gold, case.starts[1:])
        scores = [
            table.scores + margin * sum(~mask[t][table.labellings[:, t]] for t in range(len(mask)))
            for table, mask in zip(free, masks, strict=True)
        ]
        expected = sum(a.max() - b.best for a, b in zip(scores, permitted, strict=True))
    assert got.value == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_annotation_teaches_nothing(name, dtype):
    rng = np.random.default_rng(0)
    edge_scores = rng.normal(size=(4, 2, 2)).astype(dtype)
    case = Case(rng.normal(size=(4, 2)).astype(dtype), np.zeros((2, 2)), np.array([3, 1]), edge_scores=edge_scores)
    found = objective_named(name)(case.potentials(), np.ones((4, 2), bool))
    assert found.value == 0 and not any(part.any() for part in parts(found.gradient))
    assert found.gradient.edge_scores.shape == (4, 2, 2)


@pytest.mark.parametrize("objective", [perceptron, max_margin])
def test_right_guess_teaches_nothing(objective):
    """Moves alone say which labelling is best, by more than the margin."""
    edge_scores = np.zeros((3, 2, 2))
    edge_scores[1, 0, 1] = edge_scores[2, 1, 0] = 10
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), edge_scores=edge_scores)
    right, wrong = np.eye(2, dtype=bool)[[0, 1, 0]], np.eye(2, dtype=bool)[[0, 1, 1]]
    found = objective(case.potentials(), right)
    assert found.value == 0 and not found.gradient.edge_scores.any()
    found = objective(case.potentials(), wrong)
    assert found.value == (10 if objective is perceptron else 11)
    expected = np.zeros((3, 2, 2))
    expected[2, 1] = [1, -1]
    assert found.gradient.edge_scores.tolist() == expected.tolist()


def test_another_decoder():
    """A guess below the gold labelling, with the edge_scores counted, teaches nothing."""
    edge_scores = np.zeros((2, 2, 2))
    edge_scores[1] = [
        [1.0, 0.0],
        [0.9, 0.9],
    ]  # the labelling A A is the best, label B the more probable at the first token
    case = Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2]), edge_scores=edge_scores)
    found = perceptron(case.potentials(), np.eye(2, dtype=bool)[[0, 0]], max_marginal)
    assert found.value == 0 and not found.gradient.edge_scores.any()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gold_that_is_forbidden(name):
    trans = np.array([[0.0, -np.inf], [0, 0]])
    case = Case(np.zeros((3, 2)), trans, np.array([1, 2]), edge_scores=np.zeros((3, 2, 2)))
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1"):
        objective_named(name)(case.potentials(), np.eye(2, dtype=bool)[[0, 0, 1]])


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_without_moves_has_none(name):
    case = Case(np.eye(3, 2), np.eye(2), np.array([3]))
    for gold in (np.ones((3, 2), bool), np.eye(2, dtype=bool)[[1, 0, 0]]):
        assert objective_named(name)(case.potentials(), gold).gradient.edge_scores is None
