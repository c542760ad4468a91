"""Marginals part by part, against forward-backward written down from its definition, one whole sequence at a time."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import Asked, answers_of
from spacy_hoseq.decoders.chain.pieces import distances, read_parts
from spacy_hoseq.decoders.problem.potentials import Potentials, Weights
from spacy_hoseq.decoders.problem.tuning import Tuning

NEVER = -np.inf


def plain_marginals(scores, trans, lengths, allowed):
    """log alpha + log beta - log Z. RETURNS (N, L), or None if a sequence has no path."""
    found = []
    scores = np.where(allowed, scores.astype(float), NEVER)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start, length in zip(np.cumsum(lengths) - lengths, lengths, strict=True):
            alpha = [scores[start]]
            for row in scores[start + 1 : start + length]:
                alpha.append(row + np.logaddexp.reduce(alpha[-1][:, None] + trans, axis=0))
            beta = [np.zeros(len(trans))]
            for row in scores[start + length - 1 : start : -1]:
                beta.insert(0, np.logaddexp.reduce(trans + row + beta[0], axis=1))
            log_z = np.logaddexp.reduce(alpha[-1])
            if log_z == NEVER:
                return None
            found += [np.exp(a + b - log_z) for a, b in zip(alpha, beta, strict=True)]
    return np.array(found)


SIZES = Tuning(part_tokens=12, long_tokens=10, piece_tokens=6, warm_up=4)


def read(scores, trans, lengths, allowed=None, tuning=SIZES):
    """Marginals of all tokens, and for each part how many tokens it answers for, and whether it is a piece."""
    potentials = Potentials(scores, Weights(trans), np.asarray(lengths, np.int32), allowed=allowed)
    parts = read_parts(
        potentials, lambda part: (part.answered, part.inner_of(part.posterior.nodes), part), tuning=tuning
    )
    assert parts is not None
    answered = np.concatenate([tokens for tokens, _, _ in parts])
    assert sorted(answered) == list(range(len(scores))), "each token once"
    nodes = np.concatenate([nodes for _, nodes, _ in parts])[np.argsort(answered)]
    return nodes, [(len(a), part.inner is not None) for a, _, part in parts]


@st.composite
def chains(draw, forbidden=0.0):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n_labels = draw(st.integers(1, 4))
    lengths = np.array(draw(st.lists(st.integers(1, 50), min_size=1, max_size=5)))
    trans = rng.normal(0, draw(st.sampled_from([0.5, 3.0])), (n_labels, n_labels))
    trans[rng.random(trans.shape) < forbidden] = NEVER
    scores = rng.normal(0, 2, (lengths.sum(), n_labels)).astype(draw(st.sampled_from(["f4", "f8"])))
    allowed = rng.random(scores.shape) < 0.8
    allowed[np.arange(len(scores)), rng.integers(0, n_labels, len(scores))] = True
    return scores, trans, lengths, allowed


@given(chain=chains(), part_tokens=st.sampled_from([1, 12, 40]), piece=st.sampled_from([1, 5, 9]))
def test_parts_have_the_marginals_of_whole_sequences(chain, part_tokens, piece):
    """With a tolerance of 1e-8 for the sum of all distances, probabilities differ by less than that."""
    found, _ = read(*chain, SIZES._replace(part_tokens=part_tokens, piece_tokens=piece))
    np.testing.assert_allclose(found, plain_marginals(*chain), rtol=0, atol=1e-8)


@given(chain=chains(forbidden=0.3), warm_up=st.sampled_from([1, 4]))
def test_forbidden_transitions(chain, warm_up):
    expected = plain_marginals(*chain)
    assume(expected is not None)
    found, _ = read(*chain, SIZES._replace(warm_up=warm_up))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_parts():
    """Sequences of like length are in one part as long as there is room; long ones are cut, two pieces to a part."""
    rng = np.random.default_rng(0)
    lengths = [4, 7, 2, 9, 30, 3, 10]
    scores = rng.normal(size=(sum(lengths), 3))
    _, parts = read(scores, np.zeros((3, 3)), lengths, tuning=SIZES._replace(warm_up=20))
    assert parts == [(12, True), (12, True), (6, True), (10, True), (9, False), (11, False), (5, False)]


@pytest.mark.parametrize("change", [0.0, -2.0, -20.0])
def test_pieces_that_do_not_agree_are_summed_as_one(change):
    """Only the first and the last token say something; with -20 for every change of label it is heard everywhere."""
    scores, trans = np.zeros((40, 2)), np.array([[0.0, change], [change, 0.0]])
    scores[0, 1], scores[-1, 1] = 3.0, 2.0
    found, parts = read(scores, trans, [40])
    np.testing.assert_allclose(found, plain_marginals(scores, trans, [40], np.ones((40, 2), bool)), atol=1e-8)
    assert parts == ([(12, True)] * 3 + [(4, True)] if not change else [(40, False)])


@pytest.mark.parametrize("place", [0, -1])
def test_pieces_have_to_agree_from_either_end(place):
    """One token at one end says something, and is heard everywhere: messages from the other end agree."""
    scores, trans = np.zeros((40, 2)), np.array([[0.0, -20.0], [-20.0, 0.0]])
    scores[place, 1] = 3.0
    found, parts = read(scores, trans, [40])
    np.testing.assert_allclose(found, plain_marginals(scores, trans, [40], np.ones((40, 2), bool)), atol=1e-8)
    assert parts == [(40, False)]


def test_labels_that_alternate():
    """0,1,0,1,... is the only way: no piece can tell where it stands."""
    trans, allowed = np.array([[NEVER, 0.0], [0.0, NEVER]]), np.ones((25, 2), bool)
    allowed[0, 1] = False
    found, parts = read(np.zeros((25, 2)), trans, [25], allowed)
    assert found.tolist() == [[1, 0], [0, 1]] * 12 + [[1, 0]] and parts == [(25, False)]


def test_tolerance_is_for_the_sum():
    """The error that is left is below the tolerance, and pieces that stay below it are kept."""
    rng = np.random.default_rng(1)
    scores, trans, lengths = rng.normal(size=(400, 3)), rng.normal(0, 0.3, (3, 3)), [400]
    expected = plain_marginals(scores, trans, lengths, np.ones(scores.shape, bool))
    for tolerance, kept in ((1e-2, True), (1e-5, False)):
        tuning = SIZES._replace(piece_tokens=4, piece_tolerance=tolerance)
        found, parts = read(scores, trans, lengths, tuning=tuning)
        error = np.abs(found - expected).max()
        assert parts[0][1] == kept and error < tolerance / 2
        assert (error > 1e-9) == kept


def test_distances():
    a = np.array([[1.0, 2, NEVER], [1, 2, 3], [1, NEVER, 2]])
    found = distances(a, np.array([[2.0, 1, NEVER], [3, 4, 5], [1, 1, 2]]))
    assert found == pytest.approx([2, 0, np.inf])


@pytest.mark.parametrize("lengths, sequence", [([3, 2, 3], 1), ([3, 20], 1), ([20, 2], 1), ([3] * 8 + [2], 8)])
def test_sequence_without_a_path(lengths, sequence):
    """In any part, whole or in pieces, there is no result, and predictions name it by its number in the batch. Label 0
    cannot follow 1."""
    allowed, start = np.ones((sum(lengths), 2), bool), sum(lengths[:sequence])
    allowed[start, 0] = allowed[start + 1, 1] = False
    weights = Weights(np.array([[0.0, 0], [NEVER, 0]]))
    potentials = Potentials(np.zeros(allowed.shape), weights, np.array(lengths), allowed=allowed)
    assert read_parts(potentials, lambda part: part, tuning=SIZES) is None
    with pytest.raises(ValueError, match=rf"\[HS023\] Sequence {sequence} "):
        answers_of(potentials, Asked(probable=0.1), tuning=SIZES).probable(0.1)


def test_transitions_that_differ_by_too_much():
    potentials = Potentials(np.zeros((30, 2)), Weights(np.array([[0.0, 301], [0, 0]])), np.array([2, 28]))
    assert read_parts(potentials, lambda part: part, tuning=SIZES) is None
