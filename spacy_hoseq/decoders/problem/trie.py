"""Label patterns as a trie with failure links (Aho & Corasick 1975), the frame of all higher-order
inference.

Nodes are all prefixes of all patterns and every single label. A node stands for "the labels so far
end with this string". `fail(u)` is the longest proper suffix of u that is a node, so the patterns
that end at a token are found on the failure chain of the longest node that matches there (Ye et al.
2009; Qian & Liu, "Problem Definition").
"""

from functools import cached_property
from typing import (
    Callable,
    Dict,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
    cast,
)

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats, Ints, Mask
from ...errors import Errors
from .tuning import TUNING, Tuning

Pattern = Tuple[int, ...]  # label ids, oldest first
Prepared = TypeVar("Prepared")


class Occurrences(NamedTuple):
    """Where nodes occur in given label sequences: node `nodes[i]` ends at token `tokens[i]`. Depth
    >= 2 only."""

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

    nodes: Union[slice, Ints]
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


class PatternTrie:
    """Trie over label patterns. Nodes are numbered level by level; node y < L is the single label
    y.

    patterns: distinct or not, each of at least two label ids, oldest first.
    parent, label, depth, fail (U,) intp: prefix without the last label (-1 at depth 1), last label,
        number of labels, longest proper suffix that is a node (-1 at depth 1). Within a level,
        nodes are sorted by `fail`.
    levels: slice of the nodes of each depth, from depth 1.
    node_of (P,) intp: node of each given pattern.
    RAISES ValueError [HS030]: a pattern of fewer than two labels; [HS031]: an unknown label id.
    """

    def __init__(
        self, patterns: Sequence[Pattern], n_labels: int, *, tuning: Tuning = TUNING
    ) -> None:
        self.n_labels = n_labels
        for pattern in patterns:
            check_pattern(pattern, n_labels)
        ids, fail, self.levels = _numbered(patterns, n_labels)
        strings = list(ids)
        self.fail: Ints = np.array(fail, np.intp)
        self.label: Ints = np.array([s[-1] for s in strings], np.intp)
        self.depth: Ints = np.array([len(s) for s in strings], np.intp)
        self.parent: Ints = np.array([ids[s[:-1]] if len(s) > 1 else -1 for s in strings], np.intp)
        self.node_of: Ints = np.array([ids[tuple(p)] for p in patterns], np.intp)
        keys = self.parent[n_labels:] * n_labels + self.label[n_labels:]
        self._children = np.argsort(keys) + n_labels  # nodes below depth 1 by (parent, label)
        self._child_keys = keys[self._children - n_labels]
        self._child_table: Optional[NDArray[np.int32]] = None
        if len(ids) * n_labels <= tuning.table_cells:
            self._child_table = np.full(len(ids) * n_labels, -1, np.int32)
            self._child_table[keys] = np.arange(n_labels, len(ids))

        self._prepared: Dict[Callable[[PatternTrie], object], object] = {}

    def __len__(self) -> int:
        return len(self.fail)

    def prepared(self, make: "Callable[[PatternTrie], Prepared]") -> Prepared:
        """What `make` makes of this trie, made once, as `Weights.prepared`."""
        if make not in self._prepared:
            self._prepared.setdefault(make, make(self))
        return cast(Prepared, self._prepared[make])

    @property
    def max_length(self) -> int:
        """Labels in the longest pattern; 1 if there are none."""
        return len(self.levels)

    def string(self, node: int) -> Pattern:
        """The labels of a node, oldest first."""
        labels: List[int] = []
        while node >= 0:
            labels.append(int(self.label[node]))
            node = int(self.parent[node])
        return tuple(reversed(labels))

    def child(self, nodes: Ints, labels: Ints) -> Ints:
        """Node of `nodes` extended by `labels`, -1 where there is none. All (n,)."""
        if self._child_table is not None:
            return np.asarray(self._child_table.take(nodes * self.n_labels + labels), np.intp)
        if not len(self._child_keys):
            return np.full(len(nodes), -1, np.intp)
        keys = nodes * self.n_labels + labels
        at = np.minimum(np.searchsorted(self._child_keys, keys), len(self._child_keys) - 1)
        return np.where(self._child_keys[at] == keys, self._children[at], -1)

    @cached_property
    def children(self) -> Dict[int, int]:
        """Nodes by parent * L + label, for plain Python."""
        return dict(zip(self._child_keys.tolist(), self._children.tolist(), strict=True))

    @cached_property
    def after(self) -> NDArray[np.int32]:
        """The longest match after one more label: child(u, y), or else after(fail(u), y). RETURNS
        (U, L) int32."""
        after = np.empty((len(self), self.n_labels), np.int32)
        every = np.arange(self.n_labels)
        for level in self.levels:  # suffixes come first, so their rows are known
            nodes = np.arange(level.start, level.stop)
            child = self.child(np.repeat(nodes, self.n_labels), np.tile(every, len(nodes))).reshape(
                -1, self.n_labels
            )
            shorter = every if level.start == 0 else after[self.fail[level]]
            after[level] = np.where(child >= 0, child, shorter)
        return after

    @cached_property
    def n_suffixes(self) -> Ints:
        """Proper suffixes of each node that are nodes, too: its place on the failure chain. RETURNS
        (U,)."""
        result = np.zeros(len(self), np.intp)
        for level in self.levels[1:]:
            result[level] = result[self.fail[level]] + 1
        return result

    @cached_property
    def links(self) -> List[Links]:
        """Failure links of all nodes of two or more labels, by the number of their proper suffixes
        that are nodes, fewest first: what a node fails to comes before it. There are never more of
        these groups than levels."""
        result = []
        for n in range(1, int(self.n_suffixes.max(initial=0)) + 1):
            nodes = np.flatnonzero(self.n_suffixes == n)
            nodes = nodes[np.argsort(self.fail[nodes], kind="stable")]
            targets, starts = np.unique(self.fail[nodes], return_index=True)
            together = (np.diff(nodes) == 1).all()
            which = slice(int(nodes[0]), int(nodes[-1]) + 1) if together else nodes
            result.append(Links(which, self.fail[nodes], targets, starts))
        return result

    @cached_property
    def preorder(self) -> Preorder:
        """The failure links as a forest, walked from the single labels down."""
        n_labels = self.n_labels
        deep = np.arange(self.n_labels, len(self))
        size = np.ones(len(self), np.intp)  # of the subtree
        for level in reversed(self.levels[1:]):
            size += np.bincount(self.fail[level], size[level], minlength=len(self)).astype(np.intp)
        by_suffix = deep[np.argsort(self.fail[deep], kind="stable")]
        # all nodes in front of it, over all groups
        before = np.cumsum(size[by_suffix]) - size[by_suffix]
        groups, start = np.unique(self.fail[by_suffix], return_index=True)
        ahead = np.zeros(len(self), np.intp)  # nodes of siblings in front of it
        ahead[by_suffix] = before - np.repeat(
            before[start], np.diff(np.append(start, len(by_suffix)))
        )
        row = np.arange(len(self))
        first = np.zeros(len(self), np.intp)
        below = size[:n_labels] - 1
        first[:n_labels] = n_labels + np.cumsum(below) - below
        for level in self.levels[1:]:
            suffix = self.fail[level]
            row[level] = first[suffix] + (suffix >= n_labels) + ahead[level]
            first[level] = row[level]
        end = first + size
        end[:n_labels] -= 1
        node = np.empty(len(self), np.intp)
        node[row] = np.arange(len(self))
        return Preorder(row, node, first, end)

    @cached_property
    def covers(self) -> List[Cover]:
        """For each j: the nodes of more than j labels, by the pair of labels at the j-th place from
        the end."""
        covers = []
        node = np.arange(len(self))  # u without its last j labels
        later = node  # u without its last j - 1 labels
        for j in range(self.max_length):
            longer = np.flatnonzero(self.depth > max(j, 1))
            if j == 0:
                first = self.label[self.parent[longer]]
                second = self.label[longer]
            else:
                later = node
                node = np.where(self.depth > j, self.parent[node], -1)
                first = self.label[node[longer]]
                second = self.label[later[longer]]
            pairs = first * self.n_labels + second
            longer = longer[np.argsort(pairs, kind="stable")]
            distinct, starts = np.unique(np.sort(pairs), return_index=True)
            covers.append(Cover(longer, self.suffix_at_most(longer, j), distinct, starts))
        return covers

    @cached_property
    def rounds(self) -> List[List[Tuple[Ints, Ints]]]:
        """Failure links between nodes of two or more labels, in an order to carry values down them:
        every node's own links come before the one it leaves by, and no node receives twice in one
        round.

        RETURNS for each depth d the rounds (nodes, their fail) of the nodes of at most d labels;
        [0] and [1] are empty.
        """
        ready = [0] * len(self)
        by_round: List[List[int]] = []
        # all that fail to a node come after it
        for node in range(len(self) - 1, self.n_labels - 1, -1):
            suffix = int(self.fail[node])
            if suffix < self.n_labels:
                continue
            at = max(ready[node], ready[suffix])
            ready[suffix] = at + 1
            if at == len(by_round):
                by_round.append([])
            by_round[at].append(node)
        rounds = [np.array(nodes, np.intp) for nodes in by_round]
        result: List[List[Tuple[Ints, Ints]]] = []
        for depth in range(self.max_length + 1):
            some = [nodes[self.depth[nodes] <= depth] for nodes in rounds]
            result.append([(nodes, self.fail[nodes]) for nodes in some if len(nodes)])
        return result

    @cached_property
    def row_rounds(self) -> List[List[Tuple[Ints, Ints]]]:
        """`rounds` by rows of the preorder."""
        row = self.preorder.row
        return [
            [(row[nodes], row[suffixes]) for nodes, suffixes in rounds] for rounds in self.rounds
        ]

    def suffix_sums(self, node_weights: Floats) -> Floats:
        """psi(u) = sum of the weights of u and of all its suffixes = weight(u) + psi(fail(u)).
        RETURNS (U,)."""
        psi = node_weights.astype(np.float64)
        for level in self.levels[1:]:
            psi[level] += psi[self.fail[level]]
        return psi

    def suffix_at_most(self, nodes: Ints, n: int) -> Ints:
        """Longest suffix of each node, itself included, that is a node of at most n labels; -1 for
        n = 0."""
        result = nodes
        while True:
            too_long = (result >= 0) & (self.depth[result] > n)
            if not too_long.any():
                return result
            result = np.where(too_long, self.fail[result], result)

    def with_suffix(self, nodes: Ints) -> List[Ints]:
        """For each of `nodes`, all nodes that end with it, itself included (its subtree of failure
        links)."""
        result = [[int(node)] for node in nodes]
        wanted = {int(node): i for i, node in enumerate(nodes)}
        for node in range(self.n_labels, len(self)):
            suffix = int(self.fail[node])
            while suffix >= 0:
                if suffix in wanted:
                    result[wanted[suffix]].append(node)
                suffix = int(self.fail[suffix])
        return [np.array(ending, np.intp) for ending in result]

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
            going_on = np.flatnonzero(follows.take(token + 1))
            token = token.take(going_on) + 1
            node = self.child(node.take(going_on), label.take(token))
            exists = np.flatnonzero(node >= 0)
            token = token.take(exists)
            node = node.take(exists)
            tokens.append(token)
            nodes.append(node)
        return Occurrences(np.concatenate(tokens), np.concatenate(nodes))


class Fired(NamedTuple):
    """Weights of patterns that fire at given positions only.

    tokens (M,): flat index of the pattern's LAST token. nodes (M,): its node in the trie. weights
    (M,) float64. Several entries for one token and node add up. A pattern that would begin before
    its sequence never matches.
    """

    tokens: Ints
    nodes: Ints
    weights: Floats

    def where(self, kept: Mask) -> "Fired":
        """Some of the entries. kept (M,)."""
        return (
            self if kept.all() else Fired(self.tokens[kept], self.nodes[kept], self.weights[kept])
        )

    def chosen(self, which: Ints, moved_by: Ints) -> "Fired":
        """Some of the entries (M',), with tokens moved by so many places, (M',)."""
        return Fired(self.tokens[which] + moved_by, self.nodes[which], self.weights[which])


def check_pattern(pattern: Pattern, n_labels: int) -> None:
    """RAISES ValueError [HS030]: fewer than two labels; [HS031]: an unknown label id."""
    if len(pattern) < 2:
        raise ValueError(Errors.HS030.format(pattern=pattern))
    for label in pattern:
        if not 0 <= label < n_labels:
            raise ValueError(Errors.HS031.format(pattern=pattern, label=label, last=n_labels - 1))


def _numbered(
    patterns: Sequence[Pattern], n_labels: int
) -> Tuple[Dict[Pattern, int], List[int], List[slice]]:
    """RETURNS the number of each node's string, the longest suffix of each, and the nodes of each
    depth."""
    by_depth: Dict[int, Dict[Pattern, None]] = {}
    for pattern in patterns:
        for depth in range(2, len(pattern) + 1):
            by_depth.setdefault(depth, {})[pattern[:depth]] = None
    ids: Dict[Pattern, int] = {(y,): y for y in range(n_labels)}
    fail = [-1] * n_labels
    levels = [slice(0, n_labels)]
    for depth in sorted(by_depth):
        level = sorted(
            (next(ids[string[i:]] for i in range(1, depth) if string[i:] in ids), string)
            for string in by_depth[depth]
        )  # each with its longest proper suffix
        levels.append(slice(len(ids), len(ids) + len(level)))
        for suffix, string in level:
            ids[string] = len(ids)
            fail.append(suffix)
    return ids, fail, levels
