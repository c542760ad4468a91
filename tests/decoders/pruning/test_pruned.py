"""Exact pruning: the contract, label for label what the unpruned decoders find, and really less work."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import choose
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem.potentials import Weights
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning
from spacy_hoseq.decoders.pruning import pruned as pruning
from spacy_hoseq.decoders.pruning.pruned import open_windows

from ...cases import Case, with_a_trie
from ...contract import DecoderContract
from ...strategies import cases, peaked_case
from ..chain.test_viterbi import decode_viterbi
from ..patterns.test_nonnegative import decode_with_patterns


def decode(case, tuning=TUNING):
    """As part of a large batch."""
    potentials = case.potentials()
    return decode_exact(potentials, tuning=tuning._replace(short_tokens=0))


def decode_chain(case, tuning=TUNING):
    return decode(case.without_patterns(), tuning)


def both_ways(case, tuning):
    """Of a short text by plain Python, too, where that may be."""
    result = decode(case, tuning)
    assert decode_exact(case.potentials(), tuning=tuning).labels.tolist() == result.labels.tolist()
    return result


class TestPrunedChain(DecoderContract):
    takes_patterns = False

    def decode(self, case, tuning=TUNING):
        return both_ways(case.without_patterns(), tuning)


class TestPruned(DecoderContract):
    def decode(self, case, tuning=TUNING):
        return both_ways(case, tuning)


def assert_same(got, expected):
    """Labels exactly, scores up to rounding."""
    assert got.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(got.scores, expected.scores, rtol=1e-12, atol=1e-9)


def unpruned(case, decoder):
    try:
        return decoder(case)
    except ValueError:
        assume(False)  # no permitted labelling; the contract has a test for it


@given(case=cases(max_labels=7, max_tokens=40, max_sequences=4), step_cost=st.sampled_from([0, 350, 4000]))
def test_chain_is_viterbi(case, step_cost):
    """With sequences of few labels that are decoded as they are, and without."""
    expected = unpruned(case, decode_viterbi)
    assert_same(decode_chain(case, Tuning(step_cost=step_cost)), expected)


@given(case=cases(max_labels=7, max_tokens=40, max_sequences=4))
def test_patterns_are_those_of_the_unpruned_decoder(case):
    expected = unpruned(case, decode_with_patterns)
    assert_same(decode(case), expected)


@given(case=cases(max_labels=5, max_tokens=40, max_sequences=4), seed=st.integers(0, 10**6))
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


def test_bound_counts_patterns_that_need_the_label():
    """Emissions are for 0,0,0 by 3 a token, so that 1 seems out of question; the pattern 1,1,1 is worth 10, at the last
    token or everywhere."""
    case = Case(np.tile([[3.0, 0.0]], (3, 1)), np.zeros((2, 2)), np.array([3]))
    for pattern in ({"fired": ((2, (1, 1, 1), 10.0),)}, {"patterns": (((1, 1, 1), 10.0),)}):
        paths = decode(replace(case, **pattern))
        assert paths.labels.tolist() == [1, 1, 1] and paths.scores.tolist() == [10]


def work_of(decoder, case):
    """(result, how many tokens and how many labels at them are left for the decoders of windows)."""
    seen = []

    def counting(name, original):
        def wrapper(candidates, *args):
            seen.append((len(candidates.counts), len(candidates.labels)))
            return original(candidates, *args)

        return mock.patch.object(choose, name, wrapper)

    with counting("sparse_viterbi", choose.sparse_viterbi), counting("decode_sparse", choose.decode_sparse):
        with mock.patch.object(choose, "viterbi", None), mock.patch.object(choose, "decode_nonnegative", None):
            result = decoder(case)
    return result, sum(tokens for tokens, _ in seen), sum(labels for _, labels in seen)


@pytest.mark.parametrize("seed", range(4))
def test_peaked_scores_leave_little_to_decode(seed):
    """800 tokens, 12 labels, one label in twelve far ahead at most tokens: see `peaked_case`."""
    case = peaked_case(np.random.default_rng(seed), [30, 1, 25, 44] * 8, 12, 0).without_patterns()
    result, n_tokens, n_labels = work_of(decode_chain, case)
    assert_same(result, decode_viterbi(case))
    assert 0 < n_tokens < 0.1 * len(case.scores)
    assert n_labels < 1.5 * n_tokens  # of 12 labels


@pytest.mark.parametrize("seed", range(4))
def test_peaked_scores_leave_little_to_decode_with_patterns(seed):
    """The same with 40 patterns everywhere and 80 at positions."""
    case = peaked_case(np.random.default_rng(seed), [30, 1, 25, 44] * 8, 12, 40)
    result, n_tokens, n_labels = work_of(decode, case)
    assert_same(result, decode_with_patterns(case))
    assert 0 < n_tokens < 0.3 * len(case.scores)
    assert n_labels < 1.3 * n_tokens


def test_sure_tokens_leave_nothing_to_decode():
    rng = np.random.default_rng(0)
    best = rng.integers(0, 5, 50)
    case = Case(50.0 * np.eye(5)[best], rng.normal(size=(5, 5)), np.array([20, 30]), (((0, 1, 2), 1.5),))
    result, n_tokens, _ = work_of(decode, case)
    assert n_tokens == 0 and result.labels.tolist() == best.tolist()
    assert_same(result, decode_with_patterns(case))


def naive_windows(is_open, lengths, reach):
    """Every open token asks for itself and `reach` tokens on both sides; windows of open tokens at most `reach`
    apart are one."""
    windows, start = [], 0
    for length in lengths:
        last_open = None
        for t in range(start, start + length):
            if not is_open[t]:
                continue
            wanted = range(max(start, t - reach), min(start + length, t + reach + 1))
            if last_open is not None and t - last_open <= reach:
                windows[-1] = range(windows[-1].start, wanted.stop)
            else:
                windows.append(wanted)
            last_open = t
        start += length
    return windows


@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=12), max_size=4), st.integers(1, 4))
def test_windows_are_their_definition(sequences, reach):
    is_open, lengths = np.array(sum(sequences, []), bool), np.array([len(s) for s in sequences], np.int64)
    got = open_windows(is_open, lengths, reach)
    expected = naive_windows(is_open.tolist(), lengths.tolist(), reach)
    assert got.lengths.tolist() == [len(window) for window in expected]
    assert got.tokens.tolist() == [token for window in expected for token in window]


@given(case=cases(max_sequences=8, rounded=True, max_labels=3), data=st.data())
def test_ties_do_not_depend_on_the_rest_of_a_long_batch(case, data):
    """Also where one window among others is dense: few and many candidates take different decoders."""
    case = replace(case, trans=np.nan_to_num(case.trans, neginf=-2.0))
    cost = data.draw(st.sampled_from([0, 5, 20, 10**9]))
    tuning = Tuning(sparse_cost=cost)
    batch = decode(case, tuning)
    parts = [decode(case.take([i]), tuning) for i in range(len(case.lengths))]
    assert batch.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    np.testing.assert_array_equal(batch.scores, [part.scores[0] for part in parts])
    np.testing.assert_array_equal(batch.scores, decode_with_patterns(case).scores)


def test_a_pattern_longer_than_its_sequence_changes_nothing_before_it():
    """Two best labellings of the first sequence: which one is chosen must not depend on the next sequence."""
    scores, trans = np.array([[0.0, -1.0], [3.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), np.array([[-1.0, 0.0], [0.0, -2.0]])
    fired = ((3, (1, 0, 0, 1), 4.0), (3, (1, 0, 0), 1.0), (3, (1, 1, 1, 1), 3.0))
    case = Case(scores=scores, trans=trans, lengths=np.array([3, 1]), fired=fired)
    for short in (0, TUNING.short_tokens):
        tuning = TUNING._replace(short_tokens=short)
        both, alone = (decode_exact(some.potentials(), tuning=tuning) for some in (case, case.take([0])))
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


def routed(case, decode_case):
    """(result, sequences with few candidates, sequences with many): lengths, which tell them apart. Chains of few
    labels are decoded as they are if a step is not dear."""
    few, many = [], []

    def in_windows(candidates, limits, potentials, *args):
        few.extend(potentials.lengths.tolist())
        return decode_open(candidates, limits, potentials, *args)

    def as_they_are(remaining):
        many.extend(remaining.potentials.lengths.tolist() if remaining.candidates is None else [])
        return remaining_labels(remaining)

    decode_open, remaining_labels = pruning._decode_open, choose.remaining_labels
    with mock.patch.object(pruning, "_decode_open", in_windows):
        with mock.patch.object(choose, "remaining_labels", as_they_are):
            result = decode_case(case, Tuning(step_cost=100))
    return result, few, many


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n_patterns", [0, 30])
def test_few_and_many_candidates_in_one_batch(seed, n_patterns):
    case = mixed_case(seed, n_patterns)
    if not n_patterns:
        case = case.without_patterns()
    decode_case, expected = (decode, decode_with_patterns) if n_patterns else (decode_chain, decode_viterbi)
    result, few, many = routed(case, decode_case)
    assert few == [20, 1, 15] and many == [12, 30, 7]
    assert_same(result, expected(case))
    alone = [routed(single, decode_case) for single in case.singles()]
    assert [open_ for _, open_, _ in alone] == [[20], [], [1], [], [], [15]], "whatever the rest of the batch"
    assert result.labels.tolist() == np.concatenate([paths.labels for paths, _, _ in alone]).tolist()
    assert result.scores.tolist() == [paths.scores[0] for paths, _, _ in alone]


@pytest.mark.parametrize("seed", range(6))
def test_ties_among_few_and_many_candidates_do_not_depend_on_the_batch(seed):
    case = mixed_case(seed, 30, rounded=True)
    case = replace(case, trans=np.round(case.trans), patterns=tuple((p, 1.0) for p, _ in case.patterns))
    case = replace(case, fired=tuple((token, p, 1.0) for token, p, _ in case.fired))
    result, few, many = routed(case, decode)
    assert few and many
    assert result.labels.tolist() == np.concatenate([decode(single).labels for single in case.singles()]).tolist()
    assert result.scores.tolist() == decode_with_patterns(case).scores.tolist()


@pytest.mark.parametrize("closed", range(6))
@pytest.mark.parametrize("n_patterns", [0, 30])
def test_message_names_the_sequence_among_few_and_many(closed, n_patterns):
    """Label 0 may not follow itself, and is the only one that is allowed at two tokens; the sequence of one token is
    made longer."""
    case = mixed_case(0, n_patterns)
    case = replace(case, lengths=np.array([20, 11, 2, 30, 7, 15]))
    allowed = np.ones(case.scores.shape, bool)
    first = int(case.starts[closed])
    allowed[first : first + 2, 1:] = False
    case.trans[0, 0] = -np.inf
    case = replace(case, allowed=allowed)
    with pytest.raises(ValueError, match=rf"\[HS023\] Sequence {closed} has no permitted"):
        (decode if n_patterns else decode_chain)(case, Tuning(step_cost=100))


def plain_is_few(counts, n_labels, rest, cost):
    """One sequence: pairs of candidates beside each other cost 32 each to compare, with patterns 64 to decode;
    the decoder of all labels L^2 + 8 U a token, without patterns L^2 + 4,000."""
    pairs = sum(a * b for a, b in zip(counts[:-1], counts[1:], strict=True))
    return cost * pairs <= len(counts) * (n_labels**2 + rest)


@given(case=cases(min_labels=3, max_sequences=5), seed=st.integers(0, 10**6))
def test_what_few_candidates_are(case, seed):
    counts = np.random.default_rng(seed).integers(1, 9, len(case.scores))
    weights, lengths, tuning = with_a_trie(case).weights, case.lengths, Tuning()
    chain = pruning.is_few(counts, lengths, Weights(case.trans), tuning)
    first = pruning.is_few(counts, lengths, weights, tuning)
    second = pruning.is_few(counts, lengths, weights, tuning, tuning.sparse_cost)
    nodes = 8 * min(4000, len(weights.trie))
    settings = (chain, 4000, 32), (first, nodes, 32), (second, nodes, 64)
    for got, rest, cost in settings:
        parts = np.split(counts, case.starts[1:])
        assert got.tolist() == [plain_is_few(part.tolist(), case.n_labels, rest, cost) for part in parts]
