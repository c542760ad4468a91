"""Types of arrays, named for what they hold."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]  # sums, probabilities, scores of paths
Floats32 = NDArray[np.float32]  # weights and emissions
AnyFloats = NDArray[np.floating]  # either: what is only read
Ints = NDArray[np.intp]  # positions: tokens, nodes, rows of tables
AnyInts = NDArray[np.integer]  # either: what is only read
Rows = NDArray[np.int32]  # rows of a table of weights or of word types
Lengths = NDArray[np.int32]  # tokens of each sequence, >= 1
Labels = NDArray[np.int32]  # label ids
Keys = NDArray[np.uint64]  # hashes of features and of strings
Mask = NDArray[np.bool_]

Integers = TypeVar("Integers", bound=AnyInts)


def distinct(values: Integers) -> Integers:
    """Distinct values of a flat array, ascending. (`np.unique` takes longer for a few, and loads
    modules when it is first called.)"""
    ordered = np.sort(values)
    return ordered[_is_new(ordered)]  # type: ignore[return-value]


def one_of_each(values: AnyInts) -> Ints:
    """A place of each distinct value of a flat array, by ascending value."""
    order = np.argsort(values)
    return order[_is_new(values[order])]


def _is_new(ordered: AnyInts) -> Mask:
    is_new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return is_new
