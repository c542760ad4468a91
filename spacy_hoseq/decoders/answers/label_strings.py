"""Strings of labels at given tokens, as features of weight 0: their expected counts are their
probabilities."""

from typing import NamedTuple, Tuple

import numpy as np

from ...arrays import AnyInts, Ints
from ..problem import Fired, PatternTrie, Potentials, Weights, ranges


class LabelStrings(NamedTuple):
    """Labels of neighbouring tokens. first, sizes (C,): their tokens, within one sequence. labels:
    theirs, end to end."""

    first: Ints
    sizes: Ints
    labels: AnyInts

    def chosen(self, which: Ints) -> "LabelStrings":
        starts = np.cumsum(self.sizes) - self.sizes
        return LabelStrings(
            self.first[which],
            self.sizes[which],
            self.labels[ranges(starts[which], self.sizes[which])],
        )

    def joined(self, others: "LabelStrings") -> "LabelStrings":
        return LabelStrings(*(np.concatenate(parts) for parts in zip(self, others, strict=True)))


def with_patterns(potentials: Potentials, strings: LabelStrings) -> Tuple[Potentials, Ints]:
    """With the strings, each of at least two labels, as patterns of weight 0 that fire, after those
    that fire already.
    RETURNS them, and the node of each node of the trie before (U,)."""
    weights = potentials.weights
    fired = potentials.fired
    trie = weights.trie
    n_labels = weights.n_labels
    rows = np.split(strings.labels, np.cumsum(strings.sizes)[:-1]) if len(strings.first) else []
    of_strings = [tuple(row.tolist()) for row in rows]
    distinct = list(dict.fromkeys(of_strings))
    longer = PatternTrie(
        [*(trie.string(node) for node in range(n_labels, len(trie))), *distinct], n_labels
    )
    places = np.concatenate([np.arange(n_labels), longer.node_of[: len(trie) - n_labels]])
    node_weights = np.zeros(len(longer))
    node_weights[places] = weights.node_weights
    node_of = dict(zip(distinct, longer.node_of[len(trie) - n_labels :].tolist(), strict=True))
    before = fired or Fired(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))
    more = Fired(
        np.concatenate([before.tokens, strings.first + strings.sizes - 1]),
        np.concatenate(
            [places[before.nodes], np.array([node_of[string] for string in of_strings], np.intp)]
        ),
        np.concatenate([before.weights, np.zeros(len(strings.first))]),
    )
    return potentials._replace(
        weights=Weights(weights.trans, longer, node_weights), fired=more
    ), places
