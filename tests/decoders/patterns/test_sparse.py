"""Decoding over candidate labels only: the contract, and label for label the decoder that looks at all labels."""

from dataclasses import replace

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.patterns import decode_sparse
from spacy_hoseq.decoders.problem import Candidates

from ...cases import Case, same_paths
from ...contract import DecoderContract
from ...strategies import SEEDS, cases, random_mask
from ..chain.test_best_path import decode_viterbi
from .test_nonnegative import decode_with_patterns


def every_candidate(case):
    """All labels that are allowed."""
    mask = np.ones(case.scores.shape, bool) if case.allowed is None else case.allowed
    tokens, labels = np.nonzero(mask)
    first = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
    return Candidates(first, labels, case.scores[tokens, labels].astype(np.float64))


def decode(case):
    fired = case.potentials().fired
    return decode_sparse(every_candidate(case), case.weights(), case.lengths, fired=fired)


class TestSparse(DecoderContract):
    test_scores_not_finite = None  # its caller has checked these
    test_transitions_not_usable = None
    test_no_label_allowed_at_a_token = None
    test_wrong_shapes = None
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        return decode(case)


class TestSparseChain(TestSparse):
    takes_patterns = False


@given(case=cases(max_labels=8, max_tokens=40, max_sequences=5), seed=SEEDS)
def test_few_candidates_as_the_decoder_of_all_labels(case, seed):
    rng = np.random.default_rng(seed)
    few = random_mask(rng, *case.scores.shape) & (rng.random(case.scores.shape) < 0.5)
    few[np.arange(len(few)), rng.integers(0, case.n_labels, len(few))] = True
    case = replace(case, allowed=few)
    try:
        expected = decode_with_patterns(case)
    except ValueError:
        assume(False)  # no permitted labelling
    got = decode(case)
    assert got.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(got.scores, expected.scores, rtol=1e-12, atol=1e-9)


@given(
    case=cases(max_labels=9, max_tokens=40, max_sequences=5), seed=SEEDS, share=st.floats(0, 0.8)
)
def test_few_candidates_as_viterbi(case, seed, share):
    rng = np.random.default_rng(seed)
    few = rng.random(case.scores.shape) < share
    few[np.arange(len(few)), rng.integers(0, case.n_labels, len(few))] = True
    case = replace(case.without_patterns(), allowed=few)
    try:
        expected = decode_viterbi(case)
    except ValueError:
        assume(False)  # no permitted labelling
    assert same_paths(decode(case), expected)


def test_edge_scores_are_compared_before_the_score_is_added():
    """Beside 1e20 both arcs would be the same; without it the second is better."""
    case = Case(np.array([[0.0, 0.5], [1e20, 0.0]]), np.zeros((2, 2)), np.array([2]))
    case = replace(case, allowed=np.array([[True, True], [True, False]]))
    assert decode(case).labels.tolist() == decode_viterbi(case).labels.tolist() == [1, 0]


def test_one_candidate_everywhere_is_its_score():
    """Pattern 0,1,0 once, 1,0 once, the fired one at token 2."""
    labels = np.array([0, 1, 0, 1])
    scores, trans = np.arange(8.0).reshape(4, 2), np.array([[0.0, 0.5], [0.25, 0.0]])
    patterns = ((0, 1, 0), 10.0), ((1, 0), 20.0), ((1, 1), 1000.0)
    fired = (2, (1, 0), 100.0), (3, (0, 1), 1000.0)
    allowed = np.eye(2, dtype=bool)[labels]
    paths = decode(Case(scores, trans, np.array([3, 1]), patterns, fired, allowed))
    assert paths.labels.tolist() == labels.tolist()
    assert paths.scores.tolist() == [0 + 3 + 4 + 0.5 + 0.25 + 10 + 20 + 100, 7]
