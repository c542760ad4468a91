"""Fewer weights for nearly the same decisions, in a whole model: rows of features that decide little
become zero, and all others are rounded.

A feature adds its row of weights to the scores of all labels of a token. A number that is added to
the whole row is added to every labelling, so it changes neither the best one nor any probability.
Therefore a row matters as much as its largest weight differs from its smallest, and it can be
shifted such that most of it is zero.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from thinc.api import Model

from ...arrays import AnyFloats
from ...layers.scorer import scorer_of
from ...layers.weights import LayerShim
from ...learning.used_rows import UsedRows

N_STEPS = 6  # steps of rounding that are tried, each half of the one before
N_HALVINGS = 6  # a threshold is found up to 1/64 of the features


class Pruning(NamedTuple):
    """Pruned row of a row w: 0 if max w - min w < threshold, else the nearest multiples of step
    (w if step = 0)."""

    threshold: float
    step: float


def centred(weights: UsedRows) -> UsedRows:
    """weights (R, L) less the median of each row (of two in the middle the smaller), so that a row
    has most zeros."""
    middle = (weights.shape[1] - 1) // 2
    values = weights.values - np.partition(weights.values, middle, axis=1)[:, middle, None]
    return UsedRows.of(values, weights.rows, weights.shape[0])


def row_ranges(weights: UsedRows) -> AnyFloats:
    """max - min of each row in use (U,). weights (R, L), L > 0."""
    return weights.values.max(axis=1) - weights.values.min(axis=1)


def prune(weights: UsedRows, pruning: Pruning) -> UsedRows:
    """Pruned weights (R, L), as half precision holds them, of the same shape and type."""
    kept = row_ranges(weights) >= pruning.threshold
    values = weights.values[kept]
    if pruning.step:
        values = pruning.step * np.rint(values / pruning.step)
    return UsedRows.of(values, weights.rows[kept], weights.shape[0]).rounded()


def steps_for(weights: AnyFloats) -> list[float]:
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
) -> Pruning | None:
    """The good pruning with the smallest model: for each step of rounding the largest threshold is
    found by bisection over the ordered rows.

    ranges (n,): of the rows that are not zero. is_good: True if the metrics stay. size_of: of the
        model, in bytes.
    RETURNS None: none is good, not even rounding to half precision. What it returns was found good
    itself, also where the metric goes up and down with the threshold.
    """
    ordered = np.sort(ranges)
    found = [_largest_threshold(ordered, step, is_good) for step in steps]
    return min(filter(None, found), key=size_of, default=None)


def _largest_threshold(
    ordered: AnyFloats, step: float, is_good: Callable[[Pruning], bool]
) -> Pruning | None:
    """The largest threshold that was found good with a step, None if not even 0 is. Invariant:
    cutting off the share `low` of the rows is good, the share `high` is not known to be."""
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
        # where labels have several parts, what rows have in common counts
        tied = any(scorer_of(node).parts is not None for node in model.walk())
        self._centred = [
            [table if tied else centred(table) for table in tables] for tables in self._original
        ]

    def ranges(self) -> AnyFloats:
        """max - min of each row that is not zero."""
        return _nonzero(row_ranges(table) for tables in self._centred for table in tables)

    def weights(self) -> AnyFloats:
        """Weights of all centred rows that are not zero."""
        return _nonzero(table.values.reshape(-1) for tables in self._centred for table in tables)

    def apply(self, pruning: Pruning | None) -> None:
        """Use the weights pruned so; None: as they were."""
        for shim, tables, before in zip(self._shims, self._centred, self._original, strict=True):
            pruned = before if pruning is None else [prune(table, pruning) for table in tables]
            shim.set_feature_weights(pruned)

    def finish(self) -> None:
        """Forget the features without weights."""
        for shim in self._shims:
            shim.drop_features()


def _nonzero(parts: Iterable[AnyFloats]) -> AnyFloats:
    values = np.concatenate(list(parts))
    return values[values != 0]


def feature_shims(model: Model[Any, Any]) -> list[LayerShim]:
    """Shims of all layers that have weights of features."""
    shims = [shim for node in model.walk() for shim in node.shims if isinstance(shim, LayerShim)]
    return [shim for shim in shims if shim.feature_weights()]


def counts_of(model: Model[Any, Any]) -> Counts:
    """Size of a model."""
    shims = feature_shims(model)
    tables = [table for shim in shims for table in shim.feature_weights()]
    n_weights = sum(int(np.count_nonzero(table.values)) for table in tables)
    return Counts(
        sum(shim.n_features() for shim in shims),
        n_weights,
        sum(len(shim.to_bytes()) for shim in shims),
    )
