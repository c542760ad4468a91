"""The recurrence of `inclusive_sums.py` as products of matrices, where no pattern fires at given
positions only.

Nodes without children are never extended, so that only the INNER nodes (single labels, and nodes
with children) need a message. With s the parent of a node u and m(u) = e^trans of its last two
labels,

    Z_t(v) = e^scores[t, last label of v] * sum over inner nodes s of K(v, s) Z_{t-1}(s)
    K(v, s) = sum over the children u of s that end with v of m(u) (e^psi(u) - e^psi(fail(u)))

without the subtraction for u = v; of single labels K(c, a) has m(a, c) e^psi(c) as well. K is the
same at all tokens. What ends with a label b leads to single labels, and to nodes whose last label
but one is b: one small matrix for each b, all others are 0. The adjoint walks back with the
transposes, and the sum over the tokens of its outer products with Z is the derivative by K, of
which all expected counts are made at the end. So leaves, which are most nodes, cost nothing at a
token.

Time O(cells of K) a token, `InnerNodes.n_cells`. Checked by the tests of `inclusive_sums.py`.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints
from ..problem import Layout, PatternTrie, Potentials, PotentialsGradient, Weights, binned, ranges
from .inclusive_sums import InclusiveMessages, Message


class Block(NamedTuple):
    """The part of K for one label b. sources: rows of the inner nodes that end with b. targets: of
    those of `InnerNodes.targets` whose last label but one is b. cells: of the flat K, and their
    shape (targets, sources)."""

    label: int
    sources: slice
    targets: slice
    cells: slice
    shape: tuple[int, int]


class InnerNodes:
    """The inner nodes of a trie, and the places of the terms of K (`trie.prepared(InnerNodes)`).

    nodes (R,): by last label; rows are places in this order. singles (L,): rows of single labels.
    targets (D,): rows of all others, by their last label but one. labels, depth (R,). first (L + 1,):
    first row of each label. The flat K has L rows for single labels, and then the blocks; n_cells in
    all. of_node, cells (E,): the terms of K, node u and place in the flat K. is_own (E,): u = v.
    """

    def __init__(self, trie: PatternTrie) -> None:
        n_labels = trie.n_labels
        # single labels, and whatever is some node's parent
        inner = np.union1d(np.arange(n_labels), trie.parent[n_labels:])
        self.nodes: Ints = inner[np.argsort(trie.label[inner], kind="stable")]
        self.labels: Ints = trie.label[self.nodes]
        self.depth: Ints = trie.depth[self.nodes]
        self.first: Ints = np.searchsorted(self.labels, np.arange(n_labels + 1))
        row = np.full(len(trie), -1)
        row[self.nodes] = np.arange(len(self.nodes))
        self.singles: Ints = row[:n_labels]
        longer = np.flatnonzero(self.depth > 1)
        before = trie.label[trie.parent[self.nodes[longer]]]
        self.targets: Ints = longer[np.argsort(before, kind="stable")]
        self._make_blocks(before)
        self._make_terms(trie, row)

    def _make_blocks(self, before: Ints) -> None:
        """before (D,): the last label but one of each longer node, by row."""
        n_labels = len(self.singles)
        stops = np.cumsum(np.bincount(before, minlength=n_labels)).tolist()
        self.blocks: list[Block] = []
        self._begin = np.zeros(len(self.nodes), np.intp)  # of the row of each target, in the flat K
        self.n_cells = n_labels * len(self.nodes)
        for b in np.unique(before).tolist():
            targets = slice(stops[b - 1] if b else 0, stops[b])
            sources = slice(int(self.first[b]), int(self.first[b + 1]))
            shape = targets.stop - targets.start, sources.stop - sources.start
            cells = slice(self.n_cells, self.n_cells + shape[0] * shape[1])
            self._begin[self.targets[targets]] = np.arange(cells.start, cells.stop, shape[1])
            self.blocks.append(Block(b, sources, targets, cells, shape))
            self.n_cells = cells.stop

    def _make_terms(self, trie: PatternTrie, row: Ints) -> None:
        """The terms by nodes u and the inner nodes v that they end with. row (U,): of inner nodes."""
        _, node, first_longer, end = trie.preorder
        counts = end[self.nodes] - first_longer[self.nodes]
        self.of_node: Ints = node[ranges(first_longer[self.nodes], counts)]
        ends = self.nodes.repeat(counts)
        self.is_own = self.of_node == ends
        source = row.take(trie.parent.take(self.of_node))  # row of s, of each term
        in_block = source - self.first.take(self.labels.take(source))
        in_block += self._begin.take(row.take(ends))
        single_cells = trie.label.take(ends) * len(self.nodes) + source
        self.cells: Ints = np.where(ends < trie.n_labels, single_cells, in_block)


class Matrices:
    """K of some weights, flat, and the terms it is made of (`weights.prepared(Matrices)`), as if the
    largest transition were 0. move (U,): m(u), of nodes of two or more labels. grown (U,): e^psi."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        n_labels = trie.n_labels
        trans = weights.precise_trans
        top = float(np.max(trans, initial=-np.inf))
        moves = np.exp(trans - (top if np.isfinite(top) else 0.0))
        self.inner = trie.prepared(InnerNodes)
        self.grown: Floats = np.exp(weights.psi)
        self.move: Floats = np.ones(len(trie))
        deep = slice(n_labels, len(trie))
        self.move[deep] = moves[trie.label[trie.parent[deep]], trie.label[deep]]
        inner = self.inner
        node = inner.of_node
        less = np.where(inner.is_own, 0.0, self.grown.take(trie.fail.take(node)))
        terms = self.move.take(node) * (self.grown.take(node) - less)
        self.flat = binned(inner.cells, terms, inner.n_cells)
        self.singles = self.flat[: n_labels * len(inner.nodes)].reshape(n_labels, -1)  # a view
        self.singles[:, inner.singles] += moves.T * self.grown[:n_labels, None]

    def expected(self, gradient: Floats, trie: PatternTrie) -> tuple[Floats, Floats]:
        """gradient: of log Z by the flat K. RETURNS expected transitions (L, L), and how often each
        node is the longest match (U,), of nodes of two or more labels."""
        inner = self.inner
        product = gradient * self.flat
        singles = product[: self.singles.size].reshape(self.singles.shape)
        trans: Floats = np.add.reduceat(singles, inner.first[:-1], axis=1).T
        for block in inner.blocks:
            target_sums = product[block.cells].reshape(block.shape).sum(axis=1)  # over sources
            later = inner.labels[inner.targets[block.targets]]
            trans[block.label] += binned(later, target_sums, trie.n_labels)
        terms = gradient.take(inner.cells) * self.move.take(inner.of_node)
        longest = binned(inner.of_node, terms, len(trie))
        shorter = np.flatnonzero(~inner.is_own)  # what a node takes from those that fail to it
        fails = trie.fail.take(inner.of_node.take(shorter))
        longest -= binned(fails, terms.take(shorter), len(trie))
        return trans, longest * self.grown


class MatrixMessages(InclusiveMessages):
    """Over the inner nodes. Messages are (R, n)."""

    def __init__(self, potentials: Potentials, layout: Layout) -> None:
        super().__init__(potentials, layout)
        self._made = potentials.weights.prepared(Matrices)
        self._inner = self._made.inner
        dtype = self.potentials.dtype
        self._of_singles = self._made.singles.astype(dtype, copy=False)
        flat = self._made.flat.astype(dtype, copy=False)
        self._labels_of_targets = self._inner.labels[self._inner.targets]
        self._of_targets = [
            (block, flat[block.cells].reshape(block.shape)) for block in self._inner.blocks
        ]

    def _step(self, t: int, before: Floats | None) -> Message | None:
        inner = self._inner
        e = self.potentials[:, self.layout.step(t)]  # (L, n)
        z = np.zeros((len(inner.nodes), e.shape[1]), e.dtype)
        if before is None:
            singles = self._made.grown[: len(e), None] * e  # (L, n)
        else:
            before = before[:, : e.shape[1]]
            singles = (self._of_singles @ before) * e
        scale = singles.sum(axis=0)
        if self._loses(t, singles, scale):
            return None
        z[inner.singles] = singles / scale
        if before is not None and len(inner.targets):
            arriving = np.empty((len(inner.targets), e.shape[1]), e.dtype)
            for block, matrix in self._of_targets:
                np.matmul(matrix, before[block.sources], out=arriving[block.targets])
            z[inner.targets] = arriving * (e / scale).take(self._labels_of_targets, axis=0)
        return Message(z, z, scale)

    def _backward(self, forward: list[Message]) -> PotentialsGradient:
        inner = self._inner
        dtype = self.potentials.dtype
        marginals = np.zeros((self.trie.n_labels, len(self.layout.tokens)), dtype)
        gradient = np.zeros(inner.n_cells, dtype)  # of log Z by K
        into_singles = gradient[: self._of_singles.size].reshape(self._of_singles.shape)  # a view
        adjoint = np.zeros((len(inner.nodes), 0), dtype)
        for t in range(len(forward) - 1, -1, -1):
            z, _, scale = forward[t]
            adjoint = self._adjoint(t, adjoint, inner.singles, inner.depth)
            here = self.layout.step(t)
            marginals[:, here] = np.add.reduceat(z * adjoint, inner.first[:-1], axis=0)
            if t == 0:
                break
            before = forward[t - 1].z[:, : z.shape[1]]
            e = self.potentials[:, here] / scale
            singles = adjoint.take(inner.singles, axis=0) * e
            targets = adjoint.take(inner.targets, axis=0) * e.take(self._labels_of_targets, axis=0)
            # through Z_t = e^scores K Z_{t-1}: the transpose leads back, the outer product is by K
            adjoint = self._of_singles.T @ singles
            into_singles += singles @ before.T
            for block, matrix in self._of_targets:
                block_targets = targets[block.targets]
                adjoint[block.sources] += matrix.T @ block_targets
                gradient[block.cells] += (block_targets @ before[block.sources].T).reshape(-1)
        trans, longest = self._made.expected(gradient, self.trie)
        return self._counts(marginals, trans, longest, np.zeros(0, dtype))
