"""First-order decoding: the contract, and ties, which are part of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain import viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import TUNING

from ... import oracle
from ...contract import DecoderContract
from ...strategies import cases, cases_with_edge_scores


def decode_viterbi(case, tuning=TUNING):
    return viterbi(case.scores, case.trans, case.lengths, edge_scores=case.edge_scores, allowed=case.allowed)


def with_edge_scores(case):
    """Of the pairs of the text what the transitions were; those of first tokens count for nothing."""
    trans = np.where(case.trans > -np.inf, case.trans, 0.0)
    edge_scores = np.tile(trans, (len(case.scores), 1, 1))
    edge_scores[case.starts] = 1e4
    return replace(case.without_patterns(), trans=case.trans - trans, edge_scores=edge_scores)


class TestViterbi(DecoderContract):
    takes_patterns = False
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case, tuning=TUNING):
        return decode_viterbi(case, tuning)


class TestViterbiWithEdgeScores(DecoderContract):
    takes_patterns = False
    test_transitions_not_usable = None  # they are those of edge scores
    test_wrong_shapes = test_lengths_do_not_add_up = None

    def decode(self, case, tuning=TUNING):
        return decode_exact(with_edge_scores(case).potentials(), tuning=tuning)


@given(case=cases_with_edge_scores(max_tokens=5), rounded=st.booleans())
def test_pairs_that_differ_from_token_to_token(case, rounded):
    """The enumerated labelling, of several the one that ends with the lowest labels."""
    case = case.doubles()
    if rounded:
        case = replace(case, scores=case.scores.round(), trans=case.trans.round(), edge_scores=case.edge_scores.round())
    assume(oracle.is_feasible(case))
    for got in (decode_exact(case.potentials()), decode_viterbi(case)):
        for i, single in enumerate(case.singles()):
            table = oracle.joint_table(single)
            labels = got.labels[case.starts[i] : case.starts[i] + case.lengths[i]].tolist()
            assert got.scores[i] == pytest.approx(table.best)
            assert labels == lowest_right_to_left(table) if rounded or table.is_unique else True


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


def test_many_sequences_at_once_as_one_by_one():
    """Ties included; labels are compared in parts."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 100)
    scores, trans = rng.integers(-2, 3, (lengths.sum(), 40)).astype(float), rng.integers(-1, 2, (40, 40)).astype(float)
    batch = viterbi(scores, trans, lengths)
    parts = [viterbi(s, trans, np.array([len(s)])) for s in np.split(scores, np.cumsum(lengths)[:-1])]
    assert batch.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    assert batch.scores.tolist() == [part.scores[0] for part in parts]
