"""The best label sequence, and the most probable label of each token."""

from typing import Protocol, runtime_checkable

import numpy as np

from .answers import best_labels, posterior
from .problem import TUNING, Paths, Potentials, Tuning, path_score, score_of_checked


def decode_exact(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences, with
    their scores.

    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: as the algorithm used.
    RAISES ValueError [HS020-HS038].
    """
    labels = best_labels(potentials, tuning=tuning)
    return Paths(labels, score_of_checked(potentials, labels))


def max_marginal(potentials: Potentials) -> Paths:
    """The label of largest marginal at each token, whatever the others are, for a batch of
    sequences.

        y*_t = argmax_y p(y_t = y | x)

    It makes the expected number of right labels large, where `decode_exact` makes the probability
    that ALL are right large (minimum Bayes risk for the Hamming loss; Rabiner 1989, section
    III.B). Needs potentials learnt as probabilities (objective `log_likelihood`) to be worth its
    time.

    RETURNS (Paths): scores are score(x, y*), -inf if y* uses a forbidden transition, which this
    criterion does not exclude. Ties: the lowest label. RAISES ValueError as `posterior`.
    """
    labels = posterior(potentials).nodes.argmax(axis=1).astype(np.int32)
    return Paths(labels, path_score(potentials, labels))


@runtime_checkable
class Decoder(Protocol):
    """From potentials to labels, which `potentials.allowed` permits."""

    def __call__(self, potentials: Potentials, /) -> Paths: ...
