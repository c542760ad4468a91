"""Sums over the parts of labels.

    scores[n, y]  = sum over parts p of y: part_scores[n, p]
    trans[y', y]  = sum over parts q of y', p of y: pairs[q, p]

With M (P, L), M[p, y] = 1 if p is a part of y, that is part_scores M and M' pairs M, and gradients
come back as d_scores M' and M d_trans M'. Checked against the definition in
tests/layers/test_label_parts.py, and by finite differences in tests/layers/test_heads.py.
"""

from typing import Any

import numpy as np

from ..arrays import AnyFloats, Floats, Ints
from ..learning.gradients import CellGradient

PART_BLOCK_TOKENS = 128


class LabelParts:
    """Sums over parts. extra: the arrays of `packed_parts`. matrix (P, L): M, 1 where a label has a
    part."""

    def __init__(self, extra: dict[str, Any]) -> None:
        self.names: list[str] = extra["names"]
        kinds = extra["kinds"]
        self.same_kind = (kinds[:, None] == kinds) & (kinds >= 0)
        parts: Ints = extra["parts"].astype(np.intp)
        sizes = np.diff(extra["first"])
        self.matrix: Floats = np.zeros((len(self.names), len(sizes)))
        self.matrix[parts, np.arange(len(sizes)).repeat(sizes)] = 1
        # Labels of most parts come first, so that the n-th parts of all labels that have as many are
        # those of the first labels: one sum over an array for each n.
        order = np.argsort(-sizes, kind="stable")
        self._place = np.argsort(order)
        self._nth_parts: list[Ints] = []
        for n in range(int(sizes.max(initial=0))):
            labels = order[: np.count_nonzero(sizes > n)]
            self._nth_parts.append(parts.take(extra["first"].take(labels) + n))

    def of_label(self, label: int) -> list[int]:
        """The parts of a label."""
        return np.flatnonzero(self.matrix[:, label]).tolist()

    def scores(self, part_scores: AnyFloats) -> AnyFloats:
        """part_scores M. part_scores (N, P). RETURNS (N, L).

        A matrix product would add in an order that depends on the batch. Here parts are added in
        their order, so that a score is the same number in every batch.
        """
        scores = np.empty((len(part_scores), len(self._place)), part_scores.dtype)
        for start in range(0, len(part_scores), PART_BLOCK_TOKENS):
            block = slice(start, start + PART_BLOCK_TOKENS)
            columns = np.ascontiguousarray(part_scores[block].T)  # (P, n)
            sums = np.zeros((len(self._place), columns.shape[1]), columns.dtype)
            for parts in self._nth_parts:
                sums[: len(parts)] += columns.take(parts, axis=0)
            scores[block] = sums.take(self._place, axis=0).T
        return scores

    def back(self, d_scores: AnyFloats) -> AnyFloats:
        """Gradient of `scores`. d_scores (N, L), most rows perhaps 0. RETURNS (N, P)."""
        tokens = np.flatnonzero(d_scores.any(axis=1))
        d_parts = np.zeros((len(d_scores), len(self.names)), d_scores.dtype)
        d_parts[tokens] = d_scores[tokens] @ self.matrix.T.astype(d_scores.dtype)
        return d_parts

    def pairs(self, part_pairs: AnyFloats) -> AnyFloats:
        """M' part_pairs M. part_pairs (P, P). RETURNS (L, L)."""
        return self.scores(self.scores(part_pairs).T).T

    def pairs_back(self, d_pairs: AnyFloats) -> CellGradient:
        """Gradient of `pairs` where there are weights: M d_pairs M' at pairs of one kind. d_pairs
        (L, L), most of it 0."""
        before = np.flatnonzero(d_pairs.any(axis=1))
        after = np.flatnonzero(d_pairs.any(axis=0))
        between = d_pairs[np.ix_(before, after)].astype(np.float64)
        gradient = self.matrix[:, before] @ between @ self.matrix[:, after].T
        cells = np.flatnonzero(gradient * self.same_kind)
        return CellGradient(cells, gradient.take(cells))
