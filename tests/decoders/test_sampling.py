"""Draws from the posterior: frequencies against the enumerated distribution, and what chance must not touch."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import sample

from .. import oracle
from ..cases import Case
from ..strategies import cases


def sample_of(case, n_samples, seed):
    return sample(case.potentials(), n_samples, np.random.default_rng(seed))


def example(seed, *, configurations):
    """Six tokens, of 2 or 3 labels, with features that move much of the probability."""
    rng = np.random.default_rng(seed)
    n_labels = 2 + seed % 2
    fired = ((3, (1, 0), 1.5), (4, (0, 1, 1), -2.0), (4, (1, 1), 1.0))
    spans = (
        (0, (frozenset([1]), frozenset(range(n_labels)), frozenset([1])), 1.5),
        (1, (frozenset([0]), frozenset(range(n_labels)), frozenset([0])), -1.0),
        (2, (frozenset([0, 1]), frozenset([1])), 1.0),
        (4, (frozenset([0]),), 1.0),
    )
    return Case(
        rng.normal(0, 0.5, (5, n_labels)),
        rng.normal(0, 0.5, (n_labels, n_labels)),
        np.array([5]),
        (((0, 1, 0), 1.0), ((1, 1), -1.5), ((1, 1, 0), 1.5)),
        fired,
        configurations=spans if configurations else (),
    )


@pytest.mark.parametrize("configurations", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_frequencies_are_the_enumerated_probabilities(seed, configurations):
    """Pearson's statistic of m cells has mean m - 1 and variance 2 (m - 1): five standard deviations are allowed."""
    case, n = example(seed, configurations=configurations), 40_000
    table = oracle.joint_table(case)
    p = np.exp(table.scores - table.log_z)
    drawn = sample_of(case, n, seed)
    assert drawn.dtype == np.int32 and drawn.shape == (n, 5)
    key = case.n_labels ** np.arange(4, -1, -1)
    observed = np.bincount(drawn @ key, minlength=len(p))
    assert (table.labellings @ key).tolist() == list(range(len(p)))
    rare = n * p < 5  # together one cell
    expected = np.append(n * p[~rare], n * p[rare].sum())
    counts = np.append(observed[~rare], observed[rare].sum())
    if expected[-1] == 0:
        expected, counts = expected[:-1], counts[:-1]
    freedom = len(expected) - 1
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert freedom > 10 and abs(statistic - freedom) < 5 * np.sqrt(2 * freedom)


@given(case=cases(signed=True, max_sequences=1, max_tokens=4, configurations=3), seed=st.integers(0, 99))
def test_only_permitted_labellings_are_drawn(case, seed):
    table = oracle.joint_table(case)
    if table.best == -np.inf:
        with pytest.raises(ValueError, match=r"\[HS023\] Sequence 0 has no permitted label sequence"):
            sample_of(case, 3, seed)
        return
    drawn = sample_of(case, 50, seed)
    assert (oracle.score_of(case, drawn) > -np.inf).all()


@given(case=cases(signed=True, max_sequences=1, max_tokens=4, configurations=3), seed=st.integers(0, 99))
def test_mean_of_the_draws_is_near_the_marginals(case, seed):
    """400 draws: a mean of 0/1 values is within 0.15 of its expectation but for one in 10^9."""
    table = oracle.joint_table(case)
    assume(table.best > -np.inf)
    drawn = sample_of(case, 400, seed)
    means = (drawn[:, :, None] == np.arange(case.n_labels)).mean(axis=0)
    np.testing.assert_allclose(means, table.marginals, atol=0.15)


def test_weights_of_any_size_pin_the_draws():
    """0,1,0 is worth 1000 and 1 at the last token costs 1000: nothing else can be drawn."""
    case = Case(np.zeros((4, 2)), np.zeros((2, 2)), np.array([4]), (((0, 1, 0), 1000.0), ((0, 0, 1, 0), -1000.0)))
    case = replace(case, configurations=((3, (frozenset([1]),), -1000.0),))
    drawn = {tuple(labels) for labels in sample_of(case, 200, 0).tolist()}
    assert drawn == {(0, 1, 0, 0), (1, 0, 1, 0)}


def test_the_same_seed_gives_the_same_draws():
    case = example(1, configurations=True)
    one, two, other = (sample_of(case, 30, seed).tolist() for seed in (5, 5, 6))
    assert one == two != other


class Lowest:
    """A generator at the end of its range."""

    def random(self, n):
        return np.zeros(n)


def test_lowest_random_number_draws_nothing_forbidden():
    allowed = np.array([[False, True], [True, True], [False, True]])
    case = Case(np.zeros((3, 2)), np.array([[0, 0], [-np.inf, 0]]), np.array([3]), allowed=allowed)
    drawn = sample(case.potentials(), 2, Lowest())
    assert drawn.tolist() == [[1, 1, 1], [1, 1, 1]]


def test_nothing_global_is_touched():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    sample_of(example(0, configurations=False), 10, 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_no_patterns_given_as_none():
    """Independent tokens: p(1) = 1/4 and 3/4."""
    scores = np.log([[3.0, 1.0], [1.0, 3.0]])
    drawn = sample_of(Case(scores, np.zeros((2, 2)), np.array([2])), 20_000, 2)
    np.testing.assert_allclose(drawn.mean(axis=0), [0.25, 0.75], atol=0.015)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0, abs=0.03)


def test_empty_sequence():
    assert sample_of(Case(np.zeros((0, 3)), np.zeros((3, 3)), np.zeros(0, int)), 4, 0).shape == (4, 0)


@pytest.mark.parametrize("n_samples", [0, -2])
def test_number_of_samples_must_be_positive(n_samples):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong n_samples: {n_samples}"):
        sample_of(Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2])), n_samples, 0)


@pytest.mark.parametrize("code, arguments", [
    ("HS020", (np.array([[np.nan, 0.0]]), np.zeros((2, 2)))),
    ("HS020", (np.zeros((1, 2)), np.full((2, 2), np.nan))),
    ("HS024", (np.zeros((1, 2)), np.zeros((3, 3)))),
])  # fmt: skip
def test_input_that_is_refused(code, arguments):
    with pytest.raises(ValueError, match=rf"\[{code}\]"):
        sample_of(Case(*arguments, np.array([1])), 3, 0)
