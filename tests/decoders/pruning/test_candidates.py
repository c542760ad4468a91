"""Labels that stay candidates, against all labellings that have them."""

import numpy as np
import pytest
from hypothesis import given

from spacy_hoseq.decoders.pruning.candidates import Limits, candidate_labels, fired_loss_of

from ...oracle import joint_table
from ...strategies import cases


def loss_of(case):
    return fired_loss_of(case.potentials().fired, case.weights(), case.lengths)


@pytest.mark.parametrize("block", [1, 9, 180_000])
@given(case=cases())
def test_labels_of_best_labellings_stay(block, case):
    """Of all labellings with the best score."""
    limits, loss = Limits(case.weights()), loss_of(case)
    found = candidate_labels(case.scores, limits, allowed=case.allowed, fired_loss=loss, block_cells=block)
    assert found.scores.tolist() == case.scores[found.tokens, found.labels].tolist()
    mask = found.dense(case.n_labels)[1]
    assert mask.any(axis=1).all() and (case.allowed is None or (case.allowed >= mask).all())
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = joint_table(single)
        if table.best == -np.inf:
            continue
        best = table.labellings[table.scores >= table.best - 1e-9]
        for t, labels in enumerate(best.T):
            assert mask[start + t, labels].all()


@given(case=cases())
def test_fired_loss_is_the_weight_of_patterns_that_need_the_label(case):
    """Also of those that begin before their sequence: they never match, and more is lost at most."""
    got = loss_of(case)
    if not case.fired:
        assert got is None
        return
    expected = np.zeros(case.scores.shape)
    for token, pattern, weight in case.fired:
        for back, label in enumerate(reversed(pattern)):
            if token - back >= max(start for start in case.starts if start <= token):
                expected[token - back, label] += weight
    limits = np.zeros(expected.shape)
    got.add(limits, 0)
    assert (limits >= expected).all()
    np.testing.assert_allclose(limits, expected, rtol=1e-5)
    assert got.cells.tolist() == np.flatnonzero(expected).tolist() or (got.weights == 0).any()
