"""Shifting, dropping and rounding rows of weights, and the search for how much."""

import numpy as np
import pytest

from spacy_hoseq.compaction import weights as searched
from spacy_hoseq.compaction.weights import Pruning, smallest, steps_for
from spacy_hoseq.learning.used_rows import UsedRows


def centred(table):
    return searched.centred(UsedRows.of(table)).dense()


def row_ranges(table):
    return searched.row_ranges(UsedRows.of(table))


def prune(table, pruning):
    return searched.prune(UsedRows.of(table), pruning).dense()


def test_rows_are_shifted_by_their_median():
    weights = np.array([[3, 1, 1, 1], [0, 5, 0, 0], [1, 2, 3, 9], [-4, -4, -4, 2], [0, 0, 0, 0]], np.float32)
    expected = [[2, 0, 0, 0], [0, 5, 0, 0], [-1, 0, 1, 7], [0, 0, 0, 6], [0, 0, 0, 0]]
    before = weights.copy()
    assert centred(weights).tolist() == expected and np.array_equal(weights, before)
    assert centred(weights[:, :3])[0].tolist() == [2, 0, 0] and centred(weights[:, :1]).tolist() == [[0]] * 5
    assert centred(weights).dtype == np.float32 and centred(weights[:0]).shape == (0, 4)


def test_shifted_rows_give_the_same_differences_of_labels():
    weights = np.random.default_rng(0).integers(-9, 9, (40, 7)).astype(np.float32)
    shifted = centred(weights)
    assert np.array_equal(shifted - shifted[:, :1], weights - weights[:, :1])
    assert (shifted == 0).any(axis=1).all() and np.count_nonzero(shifted) < np.count_nonzero(weights)
    assert np.array_equal(row_ranges(shifted), row_ranges(weights))


WEIGHTS = np.array([[0.1, -0.1, 0, 0], [0.3, 0, 0.02, 0], [0, 0, 0, -0.5], [0, 0, 0, 0]], np.float32)


def test_ranges_are_largest_less_smallest():
    assert row_ranges(WEIGHTS) == pytest.approx([0.2, 0.3, 0.5])
    full = np.array([[0.5, 0.25, 1], [-1, -2, -3], [0, 2, 0]], np.float32)
    assert row_ranges(full).tolist() == [0.75, 2, 2], "a row without zeros"


def test_rows_of_small_range_become_zero():
    pruned = prune(WEIGHTS, Pruning(0.25, 0.0))
    assert pruned.tolist() == np.float16([[0] * 4, [0.3, 0, 0.02, 0], [0, 0, 0, -0.5], [0] * 4]).tolist()
    assert pruned.dtype == np.float32, "of single precision, but with values of half"
    assert prune(WEIGHTS, Pruning(0.5, 0.0)).tolist() == [[0] * 4, [0] * 4, [0, 0, 0, -0.5], [0] * 4], "at least"


def test_weights_are_rounded_to_multiples():
    assert prune(WEIGHTS, Pruning(0.0, 0.125)).tolist() == [
        [0.125, -0.125, 0, 0],
        [0.25, 0, 0, 0],
        [0, 0, 0, -0.5],
        [0] * 4,
    ]
    assert np.array_equal(prune(WEIGHTS, Pruning(0.0, 0.0)), WEIGHTS.astype(np.float16).astype(np.float32))
    once = prune(np.random.default_rng(1).normal(size=(30, 5)).astype(np.float32), Pruning(1.0, 1 / 32))
    assert np.array_equal(prune(once, Pruning(0.0, 1 / 32)), once)


def test_steps_surround_the_median():
    assert steps_for(np.array([0.1, -0.09, 0.2, 0.01, 3])) == [0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.0]
    assert steps_for(np.array([-1.0, 1])) == [4, 2, 1, 0.5, 0.25, 0.125, 0]
    assert steps_for(np.zeros(0)) == [0]


RANGES = np.random.default_rng(3).permutation(64) + 1.0


def search(is_good, size_of=lambda p: 1000 - p.threshold, steps=(1.0, 0.0), ranges=RANGES):
    asked = []

    def good(pruning):
        asked.append(pruning)
        return is_good(pruning)

    return smallest(ranges, list(steps), good, size_of), asked


def test_the_largest_threshold_is_found():
    for limit in (1, 2, 17, 40, 63):
        found, asked = search(lambda p, limit=limit: p.step == 0 and p.threshold <= limit)
        assert found == Pruning(limit if limit > 1 else 0.0, 0.0), "the smallest range drops nothing"
        assert len(asked) == 8, "once with the step that is never good, 1 + 6 times with the other"


def test_the_smallest_of_all_steps_is_taken():
    sizes = {1.0: 30, 0.5: 20, 0.0: 25}
    found, _ = search(lambda p: True, lambda p: sizes[p.step], sizes)
    assert found is not None and found.step == 0.5 and found.threshold == 64


def test_what_is_found_was_good_itself():
    """Whatever the metric does between."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        good = {Pruning(t, s) for t in [0.0, *range(1, 65)] for s in (1.0, 0.0) if rng.random() < 0.5}
        found, asked = search(lambda p, good=good: p in good)
        assert (found in good and found in asked) if found else not good & {Pruning(0.0, 1.0), Pruning(0.0, 0.0)}


def test_nothing_is_good():
    assert search(lambda p: False)[0] is None


def test_no_weights_at_all():
    assert search(lambda p: True, ranges=np.zeros(0), steps=[0.0])[0] == Pruning(0.0, 0.0)
