"""Exact decoding: for each case the algorithm that solves it at the least cost.

    a chain                                     Viterbi                            O(L^2) a token
    label patterns, no weight negative          inclusive messages                 O(U + L^2)
    label patterns, some weight negative        longest matches                    O(U L)
    sequences in which configurations fire      states made on the fly             O(S L)
    scores of label pairs at each token         the chain's, step by step          O(L^2)
    these beside label patterns                 longest matches                    O(U L)

The first two decode what pruning leaves. Sums are in `answers/`.
"""

from typing import Callable, List, Tuple

import numpy as np

from ..arrays import Ints, Labels
from .chain import edge_viterbi
from .higher_order import ConfigurationLattice, any_sign_checked, configuration_paths
from .problem import TUNING, Paths, Potentials, Tuning, score_of_checked
from .pruning import pruned_checked


def decode_exact(potentials: Potentials, *, tuning: Tuning = TUNING) -> Paths:
    """The label sequences y* = argmax_y score(x, y) (`path_score`), for a batch of sequences, with their scores.

    RETURNS (Paths): labels (N,) int32, scores (S,) float64. Ties: as the algorithm used.
    RAISES ValueError [HS020-HS025, HS036-HS038].
    """
    labels = checked_labels(potentials.check(), tuning)
    return Paths(labels, score_of_checked(potentials, labels))


def checked_labels(potentials: Potentials, tuning: Tuning = TUNING) -> Labels:
    """The labels of `decode_exact` alone (N,). potentials: checked."""
    parts = _algorithms(potentials)
    if len(parts) == 1:
        return parts[0][0](potentials, tuning)
    labels = np.zeros(len(potentials.scores), np.int32)
    for decode, sequences in parts:
        part = potentials.select(sequences)
        with part.numbered() as some:
            labels[part.tokens] = decode(some, tuning)
    return labels


def _algorithms(potentials: Potentials) -> List[Tuple[Callable[[Potentials, Tuning], Labels], Ints]]:
    """Who decodes which sequences: each by its own features and their signs, so that ties do not depend on others."""
    fired, configurations = potentials.fired, potentials.configurations
    has_edges = potentials.edge_scores is not None
    chain = _labels_of_edges if has_edges else pruned_checked
    functions = (chain, _labels_of_any_sign, _labels_with_configurations)
    everywhere = int(potentials.weights.has_patterns if has_edges else potentials.weights.some_are_negative)
    some_negative = fired is not None and fired.weights.min(initial=0.0) < 0
    if configurations is None and (everywhere or not some_negative):
        return [(functions[everywhere], np.arange(len(potentials.lengths)))]
    ends = np.cumsum(potentials.lengths)
    algorithm = np.full(len(ends), everywhere)
    if fired is not None and some_negative:
        algorithm[np.searchsorted(ends, fired.tokens[fired.weights < 0], side="right")] = 1
    if configurations is not None:
        first = configurations.first[configurations.weights != 0]
        algorithm[np.searchsorted(ends, first, side="right")] = 2
    parts = [(function, np.flatnonzero(algorithm == i)) for i, function in enumerate(functions)]
    return [(function, sequences) for function, sequences in parts if len(sequences)]


def _labels_of_edges(potentials: Potentials, tuning: Tuning) -> Labels:
    return edge_viterbi(potentials).labels


def _labels_of_any_sign(potentials: Potentials, tuning: Tuning) -> Labels:
    return any_sign_checked(potentials, tuning=tuning).labels


def _labels_with_configurations(potentials: Potentials, tuning: Tuning) -> Labels:
    labels = [np.zeros(0, np.int32)]
    for part in potentials.one_by_one():
        with part.numbered() as one:
            labels.append(configuration_paths(ConfigurationLattice(_without_zeros(one))).labels)
    return np.concatenate(labels)


def _without_zeros(potentials: Potentials) -> Potentials:
    """Without the configurations that earn nothing: their states would be made in vain."""
    configurations = potentials.configurations
    if configurations is None or (configurations.weights != 0).all():
        return potentials
    earning = np.flatnonzero(configurations.weights)
    return potentials._replace(configurations=configurations.chosen(earning, np.zeros_like(earning)))
