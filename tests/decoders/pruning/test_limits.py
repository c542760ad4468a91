"""The tables that pruning rests on, against the formulas of the module, over all strings of labels and not a trie."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain import viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import Potentials, Weights
from spacy_hoseq.decoders.pruning.candidates import (
    Candidates,
    Limits,
    candidate_labels,
    fired_loss_of,
)
from spacy_hoseq.decoders.pruning.sparse import decode_sparse

from ...cases import Case
from ...contract import DecoderContract
from ...oracle import joint_table
from ...strategies import cases, random_mask, random_patterns
from ..chain.test_best_path import decode_viterbi
from ..patterns.test_nonnegative import decode_with_patterns


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
        weights = [
            [w for p, w in patterns if len(p) >= later + 2 and s[longest - len(p) :] == p]
            for s in found
        ]
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


def table_of(limits):
    return limits.of(np.arange(len(limits.trans)))


def assert_just_above(got, exact):
    """Rounded upwards, in single precision: never below."""
    assert got.dtype == np.float32 and (got >= exact).all()
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("seed", range(60))
def test_limits_are_their_formulas(seed):
    trans, patterns = random_features(seed)
    given_trans = trans.copy()
    case = Case(np.zeros((1, len(trans))), trans, np.array([1]), patterns)
    got = Limits(case.weights())
    everywhere = table_of(got)
    after, before = plain_tables(trans, patterns)
    np.testing.assert_array_equal(got.trans, given_trans)
    np.testing.assert_allclose(got.after, after, rtol=1e-12)
    np.testing.assert_allclose(got.before, before, rtol=1e-12)
    assert_just_above(everywhere, plain_everywhere(trans, after, before))
    assert trans.tolist() == given_trans.tolist()


@pytest.mark.parametrize("size", [1e-30, 1e3, 1e17, 1e30, 1e300])
def test_limits_of_any_size_are_not_below_the_formula(size):
    """Beyond 1e18 in double precision: single precision ends at 3e38."""
    rng = np.random.default_rng(0)
    trans = np.round(rng.normal(size=(7, 7)), 2) * size
    got = table_of(Limits(Weights(trans)))
    exact = plain_everywhere(trans, trans, trans)
    assert got.dtype == (np.float32 if size < 1e18 else np.float64)
    assert (got >= exact).all()
    np.testing.assert_allclose(got, exact, atol=1e-4 * size)


def test_threads_may_fill_the_same_limits():
    trans = np.random.default_rng(0).normal(size=(60, 60))
    whole = table_of(Limits(Weights(trans)))
    for seed in range(5):
        limits = Limits(Weights(trans))
        asked = [np.random.default_rng([seed, i]).integers(0, 60, 8) for i in range(40)]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(limits.of, asked))
        for labels, rows in zip(asked, found, strict=True):
            assert rows.tolist() == whole[labels].tolist()


def changed(trans, rng, size):
    return trans + size * rng.normal(size=trans.shape) * (rng.random(trans.shape) < 0.3)


@pytest.mark.parametrize("size", [0.01, 0.1, 10.0])
@pytest.mark.parametrize("seed", range(3))
def test_limits_that_follow_others_are_not_too_low(seed, size):
    """Against the formula; and they are the earlier ones as long as weights change little."""
    rng, n = np.random.default_rng(seed), 6
    weights = Weights(rng.normal(size=(n, n)))
    first = weights.prepared(Limits)
    first.of(np.array([0, 3]))
    for _ in range(5):
        weights = Weights(changed(weights.trans, rng, size)).follow(weights)
        limits, trans = weights.prepared(Limits), weights.trans
        before = np.maximum((trans[:, None, :] - trans[:, :, None]).max(axis=0), 0)  # [j, k]
        after = np.maximum((trans[None, :, :] - trans[:, None, :]).max(axis=2), 0)
        rows = np.arange(n)
        assert (limits.of(rows) >= before + after).all()
    if size != 0.1:
        assert (limits._start is first) == (size == 0.01)
    if size == 10.0:
        assert limits.of(rows) == pytest.approx(before + after, abs=0.01)


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
    for first, second in (
        (earlier, Weights(trans)),
        (free, Weights(trans)),
        (earlier, Weights(np.zeros((3, 3)))),
    ):
        known = first.prepared(Limits)
        assert second.follow(first).prepared(Limits)._start is not known


# Labels that stay candidates, against all labellings that have them


def loss_of(case):
    return fired_loss_of(case.potentials().fired, case.weights(), case.lengths)


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """Of all labellings with the best score."""
    limits, loss = Limits(case.weights()), loss_of(case)
    found = candidate_labels(
        case.scores, limits, allowed=case.allowed, fired_loss=loss, block_cells=block
    )
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
    limits = np.zeros(expected.shape)
    got.add(limits, 0)
    assert (limits >= expected).all()
    np.testing.assert_allclose(limits, expected, rtol=1e-5)
    assert got.cells.tolist() == np.flatnonzero(expected).tolist() or (got.weights == 0).any()


# Decoding over candidate labels only: the contract, and label for label the decoder that looks at all labels


def every_candidate(case):
    """All labels that are allowed."""
    mask = np.ones(case.scores.shape, bool) if case.allowed is None else case.allowed
    tokens, labels = np.nonzero(mask)
    first = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    return Candidates(first, labels, case.scores[tokens, labels].astype(np.float64))


def decode(case):
    return decode_sparse(
        every_candidate(case), case.weights(), case.lengths, fired=case.potentials().fired
    )


class TestSparse(DecoderContract):
    test_scores_not_finite = None  # its caller has checked these
    test_transitions_not_usable = None
    test_no_label_allowed_at_a_token = None
    test_wrong_shapes = None
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        return decode(case)


class TestSparseChain(TestSparse):
    takes_patterns = False


@given(case=cases(max_labels=8, max_tokens=40, max_sequences=5), seed=st.integers(0, 10**6))
def test_few_candidates_as_the_decoder_of_all_labels(case, seed):
    rng = np.random.default_rng(seed)
    few = random_mask(rng, *case.scores.shape) & (rng.random(case.scores.shape) < 0.5)
    few[np.arange(len(few)), rng.integers(0, case.n_labels, len(few))] = True
    case = replace(case, allowed=few)
    try:
        expected = decode_with_patterns(case)
    except ValueError:
        assume(False)  # no permitted labelling
    got = decode(case)
    assert got.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(got.scores, expected.scores, rtol=1e-12, atol=1e-9)


@given(
    case=cases(max_labels=9, max_tokens=40, max_sequences=5),
    seed=st.integers(0, 10**6),
    share=st.floats(0, 0.8),
)
def test_few_candidates_as_viterbi(case, seed, share):
    rng = np.random.default_rng(seed)
    few = rng.random(case.scores.shape) < share
    few[np.arange(len(few)), rng.integers(0, case.n_labels, len(few))] = True
    case = replace(case.without_patterns(), allowed=few)
    try:
        expected = decode_viterbi(case)
    except ValueError:
        assume(False)  # no permitted labelling
    got = decode(case)
    assert (
        got.labels.tolist() == expected.labels.tolist()
        and got.scores.tolist() == expected.scores.tolist()
    )


def test_edge_scores_are_compared_before_the_score_is_added():
    """Beside 1e20 both arcs would be the same; without it the second is better."""
    case = Case(np.array([[0.0, 0.5], [1e20, 0.0]]), np.zeros((2, 2)), np.array([2]))
    case = replace(case, allowed=np.array([[True, True], [True, False]]))
    assert decode(case).labels.tolist() == decode_viterbi(case).labels.tolist() == [1, 0]


def test_one_candidate_everywhere_is_its_score():
    """Pattern 0,1,0 once, 1,0 once, the fired one at token 2."""
    labels = np.array([0, 1, 0, 1])
    case = Case(
        np.arange(8.0).reshape(4, 2),
        np.array([[0.0, 0.5], [0.25, 0.0]]),
        np.array([3, 1]),
        (((0, 1, 0), 10.0), ((1, 0), 20.0), ((1, 1), 1000.0)),
        ((2, (1, 0), 100.0), (3, (0, 1), 1000.0)),
        np.eye(2, dtype=bool)[labels],
    )
    paths = decode(case)
    assert paths.labels.tolist() == labels.tolist()
    assert paths.scores.tolist() == [0 + 3 + 4 + 0.5 + 0.25 + 10 + 20 + 100, 7]
