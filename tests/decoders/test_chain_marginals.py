"""Marginals of a chain and backpropagation through them, against enumeration and finite differences."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain_marginals import ChainMarginals
from spacy_hoseq.decoders.forward_backward import forward_backward

from .. import oracle
from ..strategies import cases


def chain(case):
    return ChainMarginals(case.scores, case.trans, case.lengths, allowed=case.allowed)


def enumerated(case):
    """log Z of each sequence, node marginals (N, L) and arc marginals (N, L, L), from all labellings."""
    n_labels = case.scores.shape[1]
    nodes, arcs, log_z = np.zeros(case.scores.shape), np.zeros((len(case.scores), n_labels, n_labels)), []
    for start, single in zip(case.starts, case.singles(), strict=True):
        labellings = oracle.all_labellings(len(single.scores), n_labels)
        scores = oracle.score_of(single, labellings)
        p = np.exp(scores - scores.max())
        log_z.append(np.log(p.sum()) + scores.max())
        for labels, share in zip(labellings, p / p.sum(), strict=True):
            for t, y in enumerate(labels):
                nodes[start + t, y] += share
                if t:
                    arcs[start + t, labels[t - 1], y] += share
    return np.array(log_z), nodes, arcs


def fit(case):
    case = case.doubles().without_patterns()
    assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
    return case


def directions(case, seed):
    rng = np.random.default_rng(seed)
    n_tokens, n_labels = case.scores.shape
    return rng.normal(size=(n_tokens, n_labels)), rng.normal(size=(n_tokens, n_labels, n_labels))


@given(case=cases())
def test_marginals_are_the_enumerated_ones(case):
    case = fit(case)
    found, (log_z, nodes, arcs) = chain(case), enumerated(case)
    assert found.log_z == pytest.approx(log_z)
    assert found.nodes == pytest.approx(nodes, abs=1e-12)
    assert found.arcs == pytest.approx(arcs, abs=1e-12)


@given(case=cases(), seed=st.integers(0, 99), with_arcs=st.booleans())
def test_gradient_is_the_covariance(case, seed, with_arcs):
    """d loss / d theta = Cov(f, c), both expectations over all labellings."""
    case = fit(case)
    d_nodes, d_arcs = directions(case, seed)
    d_arcs = d_arcs if with_arcs else None
    found = chain(case).backprop(d_nodes, d_arcs)
    n_labels = case.scores.shape[1]
    d_scores, d_trans = np.zeros(case.scores.shape), np.zeros((n_labels, n_labels))
    for start, single in zip(case.starts, case.singles(), strict=True):
        labellings = oracle.all_labellings(len(single.scores), n_labels)
        scores = oracle.score_of(single, labellings)
        p = np.exp(scores - scores.max())
        p /= p.sum()
        cost = np.zeros(len(p))
        for t, here in enumerate(labellings.T):
            cost += d_nodes[start + t, here]
            if t and d_arcs is not None:
                cost += d_arcs[start + t, labellings[:, t - 1], here]
        for share, labels, c in zip(p, labellings, cost - p @ cost, strict=True):
            for t, y in enumerate(labels):
                d_scores[start + t, y] += share * c
                if t:
                    d_trans[labels[t - 1], y] += share * c
    assert found.scores == pytest.approx(d_scores, abs=1e-10)
    assert found.trans == pytest.approx(d_trans, abs=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_gradient_is_that_of_finite_differences(seed):
    rng = np.random.default_rng(seed)
    lengths, n_labels = np.array([4, 1, 7, 2]), 3
    scores, trans = rng.normal(0, 2, (14, n_labels)), rng.normal(0, 2, (n_labels, n_labels))
    d_nodes, d_arcs = rng.normal(size=(14, n_labels)), rng.normal(size=(14, n_labels, n_labels))

    def loss(scores, trans):
        found = ChainMarginals(scores, trans, lengths)
        return float((d_nodes * found.nodes).sum() + (d_arcs * found.arcs).sum())

    gradient = ChainMarginals(scores, trans, lengths).backprop(d_nodes, d_arcs)
    for array, found in ((scores, gradient.scores), (trans, gradient.trans)):
        for i in np.ndindex(array.shape):
            change = np.zeros(array.shape)
            change[i] = 1e-5
            up = loss(scores + change, trans) if array is scores else loss(scores, trans + change)
            down = loss(scores - change, trans) if array is scores else loss(scores, trans - change)
            assert found[i] == pytest.approx((up - down) / 2e-5, rel=1e-6, abs=1e-8)


@given(case=cases(max_sequences=6), data=st.data())
def test_batch_is_the_singles_in_any_order(case, data):
    case = fit(case)
    order = data.draw(st.permutations(range(len(case.lengths))))
    d_nodes, d_arcs = directions(case, 1)
    tokens = np.concatenate([np.arange(case.starts[i], case.starts[i] + case.lengths[i]) for i in order])
    whole = chain(case.take(order)).backprop(d_nodes[tokens], d_arcs[tokens])
    trans, done = np.zeros(case.trans.shape), 0
    for i in order:
        own = slice(case.starts[i], case.starts[i] + case.lengths[i])
        part = chain(case.take([i])).backprop(d_nodes[own], d_arcs[own])
        assert whole.scores[done : done + case.lengths[i]] == pytest.approx(part.scores, abs=1e-12)
        trans, done = trans + part.trans, done + case.lengths[i]
    assert whole.trans == pytest.approx(trans, abs=1e-11)


@given(case=cases(), value=st.sampled_from([-3.0, 1.0, 50.0]))
def test_the_same_cost_for_all_labels_has_no_gradient(case, value):
    """Marginals sum to 1 whatever the parameters are."""
    case = fit(case)
    n_tokens, n_labels = case.scores.shape
    found = chain(case).backprop(np.full((n_tokens, n_labels), value), np.full((n_tokens, n_labels, n_labels), value))
    assert found.scores == pytest.approx(0, abs=1e-10) and found.trans == pytest.approx(0, abs=1e-10)


def test_long_sequence_agrees_with_forward_backward():
    rng = np.random.default_rng(0)
    scores, trans, lengths = rng.normal(0, 4, (3000, 5)), rng.normal(0, 3, (5, 5)), np.array([2500, 1, 499])
    found, expected = ChainMarginals(scores, trans, lengths), forward_backward(scores, trans, lengths)
    assert found.log_z == pytest.approx(expected.log_z) and found.nodes == pytest.approx(expected.marginals, abs=1e-12)
    assert found.arcs.sum(axis=0) == pytest.approx(expected.transitions)


@given(case=cases(max_sequences=3), seed=st.integers(0, 99), restricted=st.booleans())
def test_segments_are_the_enumerated_ones(case, seed, restricted):
    """All labellings that have the labels there, and no pair across which the segment goes on, are added up."""
    case = fit(case)
    rng, n_labels = np.random.default_rng(seed), case.scores.shape[1]
    goes_on = rng.random((n_labels, n_labels)) < 0.4 if restricted else None
    first, sizes, labels, expected = [], [], [], []
    for start, single in zip(case.starts, case.singles(), strict=True):
        labellings = oracle.all_labellings(len(single.scores), n_labels)
        scores = oracle.score_of(single, labellings)
        p = np.exp(scores - scores.max())
        for _ in range(3):
            i = int(rng.integers(len(single.scores)))
            j = int(rng.integers(i, len(single.scores))) + 1
            string = rng.integers(0, n_labels, size=j - i)
            found = (labellings[:, i:j] == string).all(axis=1)
            if goes_on is not None and j < len(single.scores):
                found &= ~goes_on[labellings[:, j - 1], labellings[:, j]]
            expected.append(p[found].sum() / p.sum())
            first, sizes, labels = [*first, start + i], [*sizes, j - i], [*labels, *string]
    arrays = [np.array(values, np.int64) for values in (first, sizes, labels)]
    assert chain(case).segments(*arrays, goes_on) == pytest.approx(np.array(expected), abs=1e-12)


def test_one_token_segments_are_marginals_and_two_token_segments_are_arcs():
    rng = np.random.default_rng(0)
    found = ChainMarginals(rng.normal(size=(5, 3)), rng.normal(size=(3, 3)), np.array([2, 3]))
    tokens, ones, labels = np.repeat(np.arange(5), 3), np.ones(15, int), np.tile(np.arange(3), 5)
    assert found.segments(tokens, ones, labels).reshape(5, 3) == pytest.approx(found.nodes)
    pairs = found.segments(np.full(9, 2), np.full(9, 2), np.array(list(np.ndindex(3, 3))).reshape(-1))
    assert pairs.reshape(3, 3) == pytest.approx(found.arcs[3])
    assert found.segments(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int)).tolist() == []


@pytest.mark.parametrize("first, size", [(0, 0), (1, 2), (4, 2), (5, 1), (-1, 1)])
def test_segments_lie_within_one_sequence(first, size):
    found = ChainMarginals(np.zeros((5, 3)), np.zeros((3, 3)), np.array([2, 3]))
    with pytest.raises(ValueError, match=r"\[HS098\]"):
        found.segments(np.array([first]), np.array([size]), np.zeros(size, int))


def test_forbidden_transitions_have_no_probability_and_no_gradient():
    scores, trans = np.zeros((3, 2)), np.array([[0.0, -np.inf], [1.0, 0.5]])
    found = ChainMarginals(scores, trans, np.array([3]))
    assert (found.arcs[:, 0, 1] == 0).all() and found.backprop(np.eye(3, 2)).trans[0, 1] == 0
    assert np.isfinite(found.backprop(np.eye(3, 2)).scores).all()


def test_no_tokens():
    found = ChainMarginals(np.zeros((0, 2)), np.zeros((2, 2)), np.zeros(0, int))
    gradient = found.backprop(np.zeros((0, 2)), np.zeros((0, 2, 2)))
    assert found.nodes.shape == (0, 2) and found.arcs.shape == (0, 2, 2) and gradient.trans.tolist() == [[0, 0], [0, 0]]


def test_errors():
    with pytest.raises(ValueError, match=r"\[HS097\].*less than 300.*differ by 400"):
        ChainMarginals(np.zeros((2, 2)), np.array([[0.0, 400.0], [1, 2]]), np.array([2]))
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 1"):
        ChainMarginals(np.zeros((3, 2)), np.full((2, 2), -np.inf), np.array([1, 2]))
    with pytest.raises(ValueError, match=r"\[HS020\]"):
        ChainMarginals(np.full((1, 2), np.nan), np.zeros((2, 2)), np.array([1]))


def test_arguments_are_not_changed():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((4, 2), (2, 2), (4, 2), (4, 2, 2))]
    before = [array.copy() for array in arrays]
    ChainMarginals(arrays[0], arrays[1], np.array([3, 1])).backprop(arrays[2], arrays[3])
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
    found = ChainMarginals(scores, trans, np.array([n_tokens])).backprop(d_nodes, d_arcs)
    changed, printed = (algorithm_2(scores, trans, d_nodes, d_arcs, printed=p) for p in (False, True))
    assert found.scores == pytest.approx(changed[0]) and found.trans == pytest.approx(changed[1])
    assert np.abs(found.scores - printed[0]).max() > 0.5
