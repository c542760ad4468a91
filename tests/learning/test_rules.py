"""Update rules against their formulas and against solutions known in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.problem import Potentials, Weights
from spacy_hoseq.learning.adagrad import AdaGrad, Additive, HeldAdaGrad
from spacy_hoseq.learning.objectives import log_likelihood
from spacy_hoseq.learning.parameter import Parameter

from ..strategies import SEEDS

TARGETS = np.array([[2.0, -1.5], [0.3, -0.2], [0.0, 0.9]])


def minimise(rule, n_updates=4000):
    """Minimum of sum (w - TARGETS)^2 / 2 plus the rule's penalties."""
    parameter = Parameter("w", np.zeros_like(TARGETS))
    for _ in range(n_updates):
        parameter.update(rule, [(np.arange(3), parameter.values - TARGETS)])
    return parameter.values


def test_additive_steps_against_the_gradient():
    weights, gradient = np.array([1.0, -2.0]), np.array([0.5, 4.0])
    new, _ = Additive(0.25).step(weights, gradient, np.zeros((2, 0)))
    assert new.tolist() == [1 - 0.125, -2 - 1] and weights.tolist() == [1, -2]


@pytest.mark.parametrize("rule", [AdaGrad, Additive])
@pytest.mark.parametrize("average", ["foo", "Late", 3, None])
def test_average_that_does_not_exist(rule, average):
    message = r"\[HS027\] Wrong average: .*Expected True, False, 'late'"
    with pytest.raises(ValueError, match=message):
        rule(average=average)


def test_adagrad_three_steps_worked_out_by_hand():
    """Gradients 3, 4, 12 make G = 9, 25, 169: steps of 3 / 3, 4 / 5 and 12 / 13 times the learning rate."""
    rule, weights = AdaGrad(0.1), np.zeros(1)
    memory, seen = np.zeros(1), []
    for gradient in (3.0, 4.0, -12.0):
        weights, memory = rule.step(weights, np.array([gradient]), memory)
        seen.append(float(weights[0]))
    assert seen == pytest.approx([-0.1, -0.1 - 0.08, -0.18 + 0.1 * 12 / 13])
    assert memory.tolist() == [169]


@given(seed=SEEDS, l1=st.sampled_from([0.0, 0.5]), l2=st.sampled_from([0.0, 0.25]))
def test_adagrad_is_its_formula(seed, l1, l2):
    rng = np.random.default_rng(seed)
    weights, gradient, memory = rng.normal(0, 1, 5), rng.normal(0, 1, 5), rng.uniform(0.1, 4, 5)
    arguments = [weights.copy(), gradient.copy(), memory.copy()]
    new, new_memory = AdaGrad(0.3, l1=l1, l2=l2).step(weights, gradient, memory)
    for i in range(5):
        slope = gradient[i] + l2 * weights[i]
        squares = memory[i] + slope**2
        root = (AdaGrad.EPSILON + squares) ** 0.5
        stepped = weights[i] - 0.3 * slope / root
        size = max(0.0, abs(stepped) - 0.3 * l1 / root)
        assert new[i] == pytest.approx(size if stepped > 0 else -size)
        assert new_memory[i] == pytest.approx(squares)
    for before, after in zip(arguments, (weights, gradient, memory), strict=True):
        assert before.tolist() == after.tolist()


def test_memory_of_adagrad_starts_small_and_that_of_additive_is_empty():
    assert AdaGrad().start((2, 3), np.dtype("f4")).tolist() == [[0, 0, 0], [0, 0, 0]]
    resumed = AdaGrad().start((1, 2), np.dtype("f4"), resumed=True)
    assert (resumed + np.float32(AdaGrad.EPSILON)).tolist() == [[1, 1]]
    assert Additive().start((2, 3), np.dtype("f4")).size == 0


@pytest.mark.long
@pytest.mark.parametrize("rule", [AdaGrad(0.5), Additive(0.1)])
def test_minimum_without_penalty(rule):
    assert_allclose(minimise(rule), TARGETS, atol=1e-4)


def test_minimum_with_l2_is_shrunk():
    """d/dw (w - a)^2 / 2 + l2 w^2 / 2 = 0 at a / (1 + l2)."""
    assert_allclose(minimise(AdaGrad(0.5, l2=0.25)), TARGETS / 1.25, atol=1e-4)


def test_minimum_with_l1_has_exact_zeros():
    """|w| l1 moves the minimum from a to sign(a) max(0, |a| - l1)."""
    got = minimise(AdaGrad(0.5, l1=0.4))
    shrunk = np.sign(TARGETS) * np.maximum(0, np.abs(TARGETS) - 0.4)
    assert_allclose(got, shrunk, atol=1e-4)
    assert got[1].tolist() == [0, 0] and got[2, 0] == 0  # exactly


def test_l1_sets_a_row_without_gradient_to_zero_when_it_is_touched():
    """G is still at its starting value, so that the penalty of one step is large."""
    parameter = Parameter("w", np.array([[0.5], [-0.5]]))
    parameter.update(AdaGrad(0.1, l1=0.01), [(np.array([0]), np.zeros((1, 1)))])
    assert parameter.values.tolist() == [[0], [-0.5]]


@pytest.mark.long
@pytest.mark.parametrize("l1, l2", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 0.2)])
def test_full_batch_objective_does_not_rise(l1, l2):
    """A chain CRF on 60 tokens with indicator features: loss + l1 |w| + l2 |w|^2 / 2 after every step."""
    rng = np.random.default_rng(3)
    features, gold = rng.integers(0, 8, 60), rng.integers(0, 3, 60)
    gold[features < 3] = features[features < 3]  # three features say something, five are noise
    lengths = np.array([20, 25, 15], np.int32)
    emit, trans = Parameter("emit", np.zeros((8, 3))), Parameter("trans", np.zeros((3, 3)))
    rule, objective = AdaGrad(0.05, l1=l1, l2=l2), []
    for _ in range(150):
        potentials = Potentials(emit.values[features], Weights(trans.values), lengths)
        loss = log_likelihood(potentials, np.eye(3, dtype=bool)[gold])
        weights = np.concatenate([emit.values, trans.values])
        objective.append(loss.value + l1 * np.abs(weights).sum() + l2 * (weights**2).sum() / 2)
        d_emit = np.zeros((8, 3))
        np.add.at(d_emit, features, loss.gradient.scores)
        emit.update(rule, [(np.arange(8), d_emit)])
        trans.update(rule, [(np.arange(3), loss.gradient.trans)])
    assert objective[0] == pytest.approx(60 * np.log(3))
    assert (np.diff(objective) <= 1e-9).all()
    assert objective[-1] < 0.8 * objective[0]
    assert (np.concatenate([emit.values, trans.values]) == 0).any() == (l1 > 0)


@pytest.mark.parametrize("rule", [AdaGrad, Additive])
@pytest.mark.parametrize("value", [0, -0.5, np.nan, np.inf])
def test_learn_rate_that_is_refused(rule, value):
    message = rf"\[HS027\] Wrong learn_rate: {value}\. Expected a number above 0"
    with pytest.raises(ValueError, match=message):
        rule(learn_rate=value)


@pytest.mark.parametrize("name", ["l1", "l2"])
@pytest.mark.parametrize("value", [-0.5, np.nan, np.inf])
def test_penalty_that_is_refused(name, value):
    message = rf"\[HS027\] Wrong {name}: {value}\. Expected 0 or a positive number"
    with pytest.raises(ValueError, match=message):
        AdaGrad(**{name: value})


@given(seed=SEEDS, hold=st.sampled_from([0.0, 0.5, 4.0]))
def test_held_adagrad_is_its_formula(seed, hold):
    """Several updates of some rows: w0 is the weight at the first of them, G begins at 1."""
    rng = np.random.default_rng(seed)
    start = rng.normal(0, 1, (4, 2)) * (rng.random((4, 2)) < 0.7)
    parameter = Parameter("w", start.copy(), resumed=True)
    weights, growth = start.copy(), np.ones((4, 2))
    for _ in range(4):
        rows = np.flatnonzero(rng.random(4) < 0.6)
        gradient = rng.normal(0, 1, (len(rows), 2))
        parameter.update(HeldAdaGrad(hold, 0.3), [(rows, gradient)])
        for i, row in enumerate(rows):
            for j in range(2):
                h = min(hold, 1) if start[row, j] == 0 else hold
                slope = gradient[i, j] + h * (weights[row, j] - start[row, j])
                growth[row, j] += slope**2
                weights[row, j] -= 0.3 * slope / growth[row, j] ** 0.5
    assert_allclose(parameter.values, weights, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("settings", [{"hold": -1}, {"hold": np.inf}, {"learn_rate": 0}])
def test_held_adagrad_refuses(settings):
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        HeldAdaGrad(**settings)
