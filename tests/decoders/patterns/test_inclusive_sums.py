"""log Z, marginals and expected counts with label patterns: enumeration, finite differences, reductions, refusals.

What a chain without patterns must fulfil, test_posterior.py asks of this walk as well.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns.inclusive_sums import NodeMessages, inclusive_sums, keeps_digits
from spacy_hoseq.decoders.patterns.matrix_messages import MatrixMessages
from spacy_hoseq.decoders.problem import TUNING, NoPath, Weights

from ...cases import Case
from ...strategies import cases, random_mask
from ..answers.posteriors import (
    assert_enumerated,
    assert_finite_differences,
    forward_backward,
    has_path,
    pattern_posterior,
    posterior_of,
)
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
        np.testing.assert_allclose(same_log_z, log_z, rtol=1e-12, atol=1e-12)
        for same, count in zip(same_counts[:4], counts[:4], strict=True):
            np.testing.assert_allclose(same, count, atol=1e-10)
    return SimpleNamespace(log_z=log_z, nodes=counts.scores, expected=counts)


def posterior(case):
    return summed(potentials_of(case))


def forbidding(case, share, masked):
    """The case with some transitions forbidden, and masked or as it is, if that leaves a labelling."""
    rng = np.random.default_rng(len(case.scores))
    trans = np.where(rng.random(case.trans.shape) < share, NEVER, case.trans)
    case = replace(case, trans=trans, allowed=random_mask(rng, *case.scores.shape) if masked else case.allowed)
    assume(has_path(case))
    return case


@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data())
def test_posterior_is_the_enumerated_one(signed, data):
    case = data.draw(cases(signed=signed, strong=not signed, forbidden=False))
    assert_enumerated(posterior(case), case)


@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data(), share=st.sampled_from([0.2, 0.5]), masked=st.booleans())
def test_posterior_is_the_enumerated_one_with_forbidden_transitions(signed, data, share, masked):
    case = forbidding(data.draw(cases(signed=signed, strong=not signed, min_labels=2)), share, masked)
    got = posterior(case)
    assert_enumerated(got, case)
    assert (got.expected.trans[case.trans == NEVER] == 0).all()
    if case.allowed is not None:
        assert (got.nodes[~case.allowed] == 0).all()


@given(case=cases(forbidden=False, max_tokens=5), spread=st.sampled_from([10.0, 30.0, 60.0]))
def test_posterior_is_the_enumerated_one_with_large_weights(case, spread):
    assume(spread * (sum(weight for *_, weight in case.patterns + case.fired) + np.ptp(case.trans)) < 299)
    case = replace(
        case.doubles(),
        trans=spread * case.trans,
        patterns=tuple((pattern, spread * weight) for pattern, weight in case.patterns),
        fired=tuple((token, pattern, spread * weight) for token, pattern, weight in case.fired),
    )
    assert_enumerated(posterior(case), case)


def negative_case(weight):
    """Only label 0 is allowed, so that log Z is the score of 0,0,0: twice the weight."""
    allowed = np.array([[True, False]] * 3)
    return Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), (((0, 0), weight),), allowed=allowed)


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
    case = Case(np.zeros((n_tokens, 2)), np.zeros((2, 2)), np.array([n_tokens]), (((0,) * 12, 70.0),))
    got = posterior(case)
    if n_tokens < 12:
        assert got.log_z == pytest.approx([n_tokens * np.log(2)])
        np.testing.assert_allclose(got.nodes, 0.5)
    else:
        assert got.log_z == pytest.approx([70.0 * (n_tokens - 11)])
        np.testing.assert_allclose(got.nodes[:, 0], 1.0)


@pytest.mark.long
@given(case=cases(forbidden=False, max_labels=3, max_tokens=4, max_sequences=2, signed=True, strong=False))
def test_results_are_finite_differences_of_log_z(case):
    assert_finite_differences(summed, potentials_of(case.doubles()))


@pytest.mark.parametrize("masked", [False, True])
def test_results_are_finite_differences_of_log_z_with_forbidden_transitions(masked):
    """By the transitions that are permitted: the others stay forbidden."""
    rng = np.random.default_rng(masked)
    trans = rng.normal(size=(3, 3))
    trans[0, 2] = trans[1, 1] = NEVER
    patterns, fired = (((0, 1), 0.8), ((2, 0, 0), 1.5), ((0, 2), 0.5)), ((4, (0, 1, 2), 2.0), (8, (2, 2), -1.1))
    allowed = np.array([[True] * 3, [True, False, True], *[[True] * 3] * 7]) if masked else None
    case = Case(rng.normal(size=(9, 3)), trans, np.array([5, 1, 3]), patterns, fired, allowed)

    def forbidden(potentials):
        weights = potentials.weights
        closed = Weights(np.where(trans == NEVER, NEVER, weights.trans), weights.trie, weights.node_weights)
        got = summed(potentials._replace(weights=closed))
        assert (got.expected.trans[trans == NEVER] == 0).all()
        return got

    assert_finite_differences(forbidden, potentials_of(replace(case, trans=np.where(trans == NEVER, 0.0, trans))))


@given(case=cases(signed=True, strong=False, min_labels=2), masked=st.booleans())
def test_without_patterns_it_is_that_of_the_chain(case, masked):
    case = forbidding(case, 0.3, masked).without_patterns()
    got, expected = posterior(case), forward_backward(case.scores, case.trans, case.lengths, allowed=case.allowed)
    for mine, theirs in (
        (got.log_z, expected.log_z),
        (got.nodes, expected.nodes),
        (got.expected.trans, expected.expected.trans),
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def with_pattern(case):
    return replace(case, patterns=(((0, 2), 0.7), ((0, 0, 2), 1.5)))


@pytest.mark.parametrize("score", [-300.0, -330.0])
def test_low_share_that_is_the_only_way_on(score):
    assert_enumerated(posterior(with_pattern(only_way_on(score))), with_pattern(only_way_on(score)))


@pytest.mark.parametrize("score", [-600.0, -800.0])
def test_share_that_vanishes_is_refused(score):
    """By this walk; the entry for all exact inference finds another."""
    case = with_pattern(only_way_on(score))
    assert keeps_digits(case.potentials()) and inclusive_sums(case.potentials(), NodeMessages) is None
    assert_enumerated(posterior_of(case.potentials()), case)


def test_no_permitted_labelling():
    """No result here, since a sum of 0 may also have vanished; the entry for all sums tells."""
    case = Case(np.zeros((3, 2)), np.array([[0, NEVER], [0, 0]]), np.array([1, 2]), (((0, 1), 1.0),))
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


@given(case=cases(max_sequences=8, forbidden=False), data=st.data(), cells=st.sampled_from([1, 20, 100, 10**6]))
def test_batch_is_the_singles_in_any_order_and_grouping(case, data, cells):
    order = data.draw(st.permutations(range(len(case.lengths))))
    batch = case.take(order)
    got = pattern_posterior(potentials_of(batch), TUNING._replace(sum_cells=cells))
    parts = [posterior(case.take([i])) for i in order]
    np.testing.assert_allclose(got.log_z, [part.log_z[0] for part in parts], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(got.nodes, np.concatenate([part.nodes for part in parts]), atol=1e-12)
    np.testing.assert_allclose(got.expected.trans, sum(part.expected.trans for part in parts), atol=1e-11)
    np.testing.assert_allclose(got.expected.node_weights, sum(part.expected.node_weights for part in parts), atol=1e-11)
    counts = {}
    for part, i in zip(parts, order, strict=True):
        single = case.take([i])
        counts |= {(i, *entry): p for entry, p in zip(single.fired, part.expected.fired_weights, strict=True)}
    place = [int(np.searchsorted(batch.starts, token, side="right")) - 1 for token, _, _ in batch.fired]
    keys = [(order[i], token - batch.starts[i], *rest) for i, (token, *rest) in zip(place, batch.fired, strict=True)]
    np.testing.assert_allclose(got.expected.fired_weights, [counts[key] for key in keys], atol=1e-12)


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
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), (((0, 1), 1.0),))
    changed = replace(case, **change)
    assert keeps_digits(case.potentials()) and not keeps_digits(changed.potentials())
    assert_enumerated(posterior_of(changed.potentials()), changed)
