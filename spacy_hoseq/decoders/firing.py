"""Patterns that fire at positions, in the order in which lattices are walked."""

from typing import Dict, Tuple

import numpy as np
from numpy.typing import NDArray

from .layout import Layout
from .trie import Fired, PatternTrie

Floats = NDArray[np.float64]


def expand_fired(
    fired: Fired, trie: PatternTrie, layout: Layout
) -> Dict[int, Tuple[NDArray[np.intp], NDArray[np.intp], Floats]]:
    """Weights of fired patterns, for all nodes that end with them. Step -> (nodes, columns, weights), unique."""
    firing, which = np.unique(fired.nodes, return_inverse=True)
    longer = trie.with_suffix(firing)
    counts = np.array([len(nodes) for nodes in longer])[which]
    nodes = np.concatenate([longer[i] for i in which])
    place = np.empty(len(layout.tokens), np.intp)
    place[layout.tokens] = np.arange(len(layout.tokens))
    packed = np.repeat(place[fired.tokens], counts)
    keys, inverse = np.unique(packed * len(trie) + nodes, return_inverse=True)
    repeated = np.repeat(fired.weights, counts)
    weights = np.asarray(np.bincount(inverse, weights=repeated.real), np.float64)
    if np.iscomplexobj(repeated):
        weights = weights + 1j * np.bincount(inverse, weights=repeated.imag)
    packed, nodes = np.divmod(keys, len(trie))
    steps = np.searchsorted(layout.offset, packed, side="right") - 1
    cuts = np.flatnonzero(np.diff(steps, prepend=-1))
    bounds = np.append(cuts, len(steps))
    return {
        int(steps[a]): (nodes[a:b], packed[a:b] - layout.offset[steps[a]], weights[a:b])
        for a, b in zip(bounds[:-1], bounds[1:], strict=True)
    }
