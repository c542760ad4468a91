"""Gibbs sampling and belief propagation are exact where they should be, and only there."""

import numpy as np
import pytest

from ... import oracle
from ...cases import Case
from ...repository import script

approximate = script("papers/approximate")


def chain(n_tokens, seed, **more):
    rng = np.random.default_rng(seed)
    case = Case(rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3)), np.array([n_tokens]))
    return Case(**{**vars(case), **more})


def overlapping(seed=0):
    """Patterns of two to four labels, at all places where they fit."""
    return chain(
        4, seed, patterns=(((0, 1, 2), 1.5), ((1, 2, 0), 1.0), ((2, 0), 0.7), ((0, 1, 2, 0), 0.5))
    )


def marginals(case):
    return oracle.joint_table(case).marginals


@pytest.mark.parametrize("seed", range(3))
def test_gibbs_sampling_comes_near_the_marginals(seed):
    case = overlapping(seed)
    near = np.abs(approximate.gibbs(case.potentials(), 2000, 100) - marginals(case)).max()
    far = np.abs(approximate.gibbs(case.potentials(), 3, 0) - marginals(case)).max()
    assert near < 0.03 and near < far


@pytest.mark.parametrize("seed", range(5))
def test_belief_propagation_is_exact_for_chains(seed):
    case = chain(5, seed, patterns=(((0, 1), 0.7), ((2, 2), -0.4)))  # pairs are part of the chain
    assert approximate.belief_propagation(case.potentials(), 5) == pytest.approx(
        marginals(case), abs=1e-9
    )


@pytest.mark.parametrize("weight", [2.0, -3.0])
def test_belief_propagation_is_exact_for_patterns_without_loops(weight):
    case = chain(5, 1, trans=np.zeros((3, 3)), fired=((2, (0, 1, 2), weight), (4, (1, 1, 0), 1.0)))
    assert approximate.belief_propagation(case.potentials(), 12) == pytest.approx(
        marginals(case), abs=1e-9
    )


def test_forbidden_labels_have_no_probability():
    allowed = np.ones((4, 3), bool)
    allowed[1, 2] = False
    case = Case(**{**vars(overlapping()), "allowed": allowed})
    exact = marginals(case)
    for found in (
        approximate.gibbs(case.potentials(), 2000, 100),
        approximate.belief_propagation(case.potentials(), 50),
    ):
        assert found[1, 2] == 0 == exact[1, 2] and np.abs(found - exact).max() < 0.2
