"""Forward-backward that scales every few steps, as it does where scores are small, against its recurrences on
logarithms, and where it must not be used."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.chunks import grammar, tag_names
from spacy_hoseq.decoders.chain import forward_backward as module
from spacy_hoseq.decoders.problem.potentials import Potentials, Weights

from ..answers.posteriors import forward_backward
from ..answers.posteriors import logarithmic as by_logarithms

NEVER = -np.inf


def logarithmic(scores, trans, lengths, allowed):
    return by_logarithms(Potentials(scores, Weights(trans), lengths, allowed=allowed))


def assert_right(scores, trans, lengths, allowed=None, way=True):
    """The posterior is that of logarithms; way: whether it was found by scaling every few steps alone."""
    lengths, expected = np.array(lengths), logarithmic(scores, trans, np.array(lengths), allowed)
    with mock.patch.object(module, "_way_forward", wraps=module._way_forward) as other:
        got = forward_backward(scores, trans, lengths, allowed=allowed)
    assert other.called != way
    np.testing.assert_allclose(got.log_z, expected.log_z, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(got.nodes, expected.nodes, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(got.expected.trans, expected.expected.trans, rtol=1e-9, atol=1e-9)


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(1, 120), min_size=1, max_size=6),
    most=st.sampled_from([0.0, 1.0, 20.0, 44.0]),
    masked=st.booleans(),
    dtype=st.sampled_from(["f4", "f8"]),
)
def test_posterior_of_small_scores(seed, lengths, most, masked, dtype):
    """At any number of steps, with all scores at one of the two ends."""
    rng = np.random.default_rng(seed)
    n, n_labels = sum(lengths), int(rng.integers(1, 6))
    scores = rng.choice([-most, 0, most], (n, n_labels)).astype(dtype)
    allowed = rng.random(scores.shape) < 0.6
    allowed[np.arange(n), rng.integers(0, n_labels, n)] = True
    trans = rng.choice([-2.0, 0.0, 2.0], (n_labels, n_labels))
    assert_right(scores, trans, lengths, allowed if masked else None)


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    representation=st.sampled_from(["bilou", "iob2"]),
    spread=st.sampled_from([0.1, 2.0, 4.0]),
)
def test_posterior_of_small_scores_in_a_grammar(seed, lengths, representation, spread):
    rng = np.random.default_rng(seed)
    tags = tag_names(["A", "B"], representation)
    first, last, pairs = grammar(tags, representation)
    scores = rng.normal(0, spread, (sum(lengths), len(tags))).clip(-20, 20).astype("f4")
    trans = np.where(pairs, rng.normal(0, 1, pairs.shape), NEVER)
    allowed, ends = np.ones(scores.shape, bool), np.cumsum(lengths)
    allowed[ends - lengths] = first
    allowed[ends - 1] &= last
    assert_right(scores, trans, lengths, allowed)


@pytest.mark.parametrize("most, way", [(44.0, True), (46.0, False), (600.0, False)])
def test_large_scores_are_shifted(most, way):
    scores = np.array([[most, 0.0], [0, -most], [most, most], [0, 0]])
    assert_right(scores, np.array([[0.0, 1], [4, 0]]), [4], way=way)


def test_shares_that_get_too_small():
    """Each label follows itself only. The share of label 1 is e^-40 less at each token, until it all comes back."""
    trans, down, up = np.array([[0.0, NEVER], [NEVER, 0.0]]), np.tile([20.0, -20.0], (20, 1)), np.ones((25, 2))
    up *= [-20, 20]
    assert_right(down[:8], trans, [8])
    assert_right(np.concatenate([down, up]), trans, [45], way=False)


def test_label_that_has_nearly_all_and_cannot_go_on():
    """Label 0 of the first token has no successor, label 1 e^-80 of its weight: its share is 1 thereafter."""
    trans, allowed = np.array([[0.0, NEVER], [NEVER, 0.0]]), np.ones((9, 2), bool)
    scores = np.tile([40.0, -40.0], (9, 1))
    allowed[1:, 0] = False
    assert_right(scores, trans, [9], allowed)


@pytest.mark.parametrize("n_tokens", [2, 3, 200])
def test_label_that_cannot_be_reached(n_tokens):
    """However much better it is at every token, nothing overflows."""
    trans = np.array([[0.0, NEVER, 0.0], [0.0, 0.0, 0.0], [1.0, NEVER, 0.0]])
    scores, allowed = np.tile([0.0, 40.0, 1.0], (n_tokens, 1)), np.ones((n_tokens, 3), bool)
    allowed[0, 1] = False
    assert_right(scores, trans, [n_tokens], allowed)


def test_no_path():
    allowed = np.array([[True, False], [False, True]])
    with pytest.raises(ValueError, match=r"\[HS023\]"):
        forward_backward(np.zeros((2, 2)), np.array([[0.0, NEVER], [0, 0]]), np.array([2]), allowed=allowed)
