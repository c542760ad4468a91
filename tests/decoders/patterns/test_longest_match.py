"""Exclusive states: decoding and sums with weights of any sign and size, against enumeration."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.configurations import decode_any_sign
from spacy_hoseq.decoders.problem import TUNING

from ... import oracle
from ...cases import same_paths, zero_case
from ...contract import DecoderContract
from ...strategies import cases
from ..answers.posteriors import assert_enumerated, logarithmic
from ..chain.test_best_path import decode_viterbi


def decode(case, tuning=TUNING):
    return decode_any_sign(case.potentials(), tuning=tuning)


class TestAnySign(DecoderContract):
    takes_negative = True

    def decode(self, case, tuning=TUNING):
        return decode(case, tuning)


@pytest.mark.parametrize("factor", [1.0, -50.0, 1000.0])
@given(data=st.data())
def test_best_labelling_is_the_enumerated_one_for_all_weights(factor, data):
    case = data.draw(cases(signed=True)).scaled(factor)
    assume(oracle.is_feasible(case))
    got = decode(case)
    for single, labels, score in case.results(got):
        table = oracle.joint_table(single)
        assert score == pytest.approx(table.best)
        assert score == pytest.approx(oracle.score_of_one(single, labels))
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@given(case=cases(rounded=True, forbidden=False))
def test_no_patterns_is_viterbi_ties_included(case):
    """The states are the labels."""
    case = case.without_patterns()
    got, expected = decode(case), decode_viterbi(case)
    assert same_paths(got, expected)


@pytest.mark.parametrize("weight", [-1000.0, 1000.0])
def test_pattern_of_large_weight_in_every_labelling(weight):
    """Only label 0 is allowed in the middle three of five tokens: 0,0 is there twice, whatever it costs."""
    allowed = np.array([[True, True], [True, False], [True, False], [True, False], [True, True]])
    case = zero_case(5, patterns=(((0, 0, 0), weight),), allowed=allowed)
    got = logarithmic(case.potentials())
    # one labelling has the least or the most of it: 1 or 3 times
    assert got.log_z == pytest.approx([{-1000.0: -1000.0, 1000.0: 3000.0}[weight]])
    np.testing.assert_allclose(got.nodes[[0, 4], 0], float(weight > 0))
    node = case.pattern_scores().trie.node_of[0]
    assert got.expected.node_weights[node] == pytest.approx(3.0 if weight > 0 else 1.0)


def test_single_labels_that_only_begin_a_sequence():
    """All pairs are patterns, so that the states of one label are left after the first token for good."""
    pairs = (((0, 1), 1.0), ((0, 0), -1.0), ((1, 0), 0.5), ((1, 1), 0.25))
    case = zero_case(3, 1, patterns=pairs)
    paths = decode(case)
    assert paths.labels.tolist() == [0, 1, 0, 0] and paths.scores.tolist() == [1.5, 0.0]
    assert_enumerated(logarithmic(case.potentials()), case)
