"""The best labels with probable labels, or with segments: by enumeration, and the same in parts of any size."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import Asked, answers_of
from spacy_hoseq.decoders.problem.layout import ranges
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning
from spacy_hoseq.decoders.short import ShortSums

from ... import oracle
from ...cases import Case
from ...strategies import cases, cases_with_edge_scores
from ..problem.test_probable import as_tables, enumerated
from .posteriors import distributions, has_path

PARTS = st.sampled_from([1, 3, 1000])


def parts_of(n_tokens, long=1000):
    """Parts of so many tokens; sequences of at least `long` ones in pieces of two."""
    return Tuning(part_tokens=n_tokens, long_tokens=long, piece_tokens=2, warm_up=3)


def both_ways(tuning):
    """As it is, and as if no text were short."""
    return tuning, tuning._replace(short_tokens=0, short_sequences=0)


def assert_best(case, labels):
    """The scores are compared, since two labellings may share the best one."""
    assert labels.dtype == np.int32
    for start, single in zip(case.starts, case.singles(), strict=True):
        own = labels[start : start + len(single.scores)]
        assert oracle.score_of(single, own[None])[0] == pytest.approx(oracle.joint_table(single).best)


def with_probable(case, threshold, tuning=TUNING):
    return answers_of(case.potentials(), Asked(probable=threshold), tuning=tuning)


def is_short(case, tuning):
    return isinstance(with_probable(case, 0.01, tuning)._together, ShortSums)


def assert_probable(case, threshold, tolerance=1e-9, tuning=TUNING):
    every = enumerated(case, threshold)
    of_both = [with_probable(case, threshold, way) for way in both_ways(tuning)]
    for answers in of_both:
        assert_best(case, answers.best)
        probable = answers.probable(threshold)
        for got, expected in zip(as_tables(probable), every, strict=True):
            assert got.keys() == expected.keys()
            assert list(got.values()) == pytest.approx([expected[place] for place in got], abs=tolerance)
    assert of_both[0].best.tolist() == of_both[1].best.tolist()


def assert_segments(case, seed, tolerance=1e-9, tuning=TUNING):
    """Of both ways. RETURNS the first."""
    found, of_batch = (_checked_segments(case, seed, tolerance, way) for way in both_ways(tuning))
    assert found.best.tolist() == of_batch.best.tolist()
    assert found.nodes == pytest.approx(of_batch.nodes, abs=max(1e-7, tolerance))
    return found


def _checked_segments(case, seed, tolerance, tuning):
    """Segments of each sequence: of the labellings that have the labels there, and no pair across which it goes on."""
    rng = np.random.default_rng(seed)
    continues = rng.random(case.trans.shape) < 0.4
    found = answers_of(case.potentials(), Asked(nodes=True, continues=continues), tuning=tuning)
    assert_best(case, found.best)
    nodes = np.concatenate([oracle.joint_table(single).marginals for single in case.singles()])
    assert found.nodes == pytest.approx(nodes, abs=1e-6)
    first, sizes, expected = [], [], []
    for start, labellings, p in distributions(case):
        length = labellings.shape[1]
        own = found.best[start : start + length]
        for i, j in itertools.combinations(range(length + 1), 2):
            same = (labellings[:, i:j] == own[i:j]).all(axis=1)
            if j < length:
                same &= ~continues[labellings[:, j - 1], labellings[:, j]]
            if j == length or not continues[own[j - 1], own[j]]:
                first, sizes, expected = [*first, start + i], [*sizes, j - i], [*expected, p[same].sum()]
    first, sizes = np.array(first), np.array(sizes)
    assert found.segments(first, sizes, continues=continues) == pytest.approx(expected, abs=tolerance)
    labels = found.best[ranges(first, sizes)]
    assert found.segments(first, sizes, labels, continues) == pytest.approx(expected, abs=tolerance)
    return found


def fit(case, sharpness=1.0):
    case = case.doubles().without_patterns()
    case = Case(case.scores * sharpness, case.trans, case.lengths, allowed=case.allowed, edge_scores=case.edge_scores)
    assume(has_path(case))
    return case


@given(case=cases(), n_tokens=PARTS, threshold=st.sampled_from([0.0, 0.01, 0.3]), sharpness=st.sampled_from([0.3, 4.0]))
def test_probable_labels_of_a_chain(case, n_tokens, threshold, sharpness):
    assert_probable(fit(case, sharpness), threshold, tuning=parts_of(n_tokens))


def test_no_pair_across_a_token_without_probable_labels():
    scores = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    case = Case(scores, np.zeros((3, 3)), np.array([3]))
    assert_probable(case, 0.4)
    assert with_probable(case, 0.4).probable(0.4).tokens.tolist() == [0, 2]


@given(case=cases(), n_tokens=PARTS, seed=st.integers(0, 99), sharpness=st.sampled_from([0.3, 4.0]))
def test_segments_of_a_chain(case, n_tokens, seed, sharpness):
    assert_segments(fit(case, sharpness), seed, tuning=parts_of(n_tokens))


@given(
    case=cases(),
    n_tokens=PARTS,
    seed=st.integers(0, 99),
    least=st.sampled_from([0.01, 0.3]),
    sharpness=st.sampled_from([0.3, 4.0]),
)
def test_probable_segments_of_any_labels(case, n_tokens, seed, least, sharpness):
    """Those that are less probable may be 0."""
    case = fit(case, sharpness)
    rng = np.random.default_rng(seed)
    continues = rng.random(case.trans.shape) < 0.4
    first, sizes, of_all, whole, going = [], [], [], [], []
    for start, labellings, p in distributions(case):
        length = labellings.shape[1]
        for i, j in itertools.combinations(range(length + 1), 2):
            labels = rng.integers(0, len(case.trans), j - i)
            same = (labellings[:, i:j] == labels).all(axis=1)
            going.append(p[same].sum())
            if j < length:
                same &= ~continues[labellings[:, j - 1], labellings[:, j]]
            whole.append(p[same].sum())
            first, sizes, of_all = [*first, start + i], [*sizes, j - i], [*of_all, *labels.tolist()]
    first, sizes, of_all = np.array(first), np.array(sizes), np.array(of_all)
    for way in both_ways(parts_of(n_tokens)):
        answers = answers_of(case.potentials(), Asked(probable=least, continues=continues), tuning=way)
        for expected, asked in ((np.array(whole), continues), (np.array(going), None)):
            p = answers.segments(first, sizes, of_all, asked, least=least)
            expected = np.where((p == 0) & (expected < least), 0, expected)
            assert p == pytest.approx(expected, abs=1e-9)


@given(case=cases(min_labels=2), n_tokens=PARTS, seed=st.integers(0, 99), undecided=st.sampled_from([0.2, 2.0]))
def test_sequences_whose_most_probable_labels_say_little(case, n_tokens, seed, undecided):
    """All that are less probable are decoded apart: with a limit of 2 every sequence."""
    tuning = parts_of(n_tokens)._replace(undecided=undecided)
    assert_segments(fit(case), seed, tuning=tuning)
    assert_probable(fit(case), 0.01, tuning=tuning)


@given(case=cases(max_sequences=3), labels=st.integers(1, 5), seed=st.integers(0, 99))
def test_many_labels_of_which_some_are_likely(case, labels, seed):
    """Where more candidates are left than plain Python looks at, and where a text has too many labels for its walk."""
    case = fit(case)
    assert_segments(case, seed, tuning=TUNING._replace(short_likely=labels - 1))
    tuning = TUNING._replace(short_labels=labels)
    assert not (is_short(case, tuning) and len(case.trans) > labels)
    assert_segments(case, seed, tuning=tuning)


@pytest.mark.parametrize("permitted", [False, True])
def test_sums_of_a_text_whose_steps_change_them_much(permitted):
    """Scaled several times on the way; or, with a pair that cannot be, left to the batch's walk."""
    rng = np.random.default_rng(3)
    trans = rng.uniform(-20, 20, (4, 4))
    trans[1, 2] = 0.0 if permitted else -np.inf
    case = Case(rng.normal(size=(90, 4)) * 30, trans, np.array([50, 30, 10]))
    assert is_short(case, TUNING) == permitted
    found, of_batch = (with_probable(case, 0.01, way) for way in both_ways(TUNING))
    assert found.best.tolist() == of_batch.best.tolist()
    for column, expected in zip(found.probable(0.01), of_batch.probable(0.01), strict=True):
        assert column == pytest.approx(expected, abs=1e-12)


@given(case=cases(max_sequences=2), n_tokens=PARTS, seed=st.integers(0, 99))
def test_long_sequences_in_pieces(case, n_tokens, seed):
    assert_segments(fit(case), seed, tolerance=1e-8, tuning=parts_of(n_tokens, long=3))
    assert_probable(fit(case), 0.01, tolerance=1e-8, tuning=parts_of(n_tokens, long=3))


@given(case=cases(forbidden=False, configurations=2), seed=st.integers(0, 99))
def test_segments_of_any_potentials(case, seed):
    assert_segments(case.doubles(), seed, tolerance=1e-8)


@given(case=cases(strong=False, forbidden=False), threshold=st.sampled_from([0.01, 0.3]))
def test_probable_labels_with_patterns(case, threshold):
    assert_probable(case.doubles(), threshold)


@given(case=cases_with_edge_scores(), seed=st.integers(0, 99))
def test_scores_of_pairs_at_each_token(case, seed):
    case = fit(case)
    assert_segments(case, seed)
    assert_probable(case, 0.01)


@given(seed=st.integers(0, 9))
def test_wide_transitions_are_summed_on_logarithms(seed):
    trans = np.array([[0.0, 301.0], [0.0, 0.0]])
    case = Case(np.random.default_rng(seed).normal(size=(5, 2)), trans, np.array([3, 2]))
    assert_segments(case, 0)
    assert_probable(case, 0.01)


def test_no_tokens():
    case = Case(np.zeros((0, 2)), np.zeros((2, 2)), np.zeros(0, np.int64))
    answers = with_probable(case, 0.1)
    probable = answers.probable(0.1)
    assert not len(answers.best) and not len(probable.tokens) and not len(probable.pairs)
    found = answers_of(case.potentials(), Asked(continues=np.zeros((2, 2), bool)))
    assert not len(found.best) and not len(found.segments(np.zeros(0, int), np.zeros(0, int)))


@pytest.mark.parametrize("first, size", [(0, 0), (1, 2), (4, 2), (5, 1), (-1, 1)])
def test_segments_lie_within_one_sequence(first, size):
    case = Case(np.zeros((5, 3)), np.zeros((3, 3)), np.array([2, 3]))
    continues = np.zeros((3, 3), bool)
    found = answers_of(case.potentials(), Asked(continues=continues))
    with pytest.raises(ValueError, match=r"\[HS098\]"):
        found.segments(np.array([first]), np.array([size]), continues=continues)


def test_threshold_that_is_none():
    with pytest.raises(ValueError, match=r"\[HS027\]"):
        with_probable(Case(np.zeros((1, 2)), np.zeros((2, 2)), np.array([1])), 1.0)
