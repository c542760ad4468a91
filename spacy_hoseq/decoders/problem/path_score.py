"""The score of given label sequences: what the decoders maximise, evaluated at one labelling."""

from typing import Optional

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats
from .configurations import Configurations
from .firing import matching
from .layout import check_lengths, check_scores
from .potentials import Potentials
from .trie import PatternScores


def path_score(potentials: Potentials, labels: AnyInts) -> Floats:
    """score(x, y) = sum_t scores[t, y_t] + sum_{t>0} trans[y_{t-1}, y_t] + weights of all features matched by y.

    labels (N,) int: of all sequences, end to end; which labels are allowed does not matter. Weights of any sign.
    RETURNS (S,) float64. RAISES ValueError [HS020, HS021, HS024, HS025]. Time O(N).
    """
    check_scores(potentials.scores, potentials.trans, None)
    check_lengths(potentials.lengths, len(potentials.scores))
    return score_of_checked(potentials, labels)


def score_of_checked(potentials: Potentials, labels: AnyInts) -> Floats:
    """`path_score` of a batch that has been checked."""
    scores, patterns = potentials.scores, potentials.patterns
    emissions = scores[np.arange(len(labels)), labels].astype(np.float64)
    return sum_score(
        emissions,
        potentials.trans,
        labels,
        potentials.lengths,
        patterns,
        potentials.configurations,
        potentials.edge_scores,
    )


def sum_score(
    emissions: Floats,
    trans: AnyFloats,
    labels: AnyInts,
    lengths: AnyInts,
    patterns: Optional[PatternScores],
    configurations: Optional[Configurations] = None,
    edge_scores: Optional[AnyFloats] = None,
) -> Floats:
    """`path_score` of a batch that has been checked. emissions (N,): of the labels alone."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    here = emissions.copy()
    later = np.flatnonzero(sequence[1:] == sequence[:-1]) + 1
    here[later] += trans[labels[later - 1], labels[later]]
    if edge_scores is not None:
        here[later] += edge_scores[later, labels[later - 1], labels[later]]
    if patterns is not None:
        trie, fired = patterns.trie, patterns.fired
        if patterns.weights.any():
            places = trie.occurrences(labels, lengths)
            here += np.bincount(places.tokens, weights=patterns.weights.take(places.nodes), minlength=len(here))
        if fired is not None:
            matched = matching(fired, trie, sequence, lambda token, label: labels[token] == label)
            here += np.bincount(fired.tokens[matched], weights=fired.weights[matched], minlength=len(here))
    if configurations is not None:
        matched = configurations.matched(labels)
        here += np.bincount(configurations.last[matched], configurations.weights[matched], minlength=len(here))
    return np.asarray(np.bincount(sequence, weights=here, minlength=len(lengths)), np.float64)
