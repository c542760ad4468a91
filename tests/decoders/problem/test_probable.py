"""Marginals made sparse, against enumerated marginals."""

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.problem import certain_labels, check_threshold

from ... import oracle
from ...cases import Case, zero_case
from ..answers.posteriors import enumerated_arcs, posterior_of
from ..test_posterior import PATHS, everything

THRESHOLDS = [0.0, 0.01, 0.3, 0.9]


def enumerated(case, threshold):
    """Entries {(t, y): p} and pairs {(t, a, b): p} that are possible and reach the threshold."""
    nodes = np.concatenate([oracle.joint_table(single).marginals for single in case.singles()])
    every = []
    for values in (nodes, enumerated_arcs(case)):
        if (np.abs(values - threshold) < 1e-9)[values > 0].any():
            reject()
        every.append({place: p for place, p in np.ndenumerate(values) if p > 0 and p >= threshold})
    return every


def as_tables(found):
    """The same of what was found."""
    tokens, labels, p, earlier, later, pairs = found
    entries = list(zip(tokens.tolist(), labels.tolist(), strict=True))
    assert (tokens[later] - tokens[earlier] == 1).all(), "at neighbouring tokens"
    ends = zip(earlier, later, strict=True)
    between = [(entries[j][0], entries[i][1], entries[j][1]) for i, j in ends]
    assert len(set(between)) == len(between) and len(set(entries)) == len(entries)
    assert between == list(zip(*(part.tolist() for part in found.arcs), strict=True))
    pairs = dict(zip(between, pairs.tolist(), strict=True))
    return dict(zip(entries, p.tolist(), strict=True)), pairs


@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("path", PATHS)
@given(data=st.data())
def test_they_are_the_enumerated_ones(path, threshold, data):
    """Forbidden transitions and masks included. With threshold 0 all that is not impossible."""
    case = data.draw(everything(path, size=1.0))
    found = PATHS[path](case.potentials()).probable(threshold)
    for got, expected in zip(as_tables(found), enumerated(case, threshold), strict=True):
        assert got.keys() == expected.keys() or not threshold  # impossible but for rounding
        values = [expected.get(place, 0) for place in got]
        assert list(got.values()) == pytest.approx(values, abs=1e-9)


def test_no_tokens():
    nothing = np.zeros(0, int)
    found = posterior_of(zero_case().potentials()).probable(0.0)
    assert [len(part) for part in found] == [0] * 6
    assert [len(part) for part in certain_labels(np.zeros(0, np.int32), nothing)] == [0] * 6


def test_certain_labels():
    """Nothing is known of tokens 1 and 6; sequences of 4, 3 and 1 tokens."""
    found = certain_labels(np.array([2, -1, 0, 1, 1, 1, -1, 0]), np.array([4, 3, 1]))
    assert as_tables(found) == (
        {(0, 2): 1, (2, 0): 1, (3, 1): 1, (4, 1): 1, (5, 1): 1, (7, 0): 1},
        {(3, 0, 1): 1, (5, 1, 1): 1},
    )
    assert found.labels.dtype == np.intp


@pytest.mark.parametrize("threshold", [-0.1, -1e-300, 1.0, 1.5, float("nan"), float("inf")])
def test_impossible_threshold(threshold):
    answers = posterior_of(Case(np.zeros((1, 2)), np.zeros((2, 2)), np.array([1])).potentials())
    for call in (check_threshold, answers.probable):
        with pytest.raises(ValueError, match=r"\[HS027\] Wrong threshold: .*0 to below 1"):
            call(threshold)


@pytest.mark.parametrize("trans", [np.zeros((2, 2)), np.array([[0.0, 400.0], [0.0, 0.0]])])
def test_scores_in_any_order_of_memory(trans):
    scores = np.random.default_rng(0).normal(size=(7, 2))
    potentials = Case(scores, trans, np.array([4, 3])).potentials()
    turned = posterior_of(potentials._replace(scores=np.asfortranarray(potentials.scores)))
    expected = posterior_of(potentials)
    for got, same in zip(turned.probable(0.1), expected.probable(0.1), strict=True):
        assert_allclose(got, same, atol=1e-12)
    segments = np.array([0, 4]), np.array([2, 3]), np.zeros(5, int), np.eye(2, dtype=bool)
    assert_allclose(turned.segments(*segments), expected.segments(*segments), atol=1e-12)
