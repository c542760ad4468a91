"""Whole label sequences beside the best one, against enumeration: the k best, the most probable labels, the best one
with each label, draws."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.decoders import (
    Fired,
    NoPath,
    PatternTrie,
    Potentials,
    Weights,
    best_with,
    decode_exact,
    path_score,
    posterior,
)
from spacy_hoseq.decoders.choice import combine, k_best, max_marginal, sample
from spacy_hoseq.decoders.problem import KBest, Paths, Tuning

from .. import oracle
from ..cases import Case, zero_case
from ..contract import DecoderContract
from ..strategies import cases
from .answers.posteriors import distributions
from .test_posterior import close, everything, rounding


def k_best_of(case, k):
    return k_best(case.potentials(), k)


class TestFirstOfKBest(DecoderContract):
    takes_negative = True
    takes_batches = False
    test_lengths_do_not_add_up = None  # takes one sequence here
    test_blocks_change_nothing = None  # nothing is cut

    def decode(self, case):
        """The first of two: one alone is that of `decode_exact`."""
        parts = [k_best_of(single, 2) for single in case.singles()]
        if not parts:
            return Paths(np.zeros(0, np.int32), np.zeros(0))
        scores = np.array([part.scores[0] for part in parts])
        return Paths(np.concatenate([part.labels[0] for part in parts]), scores)


@given(
    case=cases(signed=True, max_sequences=1, configurations=4),
    k=st.sampled_from([1, 2, 3, 7, 40, 5000]),
)
def test_k_best_are_the_enumerated_ones(case, k):
    table = oracle.joint_table(case)
    if table.best == -np.inf:
        message = r"\[HS023\] Sequence 0 has no permitted label sequence"
        with pytest.raises(ValueError, match=message):
            k_best_of(case, k)
        return
    got = k_best_of(case, k)
    labels, scores = table.k_best(k)
    assert got.labels.dtype == np.int32 and got.scores.dtype == np.float64
    assert got.labels.shape == labels.shape  # fewer than k if there are no more
    assert_allclose(got.scores, scores, atol=1e-9)
    assert (np.diff(got.scores) <= 0).all()
    assert_allclose(oracle.score_of(case, got.labels), got.scores, atol=1e-9)
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels)
    if len(scores) == 1 or np.diff(-scores).min() > 1e-6:
        assert got.labels.tolist() == labels.tolist()


@given(
    case=cases(signed=True, rounded=True, max_sequences=1, forbidden=False, configurations=4),
    k=st.integers(1, 30),
)
def test_ties_give_the_right_scores_and_no_labelling_twice(case, k):
    got = k_best_of(case, k)
    assert got.scores.tolist() == oracle.joint_table(case).k_best(k)[1].tolist()
    assert oracle.score_of(case, got.labels).tolist() == got.scores.tolist()
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels)


def test_empty_sequence_has_one_labelling():
    got = k_best_of(Case(np.zeros((0, 3)), np.zeros((3, 3)), np.zeros(0, int)), 5)
    assert got.labels.shape == (1, 0) and got.scores.tolist() == [0]


@pytest.mark.parametrize("k", [0, -3])
def test_k_must_be_positive(k):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong k: {k}"):
        k_best_of(Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2])), k)
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong k: {k}"):
        combine([KBest(np.zeros((1, 2), np.int32), np.zeros(1))], k)


@pytest.mark.long
@given(case=cases(max_labels=3, max_tokens=3, forbidden=False), k=st.sampled_from([1, 4, 25, 9999]))
def test_combined_parts_are_the_k_best_of_the_whole(case, k):
    """Independent sequences together: every choice of one labelling each, by the sum of scores."""
    got = combine([k_best_of(single, k) for single in case.singles()], k)
    totals = np.zeros(1)
    for single in case.singles():
        totals = np.add.outer(totals, oracle.joint_table(single).k_best(k)[1]).reshape(-1)
    expected = -np.sort(-totals)[:k]
    assert_allclose(got.scores, expected, atol=1e-9)
    parts = zip(case.singles(), np.split(got.labels, case.starts[1:], axis=1), strict=True)
    scores = sum(oracle.score_of(single, labels) for single, labels in parts)
    assert_allclose(scores, expected, atol=1e-9)
    assert len(set(map(tuple, got.labels.tolist()))) == len(got.labels) == len(expected)


@given(case=cases(signed=True, configurations=3))
def test_labels_are_the_enumerated_ones(case):
    assume(oracle.is_feasible(case))
    got = max_marginal(case.potentials())
    assert got.labels.dtype == np.int32
    for single, labels, score in case.results(got):
        marginals = oracle.joint_table(single).marginals
        chosen = marginals[np.arange(len(labels)), labels]
        assert_allclose(chosen, marginals.max(axis=1), atol=1e-8)
        assert score == pytest.approx(oracle.score_of_one(single, labels))


def test_criteria_that_differ():
    """0,0 has 4 of 10 and is the best labelling; label 1 is more probable at both tokens: 3 + 3 of 10, then 6 + 0."""
    case = Case(np.zeros((2, 2)), np.log([[4.0, 1e-300], [3.0, 3.0]]), np.array([2]))
    assert oracle.joint_table(case).best_labels.tolist() == [0, 0]
    paths = max_marginal(case.potentials())
    assert paths.labels.tolist() == [1, 0] and paths.scores == pytest.approx([np.log(3.0)])


def test_forbidden_transition_is_not_excluded():
    """0,1 is forbidden; the labellings 0,0 with 3 and 1,1 with 2 and 0,2, 2,1 make 0 and 1 the most probable labels."""
    trans = np.log([[1e-9, 0.5, 2.0], [1e-9, 2.0, 1e-9], [1e-9, 1.5, 1e-9]])
    trans[0, 1] = -np.inf
    trans[0, 0] = np.log(2.5)
    paths = max_marginal(Case(np.zeros((2, 3)), trans, np.array([2])).potentials())
    assert paths.labels.tolist() == [0, 1] and paths.scores.tolist() == [-np.inf]


@given(case=everything(), k=st.sampled_from([2, 5, 40]), seed=st.integers(0, 99))
def test_k_best_and_samples_of_everything(case, k, seed):
    """The k best labellings, and draws as frequent as probable."""
    single, n_samples = case.take([0]), 400
    labels, scores = oracle.joint_table(single).k_best(k)
    got = k_best(single.potentials(), k)
    assert got.labels.shape == labels.shape
    assert len({tuple(row) for row in got.labels.tolist()}) == len(labels)
    close(got.scores, scores, case)
    close(oracle.score_of(single, got.labels), got.scores, case)
    drawn = sample(case.potentials(), n_samples, np.random.default_rng(seed))
    for start, labellings, p in distributions(case):
        rows = drawn[:, start : start + labellings.shape[1]]
        for labelling, probability in zip(labellings, p, strict=True):
            share = (rows == labelling).all(axis=1).mean()
            assert abs(share - probability) <= 6 * np.sqrt(probability / n_samples) + 6 / n_samples


@pytest.mark.parametrize("tuning", [Tuning(), Tuning(arc_cells=60)])
@given(case=everything())
def test_max_marginals_of_everything(tuning, case):
    best = best_with(case.potentials(), tuning=tuning)
    for start, single in zip(case.starts, case.singles(), strict=True):
        table = oracle.joint_table(single)
        for t, label in np.ndindex(table.labellings.shape[1], case.n_labels):
            expected = table.scores[table.labellings[:, t] == label].max()
            assert best[start + t, label] == pytest.approx(expected, abs=rounding(case))


def test_no_labels_are_in_doubt_without_alternatives():
    potentials = Case(np.ones((3, 1)), np.ones((1, 1)), np.array([2, 1])).potentials()
    assert posterior(potentials).conditional_entropies().tolist() == [0, 0, 0]
    assert best_with(potentials).tolist() == [[3], [3], [1]]


def test_sequence_without_a_path_is_named():
    allowed = np.array([[True, True], [True, False], [False, True]])
    case = zero_case(1, 2, trans=np.array([[0, -np.inf], [0, 0]]), allowed=allowed)
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1 "):
        best_with(case.potentials())


def sample_of(case, n_samples, seed):
    return sample(case.potentials(), n_samples, np.random.default_rng(seed))


def example(seed, *, configurations):
    """Six tokens, of 2 or 3 labels, with features that move much of the probability."""
    rng = np.random.default_rng(seed)
    n_labels = 2 + seed % 2
    fired = ((3, (1, 0), 1.5), (4, (0, 1, 1), -2.0), (4, (1, 1), 1.0))
    any_label, one, zero = frozenset(range(n_labels)), frozenset([1]), frozenset([0])
    spans = (0, (one, any_label, one), 1.5), (1, (zero, any_label, zero), -1.0)
    spans += (2, (frozenset([0, 1]), one), 1.0), (4, (zero,), 1.0)
    scores, trans = (rng.normal(0, 0.5, (n, n_labels)) for n in (5, n_labels))
    patterns = ((0, 1, 0), 1.0), ((1, 1), -1.5), ((1, 1, 0), 1.5)
    spans = spans if configurations else ()
    return Case(scores, trans, np.array([5]), patterns, fired, configurations=spans)


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
    assert sample(case.potentials(), 2, Lowest()).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_nothing_global_is_touched():
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    sample_of(example(0, configurations=False), 10, 3)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


@pytest.mark.parametrize("n_samples", [0, -2])
def test_number_of_samples_must_be_positive(n_samples):
    with pytest.raises(ValueError, match=rf"\[HS027\] Wrong n_samples: {n_samples}"):
        sample_of(Case(np.zeros((2, 2)), np.zeros((2, 2)), np.array([2])), n_samples, 0)


EVERY_ANSWER = {
    "decode_exact": decode_exact,
    "k_best": lambda potentials: k_best(potentials, 2),
    "sample": lambda potentials: sample(potentials, 2, np.random.default_rng(0)),
    "posterior": lambda potentials: posterior(potentials).log_z,
    "max_marginal": max_marginal,
    "best_with": best_with,
}


@pytest.mark.parametrize("answer", EVERY_ANSWER)
def test_a_sequence_without_a_path_is_named_by_its_number_in_the_batch(answer):
    weights = Weights(np.full((2, 2), -np.inf))
    potentials = Potentials(np.zeros((4, 2)), weights, np.array([1, 1, 2]))
    with pytest.raises(NoPath, match=r"\[HS023\] Sequence 2 "):
        EVERY_ANSWER[answer](potentials)


@pytest.mark.parametrize("node", [-1, 0, 3, 4])
def test_single_labels_that_fire_are_refused(node):
    """They are no patterns: a decoder that looks at patterns alone would leave their weight out."""
    weights = Weights(np.zeros((5, 5)), PatternTrie([(0, 1)], 5))
    fired = Fired(np.array([0]), np.array([node]), np.array([5.0]))
    potentials = Potentials(np.array([[0.0, 1, 0, 0, 0]]), weights, np.array([1]), fired)
    for answer in (*EVERY_ANSWER.values(), lambda p: path_score(p, np.array([1]))):
        with pytest.raises(ValueError, match=rf"\[HS027\] Wrong fired node: {node}\."):
            answer(potentials)
