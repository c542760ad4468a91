"""Systems over several seeds: errors change in all runs, p is of words, not of runs."""

import numpy as np
import pytest

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks.runs import compared, cost_ratios, mask_of, over_seeds  # noqa: E402

BEFORE = [
    {"task": "a", "seed": 0, "right": "1100", "training": 2.0, "tagging": 1.0},
    {"task": "a", "seed": 1, "right": "1000", "training": 2.0, "tagging": 1.0},
    {"task": "b", "seed": 0, "right": "01", "training": 1.0, "tagging": 2.0},
]
AFTER = [
    {"task": "a", "seed": 0, "right": "1111", "training": 3.0, "tagging": 2.0},
    {"task": "a", "seed": 1, "right": "0111", "training": 3.0, "tagging": 1.0},
    {"task": "b", "seed": 0, "right": "01", "training": 1.5, "tagging": 1.0},
]


def test_values_of_a_word_are_summed_over_the_seeds_of_its_task():
    right = [over_seeds(runs, lambda run: mask_of([run], "right").astype(int)).tolist() for runs in (BEFORE, AFTER)]
    assert right == [[2, 1, 0, 0, 0, 1], [1, 2, 2, 2, 0, 1]]


def test_change_of_errors_words_gained_and_lost_and_p():
    """Differences of words -1, 1, 2, 2: of 16 equally likely signs 6 give a sum of at least 4 or at most -4."""
    signs = np.stack(np.meshgrid(*[(-1, 1)] * 4), axis=-1).reshape(-1, 4)
    share = np.mean(np.abs(signs @ [1, 1, 2, 2]) >= 4)
    *changes, p = compared(BEFORE, AFTER)
    assert changes == ["-66.7%", "+5 -1"] and float(p) == pytest.approx(share, abs=0.006)


def test_no_errors_before_have_no_change():
    assert compared([{"task": "a", "right": "11"}], [{"task": "a", "right": "10"}]) == ["", "+0 -1", "1"]


def test_costs_are_sums_over_the_runs():
    assert cost_ratios(BEFORE, AFTER) == ["1.50x", "1.00x"]


def test_all_words_of_all_runs():
    assert mask_of(BEFORE, "right").mean() == pytest.approx(4 / 10)
