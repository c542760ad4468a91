"""The k best labellings, with patterns of any sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import combine, k_best
from spacy_hoseq.decoders.problem import KBest, Paths

from .. import oracle
from ..cases import Case
from ..contract import DecoderContract
from ..strategies import cases


def k_best_of(case, k):
    return k_best(case.potentials(), k)


class TestFirstOfKBest(DecoderContract):
    takes_negative = True
    takes_batches = False
    test_lengths_do_not_add_up = None  # takes one sequence here
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        """The first of two: one alone is that of `decode_exact`."""
        parts = [k_best_of(single, 2) for single in case.singles()]
        if not parts:
            return Paths(np.zeros(0, np.int32), np.zeros(0))
        return Paths(np.concatenate([p.labels[0] for p in parts]), np.array([p.scores[0] for p in parts]))


@given(case=cases(signed=True, max_sequences=1, configurations=4), k=st.sampled_from([1, 2, 3, 7, 40, 5000]))
def test_k_best_are_the_enumerated_ones(case, k):
    table = oracle.joint_table(case)
    if table.best == -np.inf:
        with pytest.raises(ValueError, match=r"\[HS023\] Sequence 0 has no permitted label sequence"):
            k_best_of(case, k)
        return
    got = k_best_of(case, k)
    labels, scores = table.k_best(k)
    assert got.labels.dtype == np.int32 and got.scores.dtype == np.float64
    assert got.labels.shape == labels.shape  # fewer than k if there are no more
    np.testing.assert_allclose(got.scores, scores, atol=1e-9)
    assert (np.diff(got.scores) <= 0).all()
    np.testing.assert_allclose(oracle.score_of(case, got.labels), got.scores, atol=1e-9)
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels)
    if len(scores) == 1 or np.diff(-scores).min() > 1e-6:
        assert got.labels.tolist() == labels.tolist()


@given(case=cases(signed=True, rounded=True, max_sequences=1, forbidden=False, configurations=4), k=st.integers(1, 30))
def test_ties_give_the_right_scores_and_no_labelling_twice(case, k):
    got = k_best_of(case, k)
    assert got.scores.tolist() == oracle.joint_table(case).k_best(k)[1].tolist()
    assert oracle.score_of(case, got.labels).tolist() == got.scores.tolist()
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels)


def test_negative_pattern_is_avoided():
    """Without the pattern 1,1,1 would win with 3; it costs 5, so the best ones have one 0."""
    case = Case(np.tile([[0.0, 1.0]], (3, 1)), np.zeros((2, 2)), np.array([3]), (((1, 1, 1), -5.0),))
    got = k_best_of(case, 9)
    assert got.scores.tolist() == [2, 2, 2, 1, 1, 1, 0, -2]
    assert sorted(got.labels[:3].tolist()) == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert got.labels[-2:].tolist() == [[0, 0, 0], [1, 1, 1]]


def test_configuration_with_a_gap():
    """Label 1 at both ends is worth 1.875, nearly the 2 that label 0 is ahead there."""
    scores = np.array([[1.0, 0.0], [0.25, 0.0], [1.0, 0.0]])
    ends, anything = frozenset([1]), frozenset([0, 1])
    case = Case(scores, np.zeros((2, 2)), np.array([3]), configurations=((0, (ends, anything, ends), 1.875),))
    got = k_best_of(case, 8)
    assert got.scores.tolist() == [2.25, 2.125, 2.0, 1.875, 1.25, 1.25, 1.0, 1.0]
    assert got.labels[:4].tolist() == [[0, 0, 0], [1, 0, 1], [0, 1, 0], [1, 1, 1]]


def test_no_patterns_given_as_none():
    scores, trans = np.array([[1.0, 0.0], [0.0, 0.5]]), np.array([[0.0, 0.25], [0.0, 0.0]])
    got = k_best_of(Case(scores, trans, np.array([2])), 3)
    assert got.labels.tolist() == [[0, 1], [0, 0], [1, 1]] and got.scores.tolist() == [1.75, 1.0, 0.5]


def test_empty_sequence_has_one_labelling():
    got = k_best_of(Case(np.zeros((0, 3)), np.zeros((3, 3)), np.zeros(0, int)), 5)
    assert got.labels.shape == (1, 0) and got.scores.tolist() == [0]


@pytest.mark.parametrize("k", [0, -3])
def test_k_must_be_positive(k):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong k: {k}"):
        k_best_of(Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2])), k)
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong k: {k}"):
        combine([KBest(np.zeros((1, 2), np.int32), np.zeros(1))], k)


@pytest.mark.long
@given(case=cases(max_labels=3, max_tokens=3, forbidden=False), k=st.sampled_from([1, 4, 25, 10**5]))
def test_combined_parts_are_the_k_best_of_the_whole(case, k):
    """Independent sequences together: every choice of one labelling each, by the sum of scores."""
    got = combine([k_best_of(single, k) for single in case.singles()], k)
    totals = np.zeros(1)
    for single in case.singles():
        totals = np.add.outer(totals, oracle.joint_table(single).k_best(k)[1]).reshape(-1)
    expected = -np.sort(-totals)[:k]
    np.testing.assert_allclose(got.scores, expected, atol=1e-9)
    parts = zip(case.singles(), np.split(got.labels, case.starts[1:], axis=1), strict=True)
    np.testing.assert_allclose(sum(oracle.score_of(single, labels) for single, labels in parts), expected, atol=1e-9)
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels) == len(expected)


def test_combine_lays_the_parts_end_to_end():
    one = KBest(np.array([[0, 1], [1, 1]], np.int32), np.array([3.0, 1.0]))
    two = KBest(np.array([[2], [0]], np.int32), np.array([0.0, -1.5]))
    whole = combine([one, two], 3)
    assert whole.labels.tolist() == [[0, 1, 2], [0, 1, 0], [1, 1, 2]] and whole.scores.tolist() == [3.0, 1.5, 1.0]


def test_combine_nothing():
    whole = combine([], 3)
    assert whole.labels.shape == (1, 0) and whole.scores.tolist() == [0]
