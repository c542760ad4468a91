"""Results of decoders."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import Errors


class Paths(NamedTuple):
    """The best label sequence of every sequence in a batch.

    labels (N,) int32: y* = argmax score(x, y), all sequences end to end. scores (S,) float64: max
    score(x, y).
    """

    labels: NDArray[np.int32]
    scores: Floats


class KBest(NamedTuple):
    """The k best label sequences of one sequence, best first; fewer than k if there are no more.

    labels (k, T) int32. scores (k,) float64, not increasing.
    """

    labels: NDArray[np.int32]
    scores: Floats


class NoPath(ValueError):
    """[HS023]: every label sequence of one sequence uses a forbidden label or transition. sequence
    (int): which one."""

    def __init__(self, sequence: int) -> None:
        super().__init__(Errors.HS023.format(sequence=sequence))
        self.sequence = sequence
