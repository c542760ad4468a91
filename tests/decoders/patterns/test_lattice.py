"""Walks over exclusive states against the enumeration of all paths, on lattices made up at random."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.lattice import (
    Step,
    best_paths,
    k_best_paths,
)
from spacy_hoseq.decoders.problem.results import NoPath
from spacy_hoseq.decoders.problem.tuning import Tuning


class MadeUp:
    """A lattice of given steps."""

    def __init__(self, steps, size_at_t):
        self.steps, self.size_at_t = steps, np.array(size_at_t, np.int64)

    def step(self, t):
        return self.steps[t]

    def paths(self, column):
        """All paths of one column: (score, states)."""
        n_steps = int((self.size_at_t > column).sum())
        arcs = [{}]
        for step in self.steps[1:n_steps]:
            of = {}
            for v in range(len(step.label)):
                for e in range(step.first[v], step.first[v + 1]):
                    of[int(step.source[e]), v] = float(step.arc[e])
            arcs.append(of)
        found = []
        for states in product(*(range(len(step.label)) for step in self.steps[:n_steps])):
            pairs = list(zip(states[:-1], states[1:], strict=True))
            if all(pair in arcs[t] for t, pair in enumerate(pairs, start=1)):
                gains = sum(self.steps[t].gain[v, column] for t, v in enumerate(states))
                found.append((gains + sum(arcs[t][pair] for t, pair in enumerate(pairs, start=1)), states))
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
        first = np.searchsorted(np.array([v for _, v in pairs]), np.arange(n_states + 1)) if t else source
        steps.append(Step(rng.integers(0, 3, n_states), gain, source, first, arc))
        before = n_states
    return MadeUp(steps, size_at_t)


def column_of(lattice, flat, column):
    """What belongs to one column of values in packed order."""
    ends = np.cumsum(lattice.size_at_t) - lattice.size_at_t
    return [int(flat[end + column]) for end, n in zip(ends, lattice.size_at_t, strict=True) if column < n]


@given(lattice=lattices(), cells=st.sampled_from([1, 7, 10**6]))
def test_best_paths_are_the_enumerated_ones(lattice, cells):
    got = best_paths(lattice, tuning=Tuning(history_cells=cells))
    assert got.labels.dtype == np.int32
    for column in range(lattice.size_at_t[0]):
        score, states = max(lattice.paths(column), default=(-np.inf, ()))
        assert got.scores[column] == pytest.approx(score)
        if score > -np.inf:
            n_steps = len(states)
            assert [int(got.states[t][column]) for t in range(n_steps)] == list(states)
            assert column_of(lattice, got.labels, column) == lattice.labels_of(states)


@given(lattice=lattices(rounded=True))
def test_ties_go_to_the_lowest_state_right_to_left(lattice):
    got = best_paths(lattice)
    for column in range(lattice.size_at_t[0]):
        paths = lattice.paths(column)
        score = max((score for score, _ in paths), default=-np.inf)
        if score > -np.inf:
            lowest = min(states[::-1] for s, states in paths if s == score)[::-1]
            assert [int(got.states[t][column]) for t in range(len(lowest))] == list(lowest)


@given(lattice=lattices(max_columns=1), k=st.sampled_from([1, 3, 10, 300]))
def test_k_best_paths_are_the_enumerated_ones(lattice, k):
    paths = sorted([path for path in lattice.paths(0) if path[0] > -np.inf], reverse=True)
    if not paths:
        with pytest.raises(NoPath):
            k_best_paths(lattice, k)
        return
    got = k_best_paths(lattice, k)
    np.testing.assert_allclose(got.scores, [score for score, _ in paths[:k]])
    assert got.labels.tolist() == [lattice.labels_of(states) for _, states in paths[:k]]
