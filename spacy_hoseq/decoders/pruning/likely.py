"""The best label sequences, where marginals have been computed anyway.

The most probable label of each token makes a labelling of probability p. If that is more than half,
it is the best one, since all others share the rest; so it is in many sequences that a trained model
is sure of. Else the best labelling has at least p, and so has each of its labels: those with a
smaller marginal cannot be on it, and are left out before decoding. At most tokens none is left
beside that of the labelling, so that only windows around the others are decoded.

Where the most probable labels cannot follow each other, p is 0 and says nothing. Then labels below
`undecided` are left out. If the best labelling of what is left has a probability of at least
`undecided`, it is the best of all, since a better one has no label below `undecided` either; if
not, everything is decoded.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Labels
from ..chain import LikelyCells
from ..problem import TUNING, Potentials, Tuning, chain_score
from .bounds import Candidates, first_best
from .pruned import open_windows
from .sparse_viterbi import sparse_viterbi

ROUNDING = 1e-6  # more than it can do
SURE = 0.5 + ROUNDING
EPSILON = 1e-15  # of a sum, whatever the order


class LikelyLabels(NamedTuple):
    """labels (N,). undecided (n,): sequences for which they are not known to be the best, since
    every labelling that is at hand excludes too little."""

    labels: Labels
    undecided: Ints


def least_likely(n_labels: int, tuning: Tuning = TUNING) -> float:
    """The least probability of labels that `likely_labels` has to know. One of each token has as
    much."""
    return min(tuning.undecided, 1 / max(1, n_labels)) * (1 - ROUNDING)


def likely_labels(
    potentials: Potentials, cells: LikelyCells, log_z: Floats, tuning: Tuning = TUNING
) -> LikelyLabels:
    """What marginals say of the best labels of a chain. cells: all that are not below
    `least_likely`. log_z (S,): of the same potentials and mask; NaN = the sequence is not looked
    at, and what it gets are its most probable labels."""
    scores, weights, lengths = potentials[:3]
    trans = weights.trans
    rows = np.arange(len(scores)) * scores.shape[1]
    first = np.concatenate([[0], np.cumsum(np.bincount(cells.tokens, minlength=len(scores)))])
    best = first_best(cells.p, first) if len(scores) else np.zeros(0, np.intp)
    labels = cells.labels.take(best).astype(np.int32)
    most = cells.p.take(best)
    emissions = scores.take(rows + labels).astype(np.float64)
    score = chain_score(emissions, trans, labels, lengths)
    added = np.bincount(
        np.repeat(np.arange(len(lengths)), lengths), np.abs(emissions), minlength=len(lengths)
    )
    # of sums of larger numbers too many digits are lost to compare with log Z
    is_known = added * EPSILON < ROUNDING
    p = np.exp(np.where(is_known, score - log_z, -np.inf))
    impossible = is_known & (score == -np.inf) & (log_z == log_z)
    # (N,)
    least = np.minimum(np.repeat(np.where(impossible, tuning.undecided, p), lengths), most) * (
        1 - ROUNDING
    )
    is_open = 1 - most >= least  # all others have no label beside the most probable one
    is_open &= np.repeat((p < SURE) & ((p >= tuning.undecided) | impossible), lengths)
    at, window_sizes = open_windows(is_open, lengths, 1)
    if len(at):
        every = Candidates(first, np.arange(len(cells.p)), cells.p, cells.p).of(at)
        chosen = every.chosen(every.scores >= np.repeat(least.take(at), every.counts))
        of_windows = cells.labels.take(chosen.labels)
        at_cells = rows.take(at).repeat(chosen.counts) + of_windows
        labels[at] = _best_in(
            Candidates(chosen.first, of_windows, scores.take(at_cells), chosen.loss),
            trans,
            window_sizes,
        )
    again = np.flatnonzero(np.repeat(impossible, lengths))
    emissions = scores.take(rows[again] + labels[again]).astype(np.float64)
    p[impossible] = np.exp(
        chain_score(emissions, trans, labels[again], lengths[impossible]) - log_z[impossible]
    )
    return LikelyLabels(labels, np.flatnonzero(p < tuning.undecided))


def _best_in(candidates: Candidates, trans: AnyFloats, sizes: Ints) -> Labels:
    """The best labels of windows (M,), of which any may be impossible. sizes (W,): their tokens."""
    scores = candidates.scores.astype(np.float64)
    exact = candidates._replace(scores=scores, loss=np.zeros(len(scores)))
    return sparse_viterbi(exact, _finite(trans, scores, sizes), sizes).labels


def _finite(trans: AnyFloats, scores: Floats, sizes: Ints) -> Floats:
    """Transitions with a number in the place of -inf, since all paths that are left may be
    forbidden: with it once, a path has less than any that is permitted. scores (C,): of all
    candidates. sizes (W,): tokens of each window."""
    permitted = np.isfinite(trans)
    most = np.abs(scores).max() + np.abs(trans[permitted]).max(initial=0.0)  # at each token
    return np.where(permitted, trans.astype(np.float64), -2.0 * most * sizes.max() - 1)
