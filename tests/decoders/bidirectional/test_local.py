"""What local classifiers see, and tables of their probabilities, against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders.bidirectional import local
from spacy_hoseq.decoders.bidirectional.local import (
    best_labels,
    check_local,
    check_order,
    contexts_of,
    edge_contexts,
    known_slots,
    log_probabilities,
)

from .local_cases import OFFSETS, UNSEEN, LocalCase, RandomLocal, neighbours, seen_by

some_lengths = st.lists(st.integers(1, 7), max_size=4).map(lambda sizes: np.array(sizes, np.int64))
any_order = pytest.mark.parametrize("order", [1, 2])


def test_slots_are_offsets_from_left_to_right():
    assert local.OFFSETS == OFFSETS


@any_order
@given(lengths=some_lengths, data=st.data())
def test_contexts(order, lengths, data):
    """Before any token has a label, and when some (-1: not these) or all have one."""
    n_tokens, n_labels = int(lengths.sum()), 3
    some = data.draw(st.lists(st.integers(-1, 2), min_size=n_tokens, max_size=n_tokens))
    case = LocalCase(RandomLocal([[0.0] * n_labels], range(n_tokens), order), lengths)
    expected, expected_edges = [], []
    for labels in case.parts(np.array(some, int)) if n_tokens else []:
        for i in range(len(labels)):
            near = set(neighbours(i, order))
            expected.append(seen_by(case, i, near, labels))
            expected_edges.append(seen_by(case, i, near - set(range(len(labels))), labels))
    visible, edges = edge_contexts(lengths, order, n_labels)
    got = contexts_of(np.array(some, np.int32), lengths, order, n_labels)
    assert edges.shape == got.shape == (n_tokens, 2 * order)
    assert list(map(tuple, edges.tolist())) == expected_edges
    assert list(map(tuple, got.tolist())) == expected
    masks = []
    for rows in (edges, got):
        masks.append([sum(2**j for j, y in enumerate(row) if y != UNSEEN) for row in rows])
    assert [visible.tolist(), known_slots(got).tolist()] == masks


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_probabilities_are_among_the_allowed_labels(dtype):
    scores = np.array([[0.0, 1.0, -2.0], [800.0, -800.0, 0.0], [3.0, 3.0, 3.0]], dtype)
    allowed = np.array([[True, True, False], [False, True, True], [False, False, True]])
    before = scores.copy()
    tokens = np.array([1, 0, 2])
    got = log_probabilities(scores, tokens, allowed[tokens])
    one = math.log(1 + math.e)
    expected = [[-one, 1 - one, -np.inf], [-np.inf, -800, 0], [-np.inf, -np.inf, 0]]
    assert got.dtype == np.float64 and scores.tolist() == before.tolist()
    assert_allclose(got, expected, rtol=1e-12)
    free = log_probabilities(scores, tokens, None)
    assert_allclose(free[2], [-math.log(3)] * 3, rtol=1e-12)
    assert_allclose(np.exp(free).sum(axis=1), [1, 1, 1], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_labels", [1, 2, 7, 44, 131])
def test_best_labels_are_those_of_the_definition(dtype, n_labels):
    """Probabilities in the open and near 1, where 1 - p is all that tells them apart; equal scores; masks."""
    rng = np.random.default_rng(n_labels)
    scores = (rng.normal(0, 1, (60, n_labels)) * rng.choice([0.1, 3, 40], (60, 1))).astype(dtype)
    scores[::7] = scores[::7].round()
    allowed, tokens = rng.random((80, n_labels)) < 0.6, rng.integers(0, 80, 60)
    allowed[np.arange(80), rng.integers(0, n_labels, 80)] = True
    before = scores.copy()
    for mask in (None, allowed):
        labels, values = best_labels(scores, tokens, mask)
        assert values.dtype == np.float64 and np.array_equal(scores, before)
        rows = zip(scores.tolist(), tokens, labels.tolist(), values.tolist(), strict=True)
        for row, token, label, value in rows:
            possible = [y for y in range(n_labels) if mask is None or mask[token, y]]
            assert label == max(possible, key=lambda y: row[y])
            rest = math.fsum(math.exp(row[y] - row[label]) for y in possible if y != label)
            assert value == pytest.approx(-math.log1p(rest), rel=1e-12, abs=0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_best_labels_of_scores_that_are_not_finite(value, dtype):
    scores = np.zeros((3, 4), dtype)
    scores[1, 2] = value
    for allowed in (None, np.ones((9, 4), bool)):
        with pytest.raises(ValueError, match=r"\[HS020\] 1 of 12 .* first at token 7, label 2"):
            best_labels(scores, np.array([8, 7, 6]), allowed)


def test_log_probabilities_of_scores_that_are_not_finite():
    scores = np.zeros((3, 4))
    scores[1, 2], scores[2, 0] = np.nan, -np.inf
    match = r"\[HS020\] 2 of 12 .* first at token 7, label 2"
    for allowed in (None, np.ones((9, 4), bool)):
        with pytest.raises(ValueError, match=match):
            log_probabilities(scores, np.array([8, 7, 6]), allowed)


@pytest.mark.parametrize("order", [-1, 0, 3])
def test_wrong_order(order):
    case = LocalCase(RandomLocal([[0.0]], range(3), 1), np.array([3]))
    match = rf"\[HS027\] Wrong order: {order}\. Expected 1 or 2"
    with pytest.raises(ValueError, match=match):
        check_order(order)
    with pytest.raises(ValueError, match=match):
        check_local(case.local, case.lengths, order, None)
