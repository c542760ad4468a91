"""The best labels, and p(y | x), by the cheapest algorithm that is exact for the features of a batch.

docs/algorithms.md has the table."""

import numpy as np

from ...arrays import Floats, Ints, Labels
from ..chain import best_paths, sums_of_chain
from ..patterns import decode_any_sign, lattices_of, max_marginals
from ..problem import (
    TUNING,
    Candidates,
    NoPath,
    Posterior,
    Potentials,
    Tuning,
    score_of_checked,
)
from ..pruning import best_among, pruned_labels
from .pattern_posterior import PatternPosterior


def best_labels(potentials: Potentials, *, tuning: Tuning = TUNING) -> Labels:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences.

    RETURNS (N,) int32. Ties: as the algorithm used; which one that is depends on the sequence, not
    on the batch. RAISES ValueError [HS020, HS022, HS024, HS027, HS037]; [HS023]: a sequence
    has no path; [HS038]: as configurations.
    """
    potentials.check()
    groups = _groups(potentials)
    if len(groups) == 1 and potentials.configurations is None:
        return _labels(potentials, tuning)
    labels = np.zeros(len(potentials.scores), np.int32)
    for sequences in groups:
        part = potentials.select(sequences)
        with part.numbered() as selected:
            labels[part.tokens] = _labels(_without_zeros(selected), tuning)
    return labels


def posterior(potentials: Potentials, *, tuning: Tuning = TUNING) -> Posterior:
    """p(y | x) = exp(score(x, y)) / Z(x) of a batch: log Z, marginals, expected counts, segments,
    entropies and gradients.

    RAISES ValueError [HS020, HS022, HS024, HS027, HS037]. Here, or when sums are first used:
    [HS023]: a sequence has no path; [HS038]: as configurations; [HS097]: scores so large that
    float64 does not tell labellings apart.
    """
    potentials.check()
    if potentials.is_chain:
        chain = sums_of_chain(potentials, tuning)
        if chain is not None:  # else rounding would show
            return chain
    return PatternPosterior(potentials, tuning=tuning)


def best_beside(potentials: Potentials, sums: Posterior, *, tuning: Tuning = TUNING) -> Labels:
    """`best_labels` of potentials whose p(y | x) is known, for less time.

    Let y' have the most probable label of each token.

        p(y' | x) > 1/2                      no other labelling is as probable: y' is the best one
        p(y_t = a | x) < p(y' | x)           a is on no best labelling y*, because
                                             p(y_t = y*_t | x) >= p(y* | x) >= p(y' | x)
    """
    if not sums.nodes.size:  # no tokens, and perhaps no labels yet
        return np.zeros(len(sums.nodes), np.int32)
    labels: Labels = sums.nodes.argmax(axis=1).astype(np.int32)
    log_p = score_of_checked(potentials, labels) - sums.log_z
    slack = 1e-6 + 1e-9 * np.abs(sums.log_z)  # far above what rounding does
    unsure = np.flatnonzero(log_p <= np.log(0.5) + slack)
    if not len(unsure):
        return labels
    part = potentials.select(unsure)
    with part.numbered() as selected:
        if not selected.is_chain or selected.edge_scores is not None:
            labels[part.tokens] = best_labels(selected, tuning=tuning)
            return labels
        # (of tiny probabilities, digits may be lost: then every label is a candidate)
        least = np.exp(np.where(log_p > -100, log_p - slack, -np.inf)[unsure])
        is_candidate = sums.nodes[part.tokens] >= least.repeat(selected.lengths)[:, None]
        if selected.allowed is not None:
            is_candidate &= selected.allowed
        candidates = Candidates.at(np.flatnonzero(is_candidate), selected.scores)
        labels[part.tokens] = best_among(candidates, selected.weights, selected.lengths, tuning)
    return labels


def best_with(potentials: Potentials, *, tuning: Tuning = TUNING) -> Floats:
    """The score of the best labelling that has this label at this token: its max-marginal. RETURNS
    (N, L), -inf where there is none; the largest of each token is the score of the best labelling.

    RAISES ValueError [HS020-HS038]. Time O(U L) a token, for U nodes of the trie.
    """
    best = np.empty(potentials.scores.shape)
    if not best.size:
        return best
    for lattice, part in lattices_of(potentials.check(), tuning):
        best[part.tokens[lattice.layout.tokens]] = max_marginals(lattice).T
    closed = np.flatnonzero(best.max(axis=1, initial=-np.inf) == -np.inf)
    if len(closed):
        raise NoPath(int(np.searchsorted(np.cumsum(potentials.lengths), closed[0], side="right")))
    return best


def _labels(potentials: Potentials, tuning: Tuning) -> Labels:
    """The best labels of sequences whose features are of one kind."""
    weights = potentials.weights
    if weights.are_zero and potentials.is_chain and potentials.edge_scores is None:
        return _best_of_each(potentials)
    # Where a quarter of the transitions is forbidden, a change of one label alone is hardly ever
    # permitted, and pruning excludes little.
    few_permitted = potentials.fired is None and weights.permitted < 0.75
    if potentials.is_chain and (few_permitted or not potentials.is_plain):
        return best_paths(potentials).labels
    if potentials.is_plain:
        return pruned_labels(potentials, tuning)
    return decode_any_sign(potentials, tuning=tuning).labels


def _best_of_each(potentials: Potentials) -> Labels:
    """The best label of each token, of equal ones the first, as everywhere."""
    scores = potentials.scores
    allowed = potentials.allowed
    if not scores.size:  # no tokens, and perhaps no labels yet
        return np.zeros(len(scores), np.int32)
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    return np.asarray(scores.argmax(axis=1), np.int32)


def _groups(potentials: Potentials) -> list[Ints]:
    """Sequences in which nothing negative fires, something does, configurations do; those that
    there are."""
    fired = potentials.fired
    configurations = potentials.configurations
    everywhere = potentials.weights.some_are_negative
    fires_negative = not everywhere and fired is not None and fired.weights.min(initial=0.0) < 0
    if configurations is None and not fires_negative:
        return [np.arange(len(potentials.lengths))]
    # a sequence is of the last kind that it has features of
    ends = np.cumsum(potentials.lengths)
    kind = np.zeros(len(ends), np.intp)
    if fired is not None and fires_negative:
        kind[np.searchsorted(ends, fired.tokens[fired.weights < 0], side="right")] = 1
    if configurations is not None:
        first = configurations.first[configurations.weights != 0]
        kind[np.searchsorted(ends, first, side="right")] = 2
    groups = [np.flatnonzero(kind == i) for i in range(3)]
    return [sequences for sequences in groups if len(sequences)]


def _without_zeros(potentials: Potentials) -> Potentials:
    """Without the configurations that pay nothing: their states would be made in vain."""
    configurations = potentials.configurations
    if configurations is None:
        return potentials
    nonzero = np.flatnonzero(configurations.weights)
    if not len(nonzero):
        return potentials._replace(configurations=None)
    not_moved = np.zeros_like(nonzero)
    return potentials._replace(configurations=configurations.chosen(nonzero, not_moved))
