"""Weights of features of a whole model, to be pruned again and again, and for good."""

from typing import Any, List, NamedTuple

import numpy as np
from thinc.api import Model

from ..arrays import AnyFloats
from ..layers.scorer import scorer_of
from ..layers.weights.shim import LayerShim
from .search import Pruning, centred, prune, row_ranges


class Counts(NamedTuple):
    """What a model holds: features, their weights that are not zero, and the bytes of both when
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
        tied = any(scorer_of(node).is_of_parts for node in model.walk())
        self._centred = [
            [table if tied else centred(table) for table in tables] for tables in self._original
        ]

    def ranges(self) -> AnyFloats:
        """Of all rows that are not zero."""
        parts = [row_ranges(table) for tables in self._centred for table in tables]
        ranges = np.concatenate(parts)
        return ranges[ranges > 0]

    def weights(self) -> AnyFloats:
        """Of all centred rows, those that are not zero."""
        return np.concatenate([table.values for tables in self._centred for table in tables])

    def apply(self, pruning: Pruning) -> None:
        """Use the weights pruned so."""
        for shim, tables in zip(self._shims, self._centred, strict=True):
            shim.set_feature_weights([prune(table, pruning) for table in tables])

    def restore(self) -> None:
        """Use the weights as they were."""
        for shim, tables in zip(self._shims, self._original, strict=True):
            shim.set_feature_weights(tables)

    def finish(self) -> None:
        """Forget the features without weights."""
        for shim in self._shims:
            shim.drop_features()


def feature_shims(model: Model[Any, Any]) -> List[LayerShim]:
    """Of all layers, those with weights of features."""
    shims = [shim for node in model.walk() for shim in node.shims if isinstance(shim, LayerShim)]
    return [shim for shim in shims if shim.feature_weights()]


def counts_of(model: Model[Any, Any]) -> Counts:
    shims = feature_shims(model)
    n_weights = sum(len(table.cells) for shim in shims for table in shim.feature_weights())
    return Counts(
        sum(shim.n_features() for shim in shims),
        n_weights,
        sum(len(shim.to_bytes()) for shim in shims),
    )
