"""Where tokens lie in memory."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.problem import make_layout, packed_scores, parts_of, ranges


def test_layout_worked_out_by_hand():
    """Sequences a, b, c, d of 1, 3, 2, 3 tokens: b and d are longest, b was given first."""
    layout = make_layout(np.array([1, 3, 2, 3]), 9)
    assert layout.order.tolist() == [1, 3, 2, 0]
    assert layout.size_at_t.tolist() == [4, 3, 2]
    assert layout.offset.tolist() == [0, 4, 7, 9]
    assert layout.tokens.tolist() == [1, 6, 4, 0, 2, 7, 5, 3, 8]
    assert [layout.step(t) for t in range(3)] == [slice(0, 4), slice(4, 7), slice(7, 9)]


@given(lengths=st.lists(st.integers(1, 12), max_size=12))
def test_every_token_is_at_its_step_in_the_row_of_its_sequence(lengths):
    layout = make_layout(np.array(lengths, np.int64), sum(lengths))
    assert sorted(layout.tokens.tolist()) == list(range(sum(lengths)))
    starts = np.cumsum([0, *lengths])
    for t in range(max(lengths, default=0)):
        alive = [i for i in layout.order.tolist() if lengths[i] > t]
        assert layout.tokens[layout.step(t)].tolist() == [starts[i] + t for i in alive]
        assert layout.size_at_t[t] == len(alive)


@given(lengths=st.lists(st.integers(1, 12), max_size=12), cells=st.integers(0, 9), room=st.integers(0, 99))
def test_blocks_cover_all_steps_and_hold_no_more_than_they_may(lengths, cells, room):
    layout = make_layout(np.array(lengths, np.int64), sum(lengths))
    blocks = list(layout.blocks(cells, room))
    steps = [t for first, last in blocks for t in range(first, last)]
    assert steps == list(range(len(layout.size_at_t)))
    for first, last in blocks:
        tokens = layout.offset[last] - layout.offset[first]
        assert last == first + 1 or tokens * max(1, cells) <= room


def test_packed_scores_are_label_major_and_masked():
    scores = np.arange(8, dtype=np.float32).reshape(4, 2)
    allowed = np.array([[True, True], [False, True], [True, True], [True, False]])
    layout = make_layout(np.array([1, 3]), 4)  # packed: tokens 1, 0, 2, 3
    packed = packed_scores(scores, allowed, layout)
    assert packed.dtype == np.float64
    assert packed.tolist() == [[-np.inf, 0, 4, 6], [3, 1, 5, -np.inf]]
    assert packed_scores(scores, None, layout).tolist() == [[2, 0, 4, 6], [3, 1, 5, 7]]


@given(lengths=st.lists(st.integers(1, 12), max_size=12), columns=st.integers(1, 5), tokens=st.integers(1, 40))
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


@given(lengths=st.lists(st.integers(1, 12), max_size=12), columns=st.integers(1, 5), room=st.integers(1, 40))
def test_parts_are_as_few_as_may_be_in_their_order(lengths, columns, room):
    """A part stops only where one more sequence would be too much."""
    sizes = np.array(lengths, np.int64)
    parts = list(parts_of(sizes, columns, room))
    for part, following in zip(parts[:-1], parts[1:], strict=True):
        assert len(part) == columns or sizes[part].sum() + sizes[following].max() > room


@given(pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=8))
def test_ranges_end_to_end(pairs):
    first, sizes = np.array([a for a, _ in pairs], np.intp), np.array([n for _, n in pairs], np.intp)
    got = ranges(first, sizes)
    assert got.dtype == np.intp and got.tolist() == [i for a, n in pairs for i in range(a, a + n)]
