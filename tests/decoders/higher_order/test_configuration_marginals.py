"""Marginals and segments where configurations fire, against enumeration."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.exact import decode_exact
from spacy_hoseq.decoders.higher_order.configuration_marginals import ConfigurationMarginals, span_marginals
from spacy_hoseq.decoders.higher_order.pattern_marginals import PatternMarginals
from spacy_hoseq.decoders.posterior.posterior_pruning import decode_probable

from ... import oracle
from ...strategies import cases
from ..posterior.posteriors import assert_close, has_path, random_segments


def draw_case(data, **options):
    case = data.draw(cases(signed=True, strong=False, max_tokens=5, configurations=3, **options)).doubles()
    assume(has_path(case))
    return case


def marginals(case):
    return ConfigurationMarginals(case.potentials())


@given(data=st.data())
def test_marginals_are_the_enumerated_ones(data):
    case = draw_case(data)
    tables, found = [oracle.joint_table(single) for single in case.singles()], marginals(case)
    assert_close([found.log_z], [np.array([table.log_z for table in tables])])
    assert_close([found.nodes], [np.concatenate([table.marginals for table in tables])])


@pytest.mark.parametrize("restricted", [False, True])
@given(data=st.data(), seed=st.integers(0, 99))
def test_segments_are_the_enumerated_ones(restricted, data, seed):
    """In sequences with configurations and in others."""
    case, rng = draw_case(data), np.random.default_rng(seed)
    goes_on = rng.random(case.trans.shape) < 0.4 if restricted else None
    *segments, expected = random_segments(case, rng, goes_on)
    assert_close([marginals(case).segments(*segments, goes_on)], [expected])


@given(data=st.data())
def test_best_labels_where_marginals_are_known(data):
    case = draw_case(data)
    found = decode_probable(case.potentials(), marginals(case), allowed=case.allowed)
    assert found.tolist() == decode_exact(case.potentials()).labels.tolist()


@given(data=st.data())
def test_without_configurations_the_faster_classes_are_taken(data):
    case = data.draw(cases(signed=True, strong=False, max_tokens=4))
    assume(has_path(case) and case.patterns)
    found = span_marginals(case.potentials())
    assert isinstance(found, PatternMarginals)
    assert_close([found.nodes], [marginals(case).nodes])
