"""Viterbi over candidates: the contract, and label for label the decoder that looks at all labels."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.pruning.candidates import Candidates
from spacy_hoseq.decoders.pruning.sparse_viterbi import sparse_viterbi

from ...cases import Case
from ...contract import DecoderContract
from ...strategies import cases
from ..chain.test_viterbi import decode_viterbi


def every_candidate(case):
    """All labels that are allowed."""
    mask = np.ones(case.scores.shape, bool) if case.allowed is None else case.allowed
    tokens, labels = np.nonzero(mask)
    first = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    return Candidates(first, labels, case.scores[tokens, labels].astype(np.float64))


def decode(case):
    return sparse_viterbi(every_candidate(case), case.trans, case.lengths)


class TestSparseViterbi(DecoderContract):
    test_blocks_change_nothing = None  # nothing is cut
    takes_patterns = False
    test_scores_not_finite = None  # its caller has checked these
    test_transitions_not_usable = None
    test_no_label_allowed_at_a_token = None
    test_wrong_shapes = None

    def decode(self, case):
        return decode(case)


@given(case=cases(max_labels=9, max_tokens=40, max_sequences=5), seed=st.integers(0, 10**6), share=st.floats(0, 0.8))
def test_few_candidates_as_viterbi(case, seed, share):
    rng = np.random.default_rng(seed)
    few = rng.random(case.scores.shape) < share
    few[np.arange(len(few)), rng.integers(0, case.n_labels, len(few))] = True
    case = replace(case.without_patterns(), allowed=few)
    try:
        expected = decode_viterbi(case)
    except ValueError:
        assume(False)  # no permitted labelling
    got = decode(case)
    assert got.labels.tolist() == expected.labels.tolist() and got.scores.tolist() == expected.scores.tolist()


@given(case=cases(rounded=True, forbidden=False, max_labels=6, max_tokens=12))
def test_ties_as_viterbi(case):
    case = case.without_patterns()
    got, expected = decode(case), decode_viterbi(case)
    assert got.labels.tolist() == expected.labels.tolist() and got.scores.tolist() == expected.scores.tolist()


def test_edge_scores_are_compared_before_the_score_is_added():
    """Beside 1e20 both arcs would be the same; without it the second is better."""
    case = Case(np.array([[0.0, 0.5], [1e20, 0.0]]), np.zeros((2, 2)), np.array([2]))
    case = replace(case, allowed=np.array([[True, True], [True, False]]))
    assert decode(case).labels.tolist() == decode_viterbi(case).labels.tolist() == [1, 0]


def test_labels_worked_out_by_hand_with_gaps_between_candidates():
    """Candidates 1, 3 and 0, 3 and 2: 3, 3, 2 has 1 + 2 + 4 + 2 + 1."""
    scores = np.array([[9.0, 2, 9, 1], [1, 9, 9, 2], [9, 9, 1, 9]])
    trans = np.zeros((4, 4))
    trans[3, 3], trans[3, 2], trans[1, 0] = 4, 2, 1
    allowed = np.zeros((3, 4), bool)
    allowed[[0, 0, 1, 1, 2], [1, 3, 0, 3, 2]] = True
    paths = decode(Case(scores, trans, np.array([3]), allowed=allowed))
    assert paths.labels.tolist() == [3, 3, 2] and paths.scores.tolist() == [10]
