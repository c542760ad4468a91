"""The best labelling with each label at each token, and the probability of events.

    best_with               max of score(x, y) over all y with y_t = a, for every token and label
    event_probabilities     p(y_t in A_t for all t | x) = Z of what is permitted / Z

Both are exact, with label patterns and configurations too. Checked against enumeration in
tests/decoders/answers/test_certainty.py.
"""

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..patterns import lattices_of, max_marginals
from ..problem import TUNING, NoPath, Potentials, Tuning, ranges
from .choose import posterior


def best_with(potentials: Potentials, *, tuning: Tuning = TUNING) -> Floats:
    """The score of the best labelling that has this label at this token: its max-marginal. RETURNS
    (N, L), -inf where there is none; the largest of each token is the score of the best labelling.

    RAISES ValueError [HS020-HS025, HS036-HS038]. Time O(U L) a token, for U nodes of the trie.
    """
    best = np.empty(potentials.scores.shape)
    for lattice, part in lattices_of(potentials.check(), tuning):
        best[part.tokens[lattice.layout.tokens]] = max_marginals(lattice).T
    closed = np.flatnonzero(best.max(axis=1, initial=-np.inf) == -np.inf)
    if len(closed):
        raise NoPath(int(np.searchsorted(np.cumsum(potentials.lengths), closed[0], side="right")))
    return best


def event_probabilities(
    potentials: Potentials, log_z: Floats, sequences: Ints, permitted: Mask
) -> Floats:
    """p(y_t in A_t for all t of a sequence | x), for several events at once: log Z is found once
    more for each.

    log_z (S,): of these potentials. sequences (E,): of each event. permitted: A of all tokens of
    these sequences, end to end (sum of their lengths, L). RETURNS (E,), 0 where no labelling is
    permitted.
    """
    p = np.zeros(len(sequences))
    sizes = potentials.lengths[sequences].astype(np.intp)
    starts = np.cumsum(sizes) - sizes
    shared = potentials.fired is not None or potentials.configurations is not None
    turn = _turns(sequences) if shared else np.zeros(len(sequences), np.intp)
    # what fires in a sequence can be selected once at a time
    for i in range(int(turn.max(initial=-1)) + 1):
        events = np.flatnonzero(turn == i)
        events = events[np.argsort(sequences[events], kind="stable")]
        masks = permitted[ranges(starts[events], sizes[events])]
        part = potentials.select(sequences[events]).potentials.permitting(masks)
        p[events] = np.exp(np.minimum(_log_z(part) - log_z[sequences[events]], 0.0))
    return p


def _turns(sequences: Ints) -> Ints:
    """How many of the events before are of the same sequence. RETURNS (E,)."""
    order = np.argsort(sequences, kind="stable")
    starts = np.flatnonzero(np.diff(sequences[order], prepend=-1))
    turn = np.empty(len(sequences), np.intp)
    turn[order] = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return turn


def _log_z(potentials: Potentials) -> Floats:
    """log Z of each sequence, -inf where no labelling is permitted. RETURNS (S,)."""
    log_z = np.full(len(potentials.lengths), -np.inf)
    ends = np.cumsum(potentials.lengths)
    closed: Mask = np.zeros(len(potentials.scores), bool)
    if potentials.allowed is not None:
        closed = np.logical_not(potentials.allowed.any(axis=1))
    closed_before = np.concatenate([[0], np.cumsum(closed)])
    possible = np.flatnonzero(closed_before[ends] == closed_before[ends - potentials.lengths])
    while len(possible):
        try:
            log_z[possible] = posterior(potentials.select(possible).potentials).log_z
            break
        except (
            NoPath
        ) as no_path:  # of what is permitted at each token, nothing can follow each other
            possible = np.delete(possible, no_path.sequence)
    return log_z
