"""Best label sequences where marginals are known: those of the decoder, and by enumeration."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import kernels
from spacy_hoseq.decoders.answers.in_parts import decode_some
from spacy_hoseq.decoders.chain.chain_posterior import chain_posterior
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem.path_score import path_score
from spacy_hoseq.decoders.problem.tuning import TUNING
from spacy_hoseq.decoders.pruning import likely as module
from spacy_hoseq.decoders.pruning import pruned_checked
from spacy_hoseq.decoders.pruning.likely import least_likely, likely_labels
from spacy_hoseq.decoders.pruning.sparse_viterbi import sparse_viterbi

from ... import oracle
from ...cases import Case
from ...strategies import cases
from ..answers.posteriors import posterior_of


def labels_of(case, undecided=TUNING.undecided):
    potentials, tuning = case.potentials(), TUNING._replace(undecided=undecided)
    posterior = chain_posterior(potentials, case.lengths)
    cells = posterior.likely(least_likely(case.n_labels, tuning))
    order = np.lexsort((cells.labels, cells.tokens))
    found = likely_labels(potentials, cells.chosen(order), posterior.log_z, tuning)
    return decode_some(potentials, found.undecided, found.labels, kernels.chain_labels, tuning)


def assert_best(case, undecided=TUNING.undecided):
    """The scores are compared, since two labellings may share the best one."""
    labels = labels_of(case, undecided)
    assert labels.dtype == np.int32
    for start, single in zip(case.starts, case.singles(), strict=True):
        own = labels[start : start + len(single.scores)]
        assert oracle.score_of(single, own[None])[0] == pytest.approx(oracle.joint_table(single).best)


def chain_of(case, sharpness):
    """The case without its patterns, if some labelling is possible."""
    case = case.doubles().without_patterns()
    case = Case(case.scores * sharpness, case.trans, case.lengths, allowed=case.allowed)
    assume(all(oracle.joint_table(single).best > -np.inf for single in case.singles()))
    return case


@given(case=cases(), sharpness=st.sampled_from([0.3, 1.0, 4.0]))
def test_best_of_all_labellings(case, sharpness):
    assert_best(chain_of(case, sharpness))


def test_most_probable_labels_that_are_not_the_best_labelling():
    """0,1 has 0.4, and 1,0 and 0,0 have 0.3 each: the most probable labels make 0,0."""
    case = Case(np.zeros((2, 2)), np.log(np.array([[0.3, 0.4], [0.3, 1e-9]])), np.array([2]))
    potentials = case.potentials()
    assert posterior_of(potentials).nodes.argmax(axis=1).tolist() == [0, 0]
    assert labels_of(case).tolist() == [0, 1]


def test_only_what_is_unsure_is_decoded():
    """The first sequence is sure; of the second, only a window around its last token; all of the third, of which the
    most probable labelling has too little to say."""
    rng = np.random.default_rng(0)
    scores = np.zeros((17, 3))
    scores[:11, 1] += 20
    scores[10, [0, 2]] = 18, 19.95
    case = Case(scores, rng.normal(0, 0.1, (3, 3)), np.array([4, 7, 6]))
    with (
        mock.patch.object(module, "sparse_viterbi", wraps=sparse_viterbi) as windows,
        mock.patch.object(kernels, "pruned_checked", wraps=pruned_checked) as decode,
    ):
        labels = labels_of(case, 0.05)
    assert windows.call_args.args[2].tolist() == [2]
    assert decode.call_args.args[0].lengths.tolist() == [6] and labels[:10].tolist() == [1] * 10
    best = decode_exact(case.potentials())
    assert path_score(case.potentials(), labels) == pytest.approx(best.scores)


def test_mask_where_the_most_probable_labels_cannot_follow_each_other():
    """0,0 is forbidden, so that nothing is known of the best labelling; label 3 has the highest scores of all, but is
    not permitted."""
    scores, trans = np.array([[3.0, 0, 0, 50], [3, 0, 0.1, 50]]), np.zeros((4, 4))
    trans[0, 0] = -np.inf
    case = Case(scores, trans, np.array([2]), allowed=np.array([[True, True, True, False]] * 2))
    assert posterior_of(case.potentials()).nodes.argmax(axis=1).tolist() == [0, 0]
    with mock.patch.object(kernels, "pruned_checked", wraps=pruned_checked) as decode:
        assert labels_of(case).tolist() == [0, 2]
    assert not decode.called, "the best of the labels that are left is probable enough"
    assert_best(case)


@given(case=cases(), sharpness=st.sampled_from([0.3, 1.0, 4.0]), undecided=st.sampled_from([0.01, 0.1, 0.3, 0.5]))
def test_whatever_is_too_faint(case, sharpness, undecided):
    assert_best(chain_of(case, sharpness), undecided)


@pytest.mark.parametrize(
    ("undecided", "decoded"), [(0.15, False), (0.3, False), (0.45, True), (0.55, True), (0.7, True)]
)
def test_most_probable_labels_that_cannot_follow_each_other(undecided, decoded):
    """0,1 and 0,2 and 0,3 have 0.2 each, 4,4 has 0.4: the most probable labels are 0 and 4. With 0.45 and more, nothing
    is left that could be the best, or nothing at all."""
    trans = np.full((5, 5), -np.inf)
    trans[0, 1:4], trans[4, 4] = np.log(0.2), np.log(0.4)
    case = Case(np.zeros((2, 5)), trans, np.array([2]))
    assert posterior_of(case.potentials()).nodes.argmax(axis=1).tolist() == [0, 4]
    with mock.patch.object(kernels, "viterbi", wraps=kernels.viterbi) as decode:
        assert labels_of(case, undecided).tolist() == [4, 4]
    assert decode.called == decoded
