"""Labels that stay candidates, against all labellings that have them."""

import numpy as np
import pytest
from hypothesis import assume, given

from spacy_hoseq.decoders.problem.potentials import Weights
from spacy_hoseq.decoders.problem.tuning import Tuning
from spacy_hoseq.decoders.pruning.bounds import (
    beside_decided,
    candidate_labels,
    fired_loss_of,
    refine,
)
from spacy_hoseq.decoders.pruning.limits import Limits

from ...oracle import joint_table
from ...strategies import cases
from .test_limits import plain_tables


def loss_of(case):
    return fired_loss_of(case.potentials().fired, case.weights(), case.scores.shape)


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """All tests, against the most that any labelling with the label scores. The earlier keep what the later do."""
    limits, loss = Limits(case.weights()), loss_of(case)
    tuning = Tuning(bound_cells=block, bound_candidates=block)
    found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss, tuning=tuning)
    decided = beside_decided(found, limits, case.lengths)
    lists = (found, decided, refine(decided, limits, case.lengths, tuning=tuning))
    assert all(some.scores.tolist() == case.scores[some.tokens, some.labels].tolist() for some in lists)
    candidates, fewer, fewest = (some.dense(case.n_labels)[1] for some in lists)
    assert (candidates >= fewer).all() and (fewer >= fewest).all() and fewest.any(axis=1).all()
    assert case.allowed is None or (case.allowed >= candidates).all()
    for i, single in enumerate(case.singles()):
        table = joint_table(single)
        if table.best == -np.inf:
            continue
        best = table.labellings[table.scores >= table.best - 1e-9]
        tokens = slice(case.starts[i], case.starts[i] + case.lengths[i])
        for t, here in enumerate(fewest[tokens]):
            assert here[best[:, t]].all()


@given(case=cases(max_tokens=10))
def test_beside_decided_is_its_definition(case):
    """Also with patterns and forbidden transitions; what stands in other sequences has no part in it."""
    limits, loss = Limits(case.weights()), loss_of(case)
    found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss)
    mask, got = (some.dense(case.n_labels)[1] for some in (found, beside_decided(found, limits, case.lengths)))
    fired = np.zeros(case.scores.shape) if loss is None else loss.at(np.arange(mask.size)).reshape(mask.shape)
    after, before = plain_tables(case.trans, case.patterns)
    for start, length in zip(case.starts, case.lengths, strict=True):
        for t in range(start, start + length):
            beside = [labels_at(mask, t - 1) if t > start else None, labels_at(mask, t + 1, start + length)]
            j = max(labels_at(mask, t), key=lambda label: case.scores[t, label])  # the first of the best
            for k in labels_at(mask, t):
                limit = [
                    plain_loss(case.trans[:, j], after[:, k], beside[0]),
                    plain_loss(case.trans[j], before[k], beside[1]),
                ]
                limit = -np.inf if -np.inf in limit else sum(limit) + fired[t, k]
                gap = case.scores[t, j] - case.scores[t, k]
                if k == j or abs(gap - limit) > 1e-3:  # limits are rounded up
                    assert got[t, k] == (k == j or gap < limit)


@given(case=cases(max_tokens=10))
def test_refine_is_its_definition(case):
    """The neighbours after first; then those before, over what that has left, with what it has found for the others."""
    limits, loss = Limits(case.weights()), loss_of(case)
    found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss)
    got = refine(found, limits, case.lengths).dense(case.n_labels)[1]
    mask = found.dense(case.n_labels)[1]
    fired = np.zeros(case.scores.shape) if loss is None else loss.at(np.arange(mask.size)).reshape(mask.shape)
    after, before = plain_tables(case.trans, case.patterns)
    every = list(range(case.n_labels))
    other = {(t, k): None for t, k in zip(*np.nonzero(mask), strict=True)}
    for step in (1, -1):
        left = mask.copy()
        for start, length in zip(case.starts, case.lengths, strict=True):
            for t in range(start, start + length):
                j = max(labels_at(mask, t), key=lambda label: case.scores[t, label])
                beside = labels_at(mask, t + step) if start <= t + step < start + length else None
                for k in set(labels_at(mask, t)) - {j}:
                    of_last, of_next = (case.trans[:, j], after[:, k]), (case.trans[j], before[k])
                    if step == 1:
                        other[t, k] = plain_loss(*of_last, every)
                    here = most_beside(*(of_next if step == 1 else of_last), beside)
                    limit = here if here == -np.inf else here + other[t, k] + fired[t, k]
                    other[t, k] = here
                    gap = case.scores[t, j] - case.scores[t, k]
                    assume(here == -np.inf or abs(gap - limit) > 1e-3)  # limits are rounded up
                    left[t, k] = gap < limit
        mask = left
    assert got.tolist() == mask.tolist()


def test_second_round_works_with_what_the_first_has_left():
    """Label 1 is worth 3 beside itself, so it stays at the second token as long as it may stand at the first. There it
    has 6.5 less than label 0, and can have 3 + 3 more, now that label 2 (worth 4 after it) cannot follow."""
    scores, trans = np.array([[6.5, 0, -100], [2, 0, -100]]), np.zeros((3, 3))
    trans[1, 1:] = 3, 4
    limits = Limits(Weights(trans))
    found = candidate_labels(scores, limits)
    assert found.labels.tolist() == [0, 1, 0, 1]
    assert refine(found, limits, np.array([2])).labels.tolist() == [0, 0]


def most_beside(instead, earned, labels):
    """As `plain_loss`, of all these labels and none of the others."""
    if labels is None:
        return 0.0
    return max((earned[a] - instead[a] for a in labels if earned[a] > -np.inf), default=-np.inf)


def labels_at(mask, t, end=None):
    return None if t == end else np.flatnonzero(mask[t]).tolist()


def plain_loss(instead, earned, labels):
    """What k has over j beside a neighbour with these labels (None: there is no neighbour); of an open one all labels
    count, and none. instead, earned (L,): what j has at least, k at most."""
    if labels is None:
        return 0.0
    if len(labels) == 1:
        (a,) = labels
        return -np.inf if earned[a] == -np.inf else earned[a] - instead[a]
    return max(0.0, *(e - i for e, i in zip(earned, instead, strict=True) if e > -np.inf), 0.0)


@given(case=cases())
def test_fired_loss_is_the_weight_of_patterns_that_need_the_label(case):
    """Also of those that begin before the sequence: they never match, and more is lost at most."""
    got = loss_of(case)
    if not case.fired:
        assert got is None
        return
    expected = np.zeros(case.scores.shape)
    for token, pattern, weight in case.fired:
        for back, label in enumerate(reversed(pattern)):
            if token - back >= 0:
                expected[token - back, label] += weight
    every = got.at(np.arange(expected.size)).reshape(expected.shape)
    np.testing.assert_allclose(every, expected)
    assert got.cells.tolist() == np.flatnonzero(expected).tolist() or (got.weights == 0).any()
