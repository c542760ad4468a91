"""log Z, marginals and expected counts with label patterns: enumeration, finite differences, reductions, refusals.

What a chain without patterns must fulfil, test_posterior.py asks of this walk as well.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.patterns.inclusive_sums import NodeMessages, inclusive_sums, keeps_digits
from spacy_hoseq.decoders.patterns.matrix_messages import MatrixMessages
from spacy_hoseq.decoders.problem import NoPath, Weights

from ...cases import Case, zero_case
from ...strategies import cases
from ..answers.posteriors import assert_enumerated, posterior_of
from ..test_posterior import NEVER, only_way_on


def potentials_of(case):
    """Without patterns, too, as if there were some."""
    trie, node_weights, fired = case.pattern_scores()
    return case.potentials()._replace(weights=Weights(case.trans, trie, node_weights), fired=fired)


def summed(potentials):
    """What tests of all walks look at; where nothing fires, both walks find the same."""
    assert keeps_digits(potentials)
    log_z, counts = inclusive_sums(potentials, NodeMessages)
    if not potentials.fired:
        same_log_z, same_counts = inclusive_sums(potentials, MatrixMessages)
        assert_allclose(same_log_z, log_z, rtol=1e-12, atol=1e-12)
        for same, count in zip(same_counts[:4], counts[:4], strict=True):
            assert_allclose(same, count, atol=1e-10)
    return SimpleNamespace(log_z=log_z, nodes=counts.scores, expected=counts)


def posterior(case):
    return summed(potentials_of(case))


@given(case=cases(forbidden=False, max_tokens=5), spread=st.sampled_from([10.0, 30.0, 60.0]))
def test_posterior_is_the_enumerated_one_with_large_weights(case, spread):
    total = sum(weight for *_, weight in case.patterns + case.fired)
    assume(spread * (total + np.ptp(case.trans)) < 299)
    case = replace(case.doubles(), trans=spread * case.trans).scaled(spread)
    assert_enumerated(posterior(case), case)


def negative_case(weight):
    """Only label 0 is allowed, so that log Z is the score of 0,0,0: twice the weight."""
    allowed = np.array([[True, False]] * 3)
    return zero_case(3, patterns=(((0, 0), weight),), allowed=allowed)


@pytest.mark.parametrize("weight", [-3.0, -14.9])
def test_negative_pattern_in_every_labelling(weight):
    """Digits cancel, but enough are left."""
    assert_enumerated(posterior(negative_case(weight)), negative_case(weight), tolerance=1e-6)


def test_transitions_and_weights_near_the_end_of_their_range():
    """A range of 199 among transitions, 99 among patterns, emissions that make up for them and more."""
    scores = np.array([[-199.0, -790.0], [-398.0, -790.0], [-199.0, -590.0]])
    case = Case(scores, np.array([[1.0, 1.0], [200.0, 1.0]]), np.array([3]), (((1, 0), 99.0),))
    assert_enumerated(posterior(case), case)


@pytest.mark.parametrize("n_tokens", [3, 11, 12, 20])
def test_long_pattern_that_cannot_match_yet(n_tokens):
    """Twelve times label 0 is worth 70: in the first eleven tokens nothing, however often e^70 could be multiplied."""
    got = posterior(zero_case(n_tokens, patterns=(((0,) * 12, 70.0),)))
    if n_tokens < 12:
        assert got.log_z == pytest.approx([n_tokens * np.log(2)])
        assert_allclose(got.nodes, 0.5)
    else:
        assert got.log_z == pytest.approx([70.0 * (n_tokens - 11)])
        assert_allclose(got.nodes[:, 0], 1.0)


def with_pattern(case):
    return replace(case, patterns=(((0, 2), 0.7), ((0, 0, 2), 1.5)))


@pytest.mark.parametrize("score", [-300.0, -330.0])
def test_low_share_that_is_the_only_way_on(score):
    assert_enumerated(posterior(with_pattern(only_way_on(score))), with_pattern(only_way_on(score)))


@pytest.mark.parametrize("score", [-600.0, -800.0])
def test_share_that_vanishes_is_refused(score):
    """By this walk; the entry for all exact inference finds another."""
    case = with_pattern(only_way_on(score))
    potentials = case.potentials()
    assert keeps_digits(potentials) and inclusive_sums(potentials, NodeMessages) is None
    assert_enumerated(posterior_of(case.potentials()), case)


def test_no_permitted_labelling():
    """No result here, since a sum of 0 may also have vanished; the entry for all sums tells."""
    trans = np.array([[0, NEVER], [0, 0]])
    case = zero_case(1, 2, trans=trans, patterns=(((0, 1), 1.0),))
    case = replace(case, allowed=np.array([[True, True], [True, False], [False, True]]))
    assert inclusive_sums(case.potentials(), NodeMessages) is None
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1"):
        posterior_of(case.potentials())


def test_string_whose_share_vanishes_and_whose_pattern_makes_up_for_it():
    """Labels 0,1 have a share of e^-759, label 1 of e^-460; a weight of 299 makes 0,1,2 as likely as 3,1,2."""
    scores = np.array([[-299.0, 0, 0, 0], [0, -460.0, 0, 0], [0, 0, 0, 0]])
    trans, allowed = np.zeros((4, 4)), np.array([[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 0]], bool)
    trans[3, 2] = NEVER
    case = Case(scores, trans, np.array([3]), (((0, 1, 2), 299.0),), allowed=allowed)
    assert_enumerated(posterior_of(case.potentials()), case)


FIRED = ((1, (0, 1), 200.0), (1, (0, 1), 150.0))


@pytest.mark.parametrize("change", [
    {"trans": np.array([[0, 301.0], [0, 0]])},
    {"trans": np.array([[0, 301.0], [NEVER, 0]])},
    {"patterns": (((0, 1), 200.0), ((1, 0, 1), 101.0))},
    {"patterns": (((0, 1), -15.0),)},  # what is left of the sum would have lost 7 of 16 digits
    {"patterns": (((0, 1), -40.0),)},  # nothing would be left
    {"trans": np.array([[0, 200.0], [0, 0]]), "patterns": (((0, 1), 101.0),)},
    {"fired": FIRED},
])  # fmt: skip
def test_ranges_that_are_summed_by_another_walk(change):
    case = zero_case(3, patterns=(((0, 1), 1.0),))
    changed = replace(case, **change)
    assert keeps_digits(case.potentials()) and not keeps_digits(changed.potentials())
    assert_enumerated(posterior_of(changed.potentials()), changed)
