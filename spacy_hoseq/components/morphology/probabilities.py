"""Probabilities of features: sums of those of all labels that have them.

    p(y_t has "Case=Gen" | x) = sum over labels y with "Case=Gen" of p(y_t = y | x)

Exact over all labellings that are allowed. Checked against enumeration in
tests/components/test_morphologizer.py.
"""

from typing import Dict, List, Sequence

import numpy as np

from ...arrays import Floats, Mask
from .labels import features_of


class FeatureTable:
    """Features of all labels. names: "Case=Gen", sorted, the part of speech as "POS=NOUN". has (V,
    L): of labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        of_labels = [
            [f"{name}={value}" for name, value in features_of(label).items()] for label in labels
        ]
        self.names: List[str] = sorted({name for of_label in of_labels for name in of_label})
        rows = {name: row for row, name in enumerate(self.names)}
        self.has: Mask = np.zeros((len(rows), len(labels)), bool)
        for y, of_label in enumerate(of_labels):
            self.has[[rows[name] for name in of_label], y] = True

    def of(self, marginals: Floats, least: float) -> List[Dict[str, float]]:
        """Of each token the features of at least this probability, most probable first. marginals
        (n, L)."""
        result = []
        for row in np.minimum(marginals @ self.has.T, 1.0):
            order = np.argsort(-row, kind="stable")[: int((row >= least).sum())]
            result.append({self.names[i]: float(row[i]) for i in order if row[i] > 0})
        return result
