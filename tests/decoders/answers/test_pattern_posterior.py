"""p(y | x) with label patterns and backpropagation through it, against sums over all labellings."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.problem.posterior import LabelPairs
from spacy_hoseq.decoders.problem.potentials import Weights
from spacy_hoseq.decoders.problem.tuning import TUNING

from ... import oracle
from ...cases import Case
from ...strategies import cases
from ..chain.test_forward_backward import NEVER, only_way_on
from ..patterns.test_inclusive_sums import with_pattern
from .posteriors import (
    assert_close,
    enumerated_arcs,
    enumerated_gradient,
    every_arc,
    forward_backward,
    has_path,
    pattern_posterior,
    random_arcs,
    random_segments,
)


def marginals(case, tuning=TUNING):
    """Without patterns, too, as if there were some."""
    trie, node_weights, fired = case.pattern_scores()
    potentials = case.potentials()._replace(weights=Weights(case.trans, trie, node_weights), fired=fired)
    return pattern_posterior(potentials.check(), tuning)


def fit(case):
    case = case.doubles()
    assume(has_path(case))
    return case


def draw_case(data, signed, **options):
    return fit(data.draw(cases(signed=signed, strong=not signed, max_tokens=5, **options)))


def random_costs(case, seed):
    rng = np.random.default_rng(seed)
    arcs = random_arcs(case, rng)
    return rng.normal(size=case.scores.shape), arcs, rng.normal(size=len(arcs.tokens))


@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data(), seed=st.integers(0, 99))
def test_marginals_are_the_enumerated_ones(signed, data, seed):
    """In particular those of pairs that are patterns themselves, or parts of some, or fire at the same token."""
    case = draw_case(data, signed)
    found, tables = marginals(case), [oracle.joint_table(single) for single in case.singles()]
    every, arcs = enumerated_arcs(case), random_arcs(case, np.random.default_rng(seed))
    assert_close([found.log_z], [np.array([table.log_z for table in tables])])
    assert_close([found.nodes], [np.concatenate([table.marginals for table in tables])])
    assert_close([found.pairs(arcs)], [every[arcs]])
    assert_close([found.pairs(every_arc(len(case.scores), case.n_labels))], [every.reshape(-1)])
    assert not found.pairs(arcs)[np.isin(arcs.tokens, case.starts)].any()


@given(data=st.data(), signed=st.booleans())
def test_labels_alone_are_the_enumerated_ones(data, signed):
    """Other counts are summed when they are asked for."""
    case = draw_case(data, signed)
    answers = posterior(case.potentials())
    tables = [oracle.joint_table(single) for single in case.singles()]
    assert_close([answers.nodes], [np.concatenate([table.marginals for table in tables])])
    assert_close([answers.expected.trans], [sum(table.transitions for table in tables)])


@pytest.mark.parametrize("restricted", [False, True])
@given(data=st.data(), signed=st.booleans(), seed=st.integers(0, 99))
def test_segments_are_the_enumerated_ones(restricted, data, signed, seed):
    case, rng = draw_case(data, signed), np.random.default_rng(seed)
    continues = rng.random(case.trans.shape) < 0.4 if restricted else None
    *segments, expected = random_segments(case, rng, continues)
    assert_close([marginals(case).segments(*segments, continues)], [expected])


@pytest.mark.long
@pytest.mark.parametrize("with_arcs", [False, True])
@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data(), seed=st.integers(0, 99))
def test_gradient_is_the_covariance(signed, with_arcs, data, seed):
    """With masks and with forbidden transitions, or without."""
    case = draw_case(data, signed)
    costs = random_costs(case, seed)
    costs = costs if with_arcs else costs[:1]
    assert_close(marginals(case).backprop(*costs)[:5], enumerated_gradient(case, *costs)[:5])


@pytest.mark.long
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("closed", [False, True])
def test_gradient_is_that_of_finite_differences(closed, masked):
    """Of a smooth function of nodes and arcs, by every parameter. closed: some transitions are forbidden."""
    rng = np.random.default_rng(0)
    patterns = (((0, 1), 0.8), ((1, 2, 0), 1.5), ((2, 2), -0.7), ((0, 1, 1, 2), 2.0))
    fired = ((3, (1, 2), 1.1), (6, (0, 0, 1), -0.4))
    forbidden, allowed = np.zeros((3, 3), bool), np.ones((9, 3), bool)
    if closed:
        forbidden[0, 2] = forbidden[1, 0] = True
    if masked:
        allowed[[1, 6, 8], [1, 2, 0]] = False
    case = Case(rng.normal(size=(9, 3)), rng.normal(size=(3, 3)), np.array([5, 4]), patterns, fired, allowed)
    trie, node_weights, fires_here = case.pattern_scores()
    of_nodes, of_arcs = rng.normal(size=(9, 3)), rng.normal(size=20)
    arcs = LabelPairs(rng.integers(0, 9, 20), rng.integers(0, 3, 20), rng.integers(0, 3, 20))

    def at(emissions=case.scores, trans=case.trans, deep=node_weights[3:], fires=fires_here.weights):
        weights = np.concatenate([node_weights[:3], deep])  # single labels have no weight
        weights, fires = Weights(np.where(forbidden, NEVER, trans), trie, weights), fires_here._replace(weights=fires)
        return pattern_posterior(case.potentials()._replace(scores=emissions, weights=weights, fired=fires))

    def loss(**moved):
        found = at(**moved)
        return float((of_nodes * np.sin(3 * found.nodes)).sum() + (of_arcs * found.pairs(arcs) ** 2).sum())

    found = at()
    gradient = found.backprop(3 * of_nodes * np.cos(3 * found.nodes), arcs, 2 * of_arcs * found.pairs(arcs))
    parts = [("emissions", case.scores, gradient.scores), ("trans", case.trans, gradient.trans)]
    parts += [("deep", node_weights[3:], gradient.node_weights[3:])]
    parts += [("fires", fires_here.weights, gradient.fired_weights)]
    for name, array, mine in parts:
        numeric = oracle.central_differences(lambda moved, name=name: loss(**{name: moved}), array)
        assert oracle.relative_error(mine, numeric) < 1e-6, name
    assert (gradient.trans[forbidden] == 0).all() and (gradient.scores[~allowed] == 0).all()
    assert gradient.node_weights[:3].tolist() == [0, 0, 0]


@given(case=cases(), seed=st.integers(0, 99))
def test_without_patterns_it_is_that_of_the_chain(case, seed):
    case = fit(case.without_patterns())
    rng, (d_nodes, arcs, d_arcs) = np.random.default_rng(seed), random_costs(case, seed)
    expected = forward_backward(case.scores, case.trans, case.lengths, allowed=case.allowed)
    found = marginals(case)
    continues = rng.random(case.trans.shape) < 0.4
    *segments, _ = random_segments(case, rng, continues)
    assert_close([found.log_z, found.nodes, found.pairs(arcs)], [expected.log_z, expected.nodes, expected.pairs(arcs)])
    assert_close([found.segments(*segments, continues)], [expected.segments(*segments, continues)])
    for costs in ([d_nodes], [d_nodes, arcs, d_arcs]):
        got = found.backprop(*costs)
        assert_close(got[:2], expected.backprop(*costs)[:2], 1e-11)
        assert got.node_weights.tolist() == [0] * case.n_labels and got.fired_weights.tolist() == []


@given(case=cases(), seed=st.integers(0, 99))
def test_arcs_at_first_tokens_have_no_cost(case, seed):
    case = fit(case)
    d_nodes, arcs, d_arcs = random_costs(case, seed)
    changed = np.where(np.isin(arcs.tokens, case.starts), d_arcs + 100, d_arcs)
    found = marginals(case)
    assert_close(found.backprop(d_nodes, arcs, changed)[:5], found.backprop(d_nodes, arcs, d_arcs)[:5])


@given(case=cases(max_sequences=6), cells=st.sampled_from([1, 40, 200]))
def test_groups_change_nothing(case, cells):
    case = fit(case)
    costs = random_costs(case, 0)
    whole = marginals(case).backprop(*costs)
    parts = marginals(case, TUNING._replace(sum_cells=cells, arc_cells=cells)).backprop(*costs)
    assert_close(parts[:5], whole[:5], 1e-10)


def test_one_token_segments_are_marginals_and_two_token_segments_are_arcs():
    rng = np.random.default_rng(0)
    case = Case(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), np.array([2, 3]), (((0, 1), 1.0), ((0, 1, 1), 2.0)))
    found = marginals(case)
    tokens, ones, labels = np.repeat(np.arange(5), 3), np.ones(15, int), np.tile(np.arange(3), 5)
    assert found.segments(tokens, ones, labels).reshape(5, 3) == pytest.approx(found.nodes)
    pairs = np.indices((3, 3)).reshape(2, -1)
    two = found.segments(np.full(9, 2), np.full(9, 2), pairs.T.reshape(-1))
    assert two == pytest.approx(found.pairs(LabelPairs(np.full(9, 3), *pairs)))


def test_segment_that_may_go_on_worked_out_by_hand():
    """Two tokens, e^weight = 3 for 0,0: of 00, 01, 10, 11 with 3, 1, 1, 1 only 01 has 0 alone if 0,0 goes on."""
    found = marginals(Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2]), (((0, 0), np.log(3)),)))
    continues = np.array([[True, False], [False, False]])
    first, sizes, labels = np.array([0, 0, 1]), np.array([1, 2, 1]), np.array([0, 0, 0, 0])
    assert found.segments(first, sizes, labels, continues) * 6 == pytest.approx([1, 3, 4])
    assert found.segments(first, sizes, labels) * 6 == pytest.approx([4, 3, 4])


def test_large_costs_and_weights_lose_no_digits():
    """Costs of a million, emissions of hundreds: the square of the step still vanishes."""
    rng = np.random.default_rng(1)
    case = Case(300 * rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([6]), (((0, 1), 50.0),))
    d_nodes, arcs, d_arcs = random_costs(case, 1)
    small = marginals(case).backprop(d_nodes, arcs, d_arcs)
    large = marginals(case).backprop(1e6 * d_nodes, arcs, 1e6 * d_arcs)
    for one, other in zip(small[:5], large[:5], strict=True):
        assert other == pytest.approx(1e6 * one, rel=1e-9, abs=1e-8)
    assert_close(small[:5], enumerated_gradient(case, d_nodes, arcs, d_arcs)[:5])


@pytest.mark.parametrize("score", [-300.0, -330.0])
def test_low_share_that_is_the_only_way_on(score):
    """Label 1 has nearly all of it at the second token, and leads nowhere."""
    case = with_pattern(only_way_on(score))
    found, costs = marginals(case), random_costs(case, 0)
    assert_close([found.nodes], [oracle.joint_table(case).marginals])
    assert_close(found.backprop(*costs)[:5], enumerated_gradient(case, *costs)[:5])


def test_label_that_cannot_be_reached_and_has_high_scores():
    scores, allowed = np.tile([0.0, 2], (800, 1)), np.ones((800, 2), bool)
    allowed[0, 1] = False
    trans = np.array([[0.0, NEVER], [0, 0]])
    found = marginals(Case(scores, trans, np.array([800]), (((0, 0, 0), 0.5),), allowed=allowed))
    assert found.nodes == pytest.approx(np.tile([1.0, 0], (800, 1)))


@pytest.mark.parametrize("lengths", [[], [2]])
def test_nothing_is_asked_for(lengths):
    nothing, n_tokens = np.zeros(0, int), sum(lengths)
    case = Case(np.zeros((n_tokens, 2)), np.zeros((2, 2)), np.array(lengths, int), (((0, 1), 1.0),))
    found, none = marginals(case), LabelPairs(nothing, nothing, nothing)
    assert found.pairs(none).tolist() == found.segments(nothing, nothing, nothing).tolist() == []
    assert found.segments(nothing, nothing, nothing, np.eye(2, dtype=bool)).tolist() == []
    costs = np.ones((n_tokens, 2))
    assert_close(found.backprop(costs, none, np.zeros(0))[:5], found.backprop(costs)[:5], 0)
    assert_close(found.backprop(costs)[:4], [np.zeros(case.scores.shape), np.zeros((2, 2)), np.zeros(3), np.zeros(0)])


def test_arguments_are_not_changed():
    rng = np.random.default_rng(0)
    patterns, fired = (((0, 1), 1.0),), ((2, (1, 1), 2.0),)
    case = Case(rng.normal(size=(4, 2)), rng.normal(size=(2, 2)), np.array([3, 1]), patterns, fired)
    potentials, costs = case.potentials(), random_costs(case, 0)
    weights = potentials.weights
    arrays = [case.scores, weights.trans, weights.node_weights, *potentials.fired, costs[0], *costs[1], costs[2]]
    before = [array.copy() for array in arrays]
    found = pattern_posterior(potentials)
    once = found.backprop(*costs)
    assert_close(found.backprop(*costs)[:5], once[:5], 0)
    assert all(np.array_equal(*pair) for pair in zip(arrays, before, strict=True))


@pytest.mark.parametrize("first, size", [(0, 0), (1, 2), (4, 2), (5, 1), (-1, 1)])
def test_segments_lie_within_one_sequence(first, size):
    found = marginals(Case(np.zeros((5, 3)), np.zeros((3, 3)), np.array([2, 3]), (((0, 1), 1.0),)))
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        found.segments(np.array([first]), np.array([size]), np.zeros(size, int))


def test_errors():
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([1, 2]), (((0, 1), 1.0),))
    with pytest.raises(ValueError, match=r"\[HS024\] Wrong shape of d_nodes: got \(3, 1\), expected \(3, 2\)"):
        marginals(case).backprop(np.zeros((3, 1)))
    with pytest.raises(ValueError, match=r"\[HS020\]"):
        marginals(replace(case, scores=np.full((3, 2), np.nan)))


@pytest.mark.parametrize("case", [
    Case(np.zeros((3, 2)), np.array([[0.0, 400.0], [0, 0]]), np.array([1, 2]), (((0, 1), 1.0),)),
    Case(np.eye(4, 2), np.eye(2), np.array([4]), (((0, 1), -50.0),)),
    with_pattern(only_way_on(-600.0)),
])  # fmt: skip
def test_where_inclusive_messages_would_lose_digits(case):
    """They are summed as longest matches, and so is the way back."""
    found, costs = marginals(case), random_costs(case, 0)
    assert_close([found.nodes], [np.concatenate([oracle.joint_table(s).marginals for s in case.singles()])])
    assert_close(found.backprop(*costs)[:5], enumerated_gradient(case, *costs)[:5])
