"""Lazy payment against penalties at every step, and the constraints that the learned model satisfies."""

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.learning import inequality
from spacy_hoseq.learning.inequality import InequalityWeights, check_inequality_settings, shrink

from ..strategies import SEEDS

R, L = 7, 3


class Dense:
    """Every weight takes part in every step, in double precision."""

    def __init__(self, learn_rate, width, n_tokens, start):
        self.w, self.G = np.zeros((R, L)), np.full((R, L), start)
        self.learn_rate, self.width, self.n_tokens = learn_rate, width, n_tokens

    def step(self, rows, gradient, n_tokens):
        g = np.zeros((R, L))
        g[rows] = gradient
        self.G += g**2
        rate = self.learn_rate / np.sqrt(self.G)
        moved = self.w - rate * g
        least = n_tokens / self.n_tokens * self.width * rate
        self.w = np.sign(moved) * np.maximum(0, np.abs(moved) - least)


def finished(weights):
    return weights.finish().dense()


def random_batch(rng):
    """(rows, gradient, tokens): some distinct rows, often none; row 0 seldom, some gradients zero."""
    rows = np.flatnonzero(rng.random(R) < rng.choice([0.0, 0.3, 0.9]))
    rows = rng.permutation(rows[(rows > 0) | (rng.random(len(rows)) < 0.2)])
    gradient = rng.normal(0, rng.choice([0.1, 3]), (len(rows), L))
    gradient *= rng.random((len(rows), L)) < 0.8
    return rows, gradient.astype(np.float32), int(rng.integers(0, 9))


@pytest.mark.parametrize("width", [0.0, 0.02, 0.3, 4.0])
@pytest.mark.parametrize("block", [1, 3, 512])
@given(seed=SEEDS, asked=st.booleans())
def test_lazy_payment_is_payment_at_every_step(block, width, seed, asked):
    rng, asking = np.random.default_rng(seed), np.random.default_rng(seed)
    settings = {"learn_rate": float(rng.choice([0.05, 0.5])), "width": width, "n_tokens": 40}
    settings["start"] = float(rng.choice([1e-6, 0.1, 1.0]))
    lazy, dense = InequalityWeights(R, L, **settings), Dense(**settings)
    with patch.object(inequality, "ROWS_PER_STEP", block):
        for _ in range(rng.integers(1, 40)):
            batch = random_batch(rng)
            lazy.step(*batch)
            dense.step(*batch)
            if asked and asking.random() < 0.2:
                assert_allclose(finished(lazy), dense.w, rtol=1e-3, atol=2e-5)
        assert_allclose(finished(lazy), dense.w, rtol=1e-3, atol=2e-5)


def test_worked_out_by_hand():
    """Ten tokens, width 1: a token costs 0.1 / sqrt(G), G = 1 in row 0 and 4 in row 1."""
    weights = InequalityWeights(2, 2, learn_rate=1.0, width=1.0, n_tokens=10, start=1e-6)
    weights.step(np.array([0, 1]), np.array([[-1, 1], [2, 2]], np.float32), 1)
    assert finished(weights) == pytest.approx(np.array([[0.9, -0.9], [-0.95, -0.95]]), rel=1e-5)
    weights.step(np.array([1]), np.array([[0, 0]], np.float32), 3)
    weights.step(np.zeros(0, np.intp), np.zeros((0, 2), np.float32), 2)
    assert finished(weights) == pytest.approx(np.array([[0.4, -0.4], [-0.7, -0.7]]), rel=1e-5)
    weights.step(np.zeros(0, np.intp), np.zeros((0, 2), np.float32), 5)
    assert finished(weights)[0].tolist() == [0, 0], "exactly zero, and not beyond"
    assert finished(weights)[1] == pytest.approx([-0.45, -0.45], rel=1e-5)


def test_some_weights_are_exactly_zero_after_they_were_not():
    rng = np.random.default_rng(1)
    weights = InequalityWeights(R, L, learn_rate=0.3, width=20.0, n_tokens=100)
    was_zero = []
    for _ in range(60):
        weights.step(np.arange(R), rng.normal(0, 1, (R, L)).astype(np.float32), 3)
        was_zero.append(finished(weights) == 0)
    changes = np.diff(np.array(was_zero).astype(int), axis=0)
    assert (changes == 1).any() and (changes == -1).any()


def test_asking_for_the_weights_changes_nothing():
    rng, settings = np.random.default_rng(2), {"learn_rate": 0.3, "width": 2.0, "n_tokens": 40}
    asked, other = InequalityWeights(R, L, **settings), InequalityWeights(R, L, **settings)
    for _ in range(20):
        batch = random_batch(rng)
        for weights in (asked, other):
            weights.step(*batch)
        finished(asked)[:] = 7
        assert asked.values.tobytes() == other.values.tobytes()


def test_values_owe_a_tenth_of_an_epoch_at_most():
    """A weight that no batch touches again: it pays ten times in an epoch, 1 / 10 = width * rate / 10."""
    weights = InequalityWeights(2, 1, learn_rate=1.0, width=1.0, n_tokens=1000)
    weights.resume(np.array([0]), np.array([[3.0]], np.float32))
    values = []
    for _ in range(100):
        weights.step(np.array([1]), np.zeros((1, 1), np.float32), 10)
        values.append(float(weights.values[0, 0]))
    due = 3 - 0.01 * np.arange(1, 101)
    assert (values >= due - 1e-5).all() and (values <= due + 0.1 + 1e-5).all()
    assert 9 <= len(set(values)) <= 11, "not at every step"
    assert finished(weights)[0, 0] == pytest.approx(2, abs=1e-5)


@pytest.mark.parametrize(
    "weights, by, expected", [(3, 1, 2), (-3, 1, -2), (0.5, 1, 0), (-0.5, 1, 0), (2, 0, 2)]
)
def test_shrink(weights, by, expected):
    given = np.array([weights], np.float32)
    assert shrink(given, np.array([by], np.float32)).tolist() == [expected]
    assert given.tolist() == [weights]


def converged(X, y, width, n_epochs=6000):
    """Weights of full batches. X (N, F) zeros and ones, y (N,)."""
    weights = InequalityWeights(X.shape[1], L, learn_rate=0.3, width=width, n_tokens=len(X))
    rows = np.arange(X.shape[1])
    for _ in range(n_epochs):
        wrong = probabilities(X, weights.values) - np.eye(L)[y]
        weights.step(rows, (X.T @ wrong).astype(np.float32), len(X))
    return finished(weights)


def minimised(X, y, width, passes=400):
    """Weights of batch learning."""
    weights = InequalityWeights(X.shape[1], L, learn_rate=0.3, width=width, n_tokens=len(X))
    rows = np.arange(X.shape[1])

    def at():
        p = probabilities(X, weights.values)
        loss = -np.log(p[np.arange(len(y)), y]).sum()
        return loss, (rows, (X.T @ (p - np.eye(L)[y])).astype(np.float32))

    loss = weights.minimise(at, X.sum(axis=0), passes)
    assert loss == at()[0], "of the best weights"
    return finished(weights)


def probabilities(X, w):
    p = np.exp(X @ w.astype(np.float64))
    return p / p.sum(axis=1, keepdims=True)


@pytest.mark.long
@pytest.mark.parametrize("width", [0.0, 0.5, 2.0, 6.0])
@pytest.mark.parametrize("learnt", [converged, minimised])
def test_learned_model_satisfies_the_inequality_constraints(width, learnt):
    rng = np.random.default_rng(4)
    X = (rng.random((60, 5)) < 0.4).astype(np.float64)
    y = (rng.random(60) < 0.6) * (1 + X[:, 0].astype(int))
    w = learnt(X, y, width)
    observed, expected = X.T @ np.eye(L)[y], X.T @ probabilities(X, w)
    assert np.abs(observed - expected).max() <= width + 0.01
    used = w != 0
    assert used.any() and (width == 0 or not used.all())
    assert (observed - expected)[used] == pytest.approx(width * np.sign(w[used]), abs=0.01)


@pytest.mark.parametrize("learnt", [converged, minimised])
def test_wide_constraints_leave_no_weights(learnt):
    X, y = np.eye(4).repeat(3, axis=0), np.arange(12) % L
    assert not learnt(X, y, 3.1, 50).any()
    assert not learnt(X, y, 2.1, 50).any(), "observed 1, 1, 1; expected 1, 1, 1"
    assert learnt(X, np.zeros(12, int), 1.0, 50).any()


@pytest.mark.parametrize("share", [0.4, 0.97])
def test_batch_learning_is_best_of_all_weights_it_passed(share):
    """Also where one pass is all there is, and where the objective rises on the way: with features that nearly always
    occur together."""
    rng = np.random.default_rng(4)
    X, y = (rng.random((60, 5)) < share).astype(np.float64), rng.integers(0, L, 60)

    def objective(w):
        return -np.log(probabilities(X, w)[np.arange(60), y]).sum() + 0.5 * np.abs(w).sum()

    values = [objective(minimised(X, y, 0.5, passes)) for passes in range(1, 30)]
    assert values[0] == pytest.approx(60 * np.log(L)) and (np.diff(values) <= 1e-6).all()
    closeness = {0.4: 1e-4, 0.97: 2e-3}[share]
    assert values[-1] == pytest.approx(objective(converged(X, y, 0.5)), rel=closeness)


@pytest.mark.parametrize("learn_rate", [0, -0.1, np.inf, np.nan])
def test_wrong_learn_rate(learn_rate):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong learn_rate: .*a number above 0"):
        InequalityWeights(R, L, learn_rate=learn_rate, width=0.0, n_tokens=1)


@pytest.mark.parametrize("width", [-0.1, np.inf, np.nan])
def test_wrong_width(width):
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong width: .*0 or a positive number"):
        InequalityWeights(R, L, learn_rate=0.1, width=width, n_tokens=1)


def test_too_many_passes():
    check_inequality_settings(0.1, 0.0, 10_000)
    with pytest.raises(ValueError, match=r"\[HS027\] Wrong passes: .*10,000 or fewer"):
        check_inequality_settings(0.1, 0.0, 10_001)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_gradient_that_is_not_finite_is_refused_and_changes_nothing(bad):
    weights = InequalityWeights(R, L, learn_rate=0.1, width=1.0, n_tokens=10)
    weights.step(np.arange(R), np.ones((R, L), np.float32), 1)
    before, gradient = finished(weights), np.ones((R, L), np.float32)
    gradient[2, 1] = bad
    with pytest.raises(ValueError, match=r"\[HS020\] 1 of .*gradient of a local classifier"):
        weights.step(np.arange(R), gradient, 5)
    assert np.array_equal(finished(weights), before)


def test_no_tokens_at_all():
    weights = InequalityWeights(R, L, learn_rate=0.1, width=1.0, n_tokens=0)
    weights.step(np.zeros(0, np.intp), np.zeros((0, L), np.float32), 0)
    assert not finished(weights).any()


def test_resumed_weights_are_not_taken_back_by_the_first_penalty():
    """A row that was learned before and does not occur yet loses what the width takes in its share, and no more."""
    weights = InequalityWeights(2, 2, learn_rate=0.1, width=0.5, n_tokens=100)
    weights.resume(np.array([0]), np.array([[2.0, -1.0]], np.float32))
    weights.step(np.array([1]), np.ones((1, 2), np.float32), 100)
    expected = np.array([2 - 0.1 * 0.5, -1 + 0.1 * 0.5])
    assert finished(weights)[0] == pytest.approx(expected, abs=1e-6)
