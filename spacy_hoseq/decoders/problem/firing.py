"""Patterns that fire at positions: which can match, and all in the order in which lattices are
walked."""

from typing import Callable, Dict, Optional, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from .layout import Layout, binned, ranges
from .trie import Fired, PatternTrie


def matching(
    fired: Fired,
    trie: PatternTrie,
    sequence: AnyInts,
    possible: Callable[[Ints, Ints], Mask],
) -> Mask:
    """The entries all of whose labels are possible where they fire; compared from the last label
    on, so that few are looked at twice.

    sequence (N,): of each token. possible: whether tokens (n,) can have labels (n,). RETURNS (M,).
    """
    result = np.zeros(len(fired.tokens), bool)
    entry = np.arange(len(result))
    token = fired.tokens
    node = fired.nodes
    while len(entry):
        kept = np.flatnonzero(possible(token, trie.label.take(node)))
        entry = entry.take(kept)
        token = token.take(kept)
        node = trie.parent.take(node.take(kept))
        result[entry[node < 0]] = True
        inside = (token > 0) & (sequence.take(token) == sequence.take(token - 1))
        going_on = np.flatnonzero((node >= 0) & inside)
        entry = entry.take(going_on)
        token = token.take(going_on) - 1
        node = node.take(going_on)
    return result


def expand_fired(
    fired: Optional[Fired], trie: PatternTrie, layout: Layout
) -> Dict[int, Tuple[Ints, Ints, Floats]]:
    """Weights of fired patterns, for all nodes that end with them. Step -> (nodes, columns,
    weights), unique."""
    if fired is None or not len(fired.tokens):
        return {}
    _, node, first, end = trie.preorder
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


def added_up(keys: Ints, weights: Floats) -> Tuple[Ints, Floats]:
    """Distinct keys, and the sums of their weights, real or complex."""
    distinct, which = np.unique(keys, return_inverse=True)
    return distinct, binned(which, weights, len(distinct))
