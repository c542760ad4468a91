"""Sums over exclusive states, their covariances with costs, and samples, against the enumeration of all paths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.lattice_sums import lattice_sums, prefix_sums, sample_paths
from spacy_hoseq.decoders.problem.results import NoPath

from .test_lattice import MadeUp, lattices


def summed(lattice, costs=None):
    """log Z, and what is known of states and arcs, by token."""
    states, arcs = {}, {}

    def visit(t, of_states, of_arcs):
        states[t], arcs[t] = of_states, of_arcs

    return lattice_sums(lattice, visit, costs), states, arcs


def enumerated(lattice, column, value_of):
    """Sums of value_of(p, states) over all paths of a column: of each state and each arc of each token."""
    paths = [path for path in lattice.paths(column) if path[0] > -np.inf]
    log_z = np.logaddexp.reduce([score for score, _ in paths], initial=-np.inf)
    values = value_of(np.array([np.exp(score - log_z) for score, _ in paths]), [states for _, states in paths])
    for t, step in enumerate(lattice.steps[: int((lattice.size_at_t > column).sum())]):
        of_states, of_arcs = np.zeros(len(step.label)), np.zeros(len(step.source))
        target = np.repeat(np.arange(len(step.label)), np.diff(step.first)) if t else np.zeros(0)
        for value, (_, states) in zip(values, paths, strict=True):
            of_states[states[t]] += value
            of_arcs[(step.source == states[t - 1]) & (target == states[t])] += value
        yield t, of_states, of_arcs


def assert_enumerated(found, lattice, value_of, atol=1e-12):
    _, states, arcs = found
    for column in range(lattice.size_at_t[0]):
        for t, of_states, of_arcs in enumerated(lattice, column, value_of):
            np.testing.assert_allclose(states[t][:, column], of_states, atol=atol)
            if t:
                np.testing.assert_allclose(arcs[t][:, column], of_arcs, atol=atol)


def log_z_of(lattice, column):
    return np.logaddexp.reduce([score for score, _ in lattice.paths(column)], initial=-np.inf)


@given(lattice=lattices())
def test_probabilities_are_the_enumerated_ones(lattice):
    found, columns = summed(lattice), range(lattice.size_at_t[0])
    assert found[0] == pytest.approx([log_z_of(lattice, column) for column in columns])
    assert_enumerated(found, lattice, lambda p, paths: p)


@given(lattice=lattices(), seed=st.integers(0, 99))
def test_covariances_are_the_enumerated_ones(lattice, seed):
    """Of indicators of states and arcs with a cost of the states."""
    rng = np.random.default_rng(seed)
    costs = MadeUp([step._replace(gain=rng.normal(size=step.gain.shape)) for step in lattice.steps], lattice.size_at_t)
    for column in range(lattice.size_at_t[0]):
        one = MadeUp([step._replace(gain=step.gain[:, column : column + 1]) for step in lattice.steps], [1])
        one.size_at_t = (lattice.size_at_t > column)[lattice.size_at_t > column].astype(np.int64)
        one.steps = one.steps[: len(one.size_at_t)]
        of_one = MadeUp([step._replace(gain=step.gain[:, column : column + 1]) for step in costs.steps], one.size_at_t)

        def covariance(p, paths, of_one=of_one):
            cost = np.array([sum(of_one.steps[t].gain[v, 0] for t, v in enumerate(states)) for states in paths])
            return p * (cost - p @ cost) if len(p) else p

        assert_enumerated(summed(one, of_one), one, covariance)
        _, states, arcs = summed(lattice, costs)
        for t, of_states, of_arcs in enumerated(one, 0, covariance):
            np.testing.assert_allclose(states[t][:, column], of_states, atol=1e-12)
            if t:
                np.testing.assert_allclose(arcs[t][:, column], of_arcs, atol=1e-12)


@given(lattice=lattices())
def test_prefix_sums_are_those_of_all_paths_but_for_one_number_a_column(lattice):
    alpha = prefix_sums(lattice).alpha[-1]
    for column in range(alpha.shape[1]):
        paths = lattice.paths(column)
        ends = [[score for score, states in paths if states[-1] == v] for v in range(len(alpha))]
        expected = np.array([np.logaddexp.reduce(scores, initial=-np.inf) for scores in ends])
        if expected.max() > -np.inf:
            np.testing.assert_allclose(alpha[:, column], expected - expected.max(), rtol=1e-9, atol=1e-9)


@given(lattice=lattices(max_columns=1), seed=st.integers(0, 99))
def test_samples_are_paths_that_there_are(lattice, seed):
    possible = [lattice.labels_of(states) for score, states in lattice.paths(0) if score > -np.inf]
    if not possible:
        with pytest.raises(NoPath):
            sample_paths(lattice, 20, np.random.default_rng(seed))
        return
    drawn = sample_paths(lattice, 20, np.random.default_rng(seed))
    assert drawn.shape == (20, len(lattice.steps)) and all(labels in possible for labels in drawn.tolist())


def test_nothing_to_sum():
    assert summed(MadeUp([], []))[0].tolist() == []
