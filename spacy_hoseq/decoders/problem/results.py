"""Results of decoders."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import Errors
from .layout import Layout


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


def unpack_paths(labels: NDArray[np.int32], best: Floats, layout: Layout) -> Paths:
    """Packed labels and scores by rank -> the given order. RAISES ValueError [HS023]: a sequence has
    no path."""
    flat = np.empty_like(labels)
    flat[layout.tokens] = labels
    scores = np.empty_like(best)
    scores[layout.order] = best
    if len(best) and best.min() == -np.inf:
        raise NoPath(int(scores.argmin()))
    return Paths(flat, scores)
