"""All the terms of a batch together."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import k_best
from spacy_hoseq.decoders.problem import NoPath, path_score

from ... import oracle
from ...cases import Case
from ...strategies import cases, cases_with_edge_scores


def as_case(potentials):
    """Read back: what a batch says, pattern by pattern."""
    trie, fired, spans = potentials.weights.trie, potentials.fired, potentials.configurations
    entries = [] if fired is None else zip(fired.tokens, fired.nodes, fired.weights, strict=True)
    starts = [] if spans is None else (np.cumsum(spans.sizes) - spans.sizes).tolist()
    slots = [] if spans is None else [spans.slots[a : a + n] for a, n in zip(starts, spans.sizes, strict=True)]
    return Case(
        potentials.scores,
        potentials.trans,
        potentials.lengths,
        fired=tuple((int(token), trie.string(node), float(weight)) for token, node, weight in entries),
        allowed=potentials.allowed,
        configurations=tuple(
            (int(first), tuple(frozenset(np.flatnonzero(spans.sets[slot]).tolist()) for slot in rows), float(weight))
            for first, rows, weight in (zip(spans.first, slots, spans.weights, strict=True) if slots else ())
        ),
        edge_scores=potentials.edge_scores,
    )


def assert_same_case(got, expected):
    for name in ("scores", "lengths", "allowed", "edge_scores"):
        mine, theirs = getattr(got, name), getattr(expected, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or mine.tolist() == theirs.tolist()
    assert sorted(got.fired) == sorted(expected.fired)
    assert sorted(list(map(str, span)) for span in got.configurations) == sorted(
        list(map(str, span)) for span in expected.configurations
    )


@given(case=st.one_of(cases(max_sequences=6, configurations=4), cases_with_edge_scores()), data=st.data())
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
    spans = [n for i in some for n, (first, *_) in enumerate(case.configurations) if first in tokens[i]]
    assert sorted(part.configurations.tolist()) == sorted(spans)


@given(case=cases(max_sequences=6), columns=st.integers(1, 4), tokens=st.integers(1, 30))
def test_parts_and_single_sequences_are_all_of_the_batch(case, columns, tokens):
    potentials = case.potentials()
    parts = list(potentials.parts(columns, tokens))
    assert sorted(i for part in parts for i in part.sequences.tolist()) == list(range(len(case.lengths)))
    assert all(len(part.sequences) <= columns for part in parts)
    for i, part in enumerate(potentials.one_by_one()):
        assert part.sequences.tolist() == [i]
        assert_same_case(as_case(part.potentials), case.take([i]))


def test_labels_permitted_on_top_of_others():
    potentials = Case(np.zeros((1, 3)), np.zeros((3, 3)), np.array([1])).potentials()
    one, two = np.array([[True, True, False]]), np.array([[False, True, True]])
    assert potentials.permitting(None).allowed is None and potentials.permitting(one).allowed.tolist() == one.tolist()
    assert potentials.permitting(one).permitting(two).allowed.tolist() == [[False, True, False]]
    assert potentials.permitting(one).permitting(None).allowed.tolist() == one.tolist()


def test_messages_name_the_sequence_of_the_whole_batch():
    case = Case(np.zeros((6, 2)), np.zeros((2, 2)), np.array([1, 2, 3]))
    part = case.potentials().select(np.array([2, 0]))
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
    case = Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2]))
    assert case.potentials().check().weights.trans.tolist() == [[0, 0], [0, 0]]
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        replace(case, **change).potentials().check()


@given(case=cases(max_tokens=4, max_labels=3, forbidden=False))
def test_the_single_best_is_decoded(case):
    """Also for a whole batch, with masks and patterns."""
    potentials = case.potentials()
    best = k_best(potentials, 1)
    assert best.labels.shape == (1, len(case.scores)) and best.labels.dtype == np.int32
    assert best.scores == pytest.approx([sum(oracle.joint_table(single).best for single in case.singles())])
    assert path_score(potentials, best.labels[0]).sum() == pytest.approx(best.scores[0])
