"""The pattern trie against its definitions."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.problem import PatternTrie
from spacy_hoseq.decoders.problem import trie as module

from ...strategies import random_patterns


@st.composite
def pattern_sets(draw):
    """(patterns, n_labels)"""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels = draw(st.integers(1, 4))
    n, longest = draw(st.integers(0, 12)), draw(st.integers(2, 6))
    return random_patterns(rng, n_labels, n, longest), n_labels


def strings_of(patterns, n_labels):
    prefixes = {pattern[:depth] for pattern in patterns for depth in range(2, len(pattern) + 1)}
    return prefixes | {(y,) for y in range(n_labels)}


@given(pattern_sets())
def test_nodes_are_all_prefixes_and_single_labels(drawn):
    patterns, n_labels = drawn
    trie = PatternTrie(patterns, n_labels)
    strings = [trie.string(u) for u in range(len(trie))]
    assert len(set(strings)) == len(strings) and set(strings) == strings_of(patterns, n_labels)
    assert strings[:n_labels] == [(y,) for y in range(n_labels)]
    assert [strings[u] for u in trie.node_of] == patterns
    assert trie.max_length == max(map(len, patterns), default=1)
    assert trie.n_labels == n_labels


@given(pattern_sets())
def test_links_are_their_definitions(drawn):
    patterns, n_labels = drawn
    trie = PatternTrie(patterns, n_labels)
    strings = [trie.string(u) for u in range(len(trie))]
    node = {string: u for u, string in enumerate(strings)}
    for u, string in enumerate(strings):
        suffixes = [string[i:] for i in range(1, len(string)) if string[i:] in node]
        assert trie.fail[u] == (node[suffixes[0]] if suffixes else -1)
        assert trie.parent[u] == (node[string[:-1]] if len(string) > 1 else -1)
        assert trie.label[u] == string[-1] and trie.depth[u] == len(string)


@pytest.mark.parametrize(
    "table_cells", [0, 10**6]
)  # children are searched for, or looked up in a table
@given(drawn=pattern_sets())
def test_child_is_the_node_with_one_label_more(table_cells, drawn):
    with mock.patch.object(module, "TABLE_CELLS", table_cells):
        trie = PatternTrie(*drawn)
    node = {trie.string(u): u for u in range(len(trie))}
    pairs = [(u, y) for u in range(len(trie)) for y in range(trie.n_labels)]
    got = trie.child(np.array([u for u, _ in pairs]), np.array([y for _, y in pairs]))
    assert got.tolist() == [node.get((*trie.string(u), y), -1) for u, y in pairs]


@given(pattern_sets(), st.integers(0, 10**6))
def test_suffix_sums_are_sums_over_suffixes(drawn, seed):
    trie = PatternTrie(*drawn)
    weights = np.random.default_rng(seed).integers(-9, 9, len(trie)).astype(float)
    weight = {trie.string(u): weights[u] for u in range(len(trie))}
    suffixes = [[trie.string(u)[i:] for i in range(n)] for u, n in enumerate(trie.depth)]
    expected = [sum(weight.get(suffix, 0.0) for suffix in of_node) for of_node in suffixes]
    given_weights = weights.copy()
    assert trie.suffix_sums(weights).tolist() == expected
    assert weights.tolist() == given_weights.tolist()


@given(pattern_sets(), st.lists(st.integers(1, 12), max_size=4), st.integers(0, 10**6))
def test_occurrences_are_those_of_naive_search(drawn, lengths, seed):
    trie = PatternTrie(*drawn)
    labels = np.random.default_rng(seed).integers(0, trie.n_labels, sum(lengths)).astype(np.int32)
    expected, start = [], 0
    for length in lengths:
        sequence = labels[start : start + length].tolist()
        for u in range(trie.n_labels, len(trie)):
            string = list(trie.string(u))
            for last in range(len(string) - 1, length):
                if sequence[last - len(string) + 1 : last + 1] == string:
                    expected.append((start + last, u))
        start += length
    found = trie.occurrences(labels, np.array(lengths, np.int64))
    assert sorted(zip(found.tokens.tolist(), found.nodes.tolist(), strict=True)) == sorted(expected)


@pytest.mark.parametrize("pattern", [(), (1,)])
def test_pattern_too_short(pattern):
    message = r"\[HS027\] Wrong label pattern: \(1?,?\)\. Expected two labels"
    with pytest.raises(ValueError, match=message):
        PatternTrie([(0, 1), pattern], 2)


@pytest.mark.parametrize("pattern", [(0, 3), (-1, 0)])
def test_pattern_of_an_unknown_label(pattern):
    message = rf"\[HS027\] .*\({pattern[0]}, {pattern[1]}\).* each from 0 to 2"
    with pytest.raises(ValueError, match=message):
        PatternTrie([pattern], 3)


@given(drawn=pattern_sets())
def test_after_is_the_longest_match_after_one_more_label(drawn):
    trie = PatternTrie(*drawn)
    node = {trie.string(u): u for u in range(len(trie))}
    for u in range(len(trie)):
        for y in range(trie.n_labels):
            string = (*trie.string(u), y)
            suffixes = [string[i:] for i in range(len(string))]
            assert trie.after[u, y] == next(node[suffix] for suffix in suffixes if suffix in node)
