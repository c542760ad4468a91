"""What decoders return."""

from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats
from ...errors import Errors


class Paths(NamedTuple):
    """The best label sequence of every sequence in a batch.

    labels (N,) int32: y* = argmax score(x, y), all sequences end to end. scores (S,) float64: max score(x, y).
    """

    labels: NDArray[np.int32]
    scores: Floats


class KBest(NamedTuple):
    """The k best label sequences of one sequence, best first; fewer than k if there are no more.

    labels (k, T) int32. scores (k,) float64, not increasing.
    """

    labels: NDArray[np.int32]
    scores: Floats


class Posterior(NamedTuple):
    """The distribution p(y | x) = exp(score(x, y)) / Z(x), summed up.

    log_z (S,) float64: log sum_y exp(score(x, y)).
    marginals (N, L) float64: p(y_t = y | x), rows sum to 1.
    transitions (L, L) float64: sum over all t > 0 and sequences of p(y_{t-1} = a, y_t = b | x).
    node_counts (U,) float64: sum over all t and sequences of p(y_1..y_t ends with the string of node u | x), for nodes
        of two or more labels (0 for single labels); empty without patterns.
    fired_counts (M,) float64: p(y_1..y_t ends with the node of the fired entry | x), t its last token; or empty.
    configuration_counts (M,) float64: p(all labels of the configuration's span lie in its sets | x); or empty.
    edge_scores (N, L, L): p(y_{t-1} = a, y_t = b | x) where pairs of labels have scores at each token, else None.
    """

    log_z: Floats
    marginals: Floats
    transitions: Floats
    node_counts: Floats
    fired_counts: Floats
    configuration_counts: Floats = np.zeros(0)
    edge_scores: Optional[Floats] = None


class NoPath(ValueError):
    """[HS023]: every label sequence of one sequence uses a forbidden label or transition. sequence (int): which one."""

    def __init__(self, sequence: int) -> None:
        super().__init__(Errors.HS023.format(sequence=sequence))
        self.sequence = sequence


class LostDigits(ValueError):
    """[HS097]: scaled probabilities would lose their digits. trans_range (float): by how much transitions differ."""

    def __init__(self, trans_range: float) -> None:
        super().__init__(Errors.HS097.format(limit=300, got=f"{trans_range:.3g}"))
