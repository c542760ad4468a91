"""The best label sequences, where marginals have been computed anyway.

A labelling with more than half of the probability is the best one: all others share the rest. The most probable label
of each token makes such a labelling in most sequences that a trained model is sure of, and what probability it has is
one segment's. Only the other sequences are decoded.
"""

from typing import Optional

import numpy as np
from numpy.typing import NDArray

from .exact import decode_exact
from .marginals import Marginals
from .potentials import Potentials

SURE = 0.5 + 1e-6  # more than rounding can take away


def decode_probable(
    potentials: Potentials, marginals: Marginals, *, allowed: Optional[NDArray[np.bool_]] = None
) -> NDArray[np.int32]:
    """The labels of `decode_exact`. marginals: of the same potentials and mask. RETURNS (N,) int32.

    For a chain; with label patterns, where segments cost more than decoding, everything is decoded.
    """
    if potentials.patterns is not None or potentials.moves is not None:
        return decode_exact(potentials, allowed=allowed).labels
    labels: NDArray[np.int32] = marginals.nodes.argmax(axis=1).astype(np.int32)
    lengths = potentials.lengths.astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    unsure = np.flatnonzero(marginals.segments(starts, lengths, labels) < SURE)
    if len(unsure):
        rest, tokens, _ = potentials.chain_of(unsure)
        labels[tokens] = decode_exact(rest, allowed=None if allowed is None else allowed[tokens]).labels
    return labels
