"""Beam search: exact when wide enough, honest when not."""

from dataclasses import replace

import numpy as np
import pytest
from baselines.beam import BeamSearch
from hypothesis import assume, given
from hypothesis import strategies as st

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases


def decode(case, width):
    return BeamSearch(width)(case.potentials())


@pytest.mark.long
class TestWideBeam(DecoderContract):
    takes_negative = True
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        return decode(case, 10_000)


@given(case=cases(signed=True))
def test_as_wide_as_there_are_nodes_is_exact(case):
    assume(oracle.is_feasible(case))
    got = decode(case, len(case.pattern_scores().trie))
    for single, labels, score in zip(
        case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True
    ):
        table = oracle.joint_table(single)
        assert (
            score == pytest.approx(table.best) == pytest.approx(oracle.score_of_one(single, labels))
        )
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


def plain_beam(case, width):
    """One sequence. Best score and labels; None if the beam runs into what is forbidden. States are the longest
    matches."""
    strings = [pattern for pattern, _ in case.patterns] + [pattern for _, pattern, _ in case.fired]
    known = {pattern[:n] for pattern in strings for n in range(1, len(pattern) + 1)}
    known |= {(y,) for y in range(case.n_labels)}
    beam = [()]
    for t in range(len(case.scores)):
        part = replace(case, scores=case.scores[: t + 1], lengths=np.array([t + 1]),
                       allowed=None if case.allowed is None else case.allowed[: t + 1],
                       fired=tuple(entry for entry in case.fired if entry[0] <= t))  # fmt: skip
        best = {}
        for labels in beam:
            for y in range(case.n_labels):
                longer = (*labels, y)
                score = oracle.score_of_one(part, np.array(longer))
                state = next(longer[i:] for i in range(t + 1) if longer[i:] in known)
                if score > -np.inf:
                    best[state] = max(best.get(state, (score, longer)), (score, longer))
        beam = [labels for _, labels in sorted(best.values(), reverse=True)[:width]]
    return max(best.values(), default=None)


@pytest.mark.long
@pytest.mark.parametrize("width", [1, 2, 4])
@given(data=st.data())
def test_narrow_beam_is_its_plain_twin(width, data):
    case = data.draw(cases(signed=True))
    assume(oracle.is_feasible(case))
    got = decode(case, width)
    for single, labels, score in zip(
        case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True
    ):
        best = oracle.joint_table(single).best
        assert score == pytest.approx(oracle.score_of_one(single, labels)) and score <= best + 1e-9
        expected = plain_beam(single, width)
        if expected is None:  # decoded exactly
            assert score == pytest.approx(best)
        else:
            assert score == pytest.approx(expected[0]) and labels.tolist() == list(expected[1])


def test_greedy_mistake():
    """Label 0 is ahead at the first token, but only 1,1 earns 3."""
    case = Case(
        np.array([[1.0, 0.0], [0.0, 0.0]]), np.zeros((2, 2)), np.array([2]), (((1, 1), 3.0),)
    )
    greedy = decode(case, 1)
    assert greedy.labels.tolist() == [0, 0] and greedy.scores.tolist() == [1.0]
    assert decode(case, 2).labels.tolist() == [1, 1] and decode(case, 2).scores.tolist() == [3.0]


def test_beam_that_runs_into_forbidden_transitions():
    """From label 0, which is ahead, nothing follows. The other sequence keeps its greedy labels."""
    scores = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.5]])
    trans = np.array([[-np.inf, -np.inf], [0.0, -np.inf]])
    case = Case(scores, trans, np.array([1, 2, 1]))
    paths = decode(case, 1)
    assert paths.labels.tolist() == [0, 1, 0, 1] and paths.scores.tolist() == [1.0, 1.0, 0.5]


def test_configurations_are_refused():
    case = Case(
        np.zeros((2, 2)),
        np.zeros((2, 2)),
        np.array([2]),
        configurations=((0, (frozenset([1]),), 1.0),),
    )
    with pytest.raises(
        ValueError, match=r"The decoder beam_decoder cannot use general configurations"
    ):
        decode(case, 3)
