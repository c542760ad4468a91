"""Label patterns written out at every place where they can match, as the papers write them:
z_{s:t}."""

from typing import NamedTuple

import numpy as np

from spacy_hoseq.arrays import Floats, Ints
from spacy_hoseq.decoders.problem import PatternTrie, Potentials, ranges


class Instances(NamedTuple):
    """Patterns at positions. last (M,): flat index of the last token, ascending, longer patterns
    later. nodes (M,).

    weights (M,): all that fires there, added up; not 0.
    tokens, labels: the (token, label) pairs of all instances, end to end; pairs of instance m:
        starts[m] .. + depth.
    """

    last: Ints
    nodes: Ints
    weights: Floats
    starts: Ints
    tokens: Ints
    labels: Ints

    @property
    def sizes(self) -> Ints:
        """Labels of each instance. RETURNS (M,)."""
        return np.diff(np.append(self.starts, len(self.tokens)))


def refuse_others(potentials: Potentials, decoder: str) -> None:
    """RAISES ValueError: there are configurations, or scores of label pairs that depend on the
    text."""
    configurations = potentials.configurations
    if configurations is not None and len(configurations.first):
        raise ValueError(f"The decoder {decoder} cannot use general configurations.")
    if potentials.edge_scores is not None:
        raise ValueError(f"The decoder {decoder} cannot use scores of label pairs.")


def make_instances(potentials: Potentials) -> Instances:
    """All places of all patterns whose weight is not 0, within the sequences of a batch."""
    trie = potentials.weights.trie
    weights = potentials.weights.node_weights
    fired = potentials.fired
    lengths = potentials.lengths
    # (N,) position in the own sequence
    time = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    everywhere = np.flatnonzero(weights)
    last = np.tile(np.arange(len(time)), len(everywhere))
    nodes = np.repeat(everywhere, len(time))
    instance_weights = np.repeat(weights[everywhere], len(time))
    if fired is not None:
        last = np.concatenate([last, fired.tokens])
        nodes = np.concatenate([nodes, fired.nodes])
        instance_weights = np.concatenate([instance_weights, fired.weights])
    fits = time[last] + 1 >= trie.depth[nodes]
    keys, which = np.unique(last[fits] * len(trie) + nodes[fits], return_inverse=True)
    total = np.bincount(which, weights=instance_weights[fits], minlength=len(keys)).astype(
        np.float64
    )
    last, nodes = np.divmod(keys[total != 0], len(trie))
    depth = trie.depth[nodes]
    first_pair = np.cumsum(depth) - depth
    tokens = ranges(last - depth + 1, depth)
    labels = _labels_of(nodes, first_pair + depth - 1, trie)
    return Instances(last, nodes, total[total != 0], first_pair, tokens, labels)


def _labels_of(nodes: Ints, at: Ints, trie: PatternTrie) -> Ints:
    """Those of all patterns, end to end. at: the place of the last label of each."""
    labels = np.empty(int(at.max(initial=-1)) + 1, np.intp)
    while len(at):  # from the last label of each pattern back to the first
        labels[at] = trie.label[nodes]
        going_on = trie.parent[nodes] >= 0
        at = at[going_on] - 1
        nodes = trie.parent[nodes[going_on]]
    return labels
