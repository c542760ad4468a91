"""Labels that stay candidates, against all labellings that have them."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given

from spacy_hoseq.decoders import bounds
from spacy_hoseq.decoders.bounds import candidate_labels, fired_loss_of, refine
from spacy_hoseq.decoders.limits import Limits

from ..oracle import joint_table
from ..strategies import cases


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """Both tests, against the most that any labelling with the label scores. The first keeps what the second does."""
    patterns = case.pattern_scores()
    limits, loss = Limits(case.trans, patterns), fired_loss_of(patterns, case.scores.shape)
    with mock.patch.object(bounds, "BLOCK_CELLS", block):
        found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss)
    fewer_found = refine(found, limits, case.lengths)
    for lists in (found, fewer_found):
        assert lists.scores.tolist() == case.scores[lists.tokens, lists.labels].tolist()
    candidates, fewer = (lists.dense(case.n_labels)[1] for lists in (found, fewer_found))
    assert candidates.any(axis=1).all() and fewer.any(axis=1).all() and (candidates >= fewer).all()
    assert case.allowed is None or (case.allowed >= candidates).all()
    for i, single in enumerate(case.singles()):
        table = joint_table(single)
        if table.best == -np.inf:
            continue
        best = table.labellings[table.scores >= table.best - 1e-9]
        tokens = slice(case.starts[i], case.starts[i] + case.lengths[i])
        for t, here in enumerate(fewer[tokens]):
            assert here[best[:, t]].all()


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
