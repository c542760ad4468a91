"""Short texts: what plain Python finds is what `pruned.py` finds, to the last label, ties included."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import answers_of, kernels
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem.tuning import Tuning
from spacy_hoseq.decoders.pruning import pruned as pruning

from ...cases import Case
from ...strategies import cases, peaked_case

# whatever the number of pairs, sequences have few candidates, so that none is left to dense decoders
TUNING = Tuning(pair_cost=0, sparse_cost=0, short_candidates=100, short_refined=10_000)


def of_batch(case):
    return answers_of(case.potentials(), tuning=TUNING._replace(short_tokens=0)).best.tolist()


def of_short(case):
    """Labels, and whether they were left to the batch's decoder."""
    with mock.patch.object(pruning, "beside_decided", wraps=pruning.beside_decided) as batch:
        labels = answers_of(case.potentials(), tuning=TUNING).best.tolist()
    return labels, batch.called


def outcome(decode, case):
    """What comes out: labels, or the message."""
    try:
        return decode(case)
    except ValueError as error:
        return str(error)


def expected_of_short(case):
    """The batch's outcome; its labels are found without it."""
    outcome_of_batch = outcome(of_batch, case)
    return outcome_of_batch if isinstance(outcome_of_batch, str) else (outcome_of_batch, False)


@given(case=cases(max_labels=6, max_tokens=12, max_sequences=3), rounded=st.booleans())
def test_chain(case, rounded):
    case = case.without_patterns()
    if rounded:
        case = replace(case, scores=np.round(case.scores), trans=np.round(case.trans))
    assert outcome(of_short, case) == expected_of_short(case)


@given(case=cases(max_labels=5, max_tokens=12, max_sequences=3))
def test_patterns(case):
    case = replace(case, fired=())
    assert outcome(of_short, case) == expected_of_short(case)


@given(case=cases(max_labels=4, max_tokens=10, max_sequences=2, rounded=True, forbidden=False))
def test_ties_of_patterns(case):
    case = replace(case, fired=())
    assert outcome(of_short, case) == expected_of_short(case)


@pytest.mark.parametrize("seed", range(8))
def test_many_labels_few_of_them_near_the_best(seed):
    case = peaked_case(np.random.default_rng(seed), [12, 1, 30], 20, 40)
    for one in (replace(case, fired=()), case.without_patterns()):
        assert outcome(of_short, one) == expected_of_short(one)


@given(case=cases(max_labels=6, max_tokens=12, max_sequences=3, masks=False, forbidden=False))
def test_patterns_at_positions_are_left_to_the_batch(case):
    labels, was_left = of_short(case) if case.fired else ([], True)
    assert was_left
    assert not case.fired or labels == of_batch(case)


def test_forbidden_transitions_are_decoded_at_once():
    """Exact pruning would decide hardly a token; ties as in a batch."""
    rng = np.random.default_rng(0)
    for lengths in ([1], [12], [5, 1, 7]):
        n = sum(lengths)
        trans = np.where(rng.random((6, 6)) < 0.3, -np.inf, np.round(rng.normal(size=(6, 6))))
        trans[0] = 0.0
        trans[:, 0] = 0.0
        case = Case(np.round(rng.normal(size=(n, 6))), trans, np.array(lengths))
        with mock.patch.object(kernels, "short_labels", wraps=kernels.short_labels) as short:
            assert of_short(case) == (of_batch(case), False)
        assert not short.called


def test_long_text_is_left_to_the_batch():
    case = peaked_case(np.random.default_rng(0), [12, 1, 30], 20, 40)
    with mock.patch.object(kernels, "short_labels", wraps=kernels.short_labels) as short:
        for short_tokens, asked in ((len(case.scores), True), (len(case.scores) - 1, False)):
            decode_exact(replace(case, fired=()).potentials(), tuning=Tuning(short_tokens=short_tokens))
            assert short.called == asked
            short.reset_mock()


@pytest.mark.parametrize("with_patterns", [False, True])
def test_texts_in_doubt_everywhere_are_left_to_arrays(with_patterns):
    """Pairs of candidates are counted before any is looked at."""
    case = Case(np.zeros((10, 4)), np.ones((4, 4)), np.array([10]), (((0, 1), 1.0),) if with_patterns else ())
    for limit, left in ((9 * 16, False), (9 * 16 - 1, True)):
        tuning = TUNING._replace(short_pairs=limit)
        with mock.patch.object(pruning, "beside_decided", wraps=pruning.beside_decided) as batch:
            labels = answers_of(case.potentials(), tuning=tuning).best.tolist()
        assert batch.called == left and len(labels) == 10
