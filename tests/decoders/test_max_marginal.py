"""The most probable label of each token, against enumeration."""

import numpy as np
import pytest
from hypothesis import assume, given

from spacy_hoseq.decoders.choice import max_marginal

from .. import oracle
from ..cases import Case
from ..strategies import cases


@given(case=cases(signed=True, configurations=3))
def test_labels_are_the_enumerated_ones(case):
    assume(oracle.is_feasible(case))
    got = max_marginal(case.potentials())
    assert got.labels.dtype == np.int32
    for single, labels, score in zip(case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True):
        marginals = oracle.joint_table(single).marginals
        chosen = marginals[np.arange(len(labels)), labels]
        np.testing.assert_allclose(chosen, marginals.max(axis=1), atol=1e-8)
        assert score == pytest.approx(oracle.score_of_one(single, labels))


def test_criteria_that_differ():
    """0,0 has 4 of 10 and is the best labelling; label 1 is more probable at both tokens: 3 + 3 of 10, then 6 + 0."""
    trans = np.log([[4.0, 1e-300], [3.0, 3.0]])
    case = Case(np.zeros((2, 2)), trans, np.array([2]))
    assert oracle.joint_table(case).best_labels.tolist() == [0, 0]
    paths = max_marginal(case.potentials())
    assert paths.labels.tolist() == [1, 0] and paths.scores == pytest.approx([np.log(3.0)])


def test_forbidden_transition_is_not_excluded():
    """0,1 is forbidden; the labellings 0,0 with 3 and 1,1 with 2 and 0,2, 2,1 make 0 and 1 the most probable labels."""
    trans = np.log([[1e-9, 0.5, 2.0], [1e-9, 2.0, 1e-9], [1e-9, 1.5, 1e-9]])
    trans[0, 1] = -np.inf
    trans[0, 0] = np.log(2.5)
    case = Case(np.zeros((2, 3)), trans, np.array([2]))
    paths = max_marginal(case.potentials())
    assert paths.labels.tolist() == [0, 1] and paths.scores.tolist() == [-np.inf]


def test_ties_go_to_the_lowest_label():
    paths = max_marginal(Case(np.zeros((3, 4)), np.zeros((4, 4)), np.array([2, 1])).potentials())
    assert paths.labels.tolist() == [0, 0, 0] and paths.scores.tolist() == [0, 0]


def test_empty_batch():
    paths = max_marginal(Case(np.zeros((0, 2)), np.zeros((2, 2)), np.zeros(0, np.int64)).potentials())
    assert paths.labels.tolist() == [] and paths.scores.tolist() == []


def test_no_permitted_labelling():
    allowed = np.array([[True, False], [False, True]])
    case = Case(np.zeros((2, 2)), np.array([[0, -np.inf], [0, 0]]), np.array([2]), (((1, 0), 1.0),), allowed=allowed)
    with pytest.raises(ValueError, match=r"\[HS023\] Sequence 0 has no permitted label sequence"):
        max_marginal(case.potentials())
