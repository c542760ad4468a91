"""Fewer weights for nearly the same decisions: rows of features that decide little become zero, and
all others are rounded.

A feature adds its row of weights to the scores of all labels of a token. A number that is added to
every weight of the row is added to the score of every labelling: neither the best one changes nor
any probability. So what a row can decide is the difference between its largest weight and its
smallest, and it can be shifted until most of its weights are zero.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from thinc.api import Model

from ...arrays import AnyFloats
from ...layers.scorer import scorer_of
from ...layers.weights import LayerShim
from ...learning.used_rows import UsedRows


class Pruning(NamedTuple):
    """Pruned row of a row w: 0 if max w - min w < threshold, else the nearest multiples of step
    (w if step = 0)."""

    threshold: float
    step: float


def centred(weights: UsedRows) -> UsedRows:
    """weights (R, L) less the median of each row, which gives the most zeros. Of two weights in the
    middle the smaller one counts."""
    middle = (weights.shape[1] - 1) // 2
    # partition is linear in L, sorting is not
    values = weights.values - np.partition(weights.values, middle, axis=1)[:, middle, None]
    return UsedRows.of(values, weights.rows, weights.shape[0])


def row_ranges(weights: UsedRows) -> AnyFloats:
    """max - min of each row in use (U,). weights (R, L), L > 0."""
    return weights.values.max(axis=1) - weights.values.min(axis=1)


def prune(weights: UsedRows, pruning: Pruning) -> UsedRows:
    """Pruned weights (R, L), as half precision holds them, of the same shape and type."""
    decisive = row_ranges(weights) >= pruning.threshold
    values = weights.values[decisive]
    if pruning.step:
        values = pruning.step * np.rint(values / pruning.step)
    return UsedRows.of(values, weights.rows[decisive], weights.shape[0]).rounded()


def steps_for(weights: AnyFloats) -> list[float]:
    """Steps of rounding worth trying, coarse ones first: six powers of 2 around the median of |w|,
    and 0 (no rounding).

    weights (n,): those that are not zero.
    """
    if not len(weights):
        return [0.0]
    coarsest = np.floor(np.log2(np.median(np.abs(weights)))) + 2
    return [*np.exp2(coarsest - np.arange(6)).tolist(), 0.0]


def smallest(
    ranges: AnyFloats,
    steps: Sequence[float],
    is_good: Callable[[Pruning], bool],
    size_of: Callable[[Pruning], int],
) -> Pruning | None:
    """The good pruning with the smallest model. For each step of rounding, bisection over the ordered
    rows finds the largest threshold.

    ranges (n,): of the rows that are not zero. is_good: True if the metrics stay. size_of: bytes of
        the model.
    RETURNS None: none is good, not even rounding to half precision. What is returned was tested
    itself, so it is good also where a metric goes up and down with the threshold.
    """
    ordered = np.sort(ranges)
    candidates = []
    for step in steps:
        pruning = _largest_threshold(ordered, step, is_good)
        if pruning is not None:
            candidates.append(pruning)
    return min(candidates, key=size_of, default=None)


def _largest_threshold(
    ordered: AnyFloats, step: float, is_good: Callable[[Pruning], bool]
) -> Pruning | None:
    """The largest threshold that is good with a step, None if not even 0 is. It is found to 1/64 of
    the rows."""
    good = Pruning(0.0, step)
    if not is_good(good):
        return None
    if not len(ordered):
        return good
    # cutting off the share `low` of the rows is good; `high` is not known to be
    low = 0.0
    high = 1.0
    for _ in range(6):
        # each try evaluates the whole pipeline
        middle = (low + high) / 2
        tried = Pruning(float(ordered[int(middle * len(ordered))]), step)
        if is_good(tried):
            low = middle
            good = tried
        else:
            high = middle
    return good


class Counts(NamedTuple):
    """Size of a model: features, their weights that are not zero, and the bytes of both when
    saved."""

    features: int
    weights: int
    bytes: int


class CompactWeights:
    """The feature weights of a model while it is being compacted. model: stays complete until
    `finish`."""

    def __init__(self, model: Model[Any, Any]) -> None:
        self._shims = feature_shims(model)
        self._original = [shim.feature_weights() for shim in self._shims]
        self._centred = self._original
        # where labels have several parts, weights that a row has in common do count
        if all(scorer_of(node).parts is None for node in model.walk()):
            self._centred = []
            for tables in self._original:
                self._centred.append([centred(table) for table in tables])

    def ranges(self) -> AnyFloats:
        """max - min of each row that is not zero."""
        return _nonzero(row_ranges(table) for table in chain.from_iterable(self._centred))

    def weights(self) -> AnyFloats:
        """Weights of all centred rows that are not zero."""
        return _nonzero(table.values.reshape(-1) for table in chain.from_iterable(self._centred))

    def apply(self, pruning: Pruning | None) -> None:
        """Use pruned weights; None: the original ones."""
        for shim, tables, original in zip(self._shims, self._centred, self._original, strict=True):
            if pruning is None:
                shim.set_feature_weights(original)
            else:
                shim.set_feature_weights([prune(table, pruning) for table in tables])

    def finish(self) -> None:
        """Drop the features without weights."""
        for shim in self._shims:
            shim.drop_features()


def _nonzero(parts: Iterable[AnyFloats]) -> AnyFloats:
    values = np.concatenate(list(parts))
    return values[values != 0]


def feature_shims(model: Model[Any, Any]) -> list[LayerShim]:
    """Shims of all layers that have weights of features."""
    shims = []
    for node in model.walk():
        for shim in node.shims:
            if isinstance(shim, LayerShim) and shim.feature_weights():
                shims.append(shim)
    return shims


def counts_of(model: Model[Any, Any]) -> Counts:
    """Size of a model."""
    n_features = 0
    n_weights = 0
    n_bytes = 0
    for shim in feature_shims(model):
        n_features += shim.n_features()
        n_bytes += len(shim.to_bytes())
        for table in shim.feature_weights():
            n_weights += int(np.count_nonzero(table.values))
    return Counts(n_features, n_weights, n_bytes)
