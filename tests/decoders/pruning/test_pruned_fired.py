"""Exact pruning with patterns that fire at positions only: what is open depends on few of them, the rest are chains."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import choose
from spacy_hoseq.decoders.problem.firing import matching
from spacy_hoseq.decoders.problem.potentials import Weights
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning
from spacy_hoseq.decoders.pruning import pruned as pruning
from spacy_hoseq.decoders.pruning.pruned import open_windows

from ... import oracle
from ...cases import Case, with_a_trie
from ...strategies import random_mask
from ..patterns.test_nonnegative import decode_with_patterns
from .test_pruned import assert_same, decode


def fired_case(seed, lengths, n_labels, *, n_patterns, masked=False, open_share=0.4):
    """Emissions decide most tokens. Patterns are strings of best labels with one of them changed or none, some at the
    first tokens of a sequence, where they reach into the one before; some weigh nothing, some are there twice."""
    rng = np.random.default_rng(seed)
    n_tokens = sum(lengths)
    scores, best = rng.normal(0, 1, (n_tokens, n_labels)), rng.integers(0, n_labels, n_tokens)
    sure = rng.random(n_tokens) > open_share
    scores[sure, best[sure]] += rng.uniform(6, 30, int(sure.sum()))
    best = scores.argmax(axis=1)
    starts = np.cumsum(lengths) - np.array(lengths)
    fired = []
    while len(fired) < n_patterns:
        size = int(rng.integers(2, 5))
        at_start = rng.random() < 0.25
        token = int(rng.choice(starts)) + int(rng.integers(0, 2)) if at_start else int(rng.integers(0, n_tokens))
        if not size - 1 <= token < n_tokens:
            continue
        labels = best[token - size + 1 : token + 1].copy()
        if rng.random() < 0.7:
            labels[rng.integers(size)] = rng.integers(n_labels)
        entry = (token, tuple(labels.tolist()), float(rng.choice([0.0, *rng.gamma(2.0, 1.5, 5)])))
        fired += [entry] * int(rng.choice([1, 1, 1, 2]))
    allowed = random_mask(rng, n_tokens, n_labels) if masked else None
    return Case(scores, rng.normal(0, 0.7, (n_labels, n_labels)), np.array(lengths), (), tuple(fired), allowed)


def decode_by_windows(case, sparse_cost=TUNING.sparse_cost, together=TUNING.window_tokens):
    """Every sequence counts as one with few candidates. RETURNS paths, tokens decoded as chains, and with patterns."""
    tokens = {"chain": 0, "patterns": 0}

    def counting(original):
        def wrapper(remaining):
            tokens["patterns" if remaining.has_patterns else "chain"] += remaining.potentials.lengths.sum()
            return original(remaining)

        return wrapper

    tuning = Tuning(pair_cost=0, sparse_cost=sparse_cost, window_tokens=together)
    with mock.patch.object(choose, "remaining_labels", counting(choose.remaining_labels)):
        paths = decode(case, tuning)
    return paths, tokens["chain"], tokens["patterns"]


small = st.lists(st.integers(1, 6), min_size=1, max_size=4)
sizes = st.lists(st.integers(1, 25), min_size=1, max_size=4)
costs = st.sampled_from([0, 256, 10**9])  # windows with patterns: sparse, as it comes, dense
tokens_together = st.sampled_from([1, 7, 10**5])  # windows one by one, a few, all


@given(st.integers(0, 10**6), small, st.integers(1, 3), st.integers(0, 10), st.booleans(), costs)
def test_labels_and_scores_are_those_of_enumeration(seed, lengths, n_labels, n_patterns, masked, cost):
    n_patterns *= sum(lengths) > 1
    case = fired_case(seed, lengths, n_labels, n_patterns=n_patterns, masked=masked)
    paths, _, _ = decode_by_windows(case, cost)
    parts = np.split(paths.labels, case.starts[1:])
    for single, labels, score in zip(case.singles(), parts, paths.scores, strict=True):
        table = oracle.joint_table(single)
        assert score == pytest.approx(table.best, abs=1e-9)
        assert labels.tolist() == table.best_labels.tolist() or not table.is_unique


@given(st.integers(0, 10**6), sizes, st.integers(2, 9), st.integers(0, 40), st.booleans(), costs, tokens_together)
def test_labels_and_scores_are_those_without_pruning(seed, lengths, n_labels, n_patterns, masked, cost, together):
    n_patterns *= sum(lengths) > 1
    case = fired_case(seed, lengths, n_labels, n_patterns=n_patterns, masked=masked, open_share=0.25)
    paths, _, _ = decode_by_windows(case, cost, together)
    assert_same(paths, decode_with_patterns(case))
    assert_same(decode(case), paths)


@given(st.integers(0, 10**6), small, st.integers(2, 5), costs)
def test_also_with_a_pattern_everywhere(seed, lengths, n_labels, cost):
    """Then every window needs the patterns."""
    case = fired_case(seed, lengths, n_labels, n_patterns=8 * (sum(lengths) > 1), open_share=0.25)
    case = replace(case, patterns=(((0, 1, 0), 2.0), ((1, 1), 0.7)))
    paths, n_chain, _ = decode_by_windows(case, cost)
    assert_same(paths, decode_with_patterns(case))
    assert n_chain == 0


def test_three_kinds_of_windows_in_one_batch():
    """A pattern covers token 1; 5 and 6 are open by their transition, and a pattern there weighs nothing; a pattern of
    decided tokens, 7 and 8, decides nothing; one at 9 and 10 has a label that is out of question, so that 10 is open,
    but not for a pattern."""
    scores = np.tile([20.0, 0.0, 0.0], (13, 1))
    scores[[1, 5, 6, 10], 1] = 19.5, 19.7, 19.7, 19.5
    trans = np.zeros((3, 3))
    trans[1, 1] = 1.0
    fired = ((2, (0, 1, 0), 3.0), (8, (0, 0), 1.25), (10, (2, 1), 5.0), (6, (1, 1), 0.0))
    case = Case(scores, trans, np.array([13]), (), fired)
    paths, n_chain, n_patterns = decode_by_windows(case)
    assert paths.labels.tolist() == [0, 1, 0, 0, 0, 1, 1, *[0] * 6]
    assert paths.scores.tolist() == [pytest.approx(10 * 20 + 19.5 + 2 * 19.7 + 1.0 + 3.0 + 1.25)]
    assert (n_chain, n_patterns) == (4 + 3, 4), "4 to 7 and 9 to 11; 0 to 3"


def test_a_long_pattern_is_in_one_window_though_one_token_of_it_is_open():
    """It earns its weight only if all its labels are there; the window of the open token alone is shorter."""
    for place in range(5):
        scores = np.tile([30.0, 0.0], (9, 1))
        scores[2 + place] = 1.0, 0.0
        labels = tuple(int(i == place) for i in range(5))
        case = Case(scores, np.zeros((2, 2)), np.array([9]), (), ((6, labels, 1.5),))
        paths, n_chain, n_patterns = decode_by_windows(case)
        assert paths.labels.tolist() == [int(t == 2 + place) for t in range(9)]
        assert paths.scores.tolist() == [8 * 30 + 1.5] and (n_chain, n_patterns) == (0, 7)


@pytest.mark.parametrize("weight", [0.0, 4.0])
def test_a_pattern_over_the_border_of_sequences_earns_nothing(weight):
    """Its labels are those of the last token of one sequence and the first of the next, and both may be open."""
    for gap in (0.5, 30.0):
        scores = np.tile([gap, 0.0], (4, 1))
        for labels in ((0, 0), (1, 1), (0, 1)):
            case = Case(scores, np.zeros((2, 2)), np.array([2, 2]), (), ((2, labels, weight),))
            paths, _, _ = decode_by_windows(case)
            assert paths.labels.tolist() == [0, 0, 0, 0] and paths.scores.tolist() == [2 * gap, 2 * gap]


def test_weights_of_several_entries_for_one_node_add_up():
    """Each alone is too little to change the label."""
    scores = np.array([[30.0, 0.0], [1.0, 0.0], [30.0, 0.0]])
    for n, expected in ((1, [0, 0, 0]), (2, [0, 1, 0])):
        case = Case(scores, np.zeros((2, 2)), np.array([3]), (), ((1, (0, 1), 0.75), (1, (0, 0), 0.0)) * n)
        paths, _, _ = decode_by_windows(case)
        assert paths.labels.tolist() == expected and paths.scores.tolist() == [max(61.0, 60 + 0.75 * n)]


def spans(case):
    """First and last token of each fired pattern."""
    return [(token - len(labels) + 1, token) for token, labels, _ in case.fired]


@given(st.integers(0, 10**6), sizes, st.integers(0, 20))
def test_what_is_deciding_and_covered(seed, lengths, n_patterns):
    """By their definitions, token by token."""
    case = fired_case(seed, lengths, 3, n_patterns=n_patterns * (sum(lengths) > 1))
    is_open = np.random.default_rng(seed).random(len(case.scores)) < 0.2
    potentials = with_a_trie(case)
    deciding = [span for span in spans(case) if is_open[span[0] : span[1] + 1].any()]
    got = pruning._deciding(potentials, is_open)
    assert (got is None) == (not deciding)
    if got is not None:
        depth = got.weights.trie.depth[got.fired.nodes]
        assert list(zip((got.fired.tokens - depth + 1).tolist(), got.fired.tokens.tolist(), strict=True)) == deciding
    covered = [any(first <= t <= last for first, last in spans(case)) for t in range(len(case.scores))]
    assert pruning._covered(potentials, len(case.scores)).tolist() == covered
    trie = potentials.weights.trie
    assert pruning._deciding(potentials._replace(fired=None), is_open) is None
    weights = np.zeros(len(trie))
    weights[-1:] = 1.0
    everywhere = potentials._replace(fired=None, weights=Weights(case.trans, trie, weights))
    assert pruning._deciding(everywhere, is_open) == everywhere
    assert not pruning._covered(everywhere, 4).any()


@given(st.integers(0, 10**6), sizes, st.integers(1, 20), tokens_together)
def test_windows_that_are_alike(seed, lengths, n_patterns, together):
    """Each window once: as a chain if no pattern ends in it."""
    case = fired_case(seed, [*lengths, 5], 3, n_patterns=n_patterns)
    potentials, n = case.potentials(), len(case.scores)
    rng = np.random.default_rng(seed)
    is_open = (rng.random(n) < 0.2) | pruning._covered(potentials, n)
    windows = open_windows(is_open, case.lengths, 1)
    found = []
    parts = pruning._alike(windows, rng.integers(1, 4, n), potentials, Tuning(window_tokens=together))
    for of_windows, some in parts:
        assert 0 < len(some.tokens) == some.lengths.sum() < together + 2 * some.lengths.max()
        for tokens in np.split(some.tokens, np.cumsum(some.lengths)[:-1]):
            found.append((tokens.tolist(), of_windows is not None))
            assert of_windows is None or of_windows is potentials
    every = [tokens.tolist() for tokens in np.split(windows.tokens, np.cumsum(windows.lengths)[:-1])]
    ends = {token for token, _, _ in case.fired}
    assert sorted(found) == sorted((tokens, bool(ends.intersection(tokens))) for tokens in every)
    for tokens, has_patterns in found:
        holds = [span for span in spans(case) if tokens[0] <= span[0] and span[1] <= tokens[-1]]
        assert has_patterns or not holds


@given(st.integers(0, 10**6), sizes, st.integers(1, 20))
def test_matching_is_its_definition(seed, lengths, n_patterns):
    """All labels of a pattern possible, all its tokens in one sequence."""
    case = fired_case(seed, [*lengths, 5], 3, n_patterns=n_patterns)
    fired, trie = case.pattern_scores().fired, case.pattern_scores().trie
    sequence = np.repeat(np.arange(len(case.lengths)), case.lengths)
    mask = random_mask(np.random.default_rng(seed), len(case.scores), 3)
    got = matching(fired, trie, sequence, lambda token, label: mask[token, label])
    expected = [
        sequence[first] == sequence[last] and all(mask[first + i, y] for i, y in enumerate(labels))
        for (first, last), (_, labels, _) in zip(spans(case), case.fired, strict=True)
    ]
    assert got.tolist() == expected
