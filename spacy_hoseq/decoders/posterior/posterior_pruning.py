"""The best label sequences, where marginals have been computed anyway.

The most probable label of each token makes a labelling of probability p. If that is more than half, it is the best one,
since all others share the rest; so it is in many sequences that a trained model is sure of. Else the best labelling has
at least p, and so has each of its labels: those with a smaller marginal cannot be on it, and are left out before
decoding. At most tokens none is left beside that of the labelling, so that only windows around the others are decoded.

Where the most probable labels cannot follow each other, p is 0 and says nothing. Then labels below UNDECIDED are left
out. If the best labelling of what is left has a probability of at least UNDECIDED, it is the best of all, since a
better one has no label below UNDECIDED either; if not, everything is decoded.
"""

from typing import NamedTuple, Optional

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Labels, Mask
from ..exact import exact_labels
from ..higher_order.configuration_marginals import ConfigurationMarginals, SpanMarginals
from ..problem.path_score import sum_score
from ..problem.potentials import Potentials
from ..pruning.candidates import Candidates, first_best
from ..pruning.pruned import open_windows
from ..pruning.sparse_viterbi import sparse_viterbi

ROUNDING = 1e-6  # more than it can do
SURE = 0.5 + ROUNDING
UNDECIDED = 1e-2  # labellings that are less probable exclude too few labels


class Cells(NamedTuple):
    """Labels at tokens. tokens, labels (C,): by token, then by label. p (C,): p(y_t = y | x)."""

    tokens: Ints
    labels: Ints
    p: Floats


class LikelyLabels(NamedTuple):
    """labels (N,). undecided (n,): sequences for which they are not known to be the best, since every labelling that
    is at hand excludes too little."""

    labels: Labels
    undecided: Ints


def decode_probable(potentials: Potentials, marginals: SpanMarginals, *, allowed: Optional[Mask] = None) -> Labels:
    """The labels of `decode_exact`. marginals: of the same potentials and mask. RETURNS (N,) int32.

    For a chain; with label patterns or configurations, which make segments cost more than decoding, everything is
    decoded.
    """
    if (
        isinstance(marginals, ConfigurationMarginals)
        or potentials.patterns is not None
        or potentials.edge_scores is not None
    ):
        return exact_labels(potentials if allowed is None else potentials._replace(allowed=allowed))
    cells = np.flatnonzero(marginals.nodes >= least_likely(len(potentials.trans)))
    tokens, own = np.divmod(cells, len(potentials.trans))
    labels, undecided = likely_labels(potentials, Cells(tokens, own, marginals.nodes.take(cells)), marginals.log_z)
    return decode_some(potentials, allowed, undecided, labels)


def decode_some(potentials: Potentials, allowed: Optional[Mask], sequences: Ints, labels: Labels) -> Labels:
    """The labels of the batch (N,), with those of some sequences of a chain decoded. RETURNS (N,)."""
    if not len(sequences):
        return labels
    part = (potentials if allowed is None else potentials._replace(allowed=allowed)).select(sequences)
    labels = labels.copy()
    labels[part.tokens] = exact_labels(part.potentials)
    return labels


def least_likely(n_labels: int) -> float:
    """The least probability of labels that `likely_labels` has to know. One of each token has as much."""
    return min(UNDECIDED, 1 / max(1, n_labels)) * (1 - ROUNDING)


def likely_labels(potentials: Potentials, cells: Cells, log_z: Floats) -> LikelyLabels:
    """What marginals say of the best labels of a chain. cells: all that are not below `least_likely`. log_z (S,): of
    the same potentials and mask; NaN = the sequence is not looked at, and what it gets are its most probable labels."""
    scores, trans, lengths = potentials.scores, potentials.trans, potentials.lengths
    rows = np.arange(len(scores)) * scores.shape[1]
    first = np.concatenate([[0], np.cumsum(np.bincount(cells.tokens, minlength=len(scores)))])
    best = first_best(cells.p, first) if len(scores) else np.zeros(0, np.intp)
    labels, own = cells.labels.take(best).astype(np.int32), cells.p.take(best)
    score = sum_score(scores.take(rows + labels).astype(np.float64), trans, labels, lengths, None)
    p, impossible = np.exp(score - log_z), (score == -np.inf) & ~np.isnan(log_z)
    least = np.minimum(np.repeat(np.where(impossible, UNDECIDED, p), lengths), own) * (1 - ROUNDING)  # (N,)
    is_open = 1 - own >= least  # all others have no label beside the most probable one
    is_open &= np.repeat((p < SURE) & ((p >= UNDECIDED) | impossible), lengths)
    at, sizes = open_windows(is_open, lengths, 1)
    if len(at):
        every = Candidates(first, np.arange(len(cells.p)), cells.p, cells.p).of(at)
        candidates = every.chosen(every.scores >= np.repeat(least.take(at), every.counts))
        own_labels = cells.labels.take(candidates.labels)
        emissions = scores.take(rows.take(at).repeat(candidates.counts) + own_labels).astype(np.float64)
        candidates = Candidates(candidates.first, own_labels, emissions, np.zeros(len(emissions)))
        labels[at] = sparse_viterbi(candidates, _finite(trans, emissions, sizes), sizes).labels
    again = np.flatnonzero(np.repeat(impossible, lengths))
    emissions = scores.take(rows[again] + labels[again]).astype(np.float64)
    p[impossible] = np.exp(sum_score(emissions, trans, labels[again], lengths[impossible], None) - log_z[impossible])
    return LikelyLabels(labels, np.flatnonzero(p < UNDECIDED))


def _finite(trans: AnyFloats, scores: Floats, sizes: Ints) -> Floats:
    """Transitions with a number in the place of -inf, since all paths that are left may be forbidden: with it once, a
    path has less than any that is permitted. scores (C,): of all candidates. sizes (W,): tokens of each window."""
    permitted = np.isfinite(trans)
    most = np.abs(scores).max() + np.abs(trans[permitted]).max(initial=0.0)  # at each token
    return np.where(permitted, trans.astype(np.float64), -2.0 * most * sizes.max() - 1)
