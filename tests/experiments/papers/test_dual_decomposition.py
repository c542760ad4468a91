"""Dual decomposition: bounds always hold, certificates are never wrong."""

from dataclasses import replace

import numpy as np
import pytest
from baselines import dual_decomposition as module
from baselines.dual_decomposition import DualDecomposition
from hypothesis import assume, given
from hypothesis import strategies as st

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases


def solve(case, max_iterations, **cells):
    return DualDecomposition(max_iterations).solve(case.potentials(), **cells)


@pytest.mark.long
class TestDualDecompositionOfAChain(DecoderContract):
    """Without patterns the chain is all there is."""

    takes_patterns = False
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        return DualDecomposition()(case.potentials())


@pytest.mark.long
@pytest.mark.parametrize("max_iterations", [1, 10, 60])
@given(data=st.data())
def test_bounds_and_certificates(max_iterations, data):
    case = data.draw(cases(signed=True))
    assume(oracle.is_feasible(case))
    got = solve(case, max_iterations)
    parts = zip(case.singles(), np.split(got.labels, case.starts[1:]), *got[1:], strict=True)
    for single, labels, score, bound, certified, iterations in parts:
        table = oracle.joint_table(single)
        assert score == pytest.approx(oracle.score_of_one(single, labels))
        assert score - 1e-9 <= table.best + 1e-7 and table.best <= bound + 1e-7
        assert iterations <= max_iterations and (certified or iterations == max_iterations)
        assert iterations >= (1 if case.patterns or case.fired else 0)
        if certified:
            assert score == pytest.approx(table.best) == pytest.approx(bound)
            assert not table.is_unique or labels.tolist() == table.best_labels.tolist()
    paths = DualDecomposition(max_iterations)(case.potentials())
    assert (
        paths.labels.tolist() == got.labels.tolist()
        and paths.scores.tolist() == got.scores.tolist()
    )


def random_problem(seed):
    """Ten sequences, five patterns of weights that compete with emissions."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(2, 6, 10)
    patterns = tuple(
        (tuple(rng.integers(0, 3, rng.integers(2, 5)).tolist()), float(rng.normal()))
        for _ in range(5)
    )
    n_tokens = int(lengths.sum())
    return Case(rng.normal(0, 1, (n_tokens, 3)), rng.normal(0, 1, (3, 3)), lengths, patterns)


def test_one_iteration_worked_out_by_hand():
    """The chain alone takes 0,0 with 2, the pattern 1,1 would add 5 to 0: the bound is 2 + 5, nothing is certain."""
    case = Case(
        np.array([[1.0, 0.0], [1.0, 0.0]]), np.zeros((2, 2)), np.array([2]), (((1, 1), 5.0),)
    )
    got = solve(case, 1)
    assert (
        got.labels.tolist() == [0, 0]
        and got.scores.tolist() == [2.0]
        and got.bounds.tolist() == [7.0]
    )
    assert got.certified.tolist() == [False] and got.iterations.tolist() == [1]


@given(
    values=st.lists(st.lists(st.integers(-4, 4), min_size=3, max_size=3), min_size=1, max_size=4),
    strings=st.lists(st.integers(1, 3), max_size=3),
    seed=st.integers(0, 10**6),
)
def test_problem_of_a_pattern_is_the_enumerated_one(values, strings, seed):
    """max over v of weight [v = z] - multipliers of v; multipliers are integers, with ties."""
    rng = np.random.default_rng(seed)
    sizes = np.array([len(values), *strings])
    starts = np.cumsum(sizes) - sizes
    n_pairs = int(sizes.sum())
    multipliers = np.concatenate(
        [np.array(values, float), rng.integers(-2, 3, (n_pairs - len(values), 3))]
    )
    z = rng.integers(0, 3, n_pairs)
    weights = rng.integers(-6, 7, len(sizes)).astype(float)
    none = np.zeros(len(sizes), np.intp)
    instances = module.Instances(none, none, weights, starts, np.arange(n_pairs), z)
    labels, best = module.solve_slaves(instances, multipliers)
    for m, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        at = slice(start, start + size)

        def value(v, at=at, m=m):
            return (
                weights[m] * (list(v) == z[at].tolist())
                - multipliers[at][np.arange(len(v)), v].sum()
            )

        assert best[m] == max(value(v) for v in oracle.all_labellings(size, 3)) == value(labels[at])


def test_configurations_are_refused():
    case = replace(random_problem(0), configurations=((0, (frozenset([1]),), 1.0),))
    with pytest.raises(ValueError, match=r"The decoder dual_decomposition_decoder cannot use"):
        solve(case, 3)
