"""Marginals of a chain on logarithms: enumeration, and the same as in scaled probabilities where both can be had."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain.chain_marginals import ChainMarginals
from spacy_hoseq.decoders.chain.log_marginals import LogMarginals
from spacy_hoseq.decoders.problem.results import LostDigits, NoPath

from ... import oracle
from ...cases import Case
from ...strategies import cases
from ..posterior.posteriors import assert_close, enumerated_arcs, every_arc


def fit(case):
    case = case.doubles().without_patterns()
    assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
    return case


def marginals(case, kind=LogMarginals, **fields):
    return kind(case.scores, case.trans, case.lengths, allowed=case.allowed, **fields)


@given(case=cases(), scale=st.sampled_from([1.0, 300.0]))
def test_marginals_are_the_enumerated_ones(case, scale):
    case = fit(Case(case.scores * scale, case.trans * scale, case.lengths, allowed=case.allowed))
    found, tables = marginals(case), [oracle.joint_table(single) for single in case.singles()]
    assert found.log_z == pytest.approx([table.log_z for table in tables])
    assert_close([found.nodes], [np.concatenate([table.marginals for table in tables])])
    expected = enumerated_arcs(case)
    assert_close([found.arcs(every_arc(*case.scores.shape)), found.every_arc()], [expected.reshape(-1), expected])


@given(case=cases(), seed=st.integers(0, 99), with_edge_scores=st.booleans())
def test_segments_are_those_of_scaled_probabilities(case, seed, with_edge_scores):
    """Which are compared with enumeration in test_chain_marginals.py."""
    case, rng = fit(case), np.random.default_rng(seed)
    n_tokens, n_labels = case.scores.shape
    edge_scores = rng.normal(size=(n_tokens, n_labels, n_labels)) if with_edge_scores else None
    first = rng.integers(0, n_tokens, size=6)
    ends = np.cumsum(case.lengths)
    room = ends[np.searchsorted(ends, first, side="right")] - first
    sizes = rng.integers(1, room + 1)
    labels, goes_on = rng.integers(0, n_labels, size=sizes.sum()), rng.random((n_labels, n_labels)) < 0.5
    scaled, logarithmic = (
        marginals(case, ChainMarginals, edge_scores=edge_scores),
        marginals(case, edge_scores=edge_scores),
    )
    for mask in (None, goes_on):
        expected = scaled.segments(first, sizes, labels, mask)
        assert_close([logarithmic.segments(first, sizes, labels, mask)], [expected])
    assert_close([logarithmic.log_z, logarithmic.nodes], [scaled.log_z, scaled.nodes])
    assert_close([logarithmic.every_arc()], [scaled.every_arc()])


def test_no_way_back():
    case = Case(np.zeros((2, 2)), np.array([[0.0, 400], [0, 0]]), np.array([2]))
    assert isinstance(marginals(case).no_way_back(), LostDigits)
    assert "400" in str(marginals(case).no_way_back())


def test_no_path():
    case = Case(np.zeros((3, 2)), np.array([[0.0, -np.inf], [0, 0]]), np.array([1, 2]))
    mask = np.array([[True, True], [True, False], [False, True]])
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1"):
        LogMarginals(case.scores, case.trans, case.lengths, allowed=mask)
