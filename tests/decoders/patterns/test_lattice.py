"""Walks over exclusive states against the enumeration of all paths, on lattices made up at random: best paths, k best,
sums, derivatives, samples."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.inclusive_sums import STEP
from spacy_hoseq.decoders.patterns.lattice import (
    NO_ARCS,
    Arcs,
    Lattice,
    Step,
    best_paths,
)
from spacy_hoseq.decoders.patterns.lattice_sums import lattice_sums, prefix_sums
from spacy_hoseq.decoders.problem import make_layout


class MadeUp(Lattice):
    """A lattice of given steps, with columns of these lengths, longest first."""

    def __init__(self, steps, lengths):
        self.steps = steps
        self.layout = make_layout(np.array(lengths, np.int64), sum(lengths))

    def step(self, t):
        return self.steps[t]

    @property
    def n_columns(self):
        return len(self.layout.lengths)

    def paths(self, column):
        """All paths of one column: (score, states)."""
        n_steps = int(self.layout.lengths[column])
        of = []
        for step in self.steps[1:n_steps]:
            pairs = zip(step.arcs.source.tolist(), step.arcs.target.tolist(), strict=True)
            of.append(dict(zip(pairs, step.scores[:, 0].tolist(), strict=True)))
        found = []
        for states in product(*(range(len(step.label)) for step in self.steps[:n_steps])):
            pairs = list(zip(of, zip(states[:-1], states[1:], strict=True), strict=True))
            if all(pair in arcs for arcs, pair in pairs):
                gains = sum(self.steps[t].gain[v, column] for t, v in enumerate(states))
                found.append((gains + sum(arcs[pair] for arcs, pair in pairs), states))
        return found

    def labels_of(self, states):
        return [int(self.steps[t].label[v]) for t, v in enumerate(states)]


@st.composite
def lattices(draw, max_columns=4, rounded=False):
    """Other states at every token, not all arcs, forbidden states and arcs, columns of different lengths. Two states
    may have one label."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = sorted(draw(st.lists(st.integers(1, 4), min_size=1, max_size=max_columns)), reverse=True)
    size_at_t = [sum(length > t for length in lengths) for t in range(lengths[0])]
    closed = draw(st.sampled_from([0.0, 0.2]))
    steps, before = [], 0
    for t, n in enumerate(size_at_t):
        n_states = int(rng.integers(1, 5))
        gain = rng.normal(0, 2, (n_states, n))
        pairs = [(u, v) for v in range(n_states) for u in range(before) if rng.random() < 0.7]
        pairs += [(int(rng.integers(before)), v) for v in range(n_states) if t and v not in {w for _, w in pairs}]
        pairs.sort(key=lambda pair: (pair[1], pair[0]))
        arc = rng.normal(0, 2, len(pairs))
        if rounded:
            gain, arc = np.round(gain / 2), np.round(arc / 2)
        gain[rng.random(gain.shape) < closed] = -np.inf
        arc[rng.random(arc.shape) < closed] = -np.inf
        source = np.array([u for u, _ in pairs], np.intp)
        first = np.searchsorted(np.array([v for _, v in pairs]), np.arange(n_states + 1))
        arcs = Arcs(source, first) if t else NO_ARCS
        steps.append(Step(rng.integers(0, 3, n_states), gain, arcs, arc[:, None]))
        before = n_states
    return MadeUp(steps, lengths)


def blocks_of(lattice, size):
    n_steps = len(lattice.steps)
    return [(first, min(first + size, n_steps)) for first in range(0, n_steps, size)]


@pytest.mark.parametrize("rounded", [False, True])
@given(data=st.data(), size=st.sampled_from([1, 2, 4]))
def test_best_paths_are_the_enumerated_ones(rounded, data, size):
    """Ties go to the lowest state, right to left."""
    lattice = data.draw(lattices(rounded=rounded))
    labels, scores = best_paths(lattice, blocks_of(lattice, size))
    assert labels.dtype == np.int32
    for column in range(lattice.n_columns):
        paths = lattice.paths(column)
        score = max((score for score, _ in paths), default=-np.inf)
        assert scores[column] == pytest.approx(score)
        if score > -np.inf:
            lowest = min(states[::-1] for s, states in paths if s >= score - 1e-12)[::-1]
            places = lattice.layout.offset[: len(lowest)] + column
            assert labels[places].tolist() == lattice.labels_of(lowest)


def summed(lattice):
    """log Z, and what is known of states and arcs, by token."""
    states, arcs = {}, {}

    def visit(t, of_states, of_arcs):
        states[t], arcs[t] = of_states, of_arcs

    return lattice_sums(lattice, visit), states, arcs


def enumerated(lattice, column, value_of):
    """Sums of value_of(p, states) over all paths of a column: of each state and each arc of each token."""
    paths = [path for path in lattice.paths(column) if path[0] > -np.inf]
    log_z = np.logaddexp.reduce([score for score, _ in paths], initial=-np.inf)
    values = value_of(np.array([np.exp(score - log_z) for score, _ in paths]), [states for _, states in paths])
    for t, step in enumerate(lattice.steps[: lattice.layout.lengths[column]]):
        source, target = step.arcs.source, step.arcs.target
        of_states, of_arcs = np.zeros(len(step.label)), np.zeros(len(source))
        for value, (_, states) in zip(values, paths, strict=True):
            of_states[states[t]] += value
            of_arcs[(source == states[t - 1]) & (target == states[t])] += value
        yield t, of_states, of_arcs


def assert_enumerated(found, lattice, value_of, atol=1e-12):
    _, states, arcs = found
    for column in range(lattice.n_columns):
        for t, of_states, of_arcs in enumerated(lattice, column, value_of):
            np.testing.assert_allclose(states[t][:, column], of_states, atol=atol)
            if t:
                np.testing.assert_allclose(arcs[t][:, column], of_arcs, atol=atol)


def log_z_of(lattice, column):
    return np.logaddexp.reduce([score for score, _ in lattice.paths(column)], initial=-np.inf)


@given(lattice=lattices())
def test_probabilities_are_the_enumerated_ones(lattice):
    found, columns = summed(lattice), range(lattice.n_columns)
    assert found[0] == pytest.approx([log_z_of(lattice, column) for column in columns])
    assert_enumerated(found, lattice, lambda p, paths: p)


@given(lattice=lattices(), seed=st.integers(0, 99))
def test_derivatives_are_the_enumerated_covariances(lattice, seed):
    """Of indicators of states and arcs with a cost of the states, which is the imaginary part of their gains."""
    rng = np.random.default_rng(seed)
    costs = [rng.normal(size=step.gain.shape) for step in lattice.steps]
    steps = [s._replace(gain=s.gain + 1j * STEP * cost) for s, cost in zip(lattice.steps, costs, strict=True)]
    _, states, arcs = summed(MadeUp(steps, lattice.layout.lengths.tolist()))
    for column in range(lattice.n_columns):

        def covariance(p, paths, column=column):
            cost = np.array([sum(costs[t][v, column] for t, v in enumerate(path)) for path in paths])
            return p * (cost - p @ cost) if len(p) else p

        for t, of_states, of_arcs in enumerated(lattice, column, covariance):
            np.testing.assert_allclose(states[t][:, column].imag / STEP, of_states, atol=1e-12)
            if t:
                np.testing.assert_allclose(arcs[t][:, column].imag / STEP, of_arcs, atol=1e-12)


@given(lattice=lattices())
def test_prefix_sums_are_those_of_all_paths_but_for_one_number_a_column(lattice):
    alpha = prefix_sums(lattice).alpha[-1]
    for column in range(alpha.shape[1]):
        paths = lattice.paths(column)
        ends = [[score for score, states in paths if states[-1] == v] for v in range(len(alpha))]
        expected = np.array([np.logaddexp.reduce(scores, initial=-np.inf) for scores in ends])
        if expected.max() > -np.inf:
            np.testing.assert_allclose(alpha[:, column], expected - expected.max(), rtol=1e-9, atol=1e-9)
