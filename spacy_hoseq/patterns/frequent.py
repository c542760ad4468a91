"""Transitions that are frequent in the training data, as patterns that fire everywhere (Qian & Liu,
"Experiments")."""

from typing import List, Sequence

import numpy as np
from numpy.typing import NDArray

from ..decoders.problem import Pattern
from .sources import EVERYWHERE, PatternFeatures, PatternSource, check_number

MAX_ORDER = 20
GAP = np.full(1, -1, np.int32)  # between sequences; as an unknown label, in no pattern


class FrequentTransitions(PatternSource):
    """Every label sequence of order 2 to `max_order` seen at least `min_count` times; one weight
    each.

    (Order 1 is what the transition matrix holds, with weights of any sign.)

    max_order (int): longest patterns, 2 to MAX_ORDER (20); order 3 is four labels. min_count (int):
        how often each must occur in training, >= 1; lower: more patterns, slower.
    RAISES ValueError [HS027].
    """

    def __init__(self, max_order: int = 3, min_count: int = 10) -> None:
        check_number("max_order", max_order, 2, MAX_ORDER)
        check_number("min_count", min_count, 1)
        self.max_order = max_order
        self.min_count = min_count

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        flat = np.concatenate([GAP, *(part for sequence in sequences for part in (sequence, GAP))])
        patterns: List[Pattern] = []
        for length in range(3, min(self.max_order + 1, len(flat)) + 1):
            windows = np.lib.stride_tricks.sliding_window_view(flat, length)
            windows = windows[(windows >= 0).all(axis=1)]
            strings, counts = np.unique(windows, axis=0, return_counts=True)
            patterns += map(tuple, strings[counts >= self.min_count].tolist())
        n = len(patterns)
        return PatternFeatures(patterns, np.arange(n), np.full(n, EVERYWHERE, np.intp))
