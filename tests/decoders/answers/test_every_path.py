"""Everything that can be asked of p(y | x), against enumeration from the definition, whatever comes together: scores
of label pairs of any size, patterns of any sign, fired patterns, configurations, masks, forbidden transitions, ties,
one label; as it is decided beforehand, and with limits so small that other paths are taken."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders import (
    best_labels,
    best_with,
    event_probabilities,
    k_best,
    posterior,
    sample,
)
from spacy_hoseq.decoders.problem.tuning import TUNING, Tuning

from ... import oracle
from ...cases import Case
from ...strategies import cases
from ..problem.test_probable import as_tables, enumerated
from .posteriors import (
    assert_enumerated,
    distributions,
    enumerated_arcs,
    enumerated_gradient,
    has_path,
    random_arcs,
    random_segments,
)
from .test_certainty import entropy, prefix_entropies

TUNINGS = {
    "as it is": TUNING,
    "small parts": Tuning(arc_cells=60, sum_cells=40),
}
SIZES = [0.2, 1.0, 30.0, 400.0, 1e6]


@st.composite
def everything(draw):
    """Each feature is there or not; scores and scores of pairs are of any size."""
    case = draw(
        cases(
            max_labels=3,
            max_tokens=5,
            max_sequences=2,
            signed=draw(st.booleans()),
            configurations=draw(st.sampled_from([0, 3])),
            rounded=draw(st.booleans()),
        )
    ).doubles()
    case = case if draw(st.booleans()) else replace(case, patterns=(), fired=())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.sampled_from(SIZES))
    case = replace(case, scores=case.scores * draw(st.sampled_from([1.0, size])))
    if draw(st.booleans()):
        case = replace(case, edge_scores=rng.normal(0, size, (*case.scores.shape, case.n_labels)))
    if draw(st.booleans()):
        case = case.scaled(draw(st.sampled_from([1.0, 20.0, size])))
    if draw(st.integers(0, 2)) == 0:  # a plain chain has paths of its own
        case = replace(case.without_patterns(), edge_scores=None)
    assume(has_path(case))
    return case


def rounding(case):
    """What float64 cannot know of a logarithm, here or in the enumeration."""
    largest = np.abs(case.scores).max(initial=0)
    if case.edge_scores is not None:
        largest += np.abs(case.edge_scores).max(initial=0)
    for weights in ([w for *_, w in case.patterns], [w for *_, w in case.fired], [w for *_, w in case.configurations]):
        largest += np.abs(weights).sum()
    return 1e-9 + 1e-13 * largest


def close(got, expected, case):
    scale = max(1.0, np.abs(expected).max(initial=0)) if np.size(expected) else 1.0
    np.testing.assert_allclose(got, expected, rtol=0, atol=rounding(case) * scale)


def tables(case):
    return [oracle.joint_table(single) for single in case.singles()]


every_path = pytest.mark.parametrize("tuning", TUNINGS.values(), ids=TUNINGS)


@every_path
@given(case=everything())
def test_labels_sums_and_counts(case, tuning):
    answers = posterior(case.potentials(), tuning=tuning)
    best = best_labels(case.potentials(), tuning=tuning)
    for own, single in zip(np.split(best, case.starts[1:]), case.singles(), strict=True):
        assert oracle.score_of_one(single, own) == pytest.approx(oracle.joint_table(single).best)
    assert_enumerated(answers, case, rounding(case))


@every_path
@given(case=everything(), seed=st.integers(0, 99))
def test_pairs_and_segments(case, tuning, seed):
    rng = np.random.default_rng(seed)
    answers = posterior(case.potentials(), tuning=tuning)
    arcs = random_arcs(case, rng)
    close(answers.pairs(arcs), enumerated_arcs(case)[arcs], case)
    for continues in (None, rng.random(case.trans.shape) < 0.4):
        *segments, expected = random_segments(case, rng, continues)
        close(answers.segments(*segments, continues), expected, case)


@every_path
@pytest.mark.parametrize("threshold", [0.01, 0.3])
@given(case=everything())
def test_probable_labels(case, tuning, threshold):
    p = np.concatenate([enumerated_arcs(case).reshape(-1), *(table.marginals.reshape(-1) for table in tables(case))])
    assume((np.abs(p - threshold) > 1e-6).all())  # else rounding decides
    probable = posterior(case.potentials(), tuning=tuning).probable(threshold)
    for got, expected in zip(as_tables(probable), enumerated(case, threshold), strict=True):
        assert got.keys() == expected.keys()
        close(list(got.values()), [expected[place] for place in got], case)


@every_path
@given(case=everything())
def test_entropies(case, tuning):
    answers = posterior(case.potentials(), tuning=tuning)
    prefixes = [prefix_entropies(table) for table in tables(case)]
    nodes = [entropy(row) for table in tables(case) for row in table.marginals]
    loose = 100 * rounding(case)
    np.testing.assert_allclose(answers.entropies(), nodes, atol=loose)
    np.testing.assert_allclose(answers.conditional_entropies(), np.concatenate(prefixes), atol=loose)
    np.testing.assert_allclose(answers.sequence_entropies(), [part.sum() for part in prefixes], atol=loose)


@every_path
@given(case=everything(), seed=st.integers(0, 99))
def test_way_back(case, tuning, seed):
    """The covariance of every feature with a cost of labels, and of labels and pairs."""
    rng = np.random.default_rng(seed)
    arcs = random_arcs(case, rng)
    d_nodes, d_arcs = rng.normal(size=case.scores.shape), rng.normal(size=len(arcs.tokens))
    answers = posterior(case.potentials(), tuning=tuning)
    for costs in ([d_nodes], [d_nodes, arcs, d_arcs]):
        got, expected = answers.backprop(*costs), enumerated_gradient(case, *costs)
        for name in ("scores", "trans", "fired_weights", "configuration_weights"):
            np.testing.assert_allclose(getattr(got, name), getattr(expected, name), atol=20 * rounding(case))
        if case.patterns or case.fired:
            np.testing.assert_allclose(got.node_weights, expected.node_weights, atol=20 * rounding(case))
        if case.edge_scores is not None:
            np.testing.assert_allclose(got.edge_scores, expected.edge_scores, atol=20 * rounding(case))


@pytest.mark.parametrize("with_edges", [False, True])
@given(case=everything(), seed=st.integers(0, 99))
def test_way_back_is_that_of_finite_differences(case, with_edges, seed):
    """Of a smooth function of marginals, by every score; of large scores rounding would be divided by the step."""
    case = Case(
        np.clip(case.scores, -3, 3),
        np.clip(case.trans, -3, 3),
        case.lengths,
        tuple((labels, float(np.clip(weight, -3, 3))) for labels, weight in case.patterns),
        tuple((token, labels, float(np.clip(weight, -3, 3))) for token, labels, weight in case.fired),
    )
    rng = np.random.default_rng(seed)
    if with_edges:
        case = replace(case, edge_scores=rng.normal(size=(*case.scores.shape, case.n_labels)))
    of_nodes = rng.normal(size=case.scores.shape)

    def loss(scores):
        return float((of_nodes * np.sin(posterior(case.potentials()._replace(scores=scores)).nodes)).sum())

    answers = posterior(case.potentials())
    gradient = answers.backprop(of_nodes * np.cos(answers.nodes)).scores
    assert oracle.relative_error(gradient, oracle.central_differences(loss, case.scores)) < 1e-6


@given(case=everything(), k=st.sampled_from([1, 2, 5, 40]))
def test_k_best_labellings(case, k):
    single = case.take([0])
    labels, scores = oracle.joint_table(single).k_best(k)
    got = k_best(single.potentials(), k)
    assert got.labels.shape == labels.shape and len(set(map(tuple, got.labels.tolist()))) == len(labels)
    close(got.scores, scores, case)
    close(oracle.score_of(single, got.labels), got.scores, case)


@given(case=everything(), seed=st.integers(0, 99))
def test_samples_are_as_frequent_as_probable(case, seed):
    n_samples = 400
    drawn = sample(case.potentials(), n_samples, np.random.default_rng(seed))
    for start, labellings, p in distributions(case):
        rows = drawn[:, start : start + labellings.shape[1]]
        for labelling, probability in zip(labellings, p, strict=True):
            share = (rows == labelling).all(axis=1).mean()
            assert abs(share - probability) <= 6 * np.sqrt(probability / n_samples) + 6 / n_samples


@given(case=everything(), seed=st.integers(0, 99))
def test_max_marginals_and_events(case, seed):
    best = best_with(case.potentials())
    for start, table in zip(case.starts, tables(case), strict=True):
        for t, label in np.ndindex(table.labellings.shape[1], case.n_labels):
            expected = table.scores[table.labellings[:, t] == label].max()
            assert best[start + t, label] == pytest.approx(expected, abs=rounding(case))
    permitted = np.random.default_rng(seed).random(case.scores.shape) < 0.7
    every = np.arange(len(case.lengths))
    p = event_probabilities(case.potentials(), posterior(case.potentials()).log_z, every, permitted)
    parts = np.split(permitted, case.starts[1:])
    expected = [
        p[mask[np.arange(len(mask)), rows].all(axis=1)].sum()
        for mask, (_, rows, p) in zip(parts, distributions(case), strict=True)
    ]
    close(p, expected, case)


def test_nested_patterns_with_negative_weights():
    """A token loses up to e^14, and the patterns of the next multiply what that has lost. There is one labelling."""
    n_tokens = 8
    patterns = (((0, 0), -4.7), ((0, 0, 0), -4.3), ((0, 0, 0, 0), -5.1))
    case = Case(np.zeros((n_tokens, 1)), np.zeros((1, 1)), np.array([n_tokens]), patterns)
    answers = posterior(case.potentials())
    assert_enumerated(answers, case, 1e-9)
    p = answers.segments(np.array([0]), np.array([n_tokens]), np.zeros(n_tokens, int))
    assert p == pytest.approx([1.0], abs=1e-9)
    assert answers.backprop(np.ones((n_tokens, 1))).trans == pytest.approx(np.zeros((1, 1)), abs=1e-8)
