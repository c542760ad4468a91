"""Shifting, dropping and rounding rows of weights, and the search for how much."""

import numpy as np
import pytest

from spacy_hoseq.learning.used_rows import UsedRows
from spacy_hoseq.pipelines.compaction import weights as searched
from spacy_hoseq.pipelines.compaction.weights import Pruning, smallest, steps_for

WEIGHTS = [[0.1, -0.1, 0, 0], [0.3, 0, 0.02, 0], [0, 0, 0, -0.5], [0, 0, 0, 0]]
WEIGHTS = np.array(WEIGHTS, np.float32)


def centred(table):
    return searched.centred(UsedRows.of(table)).dense()


def row_ranges(table):
    return searched.row_ranges(UsedRows.of(table))


def prune(table, *pruning):
    return searched.prune(UsedRows.of(table), Pruning(*pruning)).dense()


def test_rows_are_shifted_by_their_median():
    weights = [[3, 1, 1, 1], [0, 5, 0, 0], [1, 2, 3, 9], [-4, -4, -4, 2], [0, 0, 0, 0]]
    weights = np.array(weights, np.float32)
    expected = [[2, 0, 0, 0], [0, 5, 0, 0], [-1, 0, 1, 7], [0, 0, 0, 6], [0, 0, 0, 0]]
    before = weights.copy()
    assert centred(weights).tolist() == expected and np.array_equal(weights, before)
    assert centred(weights[:, :3])[0].tolist() == [2, 0, 0]
    assert centred(weights[:, :1]).tolist() == [[0]] * 5
    assert centred(weights).dtype == np.float32 and centred(weights[:0]).shape == (0, 4)
    assert np.array_equal(row_ranges(centred(weights)), row_ranges(weights))


def test_ranges_are_largest_less_smallest():
    assert row_ranges(WEIGHTS) == pytest.approx([0.2, 0.3, 0.5])
    full = np.array([[0.5, 0.25, 1], [-1, -2, -3], [0, 2, 0]], np.float32)
    assert row_ranges(full).tolist() == [0.75, 2, 2], "a row without zeros"


def test_rows_of_small_range_become_zero_and_others_are_rounded():
    pruned = prune(WEIGHTS, 0.25, 0.0)
    found = pruned.tolist()
    assert found == np.float16([[0] * 4, [0.3, 0, 0.02, 0], [0, 0, 0, -0.5], [0] * 4]).tolist()
    assert pruned.dtype == np.float32, "of single precision, but with values of half"
    assert prune(WEIGHTS, 0.5, 0.0).tolist() == [[0] * 4, [0] * 4, [0, 0, 0, -0.5], [0] * 4]
    rounded = [[0.125, -0.125, 0, 0], [0.25, 0, 0, 0], [0, 0, 0, -0.5], [0] * 4]
    assert prune(WEIGHTS, 0.0, 0.125).tolist() == rounded
    assert np.array_equal(prune(WEIGHTS, 0.0, 0.0), WEIGHTS.astype(np.float16).astype(np.float32))


def test_steps_surround_the_median():
    steps = steps_for(np.array([0.1, -0.09, 0.2, 0.01, 3]))
    assert steps == [0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.0]
    assert steps_for(np.array([-1.0, 1])) == [4, 2, 1, 0.5, 0.25, 0.125, 0]
    assert steps_for(np.zeros(0)) == [0]


RANGES = np.random.default_rng(3).permutation(64) + 1.0


def search(is_good, size_of=lambda p: 1000 - p.threshold, steps=(1.0, 0.0), ranges=RANGES):
    asked = []
    good = lambda pruning: asked.append(pruning) or is_good(pruning)  # noqa: E731
    return smallest(ranges, list(steps), good, size_of), asked


def test_the_largest_threshold_is_found():
    for limit in (1, 2, 17, 40, 63):
        found, asked = search(lambda p, limit=limit: p.step == 0 and p.threshold <= limit)
        # the smallest range drops nothing
        assert found == Pruning(limit if limit > 1 else 0.0, 0.0)
        assert len(asked) == 8, "once with the step that is never good, 1 + 6 times with the other"
    assert search(lambda p: False)[0] is None
    assert search(lambda p: True, ranges=np.zeros(0), steps=[0.0])[0] == Pruning(0.0, 0.0)


def test_the_smallest_of_all_steps_is_taken():
    sizes = {1.0: 30, 0.5: 20, 0.0: 25}
    assert search(lambda p: True, lambda p: sizes[p.step], sizes)[0] == Pruning(64, 0.5)


def test_the_result_was_good_itself():
    """Whatever the metric does between."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        every = [Pruning(t, s) for t in [0.0, *range(1, 65)] for s in (1.0, 0.0)]
        good = {pruning for pruning in every if rng.random() < 0.5}
        found, asked = search(lambda p, good=good: p in good)
        if found:
            assert found in good and found in asked
        else:
            assert not good & {Pruning(0.0, 1.0), Pruning(0.0, 0.0)}
