"""Max-marginals and probabilities of events, against sums and maxima over all labellings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders import NoPath, best_with, k_best, posterior, sample
from spacy_hoseq.decoders.problem import Tuning

from ... import oracle
from ...cases import Case
from ..test_posterior import close, everything, rounding
from .posteriors import distributions


@given(case=everything(), k=st.sampled_from([2, 5, 40]), seed=st.integers(0, 99))
def test_k_best_and_samples_of_everything(case, k, seed):
    """The k best labellings, and draws as frequent as probable."""
    single, n_samples = case.take([0]), 400
    labels, scores = oracle.joint_table(single).k_best(k)
    got = k_best(single.potentials(), k)
    assert got.labels.shape == labels.shape and len(set(map(tuple, got.labels.tolist()))) == len(labels)
    close(got.scores, scores, case)
    close(oracle.score_of(single, got.labels), got.scores, case)
    drawn = sample(case.potentials(), n_samples, np.random.default_rng(seed))
    for start, labellings, p in distributions(case):
        rows = drawn[:, start : start + labellings.shape[1]]
        for labelling, probability in zip(labellings, p, strict=True):
            share = (rows == labelling).all(axis=1).mean()
            assert abs(share - probability) <= 6 * np.sqrt(probability / n_samples) + 6 / n_samples


@pytest.mark.parametrize("tuning", [Tuning(), Tuning(arc_cells=60)])
@given(case=everything())
def test_max_marginals_of_everything(tuning, case):
    best = best_with(case.potentials(), tuning=tuning)
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = oracle.joint_table(single)
        for t, label in np.ndindex(table.labellings.shape[1], case.n_labels):
            expected = table.scores[table.labellings[:, t] == label].max()
            assert best[start + t, label] == pytest.approx(expected, abs=rounding(case))


def test_worked_out_by_hand():
    """Two tokens, two labels, all scores 0, but the pair (0, 0) has the factor 2: probabilities 2, 1, 1, 1 of 5."""
    trans = np.array([[np.log(2.0), 0.0], [0.0, 0.0]])
    potentials = Case(np.zeros((2, 2)), trans, np.array([2])).potentials()
    assert best_with(potentials).tolist() == [[np.log(2.0), 0.0], [np.log(2.0), 0.0]]


def test_no_labels_are_in_doubt_without_alternatives():
    potentials = Case(np.ones((3, 1)), np.ones((1, 1)), np.array([2, 1])).potentials()
    assert posterior(potentials).conditional_entropies().tolist() == [0, 0, 0]
    assert best_with(potentials).tolist() == [[3], [3], [1]]


def test_sequence_without_a_path_is_named():
    allowed = np.array([[True, True], [True, False], [False, True]])
    case = Case(np.zeros((3, 2)), np.array([[0, -np.inf], [0, 0]]), np.array([1, 2]), allowed=allowed)
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1 "):
        best_with(case.potentials())


def test_empty_batch():
    potentials = Case(np.zeros((0, 2)), np.zeros((2, 2)), np.zeros(0, np.int64)).potentials()
    assert best_with(potentials).shape == (0, 2)
