"""Exact decoding with many non-negative label patterns: only the nodes that can still pay are
walked.

The recurrence is that of `nonnegative.py`. In a large trie almost every node is hopeless at almost
every token: its history is much worse than the best one for its suffix, and what it can still gain
by its longer memory is little. Let

    G(u) = max(0, max over children c of u of [psi(c) - psi(fail(c)) + G(c)])

be the most that patterns can pay for a history that ends with u over one that ends with fail(u): as
long as a label leads from u to a child c, it leads from fail(u) to a node that fail(c) is a suffix
of or equal to; afterwards both are at the same node. If now

    V_t(u) + G(u) < V_t(fail(u))

then no best labelling has u as its longest match at t: put the best labelling that ends with
fail(u) in place of its first t labels, and it scores more. So u is dropped: its children are not
looked at for its sake. They are if a longer node that has u as a suffix leads to a longer child:
the suffixes of every node that is looked at are looked at as well, since what it earns is handed
down to them. Before a child is looked at for its own sake, its value is compared in the same way
with the best one for its last label; the bound is then the sum of G along its failure links. The
tests are strict, with room for rounding, so ties are never dropped, and the values compared may
themselves come from fewer nodes: the prefix of a best labelling is always among those that count.

Patterns that fire at positions add, for each token, the weight of all that end within reach to G.

Checked against enumeration and the plain walk in tests/decoders/patterns/test_dominance.py.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import Floats, Ints
from ..chain import Arrivals, in_order
from ..problem import (
    TUNING,
    Fired,
    Layout,
    Paths,
    PatternTrie,
    Potentials,
    Tuning,
    Weights,
    expand_fired,
    make_layout,
    packed_scores,
    ranges,
)
from .nonnegative import decoded_in_parts

ROUNDING = 1e-9  # relative


class Seen(NamedTuple):
    """Nodes looked at, of one depth. node, column (A,): which, of which sequence. key (A,): column
    * U + node."""

    node: Ints
    column: Ints
    key: Ints


class Remembered(NamedTuple):
    """What is remembered of one token. singles (L, n): V_t of the single labels. single_source (L,
    n): the longest node that V_t is of.
    keys (A,): nodes of two or more labels that have children. value (A,): their V_t. source (A,):
    the longest node that it is of. kept: which of `keys` can still pay, by depth from 2."""

    singles: Floats
    single_source: Ints
    keys: Ints
    value: Floats
    source: Ints
    kept: List[Ints]


def paying_nodes(potentials: Potentials, tuning: Tuning) -> Paths:
    """`decode_nonnegative` of a batch that has been checked. RAISES ValueError [HS023]."""
    return decoded_in_parts(potentials, tuning.dominance_cells, decode_columns, tuning)


def decode_columns(potentials: Potentials, tuning: Tuning = TUNING) -> Paths:
    """Best label sequences of a few sequences, as `decode_nonnegative`; scores are -inf where there
    is none.

    Time and memory are linear in the nodes that are kept, at most U a token, on top of 28 U bytes a
    sequence.
    """
    layout = make_layout(potentials.lengths, len(potentials.scores))
    walk = _Walk(potentials, layout, tuning)
    n_steps = len(layout.size_at_t)
    # first step, and what was known before it
    blocks: List[Tuple[int, Optional[Remembered]]] = [(0, None)]
    history: List[Remembered] = []
    cells = 0
    for t in range(n_steps):
        history.append(walk.step(t, history[-1] if history else blocks[-1][1]))
        cells += len(history[-1].keys) + history[-1].singles.size
        if cells > tuning.dominance_history and t + 1 < n_steps:
            blocks.append((t + 1, history[-1]))
            history = []
            cells = 0
    labels = np.zeros(len(potentials.scores), np.int32)  # packed
    best = np.zeros(len(layout.lengths))  # by rank
    node = np.zeros(0, np.intp)  # on the path of each column, at t + 1
    last = n_steps
    for first, entry in reversed(blocks):
        if last < n_steps:
            history = []
            for t in range(first, last):
                history.append(walk.step(t, history[-1] if history else entry))
        for t in range(last - 1, first - 1, -1):
            remembered = history[t - first]
            n_on = len(node)
            singles = remembered.singles
            # sequences whose last token is t
            best[n_on : singles.shape[1]] = singles[:, n_on:].max(axis=0)
            ended = singles[:, n_on:].argmax(axis=0)
            node = walk.source(remembered, np.concatenate([walk.before(remembered, node), ended]))
            labels[layout.step(t)] = potentials.weights.trie.label[node]
        last = first
    return in_order(labels, best, layout)


class _Tables:
    """What the walk needs of the weights alone. gain, all_gain, bonus (U,). children: nodes by
    parent, those of node u from first_child[u] to first_child[u + 1]."""

    def __init__(self, weights: Weights) -> None:
        trie = weights.trie
        psi = weights.psi
        self.gain, self.all_gain = future_gain(trie, psi)
        self.bonus = np.zeros(len(trie))
        deep = slice(trie.n_labels, len(trie))
        self.bonus[deep] = (
            weights.precise_trans[trie.label[trie.parent[deep]], trie.label[deep]] + psi[deep]
        )
        self.children = np.argsort(trie.parent[deep], kind="stable") + trie.n_labels
        self.first_child = np.searchsorted(trie.parent[self.children], np.arange(len(trie) + 1))
        self.has_child = np.diff(self.first_child) > 0


class _Walk:
    """Values lie in flat arrays, column * U + node; only those written at the step before and at
    this one are read."""

    def __init__(self, potentials: Potentials, layout: Layout, tuning: Tuning) -> None:
        weights = potentials.weights
        fired = potentials.fired
        self.tables = weights.prepared(_Tables)
        trie = weights.trie
        self.trie = trie
        self.layout = layout
        self.tuning = tuning
        self.emissions = packed_scores(potentials.scores, potentials.allowed, layout)  # (L, N)
        self.trans = weights.precise_trans
        self.arriving = Arrivals(self.trans, tuning)
        self.extra = (
            expand_fired(fired, trie, layout) if fired is not None and len(fired.tokens) else {}
        )
        self.still_to_fire: Optional[Floats] = None
        if self.extra and fired is not None:
            self.still_to_fire = _still_to_fire(fired, trie, layout)
            fires = np.bincount(fired.tokens, fired.weights, minlength=len(layout.tokens))
            self.fires = fires[layout.tokens]  # (N,) packed
        n_cells = len(layout.lengths) * len(trie)
        self.value = np.zeros(n_cells)
        self.previous = np.zeros(n_cells)
        self.longest = np.empty(n_cells, np.intp)  # node whose own value it is
        self.seen_at = np.full(n_cells, -1, np.int32)  # number of the step that wrote it
        self.n_steps = 0

    def step(self, t: int, before: Optional[Remembered]) -> Remembered:
        """Everything about token t. before: about t - 1, None at the first token."""
        trie = self.trie
        emissions = self.emissions[:, self.layout.step(t)]  # (L, n)
        n_labels, n = emissions.shape
        self.n_steps += 1
        self.value, self.previous = (
            self.previous,
            self.value,
        )  # what is two steps old is overwritten
        single_keys = np.arange(n) * len(trie) + np.arange(n_labels)[:, None]  # (L, n)
        levels: List[Seen] = []
        singles = emissions
        if before is not None:
            singles = self.arriving(before.singles[:, :n]) + emissions
            levels = self._look_at(t, before, singles, emissions)
        self.value[single_keys] = singles
        self.longest[single_keys] = np.arange(n_labels)[:, None]
        if t in self.extra:
            nodes, fired_columns, weights = self.extra[t]
            # those not written now are not read
            self.value[fired_columns * len(trie) + nodes] += weights
        suffixes = [level.column * len(trie) + trie.fail.take(level.node) for level in levels]
        for level, suffix in zip(reversed(levels), reversed(suffixes), strict=True):
            value = self.value.take(level.key)
            np.maximum.at(self.value, suffix, value)
            equal = np.flatnonzero(self.value.take(suffix) == value)
            self.longest[suffix[equal]] = self.longest.take(level.key[equal])
        return self._remember(t, single_keys, levels, suffixes)

    def _look_at(
        self, t: int, before: Remembered, singles: Floats, emissions: Floats
    ) -> List[Seen]:
        """Write own_t of the children of all nodes kept before that can pay, and of their suffixes.
        RETURNS them by depth, from 2. singles (L, n): own_t of the single labels."""
        trie = self.trie
        n = emissions.shape[1]
        # they are there but for the first step of a block
        self.previous[before.keys] = before.value
        pairs = (
            np.arange(trie.levels[1].start, trie.levels[1].stop)
            if len(trie.levels) > 1
            else np.zeros(0, np.intp)
        )
        best_before = before.singles[:, :n]
        base = best_before.take(trie.parent.take(pairs), 0).reshape(-1)
        parts = [
            [
                self._children(
                    t, pairs.repeat(n), np.tile(np.arange(n), len(pairs)), base, singles, emissions
                )
            ]
        ]
        for kept in before.kept[: max(0, trie.max_length - 2)]:
            column, parent = np.divmod(before.keys.take(kept), len(trie))
            if before.singles.shape[1] > n:
                on = np.flatnonzero(column < n)
                column = column[on]
                parent = parent[on]
                kept = kept[on]
            first = self.tables.first_child.take(parent)
            counts = self.tables.first_child.take(parent + 1) - first
            child = self.tables.children.take(ranges(first, counts))
            value = before.value.take(kept).repeat(counts)
            parts.append(
                [self._children(t, child, column.repeat(counts), value, singles, emissions)]
            )
        for depth in range(len(parts) + 1, 2, -1):
            node, column, _ = self._joined(parts[depth - 2])
            suffix = trie.fail.take(node)
            deep = np.flatnonzero(suffix >= trie.n_labels)
            column = column.take(deep)
            suffix = suffix.take(deep)
            key = column * len(trie) + suffix
            missing = np.flatnonzero(self.seen_at.take(key) != self.n_steps)
            key = key.take(missing)
            order = np.arange(len(missing))
            self.longest[key] = order
            # each of them once
            once = missing.take(np.flatnonzero(self.longest.take(key) == order))
            column = column.take(once)
            suffix = suffix.take(once)
            parent = trie.parent.take(suffix)
            base = self.previous.take(column * len(trie) + parent)
            from_single = np.flatnonzero(parent < trie.n_labels)
            base[from_single] = best_before[parent[from_single], column[from_single]]
            own = base + self.tables.bonus.take(suffix) + emissions[trie.label.take(suffix), column]
            depths = trie.depth.take(suffix)
            for shallower in range(2, depth):
                some = np.flatnonzero(depths == shallower)
                if len(some):
                    parts[shallower - 2].append(self._write(suffix[some], column[some], own[some]))
        return [self._joined(part) for part in parts]

    def _children(
        self, t: int, node: Ints, column: Ints, base: Floats, singles: Floats, emissions: Floats
    ) -> Seen:
        """Of these nodes, write those that can still pay more than the best history for their last
        label."""
        at = self.trie.label.take(node) * emissions.shape[1] + column
        own = base + self.tables.bonus.take(node)
        own += emissions.reshape(-1).take(at)
        better = singles.reshape(-1).take(at)
        hope = own + self.tables.all_gain.take(node)
        if self.still_to_fire is not None:
            hope += (self.still_to_fire + self.fires)[self.layout.step(t)].take(column)
        pays = np.flatnonzero((hope >= better - ROUNDING * (1 + np.abs(better))) & (own > -np.inf))
        return self._write(node.take(pays), column.take(pays), own.take(pays))

    @staticmethod
    def _joined(parts: List[Seen]) -> Seen:
        return parts[0] if len(parts) == 1 else Seen(*map(np.concatenate, zip(*parts, strict=True)))

    def _write(self, node: Ints, column: Ints, own: Floats) -> Seen:
        key = column * len(self.trie) + node
        self.value[key] = own
        self.longest[key] = node
        self.seen_at[key] = self.n_steps
        return Seen(node, column, key)

    def _remember(
        self, t: int, single_keys: Ints, levels: List[Seen], suffixes: List[Ints]
    ) -> Remembered:
        """What goes on from here: the nodes with children, and which of them can still pay."""
        keys = [np.zeros(0, np.intp)]
        values = [np.zeros(0)]
        kept = []
        n = 0
        for level, suffix in zip(levels, suffixes, strict=True):
            inner = np.flatnonzero(self.tables.has_child.take(level.node))
            node = level.node.take(inner)
            key = level.key.take(inner)
            value = self.value.take(key)
            better = self.value.take(suffix.take(inner))
            hope = value + self.tables.gain.take(node)
            if self.still_to_fire is not None:
                hope += self.still_to_fire[self.layout.step(t)].take(level.column.take(inner))
            keys.append(key)
            values.append(value)
            pays = (hope >= better - ROUNDING * (1 + np.abs(better))) & (value > -np.inf)
            kept.append(np.flatnonzero(pays) + n)
            n += len(key)
        all_keys = np.concatenate(keys)
        source = self.longest.take(all_keys)
        singles = self.value[single_keys]
        return Remembered(
            singles, self.longest[single_keys], all_keys, np.concatenate(values), source, kept
        )

    def source(self, remembered: Remembered, nodes: Ints) -> Ints:
        """The node whose own value is V_t of `nodes`; node i belongs to column i."""
        result = np.empty(len(nodes), np.intp)
        single = np.flatnonzero(nodes < self.trie.n_labels)
        result[single] = remembered.single_source[nodes[single], single]
        deep = np.flatnonzero(nodes >= self.trie.n_labels)
        if len(deep):
            self.longest[remembered.keys] = remembered.source
            result[deep] = self.longest[deep * len(self.trie) + nodes[deep]]
        return result

    def before(self, remembered: Remembered, nodes: Ints) -> Ints:
        """The node at t that own_{t+1} of `nodes` was built on: the parent, or for a single label
        the best label."""
        result = self.trie.parent[nodes]
        single = np.flatnonzero(result < 0)
        result[single] = (remembered.singles[:, single] + self.trans[:, nodes[single]]).argmax(
            axis=0
        )
        return result


def future_gain(trie: PatternTrie, psi: Floats) -> Tuple[Floats, Floats]:
    """G of the module docstring, and its sum along the failure links, which bounds the same over a
    single label.

    psi (U,): as in `PatternTrie.suffix_sums`, weights >= 0. RETURNS two arrays (U,).
    """
    gain = np.zeros(len(trie))
    for level in reversed(trie.levels[1:]):
        np.maximum.at(gain, trie.parent[level], psi[level] - psi[trie.fail[level]] + gain[level])
    deeper = gain.copy()
    deeper[: trie.n_labels] = 0.0
    return gain, trie.suffix_sums(deeper)


def _still_to_fire(fired: Fired, trie: PatternTrie, layout: Layout) -> Floats:
    """Weight of the fired patterns that end after each token and may have begun before. RETURNS
    (N,), packed."""
    weight = np.bincount(fired.tokens, weights=fired.weights, minlength=len(layout.tokens))
    starts = np.cumsum(layout.lengths) - layout.lengths
    sequence = np.repeat(np.arange(len(layout.lengths)), layout.lengths)
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    token = np.arange(len(weight))
    reach = np.minimum(token + trie.max_length - 1, (starts + layout.lengths)[sequence] - 1)
    total: Floats = sums[reach + 1] - sums[token + 1]
    return np.maximum(total, 0.0)[layout.tokens]
