"""Exact decoding, by the cheapest algorithm for what fires in each sequence
(`answers/kernels.py`)."""

from .answers import answers_of
from .problem import TUNING, Paths, Potentials, Tuning, score_of_checked


def decode_exact(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences, with
    their scores.

    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: as the algorithm used.
    RAISES ValueError [HS020-HS025, HS036-HS038].
    """
    labels = answers_of(potentials, tuning=tuning).best
    return Paths(labels, score_of_checked(potentials, labels))
