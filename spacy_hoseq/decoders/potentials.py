"""Everything a batch is decoded from, and the gradient of a loss with respect to it."""

from typing import Iterator, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from .forward_backward import forward_backward
from .pattern_posterior import pattern_posterior
from .pruning import decode_pruned
from .records import Paths, Posterior
from .trie import PatternScores


class OneSequence(NamedTuple):
    """One sequence of a batch. scores (T, L), trans (L, L), allowed (T, L) bool or None."""

    scores: NDArray[np.float32]
    trans: NDArray[np.floating]
    patterns: Optional[PatternScores]
    allowed: Optional[NDArray[np.bool_]]


class Potentials(NamedTuple):
    """The terms of score(x, y) for all sequences of a batch.

    scores (N, L) float32: emissions. trans (L, L): first index is the earlier token. lengths (S,) int.
    patterns: higher-order features, None for a plain chain.
    """

    scores: NDArray[np.float32]
    trans: NDArray[np.floating]
    lengths: NDArray[np.int32]
    patterns: Optional[PatternScores] = None

    def decode(self, *, allowed: Optional[NDArray[np.bool_]] = None) -> Paths:
        """The best label sequences (exact). allowed (N, L) bool."""
        return decode_pruned(self.scores, self.trans, self.lengths, patterns=self.patterns, allowed=allowed)

    def posterior(self, *, allowed: Optional[NDArray[np.bool_]] = None) -> Posterior:
        """log Z, marginals and expected counts (exact). allowed (N, L) bool."""
        if self.patterns is None:
            return forward_backward(self.scores, self.trans, self.lengths, allowed=allowed)
        return pattern_posterior(self.scores, self.trans, self.patterns, self.lengths, allowed=allowed)

    def sequences(self, allowed: Optional[NDArray[np.bool_]]) -> Iterator[OneSequence]:
        """The sequences one by one, for inference that is not batched."""
        end = 0
        for length in self.lengths.tolist():
            start, end = end, end + length
            patterns = self.patterns
            if patterns is not None and patterns.fired is not None:
                patterns = patterns._replace(fired=patterns.fired.between(start, end)[0])
            mask = None if allowed is None else allowed[start:end]
            yield OneSequence(self.scores[start:end], self.trans, patterns, mask)


class PotentialsGradient(NamedTuple):
    """Gradient of a loss with respect to `Potentials`, field by field.

    scores (N, L) float32, trans (L, L), node_weights (U,) of `patterns.weights`, fired_weights (M,) of
    `patterns.fired.weights`; the last two are empty if there is no such part.
    """

    scores: NDArray[np.float32]
    trans: NDArray[np.float64]
    node_weights: NDArray[np.float64]
    fired_weights: NDArray[np.float64]

    def __sub__(self, other: "PotentialsGradient") -> "PotentialsGradient":
        return PotentialsGradient(
            self.scores - other.scores,
            self.trans - other.trans,
            self.node_weights - other.node_weights,
            self.fired_weights - other.fired_weights,
        )
