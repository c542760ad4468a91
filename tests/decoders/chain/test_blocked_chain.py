"""A chain in blocks has the sums of the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain import BlockedChain, chain_posterior, sums_of_chain
from spacy_hoseq.decoders.problem.potentials import Potentials, Weights
from spacy_hoseq.decoders.problem.tuning import TUNING

from ...strategies import cases
from ..answers.posteriors import (
    assert_enumerated,
    every_arc,
    has_path,
)


@given(case=cases(), cells=st.integers(1, 12))
def test_sums_are_the_enumerated_ones(case, cells):
    case = case.doubles().without_patterns()
    if has_path(case):
        blocked = BlockedChain(case.potentials(), TUNING._replace(sum_cells=cells))
        assert blocked.keeps_digits
        assert_enumerated(blocked, case)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("size", [1.0, 10.0])
@given(seed=st.integers(0, 999))
def test_everything_is_that_of_the_whole(closed, size, seed):
    rng = np.random.default_rng(seed)
    lengths, n_labels = rng.integers(1, 12, rng.integers(1, 5)), 3
    n_tokens = int(lengths.sum())
    trans = rng.normal(0, size, (n_labels, n_labels))
    if closed:
        trans[0, 2] = trans[1, 1] = -np.inf
    potentials = Potentials(rng.normal(0, size, (n_tokens, n_labels)), Weights(trans), lengths)
    whole = chain_posterior(potentials)
    blocked = sums_of_chain(potentials, TUNING._replace(sum_cells=int(rng.integers(1, 9))))
    assert whole is not None and blocked is not None
    arcs = every_arc(n_tokens, n_labels)
    ends = rng.permutation(np.cumsum(lengths))
    first = ends - rng.permutation(lengths).min()
    sizes = rng.integers(1, ends - first + 1)
    segments = first, sizes, rng.integers(0, n_labels, sizes.sum())
    continues = rng.random((n_labels, n_labels)) < 0.5
    for ask in (
        lambda p: p.log_z,
        lambda p: p.nodes,
        lambda p: p.pairs(arcs),
        lambda p: p.segments(*segments),
        lambda p: p.segments(*segments, continues),
        lambda p: p.entropies(),
        lambda p: p.conditional_entropies(),
        lambda p: p.probable(0.01).tokens,
        lambda p: p.expected.trans,
        lambda p: p.backprop(np.ones((n_tokens, n_labels))).trans,
    ):
        np.testing.assert_allclose(ask(blocked), ask(whole), rtol=1e-8, atol=1e-10)


def test_a_sequence_without_path_has_no_sums():
    potentials = Potentials(np.zeros((9, 2)), Weights(np.full((2, 2), -np.inf)), np.array([9]))
    assert sums_of_chain(potentials, TUNING._replace(sum_cells=4)) is None
