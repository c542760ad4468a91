"""p(y | x) of any potentials: one function that looks at the ranges of scores and weights, and picks the walk.

    a chain whose transitions (with edge scores) differ by less than e^300      scaled probabilities: `ChainPosterior`
    everything else                                                             `FeaturePosterior`

Which sums the second one makes, its own ranges say (`features.py`). Where transitions are forbidden no range can tell
whether scaled probabilities keep their digits, since a label that is worth nothing now may be the only way on. The walk
sees it, and has no result; then the chain is summed on logarithms. That is right, since every share that the walk keeps
has its digits (`forward_backward.py`), and since logarithms need no such condition.
"""

from ...arrays import AnyFloats, AnyInts, Mask
from ..chain import chain_posterior
from ..exact import check_chain
from ..problem import TUNING, Posterior, Potentials, Tuning, Weights
from .feature_posterior import FeaturePosterior


def posterior_of(potentials: Potentials, *, tuning: Tuning = TUNING) -> Posterior:
    """log Z, marginals, expected counts, segments and gradients of p(y | x) = exp(score(x, y)) / Z(x), for a batch.

    RETURNS (Posterior): the gradient of sum(log_z) with respect to every field of `potentials` is `expected`.
    RAISES ValueError [HS020-HS025, HS036-HS038]; [HS097]: scores so large that float64 does not tell labellings apart;
    [HS099]: scores of label pairs at each token beside label patterns.
    """
    if potentials.edge_scores is not None:
        check_chain(potentials)
    potentials.check()
    posterior = chain_posterior(potentials, potentials.lengths) if is_chain(potentials) else None
    return FeaturePosterior(potentials, tuning=tuning) if posterior is None else posterior


def forward_backward(
    scores: AnyFloats, trans: AnyFloats, lengths: AnyInts, *, allowed: "Mask | None" = None
) -> Posterior:
    """log Z, label marginals and expected transition counts of a first-order chain, for a batch of sequences.

    p(y | x) = exp(sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t]) / Z(x), over the allowed label sequences.

    Arguments as in `viterbi`. RETURNS (Posterior). RAISES ValueError [HS020-HS025]. Time O(N L^2), memory O(N L).
    """
    return posterior_of(Potentials(scores, Weights(trans), lengths, allowed=allowed))


def is_chain(potentials: Potentials) -> bool:
    """Whether there are no features of more than two neighbouring labels."""
    configurations = potentials.configurations
    return not potentials.weights.has_patterns and (configurations is None or not len(configurations.first))
