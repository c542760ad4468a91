"""The score of given label sequences: what the decoders maximise, evaluated at one labelling."""

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats
from .fired import matching
from .layout import sums_of_sequences
from .potentials import Potentials
from .results import NoPath


def path_score(potentials: Potentials, labels: AnyInts) -> Floats:
    """score(x, y) = sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t] + weights of all features
    matched by y.

    labels (N,) int: of all sequences, end to end; which labels are allowed does not matter. Weights
    of any sign.
    RETURNS (S,) float64. RAISES ValueError [HS020, HS024, HS027, HS037]. Time O(N).
    """
    potentials._replace(allowed=None).check()
    return score_of_checked(potentials, labels)


def score_of_checked(potentials: Potentials, labels: AnyInts) -> Floats:
    """`path_score` of a batch that has been checked."""
    scores = potentials.scores
    weights = potentials.weights
    lengths = potentials.lengths
    n_labels = weights.n_labels
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    here = scores.take(np.arange(len(labels)) * n_labels + labels).astype(np.float64)
    pairs = weights.precise_trans.take(labels[:-1] * n_labels + labels[1:])
    if potentials.edge_scores is not None:
        pairs += potentials.edge_scores[np.arange(1, len(labels)), labels[:-1], labels[1:]]
    here[1:] += np.where(sequence[1:] == sequence[:-1], pairs, 0.0)
    if weights.has_patterns and weights.node_weights.any():
        places = weights.trie.occurrences(labels, lengths)
        here += np.bincount(
            places.tokens, weights=weights.node_weights.take(places.nodes), minlength=len(here)
        )
    fired = potentials.fired
    configurations = potentials.configurations
    if fired is not None:
        matched = matching(
            fired, weights.trie, sequence, lambda token, label: labels[token] == label
        )
        here += np.bincount(
            fired.tokens[matched], weights=fired.weights[matched], minlength=len(here)
        )
    if configurations is not None:
        matched = configurations.matched(labels)
        here += np.bincount(
            configurations.last[matched], configurations.weights[matched], minlength=len(here)
        )
    return sums_of_sequences(here, lengths)


def check_possible(labels: AnyInts, trans: AnyFloats, lengths: AnyInts) -> None:
    """RAISES NoPath [HS023]: the labels use a forbidden transition."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    follows = sequence[1:] == sequence[:-1]
    closed = np.flatnonzero(follows & (trans[labels[:-1], labels[1:]] == -np.inf))
    if len(closed):
        raise NoPath(int(sequence[closed[0]]))


def is_permitted(potentials: Potentials, labels: AnyInts) -> bool:
    """True if these are labels (N,) that the potentials permit, without a forbidden transition."""
    n_tokens, n_labels = potentials.scores.shape
    if labels.shape != (n_tokens,) or labels.dtype.kind not in "iu":
        return False
    if labels.min(initial=0) < 0 or labels.max(initial=0) >= n_labels:
        return False
    allowed = potentials.allowed
    if allowed is not None and not allowed[np.arange(n_tokens), labels].all():
        return False
    return bool((score_of_checked(potentials, labels) > -np.inf).all())
