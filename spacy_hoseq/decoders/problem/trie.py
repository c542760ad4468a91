"""Label patterns as a trie with failure links (Aho & Corasick 1975), the frame of all higher-order
inference.

Nodes are all prefixes of all patterns and every single label. A node stands for "the labels so far
end with this string". `fail(u)` is the longest proper suffix of u that is a node, so the patterns
that end at a token are found on the failure chain of the longest node that matches there (Ye et al.
2009; Qian & Liu, "Problem Definition").
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats, Ints
from ...caches import cached_property
from ...errors import wrong_value
from .layout import Groups

TABLE_CELLS = 8_000_000  # (node, label) pairs up to which children are looked up in a table
Pattern = tuple[int, ...]  # label ids, oldest first
Numbers = TypeVar("Numbers", Floats, Ints)
Prepared = TypeVar("Prepared")


class Occurrences(NamedTuple):
    """Node `nodes[i]` ends at token `tokens[i]`, in given label sequences. Depth >= 2 only."""

    tokens: Ints
    nodes: Ints


class Cover(NamedTuple):
    """nodes (n,): of more than j labels, grouped by a pair of labels. shorter (n,): their longest
    suffix of at most j labels that is a node, -1 for j = 0. pairs (g,): earlier label * L + later
    label of each group. starts (g,)."""

    nodes: Ints
    shorter: Ints
    pairs: Ints
    starts: Ints


class Links(NamedTuple):
    """Failure links of some nodes. nodes (n,): as a slice where they lie together, grouped by where
    they fail to. fail (n,). targets (g,): distinct nodes that they fail to. starts (g,): of each
    group among the nodes."""

    nodes: slice | Ints
    fail: Ints
    targets: Ints
    starts: Ints


class Preorder(NamedTuple):
    """Nodes in an order in which all nodes that end with a given one lie together.

    row (U,): place of each node; single labels keep 0 <= row < L, nodes of two or more labels
        follow, grouped by their failure links. node (U,): the inverse.
    first, end (U,): rows of the nodes of two or more labels that end with a node: first <= row <
        end. A node of two or more labels is the first of its own.
    """

    row: Ints
    node: Ints
    first: Ints
    end: Ints


class Prepares:
    """Something that does not change, and what others have made of it."""

    _prepared: dict[Callable[[Any], object], object]

    def prepared(self, make: "Callable[[Any], Prepared]") -> Prepared:
        """The result of `make` for this object, made once. make: a class or function of a module,
        not a closure."""
        if make not in self._prepared:
            self._prepared.setdefault(make, make(self))  # of two threads that make it, one wins
        return cast(Prepared, self._prepared[make])


class PatternTrie(Prepares):
    """Trie over label patterns. Nodes are numbered by their depth; node y < L is the single label
    y.

    patterns: distinct or not, each of at least two label ids, oldest first.
    parent, label, depth, fail (U,) intp: prefix without the last label (-1 at depth 1), last label,
        number of labels, longest proper suffix that is a node (-1 at depth 1). Nodes of one depth
        are sorted by `fail`.
    node_of (P,) intp: node of each given pattern.
    RAISES ValueError [HS027]: a pattern of fewer than two labels, or of an unknown label id.
    """

    def __init__(self, patterns: Sequence[Pattern], n_labels: int) -> None:
        self.n_labels = n_labels
        for pattern in patterns:
            check_pattern(pattern, n_labels)
        ids, fail = _numbered(patterns, n_labels)
        self.fail: Ints = np.array(fail, np.intp)
        self.label: Ints = np.array([s[-1] for s in ids], np.intp)
        self.depth: Ints = np.array([len(s) for s in ids], np.intp)
        self.parent: Ints = np.array([ids.get(s[:-1], -1) for s in ids], np.intp)
        self.node_of: Ints = np.array([ids[tuple(p)] for p in patterns], np.intp)
        keys = self.parent[n_labels:] * n_labels + self.label[n_labels:]
        order = np.argsort(keys)
        self._children = order + n_labels  # nodes below depth 1 by (parent, label)
        self._child_keys = keys[order]
        self._child_table: NDArray[np.int32] = np.zeros(0, np.int32)  # by key: 5 times as fast
        if len(ids) * n_labels <= TABLE_CELLS:
            self._child_table = np.full(len(ids) * n_labels, -1, np.int32)
            self._child_table[keys] = np.arange(n_labels, len(ids))
        self._prepared = {}

    def __len__(self) -> int:
        return len(self.fail)

    @cached_property
    def max_length(self) -> int:
        """Labels in the longest pattern; 1 if there are none."""
        return int(self.depth.max(initial=1))

    def string(self, node: int) -> Pattern:
        """The labels of a node, oldest first."""
        labels: list[int] = []
        while node >= 0:
            labels.append(int(self.label[node]))
            node = int(self.parent[node])
        return tuple(reversed(labels))

    def child(self, nodes: Ints, labels: Ints) -> Ints:
        """Node of `nodes` extended by `labels`, -1 where there is none. All (n,)."""
        keys = nodes * self.n_labels + labels
        if len(self._child_table):
            return np.asarray(self._child_table.take(keys), np.intp)
        at = np.searchsorted(self._child_keys, keys)
        exists = np.append(self._child_keys, -1)[at] == keys
        return np.where(exists, np.append(self._children, -1)[at], -1)

    @cached_property
    def after(self) -> NDArray[np.int32]:
        """The longest match after one more label: child(u, y), or else after(fail(u), y). RETURNS
        (U, L) int32."""
        # where there is no child, what the longest suffix goes to; of single labels that is the label
        labels = np.arange(self.n_labels)
        every = np.repeat(np.arange(len(self)), self.n_labels)
        child = self.child(every, np.tile(labels, len(self))).reshape(-1, self.n_labels)
        after = np.where(child >= 0, child, labels).astype(np.int32)
        for nodes, fail, _, _ in self.links:  # the rows of suffixes come first
            after[nodes] = np.where(child[nodes] >= 0, child[nodes], after[fail])
        return after

    @cached_property
    def n_suffixes(self) -> Ints:
        """Proper suffixes of each node that are nodes, too: its place on the failure chain. RETURNS
        (U,)."""
        result = np.zeros(len(self), np.intp)
        suffix = self.fail
        while (suffix >= 0).any():
            result += suffix >= 0
            suffix = np.where(suffix >= 0, self.fail[suffix], -1)
        return result

    @cached_property
    def links(self) -> list[Links]:
        """Failure links of all nodes of two or more labels, by the number of their proper suffixes
        that are nodes, fewest first: what a node fails to comes before it. There are never more of
        these groups than labels in the longest pattern, less one."""
        result = []
        for n in range(1, int(self.n_suffixes.max(initial=0)) + 1):
            nodes = np.flatnonzero(self.n_suffixes == n)
            groups = Groups(self.fail[nodes])
            nodes = nodes[groups.order]
            lie_together = (np.diff(nodes) == 1).all()
            which = slice(int(nodes[0]), int(nodes[-1]) + 1) if lie_together else nodes
            result.append(Links(which, self.fail[nodes], groups.keys, groups.starts))
        return result

    @cached_property
    def preorder(self) -> Preorder:
        """The failure links as a forest, walked from the single labels down."""
        n_labels = self.n_labels
        chains: list[tuple[int, ...]] = []  # of each node: its suffixes, shortest first, and itself
        for node, suffix in enumerate(self.fail.tolist()):
            chains.append((*chains[suffix], node) if suffix >= 0 else (node,))
        order = [*range(n_labels), *sorted(range(n_labels, len(self)), key=chains.__getitem__)]
        row = np.argsort(order)
        # (U,): nodes that end with each; a single label is not among its own
        size = self.matched(np.ones(len(self), np.intp))
        size[:n_labels] -= 1
        first = row.copy()
        first[:n_labels] = n_labels + np.cumsum(size[:n_labels]) - size[:n_labels]
        return Preorder(row, np.array(order, np.intp), first, first + size)

    @cached_property
    def covers(self) -> list[Cover]:
        """For each j: the nodes of more than j labels, by the pair of labels at the j-th place from
        the end."""
        labels = []  # at each place from the end, -1 beyond the first label
        prefix = np.arange(len(self))
        for _ in range(self.max_length):
            labels.append(np.where(prefix >= 0, self.label[prefix], -1))
            prefix = np.where(prefix >= 0, self.parent[prefix], -1)
        covers = []
        shorter = np.arange(len(self))
        for j in reversed(range(self.max_length)):
            shorter = np.where(self.depth[shorter] > j, self.fail[shorter], shorter)
            at = max(j, 1)
            nodes = np.flatnonzero(self.depth > at)
            groups = Groups(
                labels[min(at, len(labels) - 1)][nodes] * self.n_labels + labels[at - 1][nodes]
            )
            nodes = nodes[groups.order]
            covers.append(Cover(nodes, shorter[nodes], groups.keys, groups.starts))
        return covers[::-1]

    def suffix_sums(self, node_weights: Floats) -> Floats:
        """psi(u) = sum of the weights of u and of all its suffixes = weight(u) + psi(fail(u)).
        RETURNS (U,)."""
        psi = node_weights.astype(np.float64)
        for nodes, fail, _, _ in self.links:
            psi[nodes] += psi[fail]
        return psi

    def matched(self, longest: Numbers) -> Numbers:
        """Sums over a node and all that end with it. longest (U, ...): how often each node is the
        longest match; then RETURNS (U, ...) how often it is matched."""
        result: Numbers = longest.copy()
        for nodes, _, targets, starts in reversed(self.links):
            result[targets] += np.add.reduceat(result[nodes], starts, axis=0)
        return result

    def occurrences(self, labels: AnyInts, lengths: AnyInts) -> Occurrences:
        """All nodes of two or more labels in the label sequences. labels (N,), lengths (S,).

        From every token as a beginning, all at once, the trie is followed as far as it goes: O(N
        max_length log U).
        """
        label: Ints = labels.astype(np.intp)
        follows = np.ones(len(label) + 1, bool)  # a token of the same sequence
        follows[np.cumsum(lengths)] = follows[0] = False
        token = np.arange(len(label))
        node = label
        tokens = [token[:0]]
        nodes = [node[:0]]
        while len(token):
            # one label more, for all beginnings that are still in the trie
            going_on = np.flatnonzero(follows.take(token + 1))
            token = token.take(going_on) + 1
            node = self.child(node.take(going_on), label.take(token))
            exists = np.flatnonzero(node >= 0)
            token = token.take(exists)
            node = node.take(exists)
            tokens.append(token)
            nodes.append(node)
        return Occurrences(np.concatenate(tokens), np.concatenate(nodes))


def check_pattern(pattern: Pattern, n_labels: int) -> None:
    """RAISES ValueError [HS027]: fewer than two labels, or an unknown label id."""
    if len(pattern) < 2 or min(pattern) < 0 or max(pattern) >= n_labels:
        raise wrong_value(
            "label pattern", pattern, f"two labels or more, each from 0 to {n_labels - 1}"
        )


def _numbered(patterns: Sequence[Pattern], n_labels: int) -> tuple[dict[Pattern, int], list[int]]:
    """RETURNS the number of each node's string, and the longest suffix of each."""
    strings = {tuple(p[:depth]) for p in patterns for depth in range(2, len(p) + 1)}
    ids: dict[Pattern, int] = {(y,): y for y in range(n_labels)}
    fail = [-1] * n_labels
    # level by level: the suffixes of a string are numbered before it
    for depth, level in groupby(sorted(strings, key=len), key=len):
        with_suffixes = sorted(
            (next(ids[string[i:]] for i in range(1, depth) if string[i:] in ids), string)
            for string in level
        )
        for suffix, string in with_suffixes:
            ids[string] = len(ids)
            fail.append(suffix)
    return ids, fail
