"""Exact pruning: the contract, label for label what the unpruned decoders find, and really less work."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import TUNING, Tuning
from spacy_hoseq.decoders.pruning import pruned as pruning
from spacy_hoseq.decoders.pruning.pruned import open_windows

from ...cases import Case
from ...contract import DecoderContract
from ...strategies import SEEDS, cases, peaked_case
from ..chain.test_best_path import decode_viterbi
from ..patterns.test_nonnegative import decode_with_patterns


def decode(case, tuning=TUNING):
    """Also where all windows, or none, count as having few candidates: the same scores, of a chain the same labels."""
    paths = decode_exact(case.potentials(), tuning=tuning)
    for cost in (0, 10**9):
        with mock.patch.multiple(pruning, PAIR_COST=cost, PATTERN_PAIR_COST=cost):
            others = decode_exact(case.potentials(), tuning=tuning)
        assert others.scores == pytest.approx(paths.scores, rel=1e-9, abs=1e-9)
        assert case.patterns or case.fired or others.labels.tolist() == paths.labels.tolist()
    return paths


def decode_chain(case, tuning=TUNING):
    return decode(case.without_patterns(), tuning)


class TestPrunedChain(DecoderContract):
    takes_patterns = False

    def decode(self, case, tuning=TUNING):
        return decode(case.without_patterns(), tuning)


class TestPruned(DecoderContract):
    def decode(self, case, tuning=TUNING):
        return decode(case, tuning)


def assert_same(got, expected):
    """Labels exactly, scores up to rounding."""
    assert got.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(got.scores, expected.scores, rtol=1e-12, atol=1e-9)


def unpruned(case, decoder):
    try:
        return decoder(case)
    except ValueError:
        assume(False)  # no permitted labelling; the contract has a test for it


@given(case=cases(max_labels=7, max_tokens=40, max_sequences=4))
def test_chain_is_viterbi(case):
    expected = unpruned(case, decode_viterbi)
    assert_same(decode_chain(case), expected)


@given(case=cases(max_labels=7, max_tokens=40, max_sequences=4))
def test_patterns_are_those_of_the_unpruned_decoder(case):
    expected = unpruned(case, decode_with_patterns)
    assert_same(decode(case), expected)


@given(case=cases(max_labels=5, max_tokens=40, max_sequences=4), seed=SEEDS)
def test_strong_patterns_among_sure_tokens(case, seed):
    """Two of three tokens are decided by a wide margin, the others are not; patterns are as strong as emissions."""
    rng = np.random.default_rng(seed)
    n_tokens, n_labels = case.scores.shape
    scores = rng.normal(0, 1, (n_tokens, n_labels))
    sure = np.flatnonzero(rng.random(n_tokens) < 0.67)
    scores[sure, rng.integers(0, n_labels, len(sure))] += rng.uniform(5, 25, len(sure))
    strong = tuple((pattern, 2 * weight) for pattern, weight in case.patterns)
    case = replace(case, scores=scores, patterns=strong)
    expected = unpruned(case, decode_with_patterns)
    assert_same(decode(case), expected)


@pytest.mark.parametrize("max_length", [2, 3, 4, 5])
@pytest.mark.parametrize("open_first", [True, False])
def test_windows_hold_all_of_a_pattern_with_one_open_token(max_length, open_first):
    """The pattern decides for label 1, and all its other tokens are decided: the window needs them to the last."""
    pattern = (*[0] * (max_length - 1), 1)
    scores = np.tile([[100.0, 0.0]], (max_length + 4, 1))
    at = 2 if open_first else max_length + 1
    scores[at] = 1.0, 0.0
    pattern = pattern[::-1] if open_first else pattern
    case = Case(scores, np.zeros((2, 2)), np.array([len(scores)]), ((pattern, 3.0),))
    assert np.flatnonzero(decode(case).labels).tolist() == [at]


@given(case=cases(max_sequences=4, rounded=True, max_labels=4), n=st.sampled_from([1, 3, 20, 200]))
def test_ties_do_not_depend_on_tuning(case, n):
    """Among labellings of equal score, too: patterns and scores are integers."""
    expected = unpruned(case, lambda case: decode_exact(case.potentials()))
    small = Tuning(history_cells=n, column_cells=n, min_columns=1, arc_cells=n, sum_cells=n)
    for tuning in (Tuning(pair_cells=n), small):
        paths = decode_exact(case.potentials(), tuning=tuning)
        assert paths.labels.tolist() == expected.labels.tolist()


def test_how_a_window_is_decoded_does_not_depend_on_tuning():
    """The decoders of few and of all labels choose differently between 0,0 and 1,0, which score the same."""
    scores, trans = np.zeros((2, 40)), np.zeros((40, 40))
    scores[0, :2] = 1.0
    scores[:, 2:] = -100.0
    trans[1, 1] = -1.0
    case = Case(scores, trans, np.array([2]), (((1, 0), 1.0), ((0, 0), 1.0)))
    tunings = [Tuning(pair_cells=n) for n in (1, 3, 4, 100)]
    found = [decode_exact(case.potentials(), tuning=t).labels.tolist() for t in tunings]
    assert found == [[1, 0]] * 4
    with mock.patch.object(pruning, "PATTERN_PAIR_COST", 10**9):
        assert decode_exact(case.potentials()).labels.tolist() == [0, 0]


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), seed=st.integers(0, 1000))
def test_pairs_of_a_window_are_its_own(sizes, seed):
    """So that how it is decoded does not depend on the window before it."""
    lengths = np.array(sizes)
    counts = np.random.default_rng(seed).integers(1, 9, lengths.sum())
    parts = np.split(counts, np.cumsum(lengths)[:-1])
    windows = pruning.Windows(np.arange(lengths.sum()), lengths)
    expected = [int((part[1:] * part[:-1]).sum()) for part in parts]
    assert pruning._pairs(counts, windows).tolist() == expected


def test_bound_counts_patterns_that_need_the_label():
    """Emissions are for 0,0,0 by 3 a token, so that 1 seems out of question; the pattern 1,1,1 is worth 10, at the last
    token or everywhere."""
    case = Case(np.tile([[3.0, 0.0]], (3, 1)), np.zeros((2, 2)), np.array([3]))
    for pattern in ({"fired": ((2, (1, 1, 1), 10.0),)}, {"patterns": (((1, 1, 1), 10.0),)}):
        paths = decode(replace(case, **pattern))
        assert paths.labels.tolist() == [1, 1, 1] and paths.scores.tolist() == [10]


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=12), max_size=4), st.integers(1, 4))
def test_windows_are_their_definition(sequences, reach):
    """Tokens at most `reach` away from an open one of their sequence; neighbours share a window."""
    is_open = np.array(sum(sequences, []), bool)
    lengths = np.array([len(s) for s in sequences], np.int64)
    expected, start = [], 0
    for sequence in sequences:
        inside = [any(sequence[max(0, t - reach) : t + reach + 1]) for t in range(len(sequence))]
        for t in np.flatnonzero(inside).tolist():
            if t and inside[t - 1]:
                expected[-1].append(start + t)
            else:
                expected.append([start + t])
        start += len(sequence)
    got = open_windows(is_open, lengths, reach)
    assert got.lengths.tolist() == [len(window) for window in expected]
    assert got.tokens.tolist() == sum(expected, [])


@given(case=cases(max_sequences=8, rounded=True, max_labels=3), data=st.data())
def test_ties_do_not_depend_on_the_rest_of_a_long_batch(case, data):
    """Also where one window among others is dense: few and many candidates take different decoders."""
    case = replace(case, trans=np.nan_to_num(case.trans, neginf=-2.0))
    cost = data.draw(st.sampled_from([0, 5, 20, 10**9]))
    with mock.patch.object(pruning, "PATTERN_PAIR_COST", cost):
        batch = decode_exact(case.potentials())
        parts = [decode_exact(case.take([i]).potentials()) for i in range(len(case.lengths))]
    assert batch.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    np.testing.assert_array_equal(batch.scores, [part.scores[0] for part in parts])
    np.testing.assert_array_equal(batch.scores, decode_with_patterns(case).scores)


def test_a_pattern_longer_than_its_sequence_changes_nothing_before_it():
    """Two best labellings of the first sequence: which one is chosen must not depend on the next sequence."""
    scores = np.array([[0.0, -1.0], [3.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    trans = np.array([[-1.0, 0.0], [0.0, -2.0]])
    fired = ((3, (1, 0, 0, 1), 4.0), (3, (1, 0, 0), 1.0), (3, (1, 1, 1, 1), 3.0))
    case = Case(scores=scores, trans=trans, lengths=np.array([3, 1]), fired=fired)
    both, alone = (decode_exact(some.potentials()) for some in (case, case.take([0])))
    assert both.labels.tolist()[:3] == alone.labels.tolist()


def mixed_case(seed, n_patterns, *, rounded=False):
    """Sequences with one label far ahead at most tokens, and between them others in which no label is."""
    rng = np.random.default_rng(seed)
    case = peaked_case(rng, [20, 12, 1, 30, 7, 15], 12, n_patterns).doubles()
    scores = case.scores.copy()
    for i in (1, 3, 4):
        tokens = slice(case.starts[i], case.starts[i] + case.lengths[i])
        scores[tokens] = rng.normal(0, 0.5, scores[tokens].shape)
    return replace(case, scores=np.round(scores) if rounded else scores)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_patterns", [0, 30])
def test_few_and_many_candidates_in_one_batch(seed, n_patterns):
    case = mixed_case(seed, n_patterns)
    case = case if n_patterns else case.without_patterns()
    result = decode(case)
    assert_same(result, decode_with_patterns(case) if n_patterns else decode_viterbi(case))
    alone = [decode(single) for single in case.singles()]
    assert result.labels.tolist() == np.concatenate([paths.labels for paths in alone]).tolist()
    assert result.scores.tolist() == [paths.scores[0] for paths in alone]


@pytest.mark.parametrize("seed", range(6))
def test_ties_among_few_and_many_candidates_do_not_depend_on_the_batch(seed):
    case = mixed_case(seed, 30, rounded=True)
    patterns = tuple((pattern, 1.0) for pattern, _ in case.patterns)
    case = replace(case, trans=np.round(case.trans), patterns=patterns)
    case = replace(case, fired=tuple((token, p, 1.0) for token, p, _ in case.fired))
    result = decode(case)
    expected = np.concatenate([decode(single).labels for single in case.singles()])
    assert result.labels.tolist() == expected.tolist()
    assert result.scores.tolist() == decode_with_patterns(case).scores.tolist()
