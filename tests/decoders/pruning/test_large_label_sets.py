"""Hundreds of labels: the same labels as without pruning, and work that does not grow with their square."""

from dataclasses import replace

import numpy as np
import pytest

from spacy_hoseq.decoders.problem import Tuning

from ...cases import Case
from ...strategies import random_patterns
from ..chain.test_best_path import decode_viterbi
from ..patterns.test_nonnegative import decode_with_patterns
from .test_pruned import assert_same, decode, decode_chain

LENGTHS = [1, 12, 25, 2]


def fine_case(
    seed, n_labels, *, lengths=LENGTHS, forbidden=0.0, masked=False, n_patterns=0, rounded=False
):
    """As of a trained tagger with fine-grained labels: a word has a few labels that are close, all others are far
    below; one pair of labels in twenty has a transition of its own."""
    rng = np.random.default_rng(seed)
    n_tokens, every = sum(lengths), np.arange(sum(lengths))
    scores = rng.normal(0, 1, (n_tokens, n_labels))
    for ahead in (7, 6, 5):
        unsure = rng.random(n_tokens) < ahead / 7
        second = rng.integers(0, n_labels, unsure.sum())
        scores[every[unsure], second] += rng.uniform(ahead, 8, unsure.sum())
    trans = rng.normal(0, 1, (n_labels, n_labels)) * (rng.random((n_labels, n_labels)) < 0.05)
    patterns = random_patterns(rng, n_labels, n_patterns, 4)
    windows = np.lib.stride_tricks.sliding_window_view(scores.argmax(axis=1), 3)
    best = [tuple(row) for row in windows[::4].tolist()]
    patterns = [*patterns, *best] if n_patterns else []
    weights = rng.gamma(1.0, 1.0, len(patterns))
    n_fired = 4 if n_patterns else 0
    fired = tuple((2 + 4 * i, pattern, 1.5) for i, pattern in enumerate(best[:n_fired]))
    if rounded:
        scores, trans, weights = np.round(scores), np.round(trans), np.round(weights)
    if forbidden:
        trans[rng.random(trans.shape) < forbidden] = -np.inf
    allowed = None
    if masked:
        allowed = rng.random((n_tokens, n_labels)) < 0.7
        allowed[every, rng.integers(0, n_labels, n_tokens)] = True
    weighted = tuple(zip(patterns, weights.tolist(), strict=True))
    return Case(scores.astype(np.float32), trans, np.array(lengths), weighted, fired, allowed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_labels", [1, 2, 10, 45, 200])
@pytest.mark.parametrize(
    "change", [{}, {"forbidden": 0.3}, {"masked": 1, "forbidden": 0.1}, {"rounded": True}]
)
def test_chains_are_viterbi(seed, n_labels, change):
    case = fine_case(seed, n_labels, **change)
    try:
        expected = decode_viterbi(case)
    except ValueError as no_path:
        with pytest.raises(ValueError, match=str(no_path).split("]")[0].strip("[")):
            decode_chain(case)
        return
    assert_same(decode_chain(case), expected)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("n_labels", [2, 45, 200])
@pytest.mark.parametrize("change", [{}, {"forbidden": 0.1}, {"masked": True}])
def test_patterns_everywhere_and_at_positions(seed, n_labels, change):
    case = fine_case(seed, n_labels, n_patterns=60, **change)
    assert case.patterns and case.fired
    assert_same(decode(case), decode_with_patterns(case))


@pytest.mark.long
@pytest.mark.parametrize(
    "n_labels, change", [(450, {}), (450, {"masked": True, "forbidden": 0.05}), (1000, {})]
)
def test_hundreds_of_labels(n_labels, change):
    case = fine_case(0, n_labels, **change)
    assert_same(decode_chain(case), decode_viterbi(case))
    with_patterns = fine_case(1, n_labels, n_patterns=200, **change)
    assert_same(decode(with_patterns), decode_with_patterns(with_patterns))


@pytest.mark.parametrize("scale", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("n_patterns", [0, 40])
def test_scores_that_exclude_little_or_nothing(scale, n_patterns):
    """As in the first updates."""
    case = fine_case(3, 120, n_patterns=n_patterns)
    scores = (case.scores * scale).astype(np.float32)
    case = replace(case, scores=scores, trans=case.trans + 0.001 * np.eye(120))
    if n_patterns:
        assert_same(decode(case), decode_with_patterns(case))
    else:
        assert_same(decode_chain(case), decode_viterbi(case))


@pytest.mark.parametrize("n_patterns", [0, 30])
def test_parts_of_a_batch_with_many_pairs(n_patterns):
    case = fine_case(4, 60, lengths=[9, 1, 30, 14, 2], n_patterns=n_patterns)
    expected = decode(case) if n_patterns else decode_chain(case)
    for pairs in (1, 40, 200):
        tuning = Tuning(pair_cells=pairs)
        assert_same(decode(case, tuning) if n_patterns else decode_chain(case, tuning), expected)


def test_input_that_overflows_single_precision():
    """Transitions of 1e30 beside scores in single precision."""
    rng = np.random.default_rng(0)
    for size in (1e10, 1e30, 1e100):
        trans = rng.normal(size=(8, 8)) * size
        case = Case(rng.normal(size=(40, 8)).astype(np.float32), trans, np.array([25, 15]))
        assert_same(decode_chain(case), decode_viterbi(case))
        case = replace(case, scores=(case.scores * np.float32(min(size, 1e30))))
        assert_same(decode_chain(case), decode_viterbi(case))
