"""The tables that pruning rests on, against the formulas of the module, over all strings of labels and not a trie."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from spacy_hoseq.decoders import bounds
from spacy_hoseq.decoders.bounds import candidate_labels, fired_loss_of, make_limits, refine

from ..cases import Case
from ..oracle import all_labellings, joint_table, score_of
from ..strategies import cases, random_patterns


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
        weights = [[w for p, w in patterns if len(p) >= later + 2 and s[longest - len(p) :] == p] for s in found]
        return max(sum(w) for w in weights)

    for a, b in np.ndindex(*trans.shape):
        after[a, b] = trans[a, b] + most(a, b, 0)
        before[a, b] = trans[a, b] + sum(most(a, b, later) for later in range(longest - 1))
    return after, before


def plain_everywhere(trans, after, before):
    """max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b])); what is forbidden for k does not
    count."""
    labels = range(len(trans))
    limits = np.zeros(trans.shape)
    for j, k in np.ndindex(*trans.shape):
        left = [after[a, k] - trans[a, j] for a in labels if trans[a, k] > -np.inf]
        right = [before[k, b] - trans[j, b] for b in labels if trans[k, b] > -np.inf]
        limits[j, k] = max(0.0, *left, 0.0) + max(0.0, *right, 0.0)
    return limits


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("cells", [0, 1, 20, 200_000])
def test_limits_are_their_formulas(seed, cells):
    trans, patterns = random_features(seed)
    given_trans = trans.copy()
    case = Case(np.zeros((1, len(trans))), trans, np.array([1]), patterns)
    with mock.patch.object(bounds, "CUBE_CELLS", cells):
        got = make_limits(trans, case.pattern_scores())
    after, before = plain_tables(trans, patterns)
    np.testing.assert_array_equal(got.trans, given_trans)
    np.testing.assert_allclose(got.after, after, rtol=1e-12)
    np.testing.assert_allclose(got.before, before, rtol=1e-12)
    np.testing.assert_allclose(got.everywhere, plain_everywhere(trans, after, before), rtol=1e-12, atol=1e-12)
    assert trans.tolist() == given_trans.tolist()


def test_limits_of_a_chain():
    trans = np.array([[0.0, -1.0], [1.0, 0.5]], np.float32)
    got = make_limits(trans, None)
    assert got.trans.dtype == np.float64
    assert got.after.tolist() == got.before.tolist() == trans.tolist()
    assert got.everywhere.tolist() == plain_everywhere(trans, trans, trans).tolist() == [[0.0, 1.5], [1.0, 0.0]]
    closed = make_limits(np.array([[0.0, -np.inf], [1.0, 0.5]]), None)
    assert closed.everywhere.tolist() == [[0.0, np.inf], [np.inf, 0.0]]


def test_limits_worked_out_by_hand():
    """Pattern 0,1,0 of weight 2 and 1,0 of weight 1. Labels 1, 0 earn 3 where they end; 0, 1 earn nothing there, but 2
    at the next token. Label 0 in place of 1: at most 2 + 0 is lost; 1 in place of 0: 3 before it, and after it 2."""
    case = Case(np.zeros((1, 2)), np.zeros((2, 2)), np.array([1]), (((0, 1, 0), 2.0), ((1, 0), 1.0)))
    got = make_limits(case.trans, case.pattern_scores())
    assert got.after.tolist() == [[0.0, 0.0], [3.0, 0.0]]
    assert got.before.tolist() == [[0.0, 2.0], [3.0, 0.0]]
    assert got.everywhere.tolist() == [[0.0 + 3.0 + 2.0, 0.0 + 3.0], [3.0 + 2.0, 0.0 + 3.0]]


@pytest.mark.parametrize("block", [1, 3, 4096])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """Both tests, against the most that any labelling with the label scores. The first keeps what the second does."""
    patterns = case.pattern_scores()
    limits, loss = make_limits(case.trans, patterns), fired_loss_of(patterns, case.scores.shape)
    with mock.patch.object(bounds, "BLOCK_TOKENS", block):
        candidates = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss)
    fewer = refine(candidates, case.scores, limits, case.lengths, fired_loss=loss)
    assert candidates.any(axis=1).all() and fewer.any(axis=1).all() and (candidates >= fewer).all()
    assert case.allowed is None or (case.allowed >= candidates).all()
    for i, single in enumerate(case.singles()):
        table = joint_table(single)
        if table.best == -np.inf:
            continue
        best = table.labellings[table.scores >= table.best - 1e-9]
        tokens = slice(case.starts[i], case.starts[i] + case.lengths[i])
        for t, here in enumerate(fewer[tokens]):
            assert here[best[:, t]].all()


@given(case=cases())
def test_fired_loss_is_the_weight_of_patterns_that_need_the_label(case):
    """Also of those that begin before the sequence: they never match, and more is lost at most."""
    got = fired_loss_of(case.pattern_scores(), case.scores.shape)
    if not case.fired:
        assert got is None
        return
    expected = np.zeros(case.scores.shape)
    for token, pattern, weight in case.fired:
        for back, label in enumerate(reversed(pattern)):
            if token - back >= 0:
                expected[token - back, label] += weight
    np.testing.assert_allclose(got, expected)


@pytest.mark.parametrize("seed", range(20))
def test_no_replacement_loses_more_than_the_limit(seed):
    """Label j in the place of k, at each token of each labelling; emissions are 0."""
    trans, patterns = random_features(seed)
    n_labels = len(trans)
    case = Case(np.zeros((5, n_labels)), trans, np.array([5]), patterns)
    limits = make_limits(trans, case.pattern_scores()).everywhere
    labellings = all_labellings(5, n_labels)
    for t, j in itertools.product(range(5), range(n_labels)):
        replaced = labellings.copy()
        replaced[:, t] = j
        before = score_of(case, labellings)
        possible = before > -np.inf
        lost = before[possible] - score_of(case, replaced[possible])
        assert (lost <= limits[j, labellings[possible, t]] + 1e-9).all()
