"""Exact pruning with patterns that fire at positions only: what is open depends on few of them, the rest are chains."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.problem import Tuning, matching

from ...cases import Case
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
        token = int(rng.integers(0, n_tokens))
        if at_start:
            token = int(rng.choice(starts)) + int(rng.integers(0, 2))
        if not size - 1 <= token < n_tokens:
            continue
        labels = best[token - size + 1 : token + 1].copy()
        if rng.random() < 0.7:
            labels[rng.integers(size)] = rng.integers(n_labels)
        entry = (token, tuple(labels.tolist()), float(rng.choice([0.0, *rng.gamma(2.0, 1.5, 5)])))
        fired += [entry] * int(rng.choice([1, 1, 1, 2]))
    allowed = random_mask(rng, n_tokens, n_labels) if masked else None
    trans = rng.normal(0, 0.7, (n_labels, n_labels))
    return Case(scores, trans, np.array(lengths), (), tuple(fired), allowed)


small = st.lists(st.integers(1, 6), min_size=1, max_size=4)
sizes = st.lists(st.integers(1, 25), min_size=1, max_size=4)
together = st.sampled_from([1, 70, 10**6])  # windows one by one, a few, all


@given(st.integers(0, 10**6), sizes, st.integers(2, 9), st.integers(0, 40), st.booleans(), together)
def test_labels_and_scores_are_those_without_pruning(
    seed, lengths, n_labels, n_patterns, masked, pair_cells
):
    n_patterns *= sum(lengths) > 1
    settings = {"n_patterns": n_patterns, "masked": masked}
    case = fired_case(seed, lengths, n_labels, open_share=0.25, **settings)
    assert_same(decode(case, Tuning(pair_cells=pair_cells)), decode_with_patterns(case))


@given(st.integers(0, 10**6), small, st.integers(2, 5))
def test_also_with_a_pattern_everywhere(seed, lengths, n_labels):
    """Then every window needs the patterns."""
    case = fired_case(seed, lengths, n_labels, n_patterns=8 * (sum(lengths) > 1), open_share=0.25)
    case = replace(case, patterns=(((0, 1, 0), 2.0), ((1, 1), 0.7)))
    assert_same(decode(case), decode_with_patterns(case))


def test_three_kinds_of_windows_in_one_batch():
    """A pattern covers token 1; 5 and 6 are open by their transition, and a pattern there weighs nothing; a pattern of
    decided tokens, 7 and 8, decides nothing; one at 9 and 10 has a label that is out of question, so that 10 is open,
    but not for a pattern."""
    scores = np.tile([20.0, 0.0, 0.0], (13, 1))
    scores[[1, 5, 6, 10], 1] = 19.5, 19.7, 19.7, 19.5
    trans = np.zeros((3, 3))
    trans[1, 1] = 1.0
    fired = ((2, (0, 1, 0), 3.0), (8, (0, 0), 1.25), (10, (2, 1), 5.0), (6, (1, 1), 0.0))
    paths = decode(Case(scores, trans, np.array([13]), (), fired))
    assert paths.labels.tolist() == [0, 1, 0, 0, 0, 1, 1, *[0] * 6]
    assert paths.scores.tolist() == [pytest.approx(10 * 20 + 19.5 + 2 * 19.7 + 1.0 + 3.0 + 1.25)]


def test_a_long_pattern_is_in_one_window_though_one_token_of_it_is_open():
    """It earns its weight only if all its labels are there; the window of the open token alone is shorter."""
    for place in range(5):
        scores = np.tile([30.0, 0.0], (9, 1))
        scores[2 + place] = 1.0, 0.0
        labels = tuple(int(i == place) for i in range(5))
        case = Case(scores, np.zeros((2, 2)), np.array([9]), (), ((6, labels, 1.5),))
        paths = decode(case)
        assert paths.labels.tolist() == [int(t == 2 + place) for t in range(9)]
        assert paths.scores.tolist() == [8 * 30 + 1.5]


@pytest.mark.parametrize("weight", [0.0, 4.0])
def test_a_pattern_over_the_border_of_sequences_earns_nothing(weight):
    """Its labels are those of the last token of one sequence and the first of the next, and both may be open."""
    for gap in (0.5, 30.0):
        scores = np.tile([gap, 0.0], (4, 1))
        for labels in ((0, 0), (1, 1), (0, 1)):
            case = Case(scores, np.zeros((2, 2)), np.array([2, 2]), (), ((2, labels, weight),))
            paths = decode(case)
            assert paths.labels.tolist() == [0, 0, 0, 0]
            assert paths.scores.tolist() == [2 * gap, 2 * gap]


def test_weights_of_several_entries_for_one_node_add_up():
    """Each alone is too little to change the label."""
    scores = np.array([[30.0, 0.0], [1.0, 0.0], [30.0, 0.0]])
    for n, expected in ((1, [0, 0, 0]), (2, [0, 1, 0])):
        fired = ((1, (0, 1), 0.75), (1, (0, 0), 0.0)) * n
        paths = decode(Case(scores, np.zeros((2, 2)), np.array([3]), (), fired))
        assert paths.labels.tolist() == expected
        assert paths.scores.tolist() == [max(61.0, 60 + 0.75 * n)]


def spans(case):
    """First and last token of each fired pattern."""
    return [(token - len(labels) + 1, token) for token, labels, _ in case.fired]


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
