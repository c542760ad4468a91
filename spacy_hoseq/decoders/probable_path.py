"""The best label sequences, where marginals have been computed anyway.

The most probable label of each token makes a labelling whose probability p is one segment's. If it has more than half
of all, it is the best one, since all others share the rest; so it is in most sequences that a trained model is sure of.
Else the best labelling has at least p, and so has each of its labels: those with a smaller marginal cannot be on it,
and are left out before decoding.
"""

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from .configuration_marginals import ConfigurationMarginals, SpanMarginals
from .exact import decode_exact
from .potentials import Potentials

ROUNDING = 1e-6  # more than it can do
SURE = 0.5 + ROUNDING


def decode_probable(
    potentials: Potentials, marginals: SpanMarginals, *, allowed: Optional[NDArray[np.bool_]] = None
) -> NDArray[np.int32]:
    """The labels of `decode_exact`. marginals: of the same potentials and mask. RETURNS (N,) int32.

    For a chain; with label patterns or configurations, where segments cost more than decoding, everything is decoded.
    """
    if isinstance(marginals, ConfigurationMarginals) or potentials.patterns is not None or potentials.moves is not None:
        return decode_exact(potentials, allowed=allowed).labels
    labels: NDArray[np.int32] = marginals.nodes.argmax(axis=1).astype(np.int32)
    lengths = potentials.lengths.astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    p = marginals.segments(starts, lengths, labels)
    unsure = np.flatnonzero(p < SURE)
    if len(unsure):
        rest, tokens, _ = potentials.chain_of(unsure)
        least = np.repeat(p[unsure] * (1 - ROUNDING), lengths[unsure])
        candidates = marginals.nodes[tokens] >= least[:, None]
        if allowed is not None:
            candidates &= allowed[tokens]
        labels[tokens] = decode_exact(rest, allowed=candidates).labels
    return labels
