"""Max-marginals and probabilities of events, against sums and maxima over all labellings."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders import NoPath, best_with, event_probabilities, k_best, posterior, sample
from spacy_hoseq.decoders.problem import Tuning

from ... import oracle
from ...cases import Case
from ...strategies import KINDS_OF_CASES as KINDS
from ..test_posterior import close, everything, rounding
from .posteriors import distributions, has_path


def drawn(data, kind):
    case = data.draw(KINDS[kind]).doubles()
    assume(has_path(case))
    return case


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
@given(case=everything(), seed=st.integers(0, 99))
def test_max_marginals_and_events_of_everything(tuning, case, seed):
    best = best_with(case.potentials(), tuning=tuning)
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = oracle.joint_table(single)
        for t, label in np.ndindex(table.labellings.shape[1], case.n_labels):
            expected = table.scores[table.labellings[:, t] == label].max()
            assert best[start + t, label] == pytest.approx(expected, abs=rounding(case))
    permitted = np.random.default_rng(seed).random(case.scores.shape) < 0.7
    every = np.arange(len(case.lengths))
    p = event_probabilities(case.potentials(), posterior(case.potentials()).log_z, every, permitted)
    parts = np.split(permitted, case.starts[1:])
    expected = [
        p[mask[np.arange(len(mask)), rows].all(axis=1)].sum()
        for mask, (_, rows, p) in zip(parts, distributions(case), strict=True)
    ]
    close(p, expected, case)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data(), seed=st.integers(0, 99))
def test_probability_of_an_event_is_the_enumerated_one(kind, data, seed):
    """Some events are impossible: no label at a token, or none that can follow another."""
    case, rng = drawn(data, kind), np.random.default_rng(seed)
    sequences = rng.integers(0, len(case.lengths), 5)
    permitted = [rng.random((case.lengths[i], case.n_labels)) < 0.7 for i in sequences]
    potentials = case.potentials()
    p = event_probabilities(potentials, posterior(potentials).log_z, sequences, np.concatenate(permitted))
    for i, mask, found in zip(sequences, permitted, p, strict=True):
        table = oracle.joint_table(case.singles()[i])
        inside = mask[np.arange(len(mask)), table.labellings].all(axis=1)
        assert found == pytest.approx(np.exp(table.scores[inside] - table.log_z).sum(), abs=1e-7)


def test_worked_out_by_hand():
    """Two tokens, two labels, all scores 0, but the pair (0, 0) has the factor 2: probabilities 2, 1, 1, 1 of 5."""
    trans = np.array([[np.log(2.0), 0.0], [0.0, 0.0]])
    potentials = Case(np.zeros((2, 2)), trans, np.array([2])).potentials()
    log_z = posterior(potentials).log_z
    assert best_with(potentials).tolist() == [[np.log(2.0), 0.0], [np.log(2.0), 0.0]]
    both = np.array([[True, True], [True, False]])
    assert event_probabilities(potentials, log_z, np.array([0]), both).tolist() == pytest.approx([0.6])


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
    answers = posterior(potentials)
    assert best_with(potentials).shape == (0, 2)
    assert event_probabilities(potentials, answers.log_z, np.zeros(0, np.intp), np.zeros((0, 2), bool)).shape == (0,)
