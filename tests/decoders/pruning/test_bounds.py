"""The tables that pruning rests on, against the formulas of the module, over all strings of labels and not a trie."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.chain import viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Potentials, Weights
from spacy_hoseq.decoders.pruning.bounds import Bounds
from spacy_hoseq.decoders.pruning.candidates import candidate_labels, fired_loss_of

from ...cases import Case
from ...oracle import joint_table
from ...strategies import cases, random_patterns


def random_features(seed):
    """Transitions, some forbidden, and patterns that nest: (trans, patterns with weights)."""
    rng = np.random.default_rng(seed)
    n_labels, longest = [(1, 4), (2, 5), (3, 4), (4, 3)][seed % 4]
    trans = rng.normal(size=(n_labels, n_labels))
    if seed % 3 == 0:
        trans[rng.random(trans.shape) < 0.3] = -np.inf
    patterns = random_patterns(rng, n_labels, int(rng.integers(0, 10)), longest)
    weights = rng.choice([0.0, 1.0, *rng.gamma(1.0, 1.0, 6)], len(patterns))
    return trans, tuple(zip(patterns, weights.tolist(), strict=True))


def plain_tables(trans, patterns):
    """E[a, k]: the most that patterns which end with a, k can weigh together. G[k, b]: the most of those that end with
    k, b; plus the most of those that hold k, b and end one token later; and so on."""
    longest = max((len(pattern) for pattern, _ in patterns), default=2)
    after, before = np.zeros(trans.shape), np.zeros(trans.shape)
    strings = list(itertools.product(range(len(trans)), repeat=longest))

    def most(first, second, later):
        """Of patterns that hold `first` and `second`, and `later` labels more. All end at one token."""
        found = [s for s in strings if s[longest - later - 2 : longest - later] == (first, second)]
        long = [(p, w) for p, w in patterns if len(p) >= later + 2]
        weights = [[w for p, w in long if s[longest - len(p) :] == p] for s in found]
        return max(sum(w) for w in weights)

    for a, b in np.ndindex(*trans.shape):
        after[a, b] = trans[a, b] + most(a, b, 0)
        before[a, b] = trans[a, b] + sum(most(a, b, later) for later in range(longest - 1))
    return after, before


def plain_everywhere(trans, after, before):
    """max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b])); what is forbidden for k does not
    count."""
    labels = range(len(trans))
    bounds = np.zeros(trans.shape)
    for j, k in np.ndindex(*trans.shape):
        left = [after[a, k] - trans[a, j] for a in labels if trans[a, k] > -np.inf]
        right = [before[k, b] - trans[j, b] for b in labels if trans[k, b] > -np.inf]
        bounds[j, k] = max(0.0, *left, 0.0) + max(0.0, *right, 0.0)
    return bounds


def table_of(bounds):
    return bounds.over(np.arange(len(bounds.rows.trans)))


def assert_just_above(got, exact):
    """Rounded upwards, in single precision: never below."""
    assert got.dtype == np.float32 and (got >= exact).all()
    assert_allclose(got, exact, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_bounds_are_their_formulas(seed):
    trans, patterns = random_features(seed)
    given_trans = trans.copy()
    case = Case(np.zeros((1, len(trans))), trans, np.array([1]), patterns)
    got = Bounds.of(case.weights())
    everywhere = table_of(got)
    after, before = plain_tables(trans, patterns)
    np.testing.assert_array_equal(got.rows.trans, given_trans)
    assert_allclose(got.rows.after, after, rtol=1e-12)
    assert_allclose(got.rows.before, before, rtol=1e-12)
    assert_just_above(everywhere, plain_everywhere(trans, after, before))
    assert trans.tolist() == given_trans.tolist()


@pytest.mark.parametrize("size", [1e-30, 1e3, 1e17, 1e30, 1e300])
def test_bounds_of_any_size_are_not_below_the_formula(size):
    """Beyond 1e18 in double precision: single precision ends at 3e38."""
    rng = np.random.default_rng(0)
    trans = np.round(rng.normal(size=(7, 7)), 2) * size
    got = table_of(Bounds.of(Weights(trans)))
    exact = plain_everywhere(trans, trans, trans)
    assert got.dtype == (np.float32 if size < 1e18 else np.float64)
    assert (got >= exact).all()
    assert_allclose(got, exact, atol=1e-4 * size)


def test_threads_may_fill_the_same_bounds():
    trans = np.random.default_rng(0).normal(size=(60, 60))
    whole = table_of(Bounds.of(Weights(trans)))
    for seed in range(5):
        bounds = Bounds.of(Weights(trans))
        asked = [np.random.default_rng([seed, i]).integers(0, 60, 8) for i in range(40)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(bounds.over, asked))
        for labels, rows in zip(asked, found, strict=True):
            assert rows.tolist() == whole[labels].tolist()


def changed(trans, rng, size):
    return trans + size * rng.normal(size=trans.shape) * (rng.random(trans.shape) < 0.3)


@pytest.mark.parametrize("size", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_that_follow_others_are_not_too_low(seed, size):
    """Against the formula; and they are the earlier ones as long as weights change little."""
    rng, n = np.random.default_rng(seed), 6
    weights = Weights(rng.normal(size=(n, n)))
    first = weights.prepared(Bounds.of)
    first.over(np.array([0, 3]))
    for _ in range(5):
        weights = Weights(changed(weights.trans, rng, size)).follow(weights)
        bounds, trans = weights.prepared(Bounds.of), weights.trans
        before = np.maximum((trans[:, None, :] - trans[:, :, None]).max(axis=0), 0)  # [j, k]
        after = np.maximum((trans[None, :, :] - trans[:, None, :]).max(axis=2), 0)
        rows = np.arange(n)
        assert (bounds.over(rows) >= before + after).all()
    if size != 0.1:
        assert (bounds.rows is first.rows) == (size == 0.01)
    if size == 10.0:
        assert bounds.over(rows) == pytest.approx(before + after, abs=0.01)


@pytest.mark.parametrize("n_tokens", [40, 400])
def test_decoding_with_weights_that_follow_others(n_tokens):
    rng, n = np.random.default_rng(1), 12
    weights, lengths = Weights(rng.normal(size=(n, n))), np.array([n_tokens // 2, n_tokens // 2])
    for step in range(8):
        if step:
            weights = Weights(changed(weights.trans, rng, 0.05)).follow(weights)
        scores = 2 * rng.normal(size=(n_tokens, n)).astype(np.float32)
        potentials = Potentials(scores, weights, lengths)
        expected = viterbi(scores, weights.trans, lengths).labels
        assert np.array_equal(decode_exact(potentials).labels, expected)


def test_forbidden_transitions_and_patterns_follow_nothing():
    trans = np.zeros((3, 3))
    trans[0, 1] = -np.inf
    earlier, free = Weights(trans), Weights(np.zeros((3, 3)))
    none = Weights(np.zeros((3, 3)))
    for first, second in ((earlier, Weights(trans)), (free, Weights(trans)), (earlier, none)):
        known = first.prepared(Bounds.of)
        assert second.follow(first).prepared(Bounds.of).rows is not known.rows


# Labels that stay candidates, against all labellings that have them


def loss_of(case):
    return fired_loss_of(case.potentials().fired, case.weights(), case.lengths)


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """Of all labellings with the best score."""
    bounds, loss = Bounds.of(case.weights()), loss_of(case)
    settings = {"allowed": case.allowed, "fired_loss": loss, "block_cells": block}
    found = candidate_labels(case.scores, bounds, **settings)
    assert found.scores.tolist() == case.scores[found.tokens, found.labels].tolist()
    mask = found.dense(case.n_labels)[1]
    assert mask.any(axis=1).all() and (case.allowed is None or (case.allowed >= mask).all())
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = joint_table(single)
        if table.best == -np.inf:
            continue
        best = table.labellings[table.scores >= table.best - 1e-9]
        for t, labels in enumerate(best.T):
            assert mask[start + t, labels].all()


@given(case=cases())
def test_fired_loss_is_the_weight_of_patterns_that_need_the_label(case):
    """Also of those that begin before their sequence: they never match, and more is lost at most."""
    got = loss_of(case)
    if not case.fired:
        assert got is None
        return
    expected = np.zeros(case.scores.shape)
    for token, pattern, weight in case.fired:
        for back, label in enumerate(reversed(pattern)):
            if token - back >= max(start for start in case.starts if start <= token):
                expected[token - back, label] += weight
    bounds = np.zeros(expected.shape)
    got.add(bounds, 0)
    assert (bounds >= expected).all()
    assert_allclose(bounds, expected, rtol=1e-5)
    assert got.cells.tolist() == np.flatnonzero(expected).tolist() or (got.weights == 0).any()
