"""The recurrence of `inclusive_sums.py` as products of matrices, where no pattern fires at given
positions only.

Nodes without children are never extended, so that only the INNER nodes (single labels, and nodes
with children) need a message. With s the parent of a node u and m(u) = e^trans of its last two
labels,

    Z_t(v) = e^scores[t, last label of v] * sum over inner nodes s of K(v, s) Z_{t-1}(s)
    K(v, s) = sum over the children u of s that end with v of m(u) (e^psi(u) - e^psi(fail(u)))

without the subtraction for u = v; of single labels K(c, a) has m(a, c) e^psi(c) as well. K is the
same at all tokens, and (but for the rows of single labels) 0 where the last label of s is not the
last but one of v: one small matrix for each label. The adjoint walks back with the transposes, and
the sum over the tokens of its outer products with Z is the derivative by K, of which all expected
counts are made at the end. So leaves, which are most nodes, cost nothing at a token.

Time O(cells of K) a token, `InnerNodes.n_cells`. Checked by the tests of `inclusive_sums.py`.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints
from ..problem import Layout, PatternTrie, Potentials, PotentialsGradient, Weights, binned
from .inclusive_sums import InclusiveMessages, Message


class Block(NamedTuple):
    """The part of K for one label b. sources: rows of the inner nodes that end with b. targets:
    of those of two or more labels whose last but one is b, counted from the first row of such nodes
    in the order of `InnerNodes.targets`. cells: of the flat K, and
    their shape (targets, sources)."""

    sources: slice
    targets: slice
    cells: slice
    shape: Tuple[int, int]


class InnerNodes:
    """The inner nodes of a trie, and where K has what (`trie.prepared(InnerNodes)`).

    nodes (R,): by last label; rows are places in this order. singles (L,): rows of single labels.
    targets (D,): rows of all others, by their last label but one. first (L,): first row of each
    label. of_node, cells (E,): the terms of K, node u and place in the flat K. is_own (E,): u = v.
    pairs (n_cells,): earlier label * L + later label of each number of the flat K.
    """

    def __init__(self, trie: PatternTrie) -> None:
        n_labels = trie.n_labels
        self.n_labels = n_labels
        inner = np.union1d(np.arange(n_labels), trie.parent[n_labels:])
        self.nodes: Ints = inner[np.argsort(trie.label[inner], kind="stable")]
        self.labels: Ints = trie.label[self.nodes]
        self.depth: Ints = trie.depth[self.nodes]
        self.first: Ints = np.searchsorted(self.labels, np.arange(n_labels))
        self._row = np.full(len(trie), -1)
        self._row[self.nodes] = np.arange(len(self.nodes))
        self.singles: Ints = self._row[:n_labels]
        longer = np.flatnonzero(self.depth > 1)
        before = trie.label[trie.parent[self.nodes[longer]]]
        order = np.argsort(before, kind="stable")
        self.targets: Ints = longer[order]
        self._place_blocks(before[order])
        self._place_terms(trie)

    def _place_blocks(self, before: Ints) -> None:
        """before (D,): last label but one of each target."""
        n_rows = len(self.nodes)
        ends = np.searchsorted(before, np.arange(self.n_labels + 1))
        sources = np.append(self.first, n_rows)
        sizes = np.diff(ends) * np.diff(sources)
        starts = self.n_labels * n_rows + np.cumsum(sizes) - sizes
        self.n_cells = self.n_labels * n_rows + int(sizes.sum())
        self.blocks: List[Block] = []
        for b in np.flatnonzero(sizes).tolist():
            cells = slice(int(starts[b]), int(starts[b] + sizes[b]))
            rows = slice(int(sources[b]), int(sources[b + 1]))
            targets = slice(int(ends[b]), int(ends[b + 1]))
            shape = targets.stop - targets.start, rows.stop - rows.start
            self.blocks.append(Block(rows, targets, cells, shape))
        place = np.arange(len(before))
        self._width = np.diff(sources)  # of the matrix of each label
        self._start = np.zeros(n_rows, np.intp)  # of the row of each target in the flat K
        self._start[self.targets] = starts[before] + (place - ends[before]) * self._width[before]

    def _place_terms(self, trie: PatternTrie) -> None:
        n_labels = self.n_labels
        n_rows = len(self.nodes)
        deep = np.arange(n_labels, len(trie))
        of_node = [deep]
        suffix = [deep]
        while len(suffix[-1]):
            longer = np.flatnonzero(suffix[-1] >= n_labels)
            of_node.append(of_node[-1].take(longer))
            suffix.append(trie.fail.take(suffix[-1].take(longer)))
        nodes = np.concatenate(of_node)
        ends = np.concatenate(suffix)
        inner = np.flatnonzero(self._row.take(ends) >= 0)
        self.of_node: Ints = nodes.take(inner)
        row = self._row.take(ends.take(inner))
        source = self._row.take(trie.parent.take(self.of_node))
        is_single = ends.take(inner) < n_labels
        label = trie.label.take(ends.take(inner))
        in_block = self._start.take(row) + source - self.first.take(self.labels.take(source))
        self.cells: Ints = np.where(is_single, label * n_rows + source, in_block)
        self.is_own = self.of_node == ends.take(inner)
        every = np.arange(n_labels)
        self.pairs_of_singles: Ints = (every[:, None] * n_rows + self.singles).reshape(-1)
        self.pairs: Ints = np.zeros(self.n_cells, np.intp)
        self.pairs[: n_labels * n_rows] = (self.labels * n_labels + every[:, None]).reshape(-1)
        self.pairs[self.cells] = trie.label.take(trie.parent.take(self.of_node)) * n_labels + label


class Matrices:
    """K of some weights, flat, and the terms it is made of (`weights.prepared(Matrices)`), as if the
    largest transition were 0. move (U,): m(u), of nodes of two or more labels. grown (U,): e^psi."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        n_labels = trie.n_labels
        trans = weights.precise_trans
        top = float(np.max(trans, initial=-np.inf))
        top = top if np.isfinite(top) else 0.0
        self.inner = trie.prepared(InnerNodes)
        self.trans: Floats = np.exp(trans - top)
        self.grown: Floats = np.exp(weights.psi)
        self.move: Floats = np.ones(len(trie))
        deep = slice(n_labels, len(trie))
        self.move[deep] = self.trans[trie.label[trie.parent[deep]], trie.label[deep]]
        inner = self.inner
        node = inner.of_node
        less = np.where(inner.is_own, 0.0, self.grown.take(trie.fail.take(node)))
        terms = self.move.take(node) * (self.grown.take(node) - less)
        self.flat = binned(inner.cells, terms, inner.n_cells)
        singles = self.trans.T * self.grown[:n_labels, None]  # (later, earlier)
        self.flat[inner.pairs_of_singles] += singles.reshape(-1)

    def expected(self, gradient: Floats, trie: PatternTrie) -> Tuple[Floats, Floats]:
        """gradient: of log Z by the flat K. RETURNS expected transitions (L, L), and how often each
        node is the longest match (U,), of nodes of two or more labels."""
        inner = self.inner
        n_labels = trie.n_labels
        trans = binned(inner.pairs, gradient * self.flat, n_labels * n_labels)
        terms = gradient.take(inner.cells) * self.move.take(inner.of_node)
        longest = binned(inner.of_node, terms, len(trie))
        shorter = np.flatnonzero(~inner.is_own)  # what a node takes from those that fail to it
        fails = trie.fail.take(inner.of_node.take(shorter))
        longest -= binned(fails, terms.take(shorter), len(trie))
        return trans.reshape(n_labels, n_labels), longest * self.grown


class MatrixMessages(InclusiveMessages):
    """Over the inner nodes. Messages are (R, n)."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        super().__init__(potentials, layout)
        self._matrices = potentials.weights.prepared(Matrices)
        inner = self._matrices.inner
        flat = self._matrices.flat.astype(self.potentials.dtype, copy=False)
        self._inner = inner
        self._labels_of_targets = inner.labels[inner.targets]
        self._n_of_singles = inner.n_labels * len(inner.nodes)  # cells
        self._of_singles = flat[: self._n_of_singles].reshape(inner.n_labels, -1)
        self._of_targets = [
            (block, flat[block.cells].reshape(block.shape)) for block in inner.blocks
        ]

    def _step(self, t: int, before: Optional[Floats]) -> Optional[Message]:
        inner = self._inner
        e = self.potentials[:, self.layout.step(t)]  # (L, n)
        n = e.shape[1]
        if before is None:
            singles = e * self._matrices.grown[: inner.n_labels, None]
        else:
            before = before[:, :n]
            singles = (self._of_singles @ before) * e
        scale = singles.sum(axis=0)
        if self._loses(t, singles, scale):
            return None
        z = np.zeros((len(inner.nodes), n), e.dtype)
        z[inner.singles] = singles / scale
        if before is not None and len(inner.targets):
            arriving = np.empty((len(inner.targets), n), e.dtype)
            for block, matrix in self._of_targets:
                np.matmul(matrix, before[block.sources], out=arriving[block.targets])
            arriving *= (e / scale).take(self._labels_of_targets, axis=0)
            z[inner.targets] = arriving
        return Message(z, z, scale)

    def _backward(self, forward: List[Message]) -> PotentialsGradient:
        inner = self._inner
        dtype = self.potentials.dtype
        marginals = np.zeros((inner.n_labels, len(self.layout.tokens)), dtype)
        gradient = np.zeros(inner.n_cells, dtype)  # of log Z by K
        adjoint = np.zeros((len(inner.nodes), 0), dtype)
        for t in range(len(forward) - 1, -1, -1):
            z, _, scale = forward[t]
            adjoint = self._adjoint(t, adjoint, inner.singles, inner.depth)
            here = self.layout.step(t)
            marginals[:, here] = np.add.reduceat(z * adjoint, inner.first, axis=0)
            if t > 0:
                e = self.potentials[:, here] / scale
                before = forward[t - 1].z[:, : e.shape[1]]
                adjoint = self._adjoint_before(adjoint, e, before, gradient)
        trans, longest = self._matrices.expected(gradient, self.trie)
        return self._counts(marginals, trans, longest, np.zeros(0, dtype))

    def _adjoint_before(
        self, adjoint: Floats, e: Floats, before: Floats, gradient: Floats
    ) -> Floats:
        """The adjoint at the token before (R, n); adds to the gradient by the flat K. adjoint, e:
        at this one, e (L, n) scaled. before: Z at the token before."""
        inner = self._inner
        of_singles = adjoint.take(inner.singles, axis=0) * e
        of_targets = adjoint.take(inner.targets, axis=0)
        of_targets *= e.take(self._labels_of_targets, axis=0)
        result: Floats = self._of_singles.T @ of_singles
        gradient[: self._n_of_singles] += (of_singles @ before.T).reshape(-1)
        for block, matrix in self._of_targets:
            here = of_targets[block.targets]
            result[block.sources] += matrix.T @ here
            gradient[block.cells] += (here @ before[block.sources].T).reshape(-1)
        return result
