"""Fewer weights for nearly the same decisions: rows of features that decide little become zero,
others are rounded.

A feature adds its row of weights to the scores of all labels of a token. A number that is added to
the whole row is added to every labelling, so it changes neither the best one nor any probability.
Therefore a row matters as much as its largest weight differs from its smallest, and it can be
shifted such that most of it is zero.
"""

from typing import Callable, List, NamedTuple, Optional, Sequence

import numpy as np

from ..arrays import AnyFloats
from ..learning.used_weights import to_storage

N_STEPS = 6  # steps of rounding that are tried, each half of the one before
N_HALVINGS = 6  # a threshold is found up to 1/64 of the features


class Pruning(NamedTuple):
    """What becomes of a row w: 0 if max w - min w < threshold, else the nearest multiples of step
    (w if step = 0)."""

    threshold: float
    step: float


def centred(weights: AnyFloats) -> AnyFloats:
    """weights (R, L) less the median of each row (of two in the middle the smaller), so that a row
    has most zeros."""
    if not weights.size:
        return weights
    middle = (weights.shape[1] - 1) // 2
    # the median of the others is 0
    dense = np.flatnonzero(np.count_nonzero(weights, axis=1) > middle)
    result: AnyFloats = weights.copy()
    result[dense] -= np.partition(weights[dense], middle, axis=1)[:, middle, None]
    return result


def row_ranges(weights: AnyFloats) -> AnyFloats:
    """max - min of each row of weights (R, L), L > 0. RETURNS (R,)."""
    ranges: AnyFloats = weights.max(axis=1) - weights.min(axis=1)
    return ranges


def prune(weights: AnyFloats, pruning: Pruning) -> AnyFloats:
    """weights (R, L). RETURNS them as half precision holds them, of the same shape and type."""
    kept = row_ranges(weights) >= pruning.threshold
    result = weights if not pruning.step else pruning.step * np.rint(weights / pruning.step)
    stored: AnyFloats = to_storage(np.where(kept[:, None], result, 0)).astype(weights.dtype)
    return stored


def steps_for(weights: AnyFloats) -> List[float]:
    """Steps of rounding worth trying, coarse ones first: powers of 2 around the median of |w|, and
    0 (no rounding).

    weights (n,): those that are not zero.
    """
    if not len(weights):
        return [0.0]
    coarsest = int(np.floor(np.log2(np.median(np.abs(weights))))) + 2
    return [2.0 ** (coarsest - i) for i in range(N_STEPS)] + [0.0]


def smallest(
    ranges: AnyFloats,
    steps: Sequence[float],
    is_good: Callable[[Pruning], bool],
    size_of: Callable[[Pruning], int],
) -> Optional[Pruning]:
    """The pruning that leaves least, of those that are good: for each step of rounding the largest
    threshold is found by bisection over the ordered rows.

    ranges (n,): of the rows that are not zero. is_good: whether the metric stays. size_of: in
        bytes.
    RETURNS None: none is good, not even rounding to half precision. What it returns was found good
    itself, also where the metric goes up and down with the threshold.
    """
    ordered = np.sort(ranges)
    best = None
    least = 0
    for step in steps:
        pruning = _largest_threshold(ordered, step, is_good)
        if pruning is None:
            continue
        size = size_of(pruning)
        if best is None or size < least:
            best = pruning
            least = size
    return best


def _largest_threshold(
    ordered: AnyFloats, step: float, is_good: Callable[[Pruning], bool]
) -> Optional[Pruning]:
    """Invariant: cutting off the share `low` of the rows is good, the share `high` is not known to
    be."""
    good = Pruning(0.0, step)
    if not is_good(good):
        return None
    low = 0.0
    high = 1.0
    for _ in range(N_HALVINGS if len(ordered) else 0):
        middle = (low + high) / 2
        tried = Pruning(float(ordered[int(middle * len(ordered))]), step)
        if is_good(tried):
            low = middle
            good = tried
        else:
            high = middle
    return good
