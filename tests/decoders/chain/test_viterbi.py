"""First-order decoding: the contract, and ties, which are part of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from spacy_hoseq.decoders.chain.viterbi import viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning

from ... import oracle
from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases


def decode_viterbi(case, tuning=TUNING):
    return viterbi(case.scores, case.trans, case.lengths, allowed=case.allowed, tuning=tuning)


class TestViterbi(DecoderContract):
    takes_patterns = False

    def decode(self, case, tuning=TUNING):
        return decode_viterbi(case, tuning)


def lowest_right_to_left(table):
    """Of the best labellings the one with the lowest last label, among these the lowest last but one, ..."""
    best = table.labellings[table.scores == table.best]
    return best[np.lexsort(best.T)[0]].tolist()  # lexsort: the last column decides first


def exact_labels(potentials):
    return decode_exact(potentials).labels


def viterbi_labels(potentials):
    return viterbi(potentials.scores, potentials.trans, potentials.lengths, allowed=potentials.allowed).labels


@pytest.mark.parametrize("labels_of", [viterbi_labels, exact_labels])
@given(case=cases(rounded=True, forbidden=False))
def test_ties_go_to_the_lowest_label_right_to_left(labels_of, case):
    case = replace(case.without_patterns(), scores=np.clip(case.scores, -1, 1), trans=np.clip(case.trans, -1, 0))
    labels = labels_of(case.potentials())
    expected = [lowest_right_to_left(oracle.joint_table(single)) for single in case.singles()]
    assert labels.tolist() == sum(expected, [])


@pytest.mark.parametrize("labels_of", [viterbi_labels, exact_labels])
def test_all_labels_equal_gives_label_zero(labels_of):
    assert labels_of(Case(np.zeros((7, 5)), np.zeros((5, 5)), np.array([3, 4])).potentials()).tolist() == [0] * 7


def test_many_sequences_at_once_as_one_by_one():
    """More than 32 sequences take another way through `Arrivals`."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 100)
    scores, trans = rng.integers(-2, 3, (lengths.sum(), 4)).astype(float), rng.integers(-1, 2, (4, 4)).astype(float)
    batch = viterbi(scores, trans, lengths, tuning=Tuning(step_cells=4 * 4 * 32))
    parts = [viterbi(s, trans, np.array([len(s)])) for s in np.split(scores, np.cumsum(lengths)[:-1])]
    assert batch.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    assert batch.scores.tolist() == [part.scores[0] for part in parts]
