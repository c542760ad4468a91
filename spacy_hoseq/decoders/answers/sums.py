"""p(y | x) of any potentials: one function that looks at the ranges of scores and weights, and picks the walk.

    a chain whose transitions (with edge scores) differ by less than e^300      scaled probabilities: `ChainPosterior`
    everything else                                                             `PatternPosterior`

Which sums the second one makes, ranges of its own say. Where transitions are forbidden no range can tell
whether scaled probabilities keep their digits, since a label that is worth nothing now may be the only way on. The walk
sees it, and has no result; then the chain is summed on logarithms. That is right, since every share that the walk keeps
has its digits (`forward_backward.py`), and since logarithms need no such condition.
"""

from ..chain import chain_posterior
from ..problem import Posterior, Potentials, Tuning
from .pattern_posterior import PatternPosterior
from .profile import Profile


def checked_posterior(potentials: Potentials, tuning: Tuning) -> Posterior:
    """p(y | x) by sums over all labellings. potentials: checked. RAISES ValueError [HS023, HS038, HS097]."""
    posterior = chain_posterior(potentials, potentials.lengths) if Profile.of(potentials).is_chain else None
    return PatternPosterior(potentials, tuning=tuning) if posterior is None else posterior
