"""Weights that are prepared once."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spacy_hoseq.decoders.problem import PatternTrie, Weights


class Table:
    """Something that a decoder makes of weights."""

    def __init__(self, weights):
        self.total = float(weights.trans.sum())


class Other(Table):
    pass


def two_labels():
    trie = PatternTrie([(0, 1), (1, 0, 1)], 2)
    nodes = np.zeros(len(trie))
    nodes[trie.node_of] = 2.0, 0.5
    return Weights(np.array([[0.0, -1.0], [1.0, 0.5]], np.float32), trie, nodes)


def test_without_patterns_the_nodes_are_the_labels():
    weights = Weights(np.eye(3))
    assert not weights.has_patterns and weights.n_labels == len(weights.trie) == 3
    assert weights.node_weights.tolist() == weights.psi.tolist() == [0, 0, 0]


def test_what_a_match_of_a_node_earns():
    """1,0,1 ends with 0,1, too."""
    weights = two_labels()
    psi = {weights.trie.string(node): value for node, value in enumerate(weights.psi.tolist())}
    assert weights.has_patterns
    assert psi == {(0,): 0, (1,): 0, (0, 1): 2.0, (1, 0): 0, (1, 0, 1): 2.5}


def test_what_is_prepared_is_made_once_for_each_maker_and_each_weights():
    weights, others = two_labels(), two_labels()
    table = weights.prepared(Table)
    assert table.total == 0.5 and weights.prepared(Table) is table
    assert weights.prepared(Other) is not table and type(weights.prepared(Other)) is Other
    assert others.prepared(Table) is not table


def test_threads_get_the_same():
    weights = two_labels()
    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(weights.prepared, [Table] * 64))
    assert len(set(map(id, tables))) == 1


@pytest.mark.parametrize("copied", [lambda weights: pickle.loads(pickle.dumps(weights)), copy.deepcopy])
def test_a_copy_holds_the_weights_alone(copied):
    weights = two_labels()
    table = weights.prepared(Table)
    other = copied(weights)
    assert other.trans.tolist() == weights.trans.tolist() and other.psi.tolist() == weights.psi.tolist()
    assert other.has_patterns and other.prepared(Table) is not table
    assert not copied(Weights(np.eye(2))).has_patterns


def test_some_pairs_of_labels_permitted():
    """The same object for the same mask, with what was prepared for it; patterns stay."""
    weights, pairs = two_labels(), np.array([[True, False], [True, True]])
    some = weights.permitting(pairs)
    assert some.trans.tolist() == [[0, -np.inf], [1, 0.5]] and weights.permit_all
    assert some.trie is weights.trie and some.node_weights is weights.node_weights
    assert weights.permitting(pairs) is some
    every = weights.permitting(np.ones((2, 2), bool))
    assert every is not some and every.trans.tolist() == weights.trans.tolist()
