"""Max-marginal decoding: at every token the label that is most probable there, whatever the others
are.

    y*_t = argmax_y p(y_t = y | x)

It makes the expected number of right labels large, where `exact.py` makes the probability that ALL
are right large (minimum Bayes risk for the Hamming loss; Rabiner 1989, section III.B). Needs
potentials learnt as probabilities (objective `log_likelihood`) to be worth its time.
"""

import numpy as np

from .answers import answers_of
from .problem import Paths, Potentials, path_score


def max_marginal(potentials: Potentials) -> Paths:
    """The label of largest marginal at each token, for a batch of sequences.

    RETURNS (Paths): scores are score(x, y*), -inf if y* uses a forbidden transition, which this
    criterion does not exclude. Ties: the lowest label. RAISES ValueError as `answers_of`.
    """
    labels = answers_of(potentials).nodes.argmax(axis=1).astype(np.int32)
    return Paths(labels, path_score(potentials, labels))
