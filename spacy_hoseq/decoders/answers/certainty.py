"""The best labelling with each label at each token, and the probability of events.

    best_with               max of score(x, y) over all y with y_t = a, for every token and label
    event_probabilities     p(y_t in A_t for all t | x) = Z of what is permitted / Z

Both are exact, with label patterns and configurations too. Checked against enumeration in
tests/decoders/answers/test_certainty.py.
"""

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..patterns import lattices_of, max_marginals
from ..problem import TUNING, NoPath, Potentials, Tuning
from .choose import posterior


def best_with(potentials: Potentials, *, tuning: Tuning = TUNING) -> Floats:
    """The score of the best labelling that has this label at this token: its max-marginal. RETURNS
    (N, L), -inf where there is none; the largest of each token is the score of the best labelling.

    RAISES ValueError [HS020-HS038]. Time O(U L) a token, for U nodes of the trie.
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
    part = potentials.select(sequences).potentials.permitting(permitted)
    return np.exp(np.minimum(_log_z(part) - log_z[sequences], 0.0))


def _log_z(potentials: Potentials) -> Floats:
    """log Z of each sequence, -inf where no labelling is permitted. RETURNS (S,)."""
    log_z = np.full(len(potentials.lengths), -np.inf)
    possible = np.arange(len(log_z))
    if potentials.allowed is not None:
        closed = np.flatnonzero(~potentials.allowed.any(axis=1))
        ends = np.cumsum(potentials.lengths)
        possible = np.setdiff1d(possible, np.searchsorted(ends, closed, side="right"))
    while len(possible):
        try:
            log_z[possible] = posterior(potentials.select(possible).potentials).log_z
            break
        except NoPath as no_path:  # nothing that is permitted can follow each other
            possible = np.delete(possible, no_path.sequence)
    return log_z
