"""What it costs to take one label for another: the more features are wrong, the more.

    cost(y, z) = (1 + min(d(y, z), 3)) / 2    if y and z differ, else 0
    d(y, z)    = (features of y that z has not + features of z that y has not) / 2

The part of speech is a feature. A wrong case costs 1, as a wrong label without features does in
`max_margin`; a verb that is taken for a noun has other features throughout, and costs 2.
"""

from typing import Sequence

import numpy as np

from ...arrays import Floats32
from .probabilities import FeatureTable

MOST = 3


def costs_of(labels: Sequence[str]) -> Floats32:
    """RETURNS (L, L) float32, [right, wrong]."""
    has = FeatureTable(labels).has.astype(np.float32)  # (V, L)
    sizes = has.sum(axis=0)
    differences = (sizes[:, None] + sizes) / 2 - has.T @ has  # exact: halves of small integers
    costs: Floats32 = (1 + np.minimum(differences, MOST)) / 2
    costs[differences == 0] = 0
    return costs
