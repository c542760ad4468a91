"""Entropies, max-marginals and probabilities of events, against sums and maxima over all labellings."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders import NoPath, best_with, event_probabilities, posterior
from spacy_hoseq.decoders.problem.tuning import Tuning

from ... import oracle
from ...cases import Case
from ...strategies import KINDS_OF_CASES as KINDS
from .posteriors import has_path


def drawn(data, kind):
    case = data.draw(KINDS[kind]).doubles()
    assume(has_path(case))
    return case


def entropy(p):
    return float(-sum(x * np.log(x) for x in p if x > 0))


def prefix_entropies(table):
    """h_t = H(y_1..y_t) - H(y_1..y_{t-1}), from the probabilities of all prefixes."""
    p = np.exp(table.scores - table.log_z)
    whole = [0.0]
    for t in range(table.labellings.shape[1]):
        _, which = np.unique(table.labellings[:, : t + 1], axis=0, return_inverse=True)
        whole.append(entropy(np.bincount(which.reshape(-1), p)))
    return np.diff(whole)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_entropies_are_the_enumerated_ones(kind, data):
    case = drawn(data, kind)
    potentials = case.potentials()
    answers = posterior(potentials, tuning=Tuning(arc_cells=60))
    h = answers.conditional_entropies()
    expected = np.concatenate([prefix_entropies(oracle.joint_table(single)) for single in case.singles()])
    assert h == pytest.approx(expected, abs=1e-7)
    assert (h >= 0).all()
    whole = [prefix_entropies(oracle.joint_table(single)).sum() for single in case.singles()]
    assert answers.sequence_entropies() == pytest.approx(whole, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_best_with_each_label_is_the_enumerated_one(kind, data):
    case = drawn(data, kind)
    best = best_with(case.potentials(), tuning=Tuning(arc_cells=60))
    start = 0
    for single in case.singles():
        table = oracle.joint_table(single)
        for t in range(len(single.scores)):
            for label in range(case.n_labels):
                expected = table.scores[table.labellings[:, t] == label].max()
                assert best[start + t, label] == pytest.approx(expected), (t, label)
        start += len(single.scores)


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
    answers = posterior(potentials)
    h = answers.conditional_entropies()
    assert h.sum() == pytest.approx(entropy([0.4, 0.2, 0.2, 0.2])) and h[0] == pytest.approx(entropy([0.6, 0.4]))
    assert best_with(potentials).tolist() == [[np.log(2.0), 0.0], [np.log(2.0), 0.0]]
    both = np.array([[True, True], [True, False]])
    assert event_probabilities(potentials, answers.log_z, np.array([0]), both).tolist() == pytest.approx([0.6])


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
    assert answers.conditional_entropies().shape == answers.sequence_entropies().shape == (0,)
    assert best_with(potentials).shape == (0, 2)
    assert event_probabilities(potentials, answers.log_z, np.zeros(0, np.intp), np.zeros((0, 2), bool)).shape == (0,)
