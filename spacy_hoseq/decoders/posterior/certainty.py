"""How sure p(y | x) is: entropies, the best labelling with each label at each token, and the probability of events.

    conditional_entropies   h_t = H(y_t | y_1..y_{t-1}, x); those of a sequence add up to H(y | x)
    sequence_entropies      H(y | x) = log Z - E[score(x, y)], without a walk over states
    best_with               max of score(x, y) over all y with y_t = a, for every token and label
    event_probabilities     p(y_t in A_t for all t | x) = Z of what is permitted / Z

All are exact, with label patterns and configurations too. Of a chain the entropies are those of its pairs; all else is
walked over exclusive states. Checked against enumeration in tests/decoders/posterior/test_certainty.py.
"""

from typing import Iterator, NamedTuple

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..chain import ChainPosterior
from ..higher_order import ConfigurationLattice, Lattice, LongestMatch, lattice_entropies, max_marginals
from ..problem import TUNING, NoPath, Posterior, Potentials, PotentialsGradient, Tuning, make_layout, ranges
from .features import spanned_sequences
from .posterior_of import posterior_of


class Walked(NamedTuple):
    """A lattice of some sequences. tokens: of the batch, at each packed place."""

    lattice: Lattice
    tokens: Ints


def conditional_entropies(potentials: Potentials, posterior: Posterior, *, tuning: Tuning = TUNING) -> Floats:
    """h_t in nats: what is not known of a label when those before it are. posterior: of these potentials. RETURNS
    (N,). RAISES ValueError [HS038, HS097].

    Time O(L^2) a token of a chain, O(U L) with patterns of U nodes.
    """
    if isinstance(posterior, ChainPosterior):
        return posterior.conditional_entropies()
    entropies = np.zeros(len(potentials.scores))
    for lattice, tokens in _lattices(potentials, tuning):
        entropies[tokens] = np.concatenate(lattice_entropies(lattice))
    return entropies


def sequence_entropies(potentials: Potentials, posterior: Posterior) -> Floats:
    """H(y | x) of each sequence in nats, from -log p(y | x) = log Z - score(x, y) and the expected counts of all
    features. posterior: of these potentials. RETURNS (S,). RAISES ValueError [HS038, HS097].

    Time of a posterior of each sequence: with patterns a small part of that of `conditional_entropies`.
    """
    if isinstance(posterior, ChainPosterior):
        sequence = np.repeat(np.arange(len(potentials.lengths)), potentials.lengths)
        sums = np.bincount(sequence, posterior.conditional_entropies(), minlength=len(potentials.lengths))
        return np.asarray(sums, np.float64)
    entropies = np.zeros(len(potentials.lengths))
    for i, part in enumerate(potentials.one_by_one()):
        with part.numbered() as one:
            of_one = posterior_of(one)
            entropies[i] = of_one.log_z[0] - _expected_score(one, of_one.expected)
    return np.maximum(entropies, 0.0)


def _expected_score(potentials: Potentials, counts: PotentialsGradient) -> float:
    """E[score(x, y)]."""
    weights, fired, configurations = potentials.weights, potentials.fired, potentials.configurations
    terms = [(counts.scores, potentials.scores), (counts.trans, weights.trans)]
    terms += [(counts.node_weights, weights.node_weights)] if weights.has_patterns else []
    terms += [(counts.fired_weights, fired.weights)] if fired is not None else []
    terms += [(counts.configuration_weights, configurations.weights)] if configurations is not None else []
    return float(sum((n[n != 0] * x[n != 0].astype(np.float64)).sum() for n, x in terms))  # not of forbidden pairs


def best_with(potentials: Potentials, *, tuning: Tuning = TUNING) -> Floats:
    """The score of the best labelling that has this label at this token: its max-marginal. RETURNS (N, L), -inf where
    there is none; the largest of each token is the score of the best labelling.

    RAISES ValueError [HS020-HS025, HS036-HS038]. Time as `conditional_entropies`.
    """
    best = np.empty(potentials.scores.shape)
    for lattice, tokens in _lattices(potentials.check(), tuning):
        best[tokens] = np.concatenate(max_marginals(lattice, potentials.weights.n_labels), axis=1).T
    closed = np.flatnonzero(best.max(axis=1, initial=-np.inf) == -np.inf)
    if len(closed):
        raise NoPath(int(np.searchsorted(np.cumsum(potentials.lengths), closed[0], side="right")))
    return best


def event_probabilities(potentials: Potentials, posterior: Posterior, sequences: Ints, permitted: Mask) -> Floats:
    """p(y_t in A_t for all t of a sequence | x), for several events at once: log Z is found once more for each.

    posterior: of these potentials. sequences (E,): of each event. permitted: A of all tokens of these sequences, end to
    end (sum of their lengths, L). RETURNS (E,), 0 where no labelling is permitted.
    """
    p, sizes = np.zeros(len(sequences)), potentials.lengths[sequences].astype(np.intp)
    starts = np.cumsum(sizes) - sizes
    shared = potentials.fired is not None or potentials.configurations is not None
    turn = _turns(sequences) if shared else np.zeros(len(sequences), np.intp)
    for i in range(int(turn.max(initial=-1)) + 1):  # what fires in a sequence can be selected once at a time
        events = np.flatnonzero(turn == i)
        events = events[np.argsort(sequences[events], kind="stable")]
        masks = permitted[ranges(starts[events], sizes[events])]
        part = potentials.select(sequences[events]).potentials.permitting(masks)
        p[events] = np.exp(np.minimum(_log_z(part) - posterior.log_z[sequences[events]], 0.0))
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
    log_z, ends = np.full(len(potentials.lengths), -np.inf), np.cumsum(potentials.lengths)
    closed: Mask = np.zeros(len(potentials.scores), bool)
    if potentials.allowed is not None:
        closed = np.logical_not(potentials.allowed.any(axis=1))
    closed_before = np.concatenate([[0], np.cumsum(closed)])
    possible = np.flatnonzero(closed_before[ends] == closed_before[ends - potentials.lengths])
    while len(possible):
        try:
            log_z[possible] = posterior_of(potentials.select(possible).potentials).log_z
            break
        except NoPath as no_path:  # of what is permitted at each token, nothing can follow each other
            possible = np.delete(possible, no_path.sequence)
    return log_z


def _lattices(potentials: Potentials, tuning: Tuning) -> Iterator[Walked]:
    spanned = spanned_sequences(potentials)
    rest = np.setdiff1d(np.arange(len(potentials.lengths)), spanned, assume_unique=True)
    if len(rest):
        some, trie = potentials.select(rest), potentials.weights.trie
        whole = some.potentials._replace(configurations=None)
        columns = max(1, tuning.arc_cells // (len(trie) * trie.n_labels))
        for part in whole.parts(columns, max(1, tuning.sum_cells // len(trie))):
            layout = make_layout(part.potentials.lengths, len(part.tokens))
            yield Walked(LongestMatch(part.potentials, layout), some.tokens[part.tokens[layout.tokens]])
    for sequence in spanned.tolist():
        one = potentials.select(np.array([sequence]))
        yield Walked(ConfigurationLattice(one.potentials), one.tokens)
