"""Marginals of potentials, and backpropagation through them: of a chain, or with label patterns."""

from typing import Optional, Union

import numpy as np
from numpy.typing import NDArray

from .chain_marginals import Arcs, ChainMarginals
from .exact import check_chain
from .pattern_marginals import PatternMarginals
from .potentials import Potentials, PotentialsGradient

Marginals = Union[ChainMarginals, PatternMarginals]


def marginals_of(potentials: Potentials, *, allowed: Optional[NDArray[np.bool_]] = None) -> Marginals:
    """allowed (N, L). RAISES ValueError as the two classes; [HS039]: general configurations; [HS099]: scores
    of label pairs at each token beside label patterns."""
    scores, trans, lengths, patterns = potentials[:4]
    if potentials.moves is not None:
        check_chain(potentials)
        return ChainMarginals(scores, trans, lengths, allowed=allowed, moves=potentials.moves)
    potentials.refuse_configurations("marginals")
    if patterns is None:
        return ChainMarginals(scores, trans, lengths, allowed=allowed)
    return PatternMarginals(scores, trans, patterns, lengths, allowed=allowed)


def backpropagated(
    marginals: Marginals, d_nodes: NDArray[np.floating], arcs: Arcs, d_arcs: NDArray[np.floating]
) -> PotentialsGradient:
    """The gradient of a loss with respect to the potentials, given that with respect to label marginals (N, L) and
    some arcs (A,)."""
    found = marginals.backprop(d_nodes, arcs, d_arcs)
    scores = found.scores.astype(d_nodes.dtype)
    if isinstance(marginals, ChainMarginals):
        return PotentialsGradient(scores, found.trans, np.zeros(0), np.zeros(0))
    return PotentialsGradient(scores, *found[1:])
