"""Whether one system is better than another, or was lucky with the test sentences: the bootstrap and
McNemar's test."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Mask

RESAMPLES = 10_000


class Difference(NamedTuple):
    """How much better the second of two systems is. gain: its score less that of the first. p: how
    often the gain is not above 0 when sentences are drawn anew."""

    gain: float
    p: float


def paired_bootstrap(
    a: Floats,
    b: Floats,
    score: Callable[[Floats], Floats],
    resamples: int = RESAMPLES,
) -> Difference:
    """The difference of two systems, and whether it is luck.

    a, b (S, m): counts of each sentence under both systems, such as chunks that are right. They are
        whole numbers: means over seeds are rounded differently by other processors, which would
        break ties by chance.
    score: from sums of counts (n, m) to what is compared (n,). resamples (int): a multiple of 100.
    """
    not_better = 0
    for weights in _drawn_anew(len(a), resamples):
        not_better += int((score(weights @ b) <= score(weights @ a)).sum())
    once = np.ones((1, len(a)))  # each sentence once: the test set as it is
    return Difference(float((score(once @ b) - score(once @ a))[0]), not_better / resamples)


def interval(
    counts: Floats,
    score: Callable[[Floats], Floats],
    level: float = 0.95,
    resamples: int = 1000,
) -> tuple[float, float]:
    """Percentiles of the score when sentences are drawn anew (Efron 1979). counts (S, m), score: as
    of `paired_bootstrap`. level (float): share of the resamples between both ends. RETURNS the
    score twice if there are no sentences."""
    drawn = [score(weights @ counts) for weights in _drawn_anew(len(counts), resamples)]
    if not drawn:
        drawn = [score(np.zeros((1, counts.shape[1])))]
    values = np.concatenate(drawn)
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _drawn_anew(n: int, resamples: int) -> Iterator[Floats]:
    """Counts of each of n sentences in resamples, (100, n) at a time."""
    rng = np.random.default_rng(0)
    if not n:
        return
    # a hundred at a time: all 10,000 of a large test set would not fit into memory
    for _ in range(resamples // 100):
        yield rng.multinomial(n, np.full(n, 1 / n), size=100).astype(float)


def accuracy(counts: Floats) -> Floats:
    """The share of gold items that are right, as `f_score`."""
    return np.asarray(counts[:, 0] / np.maximum(1, counts[:, 2]))


def precision(counts: Floats) -> Floats:
    """The share of what was found that is right, as `f_score`."""
    return np.asarray(counts[:, 0] / np.maximum(1, counts[:, 1]))


def f_score(counts: Floats) -> Floats:
    """F of chunks (n,). counts (n, m): chunks that are right, chunks found, gold chunks, and
    anything else."""
    return np.asarray(2 * counts[:, 0] / np.maximum(1, counts[:, 1] + counts[:, 2]))


class Discordance(NamedTuple):
    """Tokens that only one of two systems has right. gained: only the second, lost: only the first;
    of several runs, by how many runs. p: two-sided, of at least such a difference if both were
    equally good."""

    gained: int
    lost: int
    p: float


def mcnemar(a: Mask | Ints, b: Mask | Ints) -> Discordance:
    """McNemar's test, exact: each token on which the systems differ may be for either, with
    probability 1/2.

        p = min(1, 2 P(X <= min(gained, lost))),   X = sum_k k X_k,   X_k ~ Binomial(n_k, 1/2)

    n_k tokens differ by k runs. A token counts once, whatever the number of runs: with one run
    X ~ Binomial(gained + lost, 1/2).

    a, b (N,) bool, or int: whether the first and the second system are right, or in how many runs.
    """
    differences = b.astype(int) - a.astype(int)
    gained = int(differences.clip(min=0).sum())
    lost = int((-differences).clip(min=0).sum())
    # the distribution of X: that of each X_k in turn, added by convolution
    chances = np.ones(1)
    for k, n in enumerate(np.bincount(np.abs(differences))[1:], 1):
        chances = np.convolve(chances, np.bincount(k * np.arange(n + 1), weights=tossed(int(n))))
    return Discordance(gained, lost, min(1.0, 2 * float(chances[: min(gained, lost) + 1].sum())))


def tossed(n: int) -> Floats:
    """Chance of each number of heads in n tosses of a coin (n + 1,)."""
    logs = np.array([math.lgamma(i + 1) for i in range(n + 1)])  # log i!
    return np.asarray(np.exp(logs[n] - logs - logs[::-1] - n * math.log(2)))
