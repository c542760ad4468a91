"""Sums of rows of weights, and of the parts of labels: the same numbers whatever the batch is; and
their gradients.

    scores[n]     = sum over features k of token n: table[rows[k, n]]
    scores[n, y]  = sum over parts p of y: part_scores[n, p]
    trans[y', y]  = sum over parts q of y', p of y: pairs[q, p]

With M (P, L), M[p, y] = 1 if p is a part of y, the last two are part_scores M and M' pairs M, and
gradients come back as d_scores M' and M d_trans M'. Checked against the definition in
tests/layers/test_label_parts.py, and by finite differences in tests/layers/test_heads.py.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from thinc.api import NumpyOps

from ..arrays import AnyFloats, AnyInts, Floats, Floats32, Ints
from ..decoders.problem import ranges
from ..learning.gradients import CellGradient, Gradient, RowGradient, added_cells, are_few
from ..learning.used_rows import Cells

SUM_BLOCK_WEIGHTS = 65_536  # gathered at once: 256 KB stay in the processor's cache
PART_BLOCK_TOKENS = 128

Term = tuple[Floats32, NDArray[Any]]  # a table, and rows of it


def add_rows(table: Floats32, rows: AnyInts) -> Floats32:
    """scores[n] = sum_k table[rows[k, n]], one after the other. rows (K, n). RETURNS (n, L)."""
    scores: Floats32 = np.empty((rows.shape[1], table.shape[1]), table.dtype)
    sum_rows([(table, rows)], scores)
    return scores


def add_cells(cells: Cells, rows: AnyInts) -> AnyFloats:
    """The same sums, to the bit, of a table of which few cells are not zero."""
    n_tokens = rows.shape[1]
    n_labels = cells.full.shape[1]
    scores = np.zeros((n_tokens, n_labels), cells.values.dtype)
    flat = scores.reshape(-1)
    starts = np.arange(n_tokens) * n_labels
    # of each template at each token (K, n)
    places = cells.place.take(rows)
    firsts = cells.first.take(rows)
    sizes = np.diff(cells.first).take(rows)
    for place, first, size in zip(places, firsts, sizes, strict=True):
        tokens = np.flatnonzero(place >= 0)
        if len(tokens):
            scores[tokens] += cells.full.take(place.take(tokens), axis=0)
        if size.any():
            # a token has one row, which has a cell for a label: no place comes twice
            at = ranges(first, size)
            flat[starts.repeat(size) + cells.columns.take(at)] += cells.values.take(at)
    return scores


def sum_rows(terms: Sequence[Term], sums: Floats32) -> None:
    """Write sums[n] = sum over (table, rows) and k of table[rows[k, n]], one after the other.

    terms: table (F, L), rows (K, n). sums (n, L): the result, 0 without terms.
    """
    n_rows = sum(len(rows) for _, rows in terms)
    block_size = max(1, SUM_BLOCK_WEIGHTS // max(1, n_rows * sums.shape[1]))
    for start in range(0, len(sums), block_size):
        tokens = slice(start, start + block_size)
        block = sums[tokens]
        # the rows of all terms, one below the other: then one sum over the first axis
        gathered = np.empty((n_rows, *block.shape), sums.dtype)  # (K, n, L)
        first = 0
        for table, rows in terms:
            out = gathered[first : first + len(rows)]
            table.take(rows[:, tokens], axis=0, out=out, mode="clip")
            first += len(rows)
        if block.size > 1:
            block[:] = np.add.reduce(gathered, axis=0)
        else:
            # of a single cell `reduce` adds pairwise, which may round otherwise
            block[:] = sum(gathered, np.zeros_like(block))


def table_gradient(rows: AnyInts, gradient: Floats32, scale: np.float32, nothing: int) -> Gradient:
    """Gradient of scale * `add_rows`, by rows or by cells.

    rows (K, N). gradient (N, L): of the scores. nothing: the row of no feature, which has none.
    """
    n_labels = gradient.shape[1]
    nonzero = np.flatnonzero(gradient != 0)  # (n,) cells of (N, L)
    token, label = np.divmod(nonzero, n_labels)
    tokens = token[np.diff(token, prepend=-1) != 0]  # each once: `token` ascends
    if not are_few(len(nonzero), len(tokens), n_labels):
        return row_gradient(rows[:, tokens], gradient[tokens] * scale, nothing)
    # A margin changes two labels of a token: then single cells of the table are far fewer than rows.
    token_rows = rows.take(token, axis=1)  # (K, n)
    is_feature = token_rows != nothing
    cells = token_rows.astype(np.intp) * n_labels + label  # of (F + 1, L)
    values = np.broadcast_to(gradient.reshape(-1).take(nonzero) * scale, cells.shape)
    return added_cells(cells[is_feature], values[is_feature])


def row_gradient(rows: AnyInts, gradient: AnyFloats, nothing: int) -> RowGradient:
    """Gradient of `add_rows`: d_table[r] = sum of gradient[n] over all k, n with rows[k, n] = r,
    without row `nothing`. RETURNS distinct rows (U,), their gradient (U, L)."""
    # rows are numbered anew, so that the sums need an array of those touched only
    distinct, place = np.unique(rows, return_inverse=True)
    place = place.reshape(rows.shape).astype(np.int32)
    sums = np.zeros((len(distinct), gradient.shape[1]), gradient.dtype)
    ops = NumpyOps()
    for places in place:
        ops.scatter_add(sums, places, gradient)
    is_feature = distinct != nothing
    return distinct[is_feature], sums[is_feature]


def dropout_scale(drop: float) -> np.float32:
    """What the remaining features are multiplied by, so that their expected sum stays the same."""
    return np.float32(1 / (1 - drop) if drop < 1 else 0)


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
