"""Backpropagation through marginals with label patterns, against the covariance over all labellings."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders import pattern_gradient as module
from spacy_hoseq.decoders.chain_marginals import ChainMarginals
from spacy_hoseq.decoders.pattern_gradient import pattern_gradient
from spacy_hoseq.decoders.pattern_posterior import pattern_posterior
from spacy_hoseq.decoders.trie import no_patterns

from .. import oracle
from ..cases import Case
from ..strategies import cases
from .posteriors import sequence_of


def gradient(case, cost):
    return pattern_gradient(case.scores, case.trans, case.pattern_scores(), case.lengths, cost, allowed=case.allowed)


def fit(case):
    case = case.doubles()
    assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
    return case


def ends_with(labellings, t, string):
    start = t - len(string) + 1
    return (labellings[:, max(0, start) : t + 1] == string).all(axis=1) if start >= 0 else np.zeros(len(labellings))


@pytest.mark.parametrize("signed", [False, True])
@given(data=st.data(), seed=st.integers(0, 99))
def test_gradient_is_the_covariance(signed, data, seed):
    case = fit(data.draw(cases(signed=signed, strong=not signed, forbidden=False)))
    cost = np.random.default_rng(seed).normal(size=case.scores.shape)
    found, trie, n_labels = gradient(case, cost), case.pattern_scores().trie, case.n_labels
    scores, trans = np.zeros(case.scores.shape), np.zeros(case.trans.shape)
    nodes, fired = np.zeros(len(trie)), np.zeros(len(case.fired))
    for i, single in enumerate(case.singles()):
        labellings = oracle.all_labellings(len(single.scores), n_labels)
        total = oracle.score_of(single, labellings)
        p = np.exp(total - total.max())
        p /= p.sum()
        c = sum(cost[case.starts[i] + t, here] for t, here in enumerate(labellings.T))
        share = p * (c - p @ c)
        for t, here in enumerate(labellings.T):
            scores[case.starts[i] + t] = np.bincount(here, weights=share, minlength=n_labels)
            if t:
                np.add.at(trans, (labellings[:, t - 1], here), share)
            for node in range(n_labels, len(trie)):
                nodes[node] += share @ ends_with(labellings, t, trie.string(node))
            for j, (token, string, _) in enumerate(case.fired):
                if sequence_of(case, token) == i and token - case.starts[i] == t:
                    fired[j] = share @ ends_with(labellings, t, string)
    assert found.scores == pytest.approx(scores, abs=1e-9) and found.trans == pytest.approx(trans, abs=1e-9)
    assert found.nodes == pytest.approx(nodes, abs=1e-9) and found.fired == pytest.approx(fired, abs=1e-9)


def test_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    patterns = (((0, 1), 0.8), ((1, 2, 0), 1.5), ((2, 2), -0.7), ((0, 1, 1, 2), 2.0))
    fired = ((3, (1, 2), 1.1), (6, (0, 0, 1), -0.4))
    case = Case(rng.normal(size=(9, 3)), rng.normal(size=(3, 3)), np.array([5, 4]), patterns, fired)
    cost, scores = rng.normal(size=(9, 3)), case.pattern_scores()

    def loss(emissions=case.scores, trans=case.trans, weights=scores.weights, at=scores.fired.weights):
        moved = scores._replace(weights=weights, fired=scores.fired._replace(weights=at))
        return float((cost * pattern_posterior(emissions, trans, moved, case.lengths).marginals).sum())

    found = gradient(case, cost)
    parts = [("emissions", case.scores, found.scores), ("trans", case.trans, found.trans)]
    parts += [("weights", scores.weights, found.nodes), ("at", scores.fired.weights, found.fired)]
    for name, array, mine in parts:
        for i in np.ndindex(array.shape):
            if name == "weights" and i[0] < 3:
                continue  # single labels have no weight
            change = np.zeros(array.shape)
            change[i] = 1e-5
            numeric = (loss(**{name: array + change}) - loss(**{name: array - change})) / 2e-5
            assert mine[i] == pytest.approx(numeric, rel=1e-6, abs=1e-8)


@given(case=cases(forbidden=False), seed=st.integers(0, 99))
def test_without_patterns_it_is_that_of_the_chain(case, seed):
    case = fit(case.without_patterns())
    cost = np.random.default_rng(seed).normal(size=case.scores.shape)
    patterns = no_patterns(case.n_labels)
    found = pattern_gradient(case.scores, case.trans, patterns, case.lengths, cost, allowed=case.allowed)
    expected = ChainMarginals(case.scores, case.trans, case.lengths, allowed=case.allowed).backprop(cost)
    assert found.scores == pytest.approx(expected.scores, abs=1e-11)
    assert found.trans == pytest.approx(expected.trans, abs=1e-11)


@given(case=cases(max_sequences=6, forbidden=False), cells=st.sampled_from([1, 40, 200]))
def test_groups_change_nothing(case, cells):
    case = fit(case)
    cost = np.random.default_rng(0).normal(size=case.scores.shape)
    whole = gradient(case, cost)
    with mock.patch.object(module, "CELLS", cells):
        parts = gradient(case, cost)
    for one, other in zip(whole, parts, strict=True):
        assert one == pytest.approx(other, abs=1e-10)


def test_large_costs_and_weights_lose_no_digits():
    """Costs of a million, emissions of hundreds: the square of the step still vanishes."""
    rng = np.random.default_rng(1)
    case = Case(300 * rng.normal(size=(6, 3)), rng.normal(size=(3, 3)), np.array([6]), (((0, 1), 50.0),))
    cost = rng.normal(size=(6, 3))
    small, large = gradient(case, cost), gradient(case, 1e6 * cost)
    for one, other in zip(small, large, strict=True):
        assert other == pytest.approx(1e6 * one, rel=1e-9, abs=1e-8)


def test_errors():
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([1, 2]), (((0, 1), 1.0),))
    with pytest.raises(ValueError, match=r"\[HS024\] Wrong shape of d_marginals: got \(3, 1\), expected \(3, 2\)"):
        gradient(case, np.zeros((3, 1)))
    wide = Case(case.scores, np.array([[0.0, 400.0], [0, 0]]), case.lengths, case.patterns)
    with pytest.raises(ValueError, match=r"\[HS028\]"):
        gradient(wide, np.zeros((3, 2)))
