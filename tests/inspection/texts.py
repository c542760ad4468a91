"""All labellings of what a component reads, by the definition."""

import numpy as np

from spacy_hoseq.inspection import Reading

from .. import oracle
from ..cases import Case


def table_of(pipe, doc):
    """The joint table of a Doc of one sentence."""
    potentials = Reading(pipe, [doc]).potentials
    weights, fired = potentials.weights, potentials.fired
    patterns, at_positions = [], []
    if weights.has_patterns:
        trie = weights.trie
        nodes = range(trie.n_labels, len(trie))
        patterns = [(trie.string(node), float(weights.node_weights[node])) for node in nodes]
    if fired is not None:
        columns = fired.tokens.tolist(), fired.nodes.tolist(), fired.weights.tolist()
        entries = zip(*columns, strict=True)
        string = weights.trie.string
        at_positions = [(token, string(node), weight) for token, node, weight in entries]
    p, features = potentials, (tuple(patterns), tuple(at_positions))
    case = Case(p.scores, p.trans, p.lengths, *features, allowed=p.allowed)
    return oracle.joint_table(case)


def probabilities(table):
    p = np.exp(table.scores - table.scores.max())
    return p / p.sum()


def entropy(p):
    return float(-sum(x * np.log(x) for x in p if x > 0))


def entropy_of(table, tokens):
    """Of the labels of some tokens together."""
    _, which = np.unique(table.labellings[:, tokens], axis=0, return_inverse=True)
    return entropy(np.bincount(which.reshape(-1), probabilities(table)))
