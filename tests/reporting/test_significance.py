"""McNemar's test against all outcomes of tossing a coin."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from spacy_hoseq.reporting.significance import interval, mcnemar, paired_bootstrap


def outcomes(gained, lost, both=3, neither=2):
    """(N,) of two systems, mixed."""
    pairs = [(0, 1)] * gained + [(1, 0)] * lost + [(1, 1)] * both + [(0, 0)] * neither
    a, b = np.array(pairs, bool)[np.random.default_rng(0).permutation(len(pairs))].T
    return a, b


def enumerated(gained, lost):
    """Share of all results of tossing a coin for each token that are at least as lopsided."""
    tosses = [sum(toss) for toss in itertools.product((0, 1), repeat=gained + lost)]
    difference = abs(gained - lost)
    return sum(abs(2 * heads - gained - lost) >= difference for heads in tosses) / len(tosses)


def by_fractions(gained, lost):
    n, k = gained + lost, min(gained, lost)
    return float(min(Fraction(1), Fraction(2 * sum(math.comb(n, i) for i in range(k + 1)), 2**n)))


@pytest.mark.parametrize(
    "gained, lost", [(g, n - g) for n in (1, 2, 5, 8, 11) for g in range(n + 1)]
)
def test_mcnemar_is_enumeration(gained, lost):
    found = mcnemar(*outcomes(gained, lost))
    assert (found.gained, found.lost) == (gained, lost)
    assert found.p == pytest.approx(enumerated(gained, lost), rel=1e-12)
    assert found.p == pytest.approx(by_fractions(gained, lost), rel=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("runs", [1, 2, 3])
def test_of_several_runs_a_token_counts_once(runs, seed):
    """Each token's runs change sides together."""
    a, b = np.random.default_rng(seed).integers(0, runs + 1, (2, 9))
    differences = [int(more) - int(less) for less, more in zip(a, b, strict=True)]
    flipped = [np.dot(signs, differences) for signs in itertools.product((-1, 1), repeat=9)]
    found = mcnemar(a, b)
    assert found.gained - found.lost == sum(differences)
    assert found.gained + found.lost == sum(map(abs, differences))
    assert found.p == pytest.approx(np.mean(np.abs(flipped) >= abs(sum(differences))), rel=1e-12)


def test_a_hundred_thousand_tokens():
    """Nearly normal: P(|Z| >= (600 - 1) / sqrt(100,000)), with the correction for continuity."""
    gained, lost = 50_300, 49_700
    expected = math.erfc((gained - lost - 1) / math.sqrt(2 * (gained + lost)))
    assert mcnemar(*outcomes(gained, lost)).p == pytest.approx(expected, rel=1e-3)
    assert 0.05 < expected < 0.06
    assert 0 <= mcnemar(*outcomes(60_000, 40_000)).p < 1e-300


def counted(rows):
    return np.array(rows, float)


def first_count(counts):
    return counts[:, 0]


def test_bootstrap_counts_ties_as_not_better():
    """Two systems that are equal: no resample shows a gain. One that is better everywhere: all do."""
    a = counted([[1], [0], [2], [1]])
    assert paired_bootstrap(a, a, first_count, resamples=200) == (0.0, 1.0)
    assert paired_bootstrap(a, a + 1, first_count, resamples=200) == (4.0, 0.0)
    assert paired_bootstrap(a + 1, a, first_count, resamples=200) == (-4.0, 1.0)


def test_bootstrap_is_the_share_of_resamples_by_enumeration():
    """Two sentences, of which one is better and one is not: (1/2)^2 of the resamples have the second one only."""
    a, b = counted([[0], [0]]), counted([[1], [0]])
    found = paired_bootstrap(a, b, first_count, resamples=10_000)
    assert found.gain == 1 and found.p == pytest.approx(0.25, abs=0.02)


def test_interval_is_that_of_the_resamples():
    assert interval(counted([[3], [3]]), first_count) == (6, 6)
    low, high = interval(counted([[0], [1]] * 50), first_count, level=0.9, resamples=2000)
    assert (low, high) == pytest.approx((42, 58), abs=1), "5 and 95 per cent of Binomial(100, 1/2)"
    assert interval(np.zeros((0, 1)), first_count) == (0, 0)
