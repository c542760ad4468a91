"""The score of given labellings, with patterns of any sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.problem import path_score

from ... import oracle
from ...cases import Case
from ...strategies import cases


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
        np.testing.assert_allclose(got, [oracle.score_of_one(single, part) for single, part in parts], atol=1e-9)


def test_score_worked_out_by_hand():
    """0,1 occurs twice, 1,0,1 once in the overlap, the fired one at its token only, nothing across the end."""
    case = Case(
        np.arange(10.0).reshape(5, 2),
        np.array([[0.0, 10.0], [100.0, 0.0]]),
        np.array([4, 1]),
        (((0, 1), 0.5), ((1, 0, 1), 0.25)),
        ((3, (0, 1), 0.125), (2, (0, 1), 64.0), (4, (1, 0), 64.0), (4, (1, 1), 64.0)),
    )
    labels = np.array([0, 1, 0, 1, 1], np.int32)
    first = (0 + 3 + 4 + 7) + (10 + 100 + 10) + 2 * 0.5 + 0.25 + 0.125
    assert path_score_of(case, labels).tolist() == [first, 9]


def test_entries_for_one_token_and_node_add_up():
    case = Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2]), fired=((1, (1, 1), 0.5), (1, (1, 1), 0.25)))
    assert path_score_of(case, np.array([1, 1])).tolist() == [0.75]


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
