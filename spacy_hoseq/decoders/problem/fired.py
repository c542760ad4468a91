"""Features that fire at given positions: label patterns, and general configurations (Qian et al. 2009,
section 2) with label sets, gaps and wildcards over a span of tokens."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from ...errors import Errors
from .layout import Layout, binned, outside_sequences, ranges
from .trie import PatternTrie

MAX_STATES = 10_000


class Fired(NamedTuple):
    """Weights of patterns that fire at given positions only.

    tokens (M,): flat index of the pattern's LAST token. nodes (M,): its node in the trie. weights
    (M,) float64. Several entries for one token and node add up. A pattern that would begin before
    its sequence never matches.
    """

    tokens: Ints
    nodes: Ints
    weights: Floats

    def where(self, selected: Mask) -> "Fired":
        """The selected entries. selected (M,)."""
        return (
            self
            if selected.all()
            else Fired(self.tokens[selected], self.nodes[selected], self.weights[selected])
        )

    def chosen(self, which: Ints, moved_by: Ints) -> "Fired":
        """Some of the entries (M',), with tokens moved by so many places, (M',)."""
        return Fired(self.tokens[which] + moved_by, self.nodes[which], self.weights[which])


def matching(
    fired: Fired,
    trie: PatternTrie,
    sequence: AnyInts,
    possible: Callable[[Ints, Ints], Mask],
) -> Mask:
    """The entries all of whose labels are possible where they fire; compared from the last label
    on, so that few are looked at twice.

    sequence (N,): of each token. possible(tokens, labels): the tokens (n,) that can have these
    labels (n,), as a mask. RETURNS (M,).
    """
    result = np.zeros(len(fired.tokens), bool)
    entry = np.arange(len(result))
    token = fired.tokens
    node = fired.nodes
    while len(entry):
        matched = np.flatnonzero(possible(token, trie.label.take(node)))
        entry = entry.take(matched)
        token = token.take(matched)
        node = trie.parent.take(node.take(matched))
        result[entry[node < 0]] = True
        inside = (token > 0) & (sequence.take(token) == sequence.take(token - 1))
        going_on = np.flatnonzero((node >= 0) & inside)
        entry = entry.take(going_on)
        token = token.take(going_on) - 1
        node = node.take(going_on)
    return result


def expand_fired(
    fired: Fired | None, trie: PatternTrie, layout: Layout
) -> dict[int, tuple[Ints, Ints, Floats]]:
    """Weights of fired patterns, for all nodes that end with them. Step -> (nodes, columns,
    weights), unique."""
    if fired is None or not len(fired.tokens):
        return {}
    _, node, first, end = trie.preorder
    # each entry for its own node, and for all longer nodes that end with it
    longer = first[fired.nodes] + (fired.nodes >= trie.n_labels)
    counts = end[fired.nodes] - longer
    entry = np.arange(len(fired.nodes))
    entry = np.concatenate([entry, entry.repeat(counts)])
    nodes = np.concatenate([fired.nodes, node[ranges(longer, counts)]])
    packed = layout.place[fired.tokens][entry]
    keys, weights = added_up(packed * len(trie) + nodes, fired.weights[entry])
    packed, nodes = np.divmod(keys, len(trie))
    steps, columns = layout.steps_of(packed)
    bounds = np.append(np.flatnonzero(np.diff(steps, prepend=-1)), len(steps))
    return {
        int(steps[a]): (nodes[a:b], columns[a:b], weights[a:b])
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    }


def added_up(keys: Ints, weights: Floats) -> tuple[Ints, Floats]:
    """Distinct keys, and the sums of their weights, real or complex."""
    distinct, which = np.unique(keys, return_inverse=True)
    return distinct, binned(which, weights, len(distinct))


class Configurations(NamedTuple):
    """Configurations at given positions.

    first (M,): flat index of the first token of each span. sizes (M,): tokens of each span, >= 1; a
        span lies within one sequence.
    slots: the row of `sets` for each token of each span, all spans end to end. sets (Z, L) bool:
    sets of labels. weights (M,) float64: of any sign. max_states (int): limit on the states of one
    token.
    """

    first: Ints
    sizes: Ints
    slots: Ints
    sets: Mask
    weights: Floats
    max_states: int = MAX_STATES

    @property
    def last(self) -> Ints:
        """Flat index of the last token of each span. RETURNS (M,)."""
        return np.asarray(self.first + self.sizes - 1)

    def chosen(self, which: Ints, moved_by: AnyInts) -> "Configurations":
        """Some of them (M',), with tokens moved by so many places, (M',)."""
        starts = np.cumsum(self.sizes) - self.sizes
        slots = self.slots[ranges(starts[which], self.sizes[which])]
        return self._replace(
            first=self.first[which] + moved_by,
            sizes=self.sizes[which],
            slots=slots,
            weights=self.weights[which],
        )

    def matched(self, labels: AnyInts) -> Mask:
        """The configurations that the labels (N,) of all sequences match, as a mask. RETURNS (M,)."""
        if not len(self.first):
            return np.zeros(0, bool)
        in_sets = self.sets[self.slots, labels[ranges(self.first, self.sizes)]]
        starts = np.cumsum(self.sizes) - self.sizes
        return np.asarray(np.logical_and.reduceat(in_sets, starts), bool)


def check_configurations(configurations: Configurations, lengths: AnyInts, n_labels: int) -> None:
    """RAISES ValueError [HS024]: sets of the wrong shape; [HS020]: a weight is NaN or infinite;
    [HS037]: a span that does not lie within one sequence, by its number."""
    first, sizes, slots, sets, weights, _ = configurations
    if sets.ndim != 2 or sets.shape[1] != n_labels or sizes.sum() != len(slots):
        raise ValueError(
            Errors.HS024.format(name="sets", got=sets.shape, expected=("any", n_labels))
        )
    outside = outside_sequences(first, sizes, lengths)
    bad = np.flatnonzero(outside | ~np.isfinite(weights))
    if len(bad):
        i = bad[0]
        name = f"configuration number {i}, tokens {first[i]} to {first[i] + sizes[i] - 1}"
        if outside[i]:
            problem = "does not lie within one sequence"
            raise ValueError(Errors.HS037.format(feature=name, problem=problem))
        raise ValueError(Errors.HS020.format(name=f"weight of {name}", n=1, size=len(weights)))
