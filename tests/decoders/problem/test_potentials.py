"""All the terms of a batch together."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.problem import (
    NoPath,
    PatternTrie,
    Weights,
    make_layout,
    parts_of,
    path_score,
)

from ... import oracle
from ...cases import Case, zero_case
from ...strategies import cases, cases_with_edge_scores

LENGTHS = st.lists(st.integers(1, 12), max_size=12)


def as_case(potentials):
    """Read back: what a batch says, pattern by pattern."""
    trie, fired, spans = potentials.weights.trie, potentials.fired, potentials.configurations
    entries = [] if fired is None else zip(fired.tokens, fired.nodes, fired.weights, strict=True)
    starts = [] if spans is None else (np.cumsum(spans.sizes) - spans.sizes).tolist()
    slots = []
    if spans is not None:
        slots = [spans.slots[a : a + n] for a, n in zip(starts, spans.sizes, strict=True)]
    fired = [(int(token), trie.string(node), float(weight)) for token, node, weight in entries]
    configurations = []
    for i, rows in enumerate(slots):
        sets = tuple(frozenset(np.flatnonzero(spans.sets[slot]).tolist()) for slot in rows)
        configurations.append((int(spans.first[i]), sets, float(spans.weights[i])))
    case = Case(potentials.scores, potentials.trans, potentials.lengths, fired=tuple(fired))
    others = {"allowed": potentials.allowed, "edge_scores": potentials.edge_scores}
    return replace(case, configurations=tuple(configurations), **others)


def assert_same_case(got, expected):
    for name in ("scores", "lengths", "allowed", "edge_scores"):
        mine, theirs = getattr(got, name), getattr(expected, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tolist() == theirs.tolist()
    assert sorted(got.fired) == sorted(expected.fired)
    assert sorted(list(map(str, span)) for span in got.configurations) == sorted(
        list(map(str, span)) for span in expected.configurations
    )


@given(
    case=st.one_of(cases(max_sequences=6, configurations=4), cases_with_edge_scores()),
    data=st.data(),
)
def test_selection_is_the_batch_cut_up(case, data):
    """Some sequences in any order, also twice, with what fires in them; and which of the batch's these are. What fires
    in a sequence has no order."""
    some = data.draw(st.lists(st.sampled_from(range(len(case.lengths))), max_size=8))
    potentials = case.potentials()
    part = potentials.select(np.array(some, np.intp))
    assert_same_case(as_case(part.potentials), case.take(some))
    assert part.potentials.weights is potentials.weights
    tokens = [range(start, start + n) for start, n in zip(case.starts, case.lengths, strict=True)]
    assert part.tokens.tolist() == [t for i in some for t in tokens[i]]
    fired = [n for i in some for n, (t, *_) in enumerate(case.fired) if t in tokens[i]]
    assert sorted(part.fired.tolist()) == sorted(fired)
    firsts = [first for first, *_ in case.configurations]
    spans = [n for i in some for n, first in enumerate(firsts) if first in tokens[i]]
    assert sorted(part.configurations.tolist()) == sorted(spans)


@given(case=cases(max_sequences=6), columns=st.integers(1, 4), tokens=st.integers(1, 30))
def test_parts_and_single_sequences_are_all_of_the_batch(case, columns, tokens):
    potentials = case.potentials()
    parts = list(potentials.parts(columns, tokens))
    sequences = np.concatenate([part.sequences for part in parts])
    assert sorted(sequences.tolist()) == list(range(len(case.lengths)))
    assert all(len(part.sequences) <= columns for part in parts)
    for i, part in enumerate(potentials.one_by_one()):
        assert part.sequences.tolist() == [i]
        assert_same_case(as_case(part.potentials), case.take([i]))


def test_labels_permitted_on_top_of_others():
    potentials = Case(np.zeros((1, 3)), np.zeros((3, 3)), np.array([1])).potentials()
    one, two = np.array([[True, True, False]]), np.array([[False, True, True]])
    assert potentials.permitting(None).allowed is None
    assert potentials.permitting(one).allowed.tolist() == one.tolist()
    assert potentials.permitting(one).permitting(two).allowed.tolist() == [[False, True, False]]
    assert potentials.permitting(one).permitting(None).allowed.tolist() == one.tolist()


def test_messages_name_the_sequence_of_the_whole_batch():
    part = zero_case(1, 2, 3).potentials().select(np.array([2, 0]))
    for sequence, number in ((0, 2), (1, 0)):
        with pytest.raises(NoPath) as info, part.numbered():
            raise NoPath(sequence)
        assert info.value.sequence == number


@pytest.mark.parametrize("code, change", [
    ("HS020", {"scores": np.array([[0, np.nan], [0, 0]])}),
    ("HS020", {"trans": np.array([[0, np.inf], [0, 0]])}),
    ("HS022", {"allowed": np.array([[True, True], [False, False]])}),
    ("HS024", {"trans": np.zeros((2, 3))}),
    ("HS027", {"lengths": np.array([1])}),
    ("HS020", {"fired": ((1, (0, 1), np.nan),)}),
    ("HS020", {"patterns": (((0, 1), np.inf),)}),
    ("HS037", {"configurations": ((1, (frozenset([0]), frozenset([1])), 1.0),)}),
])  # fmt: skip
def test_what_no_decoder_can_work_with(code, change):
    case = zero_case(2)
    assert case.potentials().check().weights.trans.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        replace(case, **change).potentials().check()


# Weights that are prepared once


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


@pytest.mark.parametrize(
    "copied", [lambda weights: pickle.loads(pickle.dumps(weights)), copy.deepcopy]
)
def test_a_copy_holds_the_weights_alone(copied):
    weights = two_labels()
    table = weights.prepared(Table)
    other = copied(weights)
    assert other.trans.tolist() == weights.trans.tolist()
    assert other.psi.tolist() == weights.psi.tolist()
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


# The score of given labellings, with patterns of any sign


def path_score_of(case, labels):
    return path_score(case.potentials(), labels)


@given(case=cases(signed=True, masks=False, max_sequences=5), data=st.data())
def test_score_is_its_definition(case, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    for _ in range(5):
        labels = rng.integers(0, case.n_labels, len(case.scores)).astype(np.int32)
        got = path_score_of(case, labels)
        parts = zip(case.singles(), np.split(labels, case.starts[1:]), strict=True)
        assert got.dtype == np.float64
        assert_allclose(got, [oracle.score_of_one(*part) for part in parts], atol=1e-9)


def test_forbidden_transition_scores_minus_infinity():
    case = Case(np.zeros((3, 2)), np.array([[0, -np.inf], [0, 0]]), np.array([2, 1]))
    assert path_score_of(case, np.array([0, 1, 1])).tolist() == [-np.inf, 0]


@pytest.mark.parametrize("code, arguments", [
    ("HS020", (np.array([[np.nan, 0.0]]), np.zeros((2, 2)), np.array([0]), np.array([1]))),
    ("HS020", (np.zeros((1, 2)), np.full((2, 2), np.inf), np.array([0]), np.array([1]))),
    ("HS024", (np.zeros((1, 2)), np.zeros((3, 3)), np.array([0]), np.array([1]))),
    ("HS027", (np.zeros((1, 2)), np.zeros((2, 2)), np.array([0]), np.array([2]))),
])  # fmt: skip
def test_input_that_is_refused(code, arguments):
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        scores, trans, labels, lengths = arguments
        path_score(Case(scores, trans, lengths).potentials(), labels)


# Where tokens lie in memory


@given(lengths=st.lists(st.integers(1, 12), max_size=12))
def test_every_token_is_at_its_step_in_the_row_of_its_sequence(lengths):
    layout = make_layout(np.array(lengths, np.int64), sum(lengths))
    assert sorted(layout.tokens.tolist()) == list(range(sum(lengths)))
    starts = np.cumsum([0, *lengths])
    for t in range(max(lengths, default=0)):
        alive = [i for i in layout.order.tolist() if lengths[i] > t]
        assert layout.tokens[layout.step(t)].tolist() == [starts[i] + t for i in alive]
        assert layout.size_at_t[t] == len(alive)


@given(lengths=LENGTHS, cells=st.integers(0, 9), room=st.integers(0, 99))
def test_blocks_cover_all_steps_and_hold_no_more_than_they_may(lengths, cells, room):
    layout = make_layout(np.array(lengths, np.int64), sum(lengths))
    blocks = list(layout.blocks(cells, room))
    steps = [t for first, last in blocks for t in range(first, last)]
    assert steps == list(range(len(layout.size_at_t)))
    for first, last in blocks:
        tokens = layout.offset[last] - layout.offset[first]
        assert last == first + 1 or tokens * max(1, cells) <= room


@given(lengths=LENGTHS, columns=st.integers(1, 5), tokens=st.integers(1, 40))
def test_parts_are_a_partition_of_the_batch(lengths, columns, tokens):
    sizes = np.array(lengths, np.int64)
    parts = list(parts_of(sizes, columns, tokens))
    assert sorted(i for part in parts for i in part) == list(range(len(lengths)))
    shortest_before = np.inf
    for part in parts:
        assert (np.diff(part) > 0).all(), "in the given order"
        assert len(part) <= columns
        assert len(part) == 1 or sizes[part].sum() <= tokens
        assert sizes[part].max() <= shortest_before, "those of like length together, longest first"
        shortest_before = sizes[part].min()


@given(lengths=LENGTHS, columns=st.integers(1, 5), room=st.integers(1, 40))
def test_parts_are_as_few_as_may_be_in_their_order(lengths, columns, room):
    """A part stops only where one more sequence would be too much."""
    sizes = np.array(lengths, np.int64)
    parts = list(parts_of(sizes, columns, room))
    for part, following in zip(parts[:-1], parts[1:], strict=True):
        assert len(part) == columns or sizes[part].sum() + sizes[following].max() > room
