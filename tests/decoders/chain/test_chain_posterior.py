"""Marginals of a chain and backpropagation through them, against enumeration and finite differences."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain.chain_posterior import ChainPosterior, chain_posterior
from spacy_hoseq.decoders.problem.posterior import LabelPairs
from spacy_hoseq.decoders.problem.potentials import Potentials, Weights

from ... import oracle
from ...cases import Case
from ...strategies import cases
from ..answers.posteriors import (
    assert_close,
    enumerated_arcs,
    enumerated_gradient,
    every_arc,
    has_path,
    random_arcs,
    random_segments,
)
from .test_forward_backward import only_way_on


def posterior(scores, trans, lengths, allowed=None):
    """In scaled probabilities, which do not fail here."""
    found = chain_posterior(Potentials(scores, Weights(trans), lengths, allowed=allowed))
    assert isinstance(found, ChainPosterior)
    return found


def chain(case):
    return posterior(case.scores, case.trans, case.lengths, case.allowed)


def all_arcs(case):
    return every_arc(len(case.scores), case.n_labels)


def fit(case):
    case = case.doubles().without_patterns()
    assume(has_path(case))
    return case


def directions(case, seed):
    rng = np.random.default_rng(seed)
    n_tokens, n_labels = case.scores.shape
    return rng.normal(size=(n_tokens, n_labels)), rng.normal(size=(n_tokens, n_labels, n_labels))


@given(case=cases())
def test_marginals_are_the_enumerated_ones(case):
    case = fit(case)
    found = chain(case)
    tables = [oracle.joint_table(single) for single in case.singles()]
    assert found.log_z == pytest.approx([table.log_z for table in tables])
    assert found.nodes == pytest.approx(np.concatenate([table.marginals for table in tables]), abs=1e-12)
    every = enumerated_arcs(case)
    assert found.pairs(all_arcs(case)) == pytest.approx(every.reshape(-1), abs=1e-12)
    assert every.sum() == pytest.approx(len(case.scores) - len(case.lengths))


@given(case=cases(), seed=st.integers(0, 99))
def test_some_arcs_are_those_of_all(case, seed):
    """In any order, also twice; 0 at first tokens."""
    case = fit(case)
    arcs, every = random_arcs(case, np.random.default_rng(seed)), enumerated_arcs(case)
    found = chain(case).pairs(arcs)
    assert found == pytest.approx(every[arcs], abs=1e-12)
    assert not found[np.isin(arcs.tokens, case.starts)].any()


@pytest.mark.parametrize("kind", ["nodes", "all", "some"])
@given(case=cases(), seed=st.integers(0, 99))
def test_gradient_is_the_covariance(kind, case, seed):
    """d loss / d theta = Cov(f, c), both expectations over all labellings."""
    case = fit(case)
    d_nodes, d_arcs = directions(case, seed)
    given_arcs = [all_arcs(case), d_arcs.reshape(-1)]
    if kind == "some":
        arcs = random_arcs(case, np.random.default_rng(seed))
        given_arcs = [arcs, np.random.default_rng(seed).normal(size=len(arcs.tokens))]
    given_arcs = [] if kind == "nodes" else given_arcs
    found = chain(case).backprop(d_nodes, *given_arcs)
    assert_close(found[:2], enumerated_gradient(case, d_nodes, *given_arcs)[:2], 1e-10)


@given(case=cases(), seed=st.integers(0, 99))
def test_arcs_at_first_tokens_have_no_cost(case, seed):
    case = fit(case)
    d_nodes, d_arcs = directions(case, seed)
    changed = d_arcs.copy()
    changed[case.starts] += 100.0
    before, after = (chain(case).backprop(d_nodes, all_arcs(case), d.reshape(-1)) for d in (d_arcs, changed))
    assert_close(after[:5], before[:5], 0)


def test_all_arcs_are_at_first_tokens():
    found, rng = posterior(np.eye(3, 2), np.eye(2), np.array([2, 1])), np.random.default_rng(0)
    d_nodes, firsts = rng.normal(size=(3, 2)), LabelPairs(*np.array([[0, 2, 2], [0, 1, 0], [1, 0, 0]]))
    assert_close(found.backprop(d_nodes, firsts, np.full(3, 7.0))[:5], found.backprop(d_nodes)[:5], 0)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_gradient_is_that_of_finite_differences(seed, closed, masked):
    """Of a smooth function of nodes and arcs. closed: some transitions are forbidden."""
    rng = np.random.default_rng(seed)
    lengths, n_labels = np.array([4, 1, 7, 2]), 3
    scores, trans = rng.normal(0, 2, (14, n_labels)), rng.normal(0, 2, (n_labels, n_labels))
    forbidden = np.zeros(trans.shape, bool)
    if closed:
        forbidden[0, 2] = forbidden[1, 1] = True
    allowed = np.ones(scores.shape, bool)
    if masked:
        allowed[[1, 4, 6, 13], [1, 2, 0, 2]] = False
    d_nodes, d_arcs = rng.normal(size=(14, n_labels)), rng.normal(size=14 * n_labels**2)
    arcs = every_arc(14, n_labels)

    def marginals(scores, trans):
        return posterior(scores, np.where(forbidden, -np.inf, trans), lengths, allowed)

    def loss(scores, trans):
        found = marginals(scores, trans)
        return float((d_nodes * np.sin(3 * found.nodes)).sum() + (d_arcs * found.pairs(arcs) ** 2).sum())

    found = marginals(scores, trans)
    gradient = found.backprop(3 * d_nodes * np.cos(3 * found.nodes), arcs, 2 * d_arcs * found.pairs(arcs))
    by_scores = oracle.central_differences(lambda moved: loss(moved, trans), scores)
    by_trans = oracle.central_differences(lambda moved: loss(scores, moved), trans)
    assert oracle.relative_error(gradient.scores, by_scores) < 1e-6
    assert oracle.relative_error(gradient.trans, by_trans) < 1e-6
    assert (gradient.trans[forbidden] == 0).all() and (gradient.scores[~allowed] == 0).all()


@given(case=cases(max_sequences=6), data=st.data())
def test_batch_is_the_singles_in_any_order(case, data):
    case = fit(case)
    order = data.draw(st.permutations(range(len(case.lengths))))
    d_nodes, d_arcs = directions(case, 1)
    tokens = np.concatenate([np.arange(case.starts[i], case.starts[i] + case.lengths[i]) for i in order])
    whole = chain(case.take(order)).backprop(d_nodes[tokens], all_arcs(case), d_arcs[tokens].reshape(-1))
    trans, done = np.zeros(case.trans.shape), 0
    for i in order:
        own, single = slice(case.starts[i], case.starts[i] + case.lengths[i]), case.take([i])
        part = chain(single).backprop(d_nodes[own], all_arcs(single), d_arcs[own].reshape(-1))
        assert whole.scores[done : done + case.lengths[i]] == pytest.approx(part.scores, abs=1e-12)
        trans, done = trans + part.trans, done + case.lengths[i]
    assert whole.trans == pytest.approx(trans, abs=1e-11)


@given(case=cases(), value=st.sampled_from([-3.0, 1.0, 50.0]))
def test_the_same_cost_for_all_labels_has_no_gradient(case, value):
    """Marginals sum to 1 whatever the parameters are."""
    case = fit(case)
    n_tokens, n_labels = case.scores.shape
    arcs = all_arcs(case)
    found = chain(case).backprop(np.full((n_tokens, n_labels), value), arcs, np.full(len(arcs.tokens), value))
    assert found.scores == pytest.approx(0, abs=1e-10) and found.trans == pytest.approx(0, abs=1e-10)


@given(case=cases(max_sequences=3), seed=st.integers(0, 99), restricted=st.booleans())
def test_segments_are_the_enumerated_ones(case, seed, restricted):
    """All labellings that have the labels there, and no pair across which the segment goes on, are added up."""
    case = fit(case)
    rng = np.random.default_rng(seed)
    continues = rng.random(case.trans.shape) < 0.4 if restricted else None
    *segments, expected = random_segments(case, rng, continues)
    assert chain(case).segments(*segments, continues) == pytest.approx(expected, abs=1e-12)


def test_one_token_segments_are_marginals_and_two_token_segments_are_arcs():
    rng = np.random.default_rng(0)
    found = posterior(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), np.array([2, 3]))
    tokens, ones, labels = np.repeat(np.arange(5), 3), np.ones(15, int), np.tile(np.arange(3), 5)
    assert found.segments(tokens, ones, labels).reshape(5, 3) == pytest.approx(found.nodes)
    pairs = found.segments(np.full(9, 2), np.full(9, 2), np.array(list(np.ndindex(3, 3))).reshape(-1))
    assert pairs == pytest.approx(found.pairs(LabelPairs(np.full(9, 3), *np.indices((3, 3)).reshape(2, -1))))
    assert found.segments(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("first, size", [(0, 0), (1, 2), (4, 2), (5, 1), (-1, 1)])
def test_segments_lie_within_one_sequence(first, size):
    found = posterior(np.zeros((5, 3)), np.zeros((3, 3)), np.array([2, 3]))
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        found.segments(np.array([first]), np.array([size]), np.zeros(size, int))


def test_forbidden_transitions_have_no_probability_and_no_gradient():
    scores, trans = np.zeros((3, 2)), np.array([[0.0, -np.inf], [1.0, 0.5]])
    found = posterior(scores, trans, np.array([3]))
    assert not found.pairs(LabelPairs(*np.array([[0, 1, 2], [0, 0, 0], [1, 1, 1]]))).any()
    assert found.backprop(np.eye(3, 2)).trans[0, 1] == 0
    assert np.isfinite(found.backprop(np.eye(3, 2)).scores).all()


@pytest.mark.parametrize("score", [-300.0, -330.0])
def test_low_share_that_is_the_only_way_on(score):
    """Label 1 has nearly all of it at the second token, and leads nowhere."""
    case = only_way_on(score)
    found, (d_nodes, d_arcs) = chain(case), directions(case, 0)
    assert found.nodes == pytest.approx(oracle.joint_table(case).marginals, abs=1e-12)
    assert found.pairs(all_arcs(case)) == pytest.approx(enumerated_arcs(case).reshape(-1), abs=1e-12)
    costs = all_arcs(case), d_arcs.reshape(-1)
    assert_close(found.backprop(d_nodes, *costs)[:2], enumerated_gradient(case, d_nodes, *costs)[:2], 1e-10)


def test_label_that_cannot_be_reached_and_has_high_scores():
    scores, allowed = np.tile([0.0, 1], (800, 1)), np.ones((800, 2), bool)
    allowed[0, 1] = False
    found = posterior(scores, np.array([[0.0, -np.inf], [0, 0]]), np.array([800]), allowed)
    assert found.nodes == pytest.approx(np.tile([1.0, 0], (800, 1)))
    assert_close(found.backprop(np.ones((800, 2)))[:2], (np.zeros((800, 2)), np.zeros((2, 2))))


def test_no_tokens_and_no_arcs():
    nothing = np.zeros(0, int)
    found, none = posterior(np.zeros((0, 2)), np.zeros((2, 2)), nothing), LabelPairs(nothing, nothing, nothing)
    gradient = found.backprop(np.zeros((0, 2)), none, np.zeros(0))
    assert found.nodes.shape == (0, 2) and found.pairs(none).tolist() == []
    assert gradient.trans.tolist() == [[0, 0], [0, 0]]
    some = posterior(np.eye(2), np.eye(2), np.array([2]))
    assert_close(some.backprop(np.eye(2), none, np.zeros(0))[:5], some.backprop(np.eye(2))[:5], 0)


def test_errors():
    with pytest.raises(ValueError, match=r"\[HS024\] Wrong shape of d_nodes: got \(2, 3\), expected \(2, 2\)"):
        posterior(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2])).backprop(np.zeros((2, 3)))


@pytest.mark.parametrize("case", [
    Case(np.zeros((2, 2)), np.array([[0.0, 400.0], [1, 2]]), np.array([2])),
    only_way_on(-600.0),
    Case(np.zeros((3, 2)), np.full((2, 2), -np.inf), np.array([1, 2])),
])  # fmt: skip
def test_no_result_where_digits_are_lost_or_there_is_no_path(case):
    assert chain_posterior(case.potentials()) is None


def test_arguments_are_not_changed():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((4, 2), (2, 2), (4, 2), 16)]
    before = [array.copy() for array in arrays]
    found = posterior(arrays[0], arrays[1], np.array([3, 1]))
    once = found.backprop(arrays[2], every_arc(4, 2), arrays[3])
    assert_close(
        found.backprop(arrays[2], every_arc(4, 2), arrays[3])[:5], once[:5], 0
    )  # nor what is kept for the way back
    assert all(np.array_equal(*pair) for pair in zip(arrays, before, strict=True))


def algorithm_2(scores, trans, d_nodes, d_arcs, *, printed):
    """Azuma & Matsumoto (2011), Algorithm 2, for one sequence: node -1 is the source, node (t, y) follows (t - 1, a).

    printed (bool): line by line; else with three changes: alpha' and beta' begin with 0 (lines 1 and 7), the arc's own
    h' in line 14, and E[H'] E[F] taken off the result.
    """
    n_tokens, n_labels = scores.shape
    nodes = [(t, y) for t in range(n_tokens) for y in range(n_labels)]
    before = {(t, y): [(t - 1, a) for a in range(n_labels)] if t else [-1] for t, y in nodes}
    arcs = [(u, v) for v in nodes for u in before[v]]
    phi = {(u, v): np.exp(scores[v] + (trans[u[1], v[1]] if u != -1 else 0)) for u, v in arcs}
    h = {(u, v): d_nodes[v] + (d_arcs[v[0], u[1], v[1]] if u != -1 else 0) for u, v in arcs}
    start = 1.0 if printed else 0.0
    alpha, alpha_h, beta, beta_h = {-1: 1.0}, {-1: start}, {}, {}
    for v in nodes:
        alpha[v] = sum(phi[x, v] * alpha[x] for x in before[v])
        alpha_h[v] = sum(phi[x, v] * (h[x, v] * alpha[x] + alpha_h[x]) for x in before[v])
    for y in range(n_labels):
        beta[n_tokens - 1, y], beta_h[n_tokens - 1, y] = 1.0, start
    for u in [node for node in nodes[::-1] if node[0] < n_tokens - 1]:
        after = [(u[0] + 1, b) for b in range(n_labels)]
        beta[u] = sum(phi[u, x] * beta[x] for x in after)
        beta_h[u] = sum(phi[u, x] * (h[u, x] * beta[x] + beta_h[x]) for x in after)
    z = sum(alpha[n_tokens - 1, y] for y in range(n_labels))
    q_scores, q_trans = np.zeros(scores.shape), np.zeros(trans.shape)
    expected_h = sum(phi[u, v] * alpha[u] * beta[v] * h[u, v] for u, v in arcs) / z
    for u, v in arcs:
        p = phi[u, v] * (alpha[u] * beta_h[v] + alpha_h[u] * beta[v]) / z
        if not printed:
            p += phi[u, v] * alpha[u] * beta[v] * (h[u, v] - expected_h) / z
        q_scores[v] += p
        if u != -1:
            q_trans[u[1], v[1]] += p
    return q_scores, q_trans


@pytest.mark.parametrize("n_tokens", [1, 2, 5])
def test_algorithm_2_of_the_paper_needs_three_changes(n_tokens):
    rng = np.random.default_rng(n_tokens)
    scores, trans, d_nodes = rng.normal(size=(n_tokens, 3)), rng.normal(size=(3, 3)), rng.normal(size=(n_tokens, 3))
    d_arcs = rng.normal(size=(n_tokens, 3, 3))
    marginals = posterior(scores, trans, np.array([n_tokens]))
    found = marginals.backprop(d_nodes, every_arc(n_tokens, 3), d_arcs.reshape(-1))
    changed, printed = (algorithm_2(scores, trans, d_nodes, d_arcs, printed=p) for p in (False, True))
    assert found.scores == pytest.approx(changed[0]) and found.trans == pytest.approx(changed[1])
    assert np.abs(found.scores - printed[0]).max() > 0.5
