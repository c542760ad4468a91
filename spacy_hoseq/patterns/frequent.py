"""Transitions that are frequent in the training data, as patterns that fire everywhere (Qian & Liu,
"Experiments")."""

from typing import List, Sequence

import numpy as np
from numpy.typing import NDArray
from spacy.tokens import Doc

from ..errors import Errors
from .sources import EVERYWHERE, FiredRules, PatternFeatures, fired_rules

MAX_ORDER = 20


class FrequentTransitions:
    """Every label sequence of order 2 to `max_order` seen at least `min_count` times; one weight
    each.

    (Order 1 is what the transition matrix holds, with weights of any sign.)

    max_order (int): longest patterns, 2 to MAX_ORDER (20); order 3 is four labels. min_count (int):
        how often each must occur in training, >= 1; lower: more patterns, slower.
    RAISES ValueError [HS033].
    """

    n_rules = 0

    def __init__(self, max_order: int = 3, min_count: int = 10) -> None:
        if not 2 <= max_order <= MAX_ORDER:
            raise ValueError(
                Errors.HS033.format(name="max_order", value=max_order, expected=f"2 to {MAX_ORDER}")
            )
        if min_count < 1:
            raise ValueError(
                Errors.HS033.format(name="min_count", value=min_count, expected="1 or more")
            )
        self.max_order = max_order
        self.min_count = min_count

    def define(self, labels: Sequence[str], sequences: List[NDArray[np.int32]]) -> PatternFeatures:
        gap = np.full(1, -1, np.int32)
        flat = (
            np.concatenate([part for sequence in sequences for part in (sequence, gap)])
            if sequences
            else gap
        )
        patterns = []
        for length in range(3, self.max_order + 2):
            windows = (
                np.lib.stride_tricks.sliding_window_view(flat, length)
                if len(flat) >= length
                else flat[:0, None]
            )
            windows = windows[(windows >= 0).all(axis=1)]  # none across sequences or unknown labels
            if not len(windows):
                break
            strings, counts = np.unique(windows, axis=0, return_counts=True)
            patterns += [tuple(p) for p in strings[counts >= self.min_count].tolist()]
        n = len(patterns)
        return PatternFeatures(patterns, np.arange(n), np.full(n, EVERYWHERE, np.intp))

    def fire(self, docs: Sequence[Doc]) -> FiredRules:
        """These patterns have no rules."""
        return fired_rules(np.zeros(0, np.intp), np.zeros(0, np.intp))
