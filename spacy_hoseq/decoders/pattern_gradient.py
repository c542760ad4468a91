"""Backpropagation through the marginals of a chain with label patterns.

A loss of the marginals mu_t(y) = p(y_t = y | x) has a gradient d_mu with respect to them. It gives each labelling a
cost c(y) = sum_t d_mu[t, y_t], and for every parameter with feature f

    d loss / d theta = Cov(f, c) = d/dl E_l[f] at l = 0,      p_l(y | x) proportional to exp(score(x, y) + l c(y))

(Azuma & Matsumoto 2011, equation 18 and after it). The expectations that `pattern_posterior` computes are analytic
functions of the scores, so their derivative in the direction d_mu is the imaginary part of what it computes for
scores + i STEP d_mu, divided by STEP (Squire & Trapp 1998). No difference is taken, so STEP can be so small that its
square vanishes beside 1, and the result is exact to rounding: the same walk, in complex numbers, with all patterns in
it. Tests compare with the covariance over all labellings and with finite differences.
"""

from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors
from .layout import check_scores, make_layout, packed_scores, parts_of
from .pattern_posterior import CELLS, PatternWalk, check_stable
from .records import NoPath
from .trie import PatternScores

STEP = 1e-50

Floats = NDArray[np.float64]


class PatternGradient(NamedTuple):
    """Gradient of a loss with respect to scores (N, L), trans (L, L), the weights of the trie's nodes (U,), which is 0
    for single labels, and those of fired entries (M,)."""

    scores: Floats
    trans: Floats
    nodes: Floats
    fired: Floats


def pattern_gradient(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    patterns: PatternScores,
    lengths: NDArray[np.integer],
    d_marginals: NDArray[np.floating],
    *,
    allowed: Optional[NDArray[np.bool_]] = None,
) -> PatternGradient:
    """The gradient of a loss, given its gradient with respect to the marginals.

    d_marginals (N, L). All else as in `pattern_posterior`, with its errors; RAISES ValueError [HS024]: the shape of
    d_marginals. Time and memory: those of `pattern_posterior`, in complex numbers.
    """
    check_scores(scores, trans, allowed)
    if d_marginals.shape != scores.shape:
        raise ValueError(Errors.HS024.format(name="d_marginals", got=d_marginals.shape, expected=scores.shape))
    check_stable(trans, patterns)
    layout = make_layout(lengths, len(scores))
    gradient = PatternGradient(
        np.zeros(scores.shape),
        np.zeros(trans.shape),
        np.zeros(len(patterns.trie)),
        np.zeros(0 if patterns.fired is None else len(patterns.fired.tokens)),
    )
    for sequences, tokens in parts_of(layout.lengths, len(layout.lengths), CELLS // len(patterns.trie)):
        inside, entries = patterns.among(tokens, len(scores))
        group = make_layout(layout.lengths[sequences], len(tokens))
        emissions = packed_scores(scores[tokens], None if allowed is None else allowed[tokens], group).astype(complex)
        emissions += 1j * STEP * d_marginals[tokens][group.tokens].T
        found = PatternWalk(emissions, trans, inside, group).posterior()
        if found.log_z.min() == -np.inf:
            raise NoPath(int(sequences[found.log_z.argmin()]))
        gradient.scores[tokens] = found.marginals.imag / STEP
        gradient.trans[:] += found.transitions.imag / STEP
        gradient.nodes[:] += found.node_counts.imag / STEP
        gradient.fired[entries] = found.fired_counts.imag / STEP
    return gradient
