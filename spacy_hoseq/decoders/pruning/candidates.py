"""The labels that are left at each token, in lists: what is done with them costs what they are, not
N x L."""

from typing import NamedTuple, Tuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Mask
from ..problem import Tuning, Weights, ranges


class Candidates(NamedTuple):
    """first (N + 1,): token n has the candidates first[n] to first[n + 1], at least one.

    labels (C,): ascending at each token. scores (C,): their emissions. loss (C,): weight of the
    patterns that fire at given positions and need the label there.
    """

    first: Ints
    labels: Ints
    scores: Floats
    loss: Floats

    @property
    def counts(self) -> Ints:
        """Candidates of each token. RETURNS (N,)."""
        return self.first[1:] - self.first[:-1]

    @property
    def tokens(self) -> Ints:
        """Token of each candidate. RETURNS (C,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    def chosen(self, kept: Mask) -> "Candidates":
        """Those that are `kept` (C,)."""
        first = np.concatenate([[0], np.cumsum(kept)]).take(self.first)
        at = np.flatnonzero(kept)
        return Candidates(first, self.labels.take(at), self.scores.take(at), self.loss.take(at))

    def of(self, tokens: Ints) -> "Candidates":
        """Those of some tokens, in their order."""
        if len(tokens) == len(self.first) - 1 and (tokens[:-1] < tokens[1:]).all():
            return self  # all of them
        sizes = self.counts[tokens]
        at = ranges(self.first[tokens], sizes)
        first = np.concatenate([[0], np.cumsum(sizes)])
        return Candidates(first, self.labels[at], self.scores[at], self.loss[at])

    def dense(self, n_labels: int) -> Tuple[Floats, Mask]:
        """Scores (N, L), 0 for other labels, and the candidates as a mask (N, L)."""
        shape = len(self.first) - 1, n_labels
        scores = np.zeros(shape)
        mask = np.zeros(shape, bool)
        at = self.tokens, self.labels
        scores[at] = self.scores
        mask[at] = True
        return scores, mask


def first_best(values: AnyFloats, first: Ints) -> Ints:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    group = np.repeat(np.arange(len(first) - 1), first[1:] - first[:-1])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, first[:-1]).take(group))[::-1]
    best = np.zeros(len(first) - 1, np.intp)
    best[group[is_best]] = is_best  # of several the first is assigned last
    return best


def dense_cost(weights: Weights, tuning: Tuning) -> int:
    """Time of a token in a decoder of all labels, in steps of `Tuning`."""
    if weights.has_patterns:
        return weights.n_labels**2 + tuning.node_cost * min(len(weights.trie), tuning.many_nodes)
    return weights.n_labels**2 + tuning.step_cost
