"""Are probabilities right? Numbers that say so, of predictions with a probability each, and of
whole distributions."""

from typing import List, NamedTuple, Tuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyInts, Floats, Ints, Mask

BINS = 15
POINTS = 50  # of a curve


class Reliability(NamedTuple):
    """counts, expected, observed (B,): how many predictions fall into each bin, their mean
    probability, the share of them that is right (0 in empty bins). error (float): sum of counts
    |observed - expected| / number of predictions, the expected calibration error (Naeini, Cooper &
    Hauskrecht 2015)."""

    counts: Ints
    expected: Floats
    observed: Floats
    error: float


def reliability(
    probabilities: ArrayLike, right: ArrayLike, n_bins: int = BINS, *, equal_mass: bool = False
) -> Reliability:
    """probabilities, right (N,): of each prediction, and whether it is right. Bins are equally wide
    or, with `equal_mass`, have as many predictions each (equal probabilities together)."""
    p = np.asarray(probabilities, float)
    hits = np.asarray(right, float)
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    if equal_mass and len(p):
        edges = np.sort(p)[(np.arange(1, n_bins) * len(p)) // n_bins]
        bins = np.searchsorted(edges, p, side="right")
    counts = np.bincount(bins, minlength=n_bins)
    filled = np.maximum(counts, 1)
    expected = np.bincount(bins, p, n_bins) / filled
    observed = np.bincount(bins, hits, n_bins) / filled
    error = float((counts * np.abs(observed - expected)).sum() / max(1, counts.sum()))
    return Reliability(counts, expected, observed, error)


class Quality(NamedTuple):
    """Of the probabilities of N labels. n: how many. ece, ece_equal_mass: of the predicted labels,
    with bins of equal width and of equal mass. brier: mean over labels of the summed squared
    differences to 0 and 1. log_loss: mean of -log p(gold label), in nats. area: under the
    risk-coverage curve, the mean share of errors among the surest predictions (Geifman & El-Yaniv
    2017). reliability: with bins of equal mass. curve: that of risk and coverage, as (share of the
    surest predictions, share of errors among them), POINTS of them."""

    n: int
    ece: float
    ece_equal_mass: float
    brier: float
    log_loss: float
    area: float
    reliability: Reliability
    curve: List[Tuple[float, float]]


LEAST = 1e-12  # a probability that is smaller counts as this one


def quality(p: Floats, gold: AnyInts, predicted: AnyInts) -> Quality:
    """p (N, L), gold, predicted (N,): label ids."""
    words = np.arange(len(gold))
    of_gold = p[words, gold]
    losses = -np.log(np.maximum(of_gold, LEAST))
    briers = (p**2).sum(axis=1) - 2 * of_gold + 1
    brier, log_loss = (float(x.sum() / max(1, len(gold))) for x in (briers, losses))
    return quality_of(p[words, predicted], predicted == gold)._replace(
        brier=brier, log_loss=log_loss
    )


def quality_of(confidence: Floats, right: Mask) -> Quality:
    """Of predictions with a probability each, and whether they are right; brier, log_loss: NaN."""
    n = len(right)
    masses = reliability(confidence, right, equal_mass=True)
    ece = reliability(confidence, right).error
    order = np.argsort(-confidence, kind="stable")
    risks = np.cumsum(~right[order]) / np.arange(1, n + 1)
    at = np.arange(1, POINTS + 1) / POINTS
    points = risks[np.maximum(np.ceil(at * n).astype(int), 1) - 1] if n else at[:0]
    curve = list(zip(at.tolist(), points.tolist(), strict=False))
    area = float(risks.sum() / max(1, n))
    return Quality(n, ece, masses.error, np.nan, np.nan, area, masses, curve)
