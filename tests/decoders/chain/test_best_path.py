"""First-order decoding: the contract, and ties, which are part of it."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.chain import Arrivals, best_path, viterbi
from spacy_hoseq.decoders.choice import decode_exact
from spacy_hoseq.decoders.problem import TUNING, Weights

from ... import oracle
from ...contract import DecoderContract
from ...strategies import cases, cases_with_edge_scores


def decode_viterbi(case, tuning=TUNING):
    settings = {"edge_scores": case.edge_scores, "allowed": case.allowed}
    return viterbi(case.scores, case.trans, case.lengths, **settings)


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
        arrays = ("scores", "trans", "edge_scores")
        case = replace(case, **{name: getattr(case, name).round() for name in arrays})
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
    p = potentials
    return viterbi(p.scores, p.trans, p.lengths, allowed=p.allowed).labels


@pytest.mark.parametrize("labels_of", [viterbi_labels, exact_labels])
@given(case=cases(rounded=True, forbidden=False))
def test_ties_go_to_the_lowest_label_right_to_left(labels_of, case):
    scores, trans = np.clip(case.scores, -1, 1), np.clip(case.trans, -1, 0)
    case = replace(case.without_patterns(), scores=scores, trans=trans)
    labels = labels_of(case.potentials())
    expected = [lowest_right_to_left(oracle.joint_table(single)) for single in case.singles()]
    assert labels.tolist() == sum(expected, [])


def test_many_sequences_at_once_as_one_by_one():
    """Ties included; labels are compared in parts."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, 9, 100)
    scores = rng.integers(-2, 3, (lengths.sum(), 40)).astype(float)
    trans = rng.integers(-1, 2, (40, 40)).astype(float)
    batch = viterbi(scores, trans, lengths)
    rows = np.split(scores, np.cumsum(lengths)[:-1])
    parts = [viterbi(s, trans, np.array([len(s)])) for s in rows]
    assert batch.labels.tolist() == np.concatenate([part.labels for part in parts]).tolist()
    assert batch.scores.tolist() == [part.scores[0] for part in parts]


# One step of a chain, in blocks of labels that the same labels may precede, against all pairs


def words(n_kinds):
    """Pairs of labels that may follow each other: B, I, E, S of each kind."""
    labels = [(place, kind) for kind in range(n_kinds) for place in "BIES"]
    follows = {"B": "IE", "I": "IE", "E": "BS", "S": "BS"}
    return np.array([
        [later in follows[place] and (later in "BS" or kind == other) for later, other in labels]
        for place, kind in labels
    ])  # fmt: skip


def tables(rng):
    yield "everything", np.ones((7, 7), bool)
    yield "words of one kind", words(1)
    yield "words of six kinds", words(6)
    middle = words(6) & (np.arange(24) % 5 > 0) & (np.arange(24) > 3)[:, None]
    yield "nothing before some, nothing after others", middle
    yield "three sets apart", np.arange(24)[:, None] % 3 == np.arange(24) % 3
    yield "each label its own", rng.random((40, 40)) < 0.3
    yield "one pair less", np.arange(36).reshape(6, 6) != 16
    yield "nothing", np.zeros((3, 3), bool)
    yield "many labels", np.ones((50, 50), bool)
    yield "many labels, some pairs less", rng.random((50, 50)) < 0.9
    yield "many labels, nothing after some", np.ones((50, 50), bool) & (np.arange(50) > 5)[:, None]
    yield "words of twenty kinds", words(20)


def expected_of(trans, v):
    """The definition, label by label."""
    n_labels, n_columns = v.shape
    best = [(v + trans[:, [y]]).max(axis=0) for y in range(n_labels)]
    return np.array(best).reshape(n_labels, n_columns)


@pytest.mark.parametrize("n_columns", [0, 1, 2, 5, 40, 200])
@pytest.mark.parametrize("step_cells", [1, 100, 500_000])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_every_block_is_the_maximum_over_all_earlier_labels(n_columns, step_cells, scale):
    rng = np.random.default_rng(n_columns)
    for name, permitted in tables(rng):
        trans = np.where(permitted, rng.normal(size=permitted.shape), -np.inf)
        v = scale * rng.normal(size=(len(permitted), n_columns))
        v[rng.random(v.shape) < 0.2] = -np.inf
        with mock.patch.object(best_path, "STEP_CELLS", step_cells):
            arriving = Arrivals(Weights(trans))(v)
        assert np.array_equal(arriving, expected_of(trans, v)), name
