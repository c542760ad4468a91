"""Marginals of potentials, and backpropagation through them: of a chain (on logarithms, if scaled probabilities would
vanish; then without a way back), or with label patterns."""

from typing import Optional, Union

import numpy as np

from ...arrays import AnyFloats, Mask
from ..chain.chain_marginals import Arcs, ChainMarginals
from ..chain.log_marginals import LogMarginals
from ..exact import check_chain
from ..higher_order.pattern_marginals import PatternMarginals
from ..problem.potentials import Potentials, PotentialsGradient
from ..problem.results import LostDigits

Marginals = Union[ChainMarginals, LogMarginals, PatternMarginals]


def marginals_of(potentials: Potentials, *, allowed: Optional[Mask] = None) -> Marginals:
    """allowed (N, L). RAISES ValueError as the classes; [HS039]: general configurations; [HS099]: scores
    of label pairs at each token beside label patterns."""
    scores, trans, lengths, patterns = potentials.scores, potentials.trans, potentials.lengths, potentials.patterns
    allowed = potentials.allowed if allowed is None else allowed
    if potentials.edge_scores is not None:
        check_chain(potentials)
        patterns = None
    else:
        potentials.refuse_configurations("marginals")
    if patterns is None:
        try:
            return ChainMarginals(scores, trans, lengths, allowed=allowed, edge_scores=potentials.edge_scores)
        except LostDigits:
            return LogMarginals(scores, trans, lengths, allowed=allowed, edge_scores=potentials.edge_scores)
    return PatternMarginals(scores, trans, patterns, lengths, allowed=allowed)


def backpropagated(marginals: Marginals, d_nodes: AnyFloats, arcs: Arcs, d_arcs: AnyFloats) -> PotentialsGradient:
    """The gradient of a loss with respect to the potentials, given that with respect to label marginals (N, L) and
    some arcs (A,). RAISES ValueError [HS097]: of `LogMarginals`."""
    if isinstance(marginals, PatternMarginals):
        scores, *others = marginals.backprop(d_nodes, arcs, d_arcs)
        return PotentialsGradient(scores.astype(d_nodes.dtype), *others)
    if isinstance(marginals, LogMarginals):
        raise marginals.no_way_back()
    chain = marginals.backprop(d_nodes, arcs, d_arcs)
    return PotentialsGradient(chain.scores.astype(d_nodes.dtype), chain.trans, np.zeros(0), np.zeros(0))
