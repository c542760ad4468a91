"""Labels that stay candidates, against all labellings that have them."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from spacy_hoseq.decoders import bounds
from spacy_hoseq.decoders.bounds import beside_decided, candidate_labels, fired_loss_of, refine
from spacy_hoseq.decoders.limits import Limits

from ..oracle import joint_table
from ..strategies import cases
from .test_limits import plain_tables


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """All tests, against the most that any labelling with the label scores. The earlier keep what the later do."""
    patterns = case.pattern_scores()
    limits, loss = Limits(case.trans, patterns), fired_loss_of(patterns, case.scores.shape)
    with mock.patch.object(bounds, "BLOCK_CELLS", block):
        found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss)
    decided = beside_decided(found, limits, case.lengths)
    lists = (found, decided, refine(decided, limits, case.lengths))
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
    patterns = case.pattern_scores()
    limits, loss = Limits(case.trans, patterns), fired_loss_of(patterns, case.scores.shape)
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
    got = fired_loss_of(case.pattern_scores(), case.scores.shape)
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
