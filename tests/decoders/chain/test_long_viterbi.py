"""The best labels of a long sequence from its pieces, against those of `viterbi`, and by enumeration."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain.long_viterbi import long_viterbi
from spacy_hoseq.decoders.chain.viterbi import viterbi
from spacy_hoseq.decoders.problem.path_score import path_score
from spacy_hoseq.decoders.problem.results import NoPath
from spacy_hoseq.decoders.problem.tuning import Tuning

from ... import oracle
from ...cases import Case
from ...strategies import cases

NEVER = -np.inf


def decode(scores, trans, allowed=None, *, piece=4, warm_up=3, together=2):
    tuning = Tuning(piece_tokens=piece, warm_up=warm_up, pieces_together=together)
    return long_viterbi(Case(scores, trans, np.array([len(scores)]), allowed=allowed).potentials(), tuning=tuning)


@given(case=cases(max_sequences=1), piece=st.sampled_from([1, 2]), warm_up=st.sampled_from([1, 3]))
def test_best_of_all_labellings(case, piece, warm_up):
    case = case.doubles().without_patterns()
    table = oracle.joint_table(case)
    labels = decode(case.scores, case.trans, case.allowed, piece=piece, warm_up=warm_up)
    if labels is not None:
        assert labels.dtype == np.int32
        assert oracle.score_of(case, labels[None])[0] == pytest.approx(table.best)
    elif len(case.scores) <= piece:
        assert table.best == NEVER


@pytest.mark.long
@pytest.mark.parametrize("spread, warm_up, share", [(0.5, 8, 0.9), (1.5, 8, 0.4), (1.5, 2, 0.0)])
def test_labels_of_the_whole_sequence(spread, warm_up, share):
    """Where the pieces agree, which they do if the labels depend on each other weakly, or they look far enough."""
    agreed = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores, trans = rng.normal(0, 2, (200, 4)), rng.normal(0, spread, (4, 4))
        trans[rng.random(trans.shape) < 0.1] = NEVER
        allowed = rng.random(scores.shape) < 0.9
        allowed[np.arange(200), rng.integers(0, 4, 200)] = True
        found = decode(scores, trans, allowed, warm_up=warm_up)
        if found is not None:
            agreed += 1
            assert found.tolist() == viterbi(scores, trans, np.array([200]), allowed=allowed).labels.tolist()
    assert agreed >= 20 * share


def test_what_is_heard_everywhere():
    """Only the first token says something, and a change of label costs more than that: no piece can know."""
    scores, trans = np.zeros((40, 2)), np.array([[0.0, -5], [-5, 0.0]])
    scores[0, 1] = 3.0
    assert decode(scores, trans) is None


@pytest.mark.parametrize("seed", range(40))
def test_pieces_that_agree_by_chance(seed):
    """Changes are dear: in some cases neighbours agree in their labels, but what they have heard is not the same."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(-2, 3, (12, 2)) + rng.normal(0, 0.01, (12, 2))
    trans = np.array([[0, -3.0], [-3, 0]])
    found = decode(scores, trans, piece=3, warm_up=2)
    best = viterbi(scores, trans, np.array([12])).labels
    assert found is None or found.tolist() == best.tolist()


def test_labels_that_do_not_meet():
    """The messages agree, but the last token decides between two labellings of all tokens."""
    scores, trans = np.zeros((40, 2)), np.array([[0.0, -5], [-5, 0.0]])
    scores[-1, 1] = 3.0
    assert decode(scores, trans) is None


def test_no_path():
    allowed = np.ones((20, 2), bool)
    allowed[10, 0] = allowed[11, 1] = False
    trans = np.array([[0.0, 0], [NEVER, 0]])
    assert decode(np.zeros((20, 2)), trans, allowed) is None
    with pytest.raises(NoPath):
        viterbi(np.zeros((20, 2)), trans, np.array([20]), allowed=allowed)


@given(seed=st.integers(0, 999))
def test_score_is_the_best(seed):
    """Ties: another labelling may be found, but none that is worse."""
    rng = np.random.default_rng(seed)
    case = Case(rng.integers(0, 3, (60, 3)).astype(float), -rng.integers(0, 2, (3, 3)).astype(float), np.array([60]))
    found = decode(case.scores, case.trans, warm_up=8)
    assume(found is not None)
    best = viterbi(case.scores, case.trans, case.lengths).scores
    assert path_score(case.potentials(), found) == pytest.approx(best)
