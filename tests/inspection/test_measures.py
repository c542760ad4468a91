"""Expected against observed, in bins of probability."""

import numpy as np
import pytest

from spacy_hoseq.inspection import reliability


def plain(probabilities, right, n_bins):
    """Bin by bin: how many, their mean probability, the share that is right; and the error."""
    bins = [[] for _ in range(n_bins)]
    for p, hit in zip(probabilities, right, strict=True):
        bins[n_bins - 1 if p == 1 else int(p * n_bins)].append((p, hit))
    counts = [len(each) for each in bins]
    expected = [sum(p for p, _ in each) / len(each) if each else 0 for each in bins]
    observed = [sum(hit for _, hit in each) / len(each) if each else 0 for each in bins]
    off = [n * abs(e - o) for n, e, o in zip(counts, expected, observed, strict=True)]
    return counts, expected, observed, sum(off) / len(probabilities)


def made_up(n=500, seed=0):
    rng = np.random.default_rng(seed)
    p = np.concatenate([rng.beta(5, 1, n), [0.0, 1.0, 1.0]])
    return p, rng.random(len(p)) < p**2


@pytest.mark.parametrize("n_bins", [1, 2, 15, 40])
@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_those_of_a_plain_loop(seed, n_bins):
    p, right = made_up(seed=seed)
    found, (counts, expected, observed, error) = reliability(p, right, n_bins), plain(p, right, n_bins)
    assert found.counts.tolist() == counts and found.counts.sum() == len(p)
    assert found.expected == pytest.approx(expected) and found.observed == pytest.approx(observed)
    assert found.error == pytest.approx(error)


def test_worked_out_by_hand():
    found = reliability([0.9, 0.7, 0.6, 0.2], [True, True, False, False], 2)
    assert found.counts.tolist() == [1, 3]
    assert found.expected == pytest.approx([0.2, 2.2 / 3]) and found.observed == pytest.approx([0, 2 / 3])
    assert found.error == pytest.approx((0.2 + 0.2) / 4)


@pytest.mark.parametrize("p, number", [(0.0, 0), (1.0, 14), (1 + 1e-12, 14), (0.0666, 0), (0.0667, 1), (1e-300, 0)])
def test_bin_of_a_probability(p, number):
    found = reliability([p], [True])
    assert np.flatnonzero(found.counts).tolist() == [number] and len(found.counts) == 15
    assert found.error == pytest.approx(abs(1 - p)) and found.observed[number] == 1


def test_no_predictions():
    found = reliability([], [])
    assert found.counts.tolist() == [0] * 15 and found.error == 0
    assert not found.expected.any() and not found.observed.any()
