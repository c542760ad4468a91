"""Patterns that fire at positions: which can match, and all in the order in which lattices are
walked."""

from typing import Callable, Dict, Tuple

import numpy as np

from ...arrays import AnyInts, Floats, Ints, Mask
from .layout import Layout, ranges
from .trie import Fired, PatternTrie
from .tuning import TUNING, Tuning


def matching(
    fired: Fired,
    trie: PatternTrie,
    sequence: AnyInts,
    possible: Callable[[Ints, Ints], Mask],
) -> Mask:
    """Whether all labels of a pattern are possible where it fires; compared from the last label on,
    so that few patterns are looked at twice.

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
        going_on = np.flatnonzero((node >= 0) & (token > 0))
        entry = entry.take(going_on)
        token = token.take(going_on) - 1
        node = node.take(going_on)
        together = np.flatnonzero(sequence.take(token) == sequence.take(token + 1))
        entry = entry.take(together)
        token = token.take(together)
        node = node.take(together)
    return result


def expand_fired(
    fired: Fired, trie: PatternTrie, layout: Layout
) -> Dict[int, Tuple[Ints, Ints, Floats]]:
    """Weights of fired patterns, for all nodes that end with them. Step -> (nodes, columns,
    weights), unique."""
    firing, which = np.unique(fired.nodes, return_inverse=True)
    longer = trie.with_suffix(firing)
    sizes = np.array([len(nodes) for nodes in longer], np.intp)
    counts = sizes[which]
    nodes = np.concatenate(longer)[ranges((np.cumsum(sizes) - sizes)[which], counts)]
    place = np.empty(len(layout.tokens), np.intp)
    place[layout.tokens] = np.arange(len(layout.tokens))
    packed = np.repeat(place[fired.tokens], counts)
    keys, weights = added_up(
        packed * len(trie) + nodes, np.repeat(fired.weights, counts), len(place) * len(trie)
    )
    packed, nodes = np.divmod(keys, len(trie))
    steps = np.searchsorted(layout.offset, packed, side="right") - 1
    bounds = np.append(np.flatnonzero(np.diff(steps, prepend=-1)), len(steps))
    return {
        int(steps[a]): (nodes[a:b], packed[a:b] - layout.offset[steps[a]], weights[a:b])
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    }


def added_up(
    keys: Ints, weights: Floats, n: int, *, tuning: Tuning = TUNING
) -> Tuple[Ints, Floats]:
    """Distinct keys, 0 <= key < n, and the sums of their weights, real or complex. Without sorting
    if n is moderate."""
    if n > tuning.key_cells:
        distinct, keys = np.unique(keys, return_inverse=True)
        keys = keys.reshape(-1)
        n = len(distinct)
    else:
        present = np.zeros(n, bool)
        present[keys] = True
        distinct = np.flatnonzero(present)
    sums = np.bincount(keys, weights=weights.real, minlength=n).astype(weights.dtype, copy=False)
    if np.iscomplexobj(weights):
        sums = sums + 1j * np.bincount(keys, weights=weights.imag, minlength=n)
    return distinct, sums if n == len(distinct) else sums[distinct]
