"""The labels of each token that can be on a best labelling."""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Mask
from .layout import ranges


class Candidates(NamedTuple):
    """In lists: what is done with them costs what they are, not N x L.

    first (N + 1,): token n has the candidates first[n] to first[n + 1], at least one. labels (C,):
    ascending at each token. scores (C,): their emissions.
    """

    first: Ints
    labels: Ints
    scores: Floats

    @classmethod
    def at(cls, cells: Ints, scores: AnyFloats) -> "Candidates":
        """Those in some cells (C,) of scores (N, L), ascending."""
        n_tokens, n_labels = scores.shape
        tokens, labels = np.divmod(cells, max(1, n_labels))
        first = np.searchsorted(tokens, np.arange(n_tokens + 1))
        return cls(first, labels, scores.reshape(-1).take(cells).astype(np.float64))

    @property
    def counts(self) -> Ints:
        """Candidates of each token. RETURNS (N,)."""
        return self.first[1:] - self.first[:-1]

    @property
    def tokens(self) -> Ints:
        """Token of each candidate. RETURNS (C,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    def of(self, tokens: Ints) -> "Candidates":
        """Those of some tokens, in their order."""
        sizes = self.counts.take(tokens)
        at = ranges(self.first.take(tokens), sizes)
        first = np.zeros(len(sizes) + 1, np.intp)
        np.cumsum(sizes, out=first[1:])
        return Candidates(first, self.labels.take(at), self.scores.take(at))

    def dense(self, n_labels: int) -> tuple[Floats, Mask]:
        """Scores (N, L), 0 for other labels, and the candidates as a mask (N, L)."""
        shape = len(self.first) - 1, n_labels
        scores = np.zeros(shape)
        mask = np.zeros(shape, bool)
        at = self.tokens, self.labels
        scores[at] = self.scores
        mask[at] = True
        return scores, mask
