"""Scores of label pairs that differ from token to token, against enumeration."""

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spacy_hoseq.decoders.choice import (
    decode_exact,
    max_marginal,
)
from spacy_hoseq.decoders.kbest import k_best
from spacy_hoseq.decoders.problem.path_score import path_score
from spacy_hoseq.decoders.problem.results import NoPath
from spacy_hoseq.decoders.sampling import sample

from ... import oracle
from ...cases import Case
from ...strategies import cases, cases_with_edge_scores
from ..answers.posteriors import (
    assert_enumerated,
    assert_finite_differences,
    enumerated_arcs,
    every_arc,
    has_path,
    posterior_of,
    random_arcs,
    random_segments,
)


def decode(case):
    return decode_exact(case.potentials())


def posterior(case):
    return posterior_of(case.potentials())


def fit(case):
    assume(has_path(case))
    return case


def follows(case):
    """Tokens that have one before them."""
    return np.setdiff1d(np.arange(len(case.scores)), case.starts)


def small(n_tokens=4, n_labels=3, seed=0, lengths=None):
    rng = np.random.default_rng(seed)
    lengths = np.array([n_tokens] if lengths is None else lengths)
    shapes = (n_tokens, n_labels), (n_labels, n_labels), (n_tokens, n_labels, n_labels)
    scores, trans, edge_scores = (rng.normal(size=shape) for shape in shapes)
    return Case(scores, trans, lengths, edge_scores=edge_scores)


def pairs_of(found):
    """Of all labels at all tokens. RETURNS (N, L, L)."""
    n_tokens, n_labels = found.nodes.shape
    return found.pairs(every_arc(n_tokens, n_labels)).reshape(n_tokens, n_labels, n_labels)


def fields(found):
    return [found.log_z, found.nodes, found.expected.trans, pairs_of(found)]


def assert_equal_posteriors(found, expected, tolerance=1e-10):
    for got, wanted in zip(fields(found), fields(expected), strict=True):
        np.testing.assert_allclose(got, wanted, atol=tolerance)


@given(case=cases_with_edge_scores(max_tokens=5))
def test_best_labelling_is_the_enumerated_one(case):
    """In the precision that the scores have."""
    case = fit(case)
    got = decode(case)
    for single, labels, score in zip(case.singles(), np.split(got.labels, case.starts[1:]), got.scores, strict=True):
        table = oracle.joint_table(single)
        assert score == pytest.approx(table.best, rel=1e-6) == pytest.approx(oracle.score_of_one(single, labels))
        assert not table.is_unique or labels.tolist() == table.best_labels.tolist()


@given(case=cases_with_edge_scores(max_tokens=5, max_labels=3, rounded=True))
def test_ties_go_to_the_lowest_label(case):
    """Of the last token first, then of the one before."""
    case = fit(case)
    got = decode(case)
    for single, labels in zip(case.singles(), np.split(got.labels, case.starts[1:]), strict=True):
        table = oracle.joint_table(single)
        best = table.labellings[table.scores == table.best]
        assert labels.tolist() == min(best.tolist(), key=lambda row: row[::-1])


@given(case=cases_with_edge_scores(max_tokens=5))
def test_posterior_is_the_enumerated_one(case):
    case = fit(case.doubles())
    got = posterior(case)
    assert_enumerated(got, case)
    edges = got.expected.edge_scores
    assert not edges[case.starts].any()
    np.testing.assert_allclose(edges, pairs_of(got), atol=1e-12)
    np.testing.assert_allclose(edges.sum(axis=0), got.expected.trans, atol=1e-12)
    np.testing.assert_allclose(edges[follows(case)].sum(axis=(1, 2)), 1)


@given(case=cases_with_edge_scores(max_tokens=5))
def test_single_precision_gives_the_sums_of_the_same_numbers(case):
    case = fit(case)
    assert_equal_posteriors(posterior(case), posterior(case.doubles()))


@given(case=cases_with_edge_scores(max_tokens=4, max_labels=3, max_sequences=2, forbidden=False))
def test_posterior_is_the_gradient_of_log_z(case):
    """By every score, transition and pair at each token."""
    case = fit(case.doubles())
    potentials = case.potentials()
    assert_finite_differences(posterior_of, potentials)
    numeric = oracle.central_differences(
        lambda edge_scores: posterior_of(potentials._replace(edge_scores=edge_scores)).log_z.sum(), case.edge_scores
    )
    assert oracle.relative_error(posterior_of(potentials).expected.edge_scores, numeric) < 1e-6


@given(case=cases_with_edge_scores(max_tokens=5), seed=st.integers(0, 99), restricted=st.booleans())
def test_nodes_arcs_and_segments_are_the_enumerated_ones(case, seed, restricted):
    case = fit(case.doubles())
    rng, found, every = np.random.default_rng(seed), posterior(case), enumerated_arcs(case)
    tables = [oracle.joint_table(single) for single in case.singles()]
    np.testing.assert_allclose(found.log_z, [table.log_z for table in tables], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.nodes, np.concatenate([table.marginals for table in tables]), atol=1e-10)
    np.testing.assert_allclose(pairs_of(found), every, atol=1e-10)
    some = random_arcs(case, rng)
    np.testing.assert_allclose(found.pairs(some), every[some], atol=1e-10)
    continues = rng.random(case.trans.shape) < 0.4 if restricted else None
    *segments, expected = random_segments(case, rng, continues)
    np.testing.assert_allclose(found.segments(*segments, continues), expected, atol=1e-10)


@given(case=cases_with_edge_scores(max_tokens=5), seed=st.integers(0, 99))
def test_path_score_is_the_definition(case, seed):
    labels = np.random.default_rng(seed).integers(0, case.n_labels, len(case.scores))
    got = path_score(case.potentials(), labels)
    parts = zip(case.singles(), np.split(labels, case.starts[1:]), strict=True)
    assert got == pytest.approx([oracle.score_of_one(replace(one, allowed=None), part) for one, part in parts])


@given(case=cases_with_edge_scores(max_tokens=5), value=st.sampled_from([0.0, -290.0, 290.0]))
def test_edge_scores_of_first_tokens_count_for_nothing(case, value):
    case = fit(case.doubles())
    edge_scores = case.edge_scores.copy()
    edge_scores[case.starts] = value
    other = replace(case, edge_scores=edge_scores)
    assert decode(other).labels.tolist() == decode(case).labels.tolist()
    assert decode(other).scores.tolist() == decode(case).scores.tolist()
    assert_equal_posteriors(posterior(other), posterior(case))


@pytest.mark.parametrize("value", [1e4, -1e4])
def test_any_number_may_stand_at_first_tokens(value):
    case = small(lengths=[3, 1])
    edge_scores = case.edge_scores.copy()
    edge_scores[[0, 3], 1] = value
    other = replace(case, edge_scores=edge_scores)
    assert decode(other).labels.tolist() == decode(case).labels.tolist()
    assert_equal_posteriors(posterior(other), posterior(case))


@given(case=cases(max_tokens=5), seed=st.integers(0, 99))
def test_the_same_moves_at_every_token_are_transitions(case, seed):
    case = fit(case.doubles().without_patterns())
    edge_scores = np.random.default_rng(seed).normal(size=case.trans.shape)
    moving = replace(case, edge_scores=np.tile(edge_scores, (len(case.scores), 1, 1)))
    plain = replace(case, trans=case.trans + edge_scores)
    expected, found = posterior(plain), posterior(moving)
    assert expected.expected.edge_scores is None
    assert_equal_posteriors(found, expected)
    assert decode(moving).labels.tolist() == decode(plain).labels.tolist()
    assert decode(moving).scores == pytest.approx(decode(plain).scores)
    nothing = replace(case, edge_scores=np.zeros_like(moving.edge_scores))
    assert decode(nothing).labels.tolist() == decode(case).labels.tolist()
    assert_equal_posteriors(posterior(nothing), posterior(case))


@given(case=cases_with_edge_scores(max_tokens=5, max_sequences=6), data=st.data())
def test_batch_is_the_singles_in_any_order(case, data):
    case = fit(case.doubles())
    order = data.draw(st.permutations(range(len(case.lengths))))
    parts = [posterior(case.take([i])) for i in order]
    whole = posterior(case.take(order))
    np.testing.assert_allclose(whole.log_z, np.concatenate([part.log_z for part in parts]), atol=1e-10)
    np.testing.assert_allclose(whole.nodes, np.concatenate([part.nodes for part in parts]), atol=1e-10)
    np.testing.assert_allclose(pairs_of(whole), np.concatenate([pairs_of(part) for part in parts]), atol=1e-10)
    np.testing.assert_allclose(whole.expected.trans, sum(part.expected.trans for part in parts), atol=1e-10)
    labels = np.concatenate([decode(case.take([i])).labels for i in order])
    assert decode(case.take(order)).labels.tolist() == labels.tolist()


@given(case=cases_with_edge_scores(max_tokens=5), data=st.data())
def test_relabelling_commutes(case, data):
    case = fit(case.doubles())
    new = np.array(data.draw(st.permutations(range(case.n_labels))))
    found, expected = posterior(case.relabelled(new)), posterior(case)
    np.testing.assert_allclose(found.nodes[:, new], expected.nodes, atol=1e-10)
    np.testing.assert_allclose(pairs_of(found)[:, new[:, None], new], pairs_of(expected), atol=1e-10)
    assert decode(case.relabelled(new)).scores == pytest.approx(decode(case).scores)


def test_worked_out_by_hand():
    """A pair of 3 at the second token, one of 1 at the third: A B, then the way to B A is worth less than B B."""
    edge_scores = np.zeros((3, 2, 2))
    edge_scores[1, 0, 1], edge_scores[2, 1, 0], edge_scores[0] = np.log(3), np.log(2), 99
    case = Case(np.zeros((3, 2)), np.zeros((2, 2)), np.array([3]), edge_scores=edge_scores)
    got = decode(case)
    assert got.labels.tolist() == [0, 1, 0] and got.scores == pytest.approx([np.log(6)])
    found = posterior(case)  # weights of A A: 1, A B: 3, B A: 1, B B: 1; then A A: 1, A B: 1, B A: 2, B B: 1
    assert np.exp(found.log_z) == pytest.approx([2 * 2 + 4 * 3])
    assert found.expected.edge_scores[1] == pytest.approx(np.array([[2, 9], [2, 3]]) / 16)
    assert found.expected.edge_scores[2] == pytest.approx(np.array([[2, 2], [8, 4]]) / 16)


def test_long_sequences_of_different_lengths():
    """Against recurrences on logarithms, sequence by sequence."""
    case = small(700, 5, lengths=[1, 400, 2, 297])
    got, found = decode(case), posterior(case)
    for i, single in enumerate(case.singles()):
        best = total = single.scores[0]
        for t in range(1, len(single.scores)):
            pairs = single.trans + single.edge_scores[t]
            best = (best[:, None] + pairs).max(axis=0) + single.scores[t]
            total = np.logaddexp.reduce(total[:, None] + pairs, axis=0) + single.scores[t]
        assert got.scores[i] == pytest.approx(best.max())
        assert found.log_z[i] == pytest.approx(np.logaddexp.reduce(total))
    assert found.nodes.sum(axis=1) == pytest.approx(1)


def test_no_tokens():
    case = small(0, 2, lengths=np.zeros(0, int))
    assert decode(case).labels.tolist() == [] and decode(case).scores.tolist() == []
    counts = posterior(case).expected
    assert counts.edge_scores.shape == (0, 2, 2) and counts.trans.tolist() == [[0, 0], [0, 0]]


def test_no_path():
    case = small(lengths=[1, 3])
    closed = replace(case, trans=np.full((3, 3), -np.inf))
    for function in (decode, posterior):
        with pytest.raises(NoPath, match=r"\[HS023\] Sequence 1"):
            function(closed)


@pytest.mark.parametrize("n_bad, value", [(1, np.nan), (2, np.inf), (1, -np.inf)])
def test_values_that_are_no_numbers(n_bad, value):
    case = small()
    case.edge_scores.reshape(-1)[7 : 7 + n_bad] = value
    for function in (decode, posterior):
        with pytest.raises(ValueError, match=rf"\[HS020\].*{n_bad} of 36"):
            function(case)


@pytest.mark.parametrize("shape", [(4, 3), (3, 3, 3), (4, 9), (4, 3, 2), (4, 2, 3)])
def test_wrong_shape(shape):
    case = replace(small(), edge_scores=np.zeros(shape))
    for function in (decode, posterior):
        with pytest.raises(ValueError, match=r"\[HS024\] Wrong shape of edge_scores: got .*expected \(4, 3, 3\)"):
            function(case)


@pytest.mark.parametrize("change, code", [
    ({"scores": np.full((4, 3), np.nan)}, "HS020"),
    ({"trans": np.full((3, 3), np.nan)}, "HS020"),
    ({"allowed": np.zeros((4, 3), bool)}, "HS022"),
    ({"lengths": np.array([3])}, "HS027"),
])  # fmt: skip
def test_other_errors_are_those_of_chains(change, code):
    for function in (decode, posterior):
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            function(replace(small(), **change))


@given(case=cases_with_edge_scores(max_tokens=5, max_sequences=1), k=st.sampled_from([2, 3, 40]))
def test_k_best_are_the_enumerated_ones(case, k):
    labels, scores = oracle.joint_table(fit(case)).k_best(k)
    got = k_best(case.potentials(), k)
    np.testing.assert_allclose(got.scores, scores, atol=1e-9)
    np.testing.assert_allclose(oracle.score_of(case, got.labels), got.scores, atol=1e-9)
    assert got.labels.shape == labels.shape and len(set(map(tuple, got.labels.tolist()))) == len(got.labels)


def test_samples_are_as_frequent_as_probable():
    case = small(n_tokens=3, n_labels=2)
    log_z, n = oracle.joint_table(case).log_z, 20_000
    drawn = Counter(map(tuple, sample(case.potentials(), n, np.random.default_rng(0)).tolist()))
    for labels in product(range(2), repeat=3):
        p = float(np.exp(oracle.score_of_one(case, np.array(labels)) - log_z))
        assert drawn[labels] / n == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / n))


@pytest.mark.long
@pytest.mark.parametrize("far", [0.0, 400.0])
def test_gradient_is_that_of_finite_differences(far):
    """Of a smooth function of nodes and pairs, by every score; far: where scaled probabilities would vanish."""
    case, rng = small(lengths=[3, 1]), np.random.default_rng(1)
    case = replace(case, trans=case.trans + far * np.eye(3), edge_scores=case.edge_scores - far * np.eye(3))
    of_nodes, of_pairs, potentials = rng.normal(size=(4, 3)), rng.normal(size=(4, 3, 3)), case.potentials()

    def loss(**moved):
        found = posterior(replace(case, **moved))
        return float((of_nodes * np.sin(3 * found.nodes)).sum() + (of_pairs * pairs_of(found) ** 2).sum())

    found = posterior_of(potentials)
    d_pairs = (2 * of_pairs * pairs_of(found)).reshape(-1)
    gradient = found.backprop(3 * of_nodes * np.cos(3 * found.nodes), every_arc(4, 3), d_pairs)
    for name in ("scores", "trans", "edge_scores"):
        numeric = oracle.central_differences(lambda moved, name=name: loss(**{name: moved}), getattr(case, name))
        assert oracle.relative_error(getattr(gradient, name), numeric) < 1e-6, name
    with pytest.raises(ValueError, match=r"\[HS024\]"):
        found.backprop(np.zeros((4, 2)))


@given(case=cases_with_edge_scores(max_tokens=5))
def test_most_probable_labels(case):
    """The other decoder that can use them: its labels, and the scores of these."""
    case = fit(case.doubles())
    got, expected = max_marginal(case.potentials()), posterior(case)
    assert got.labels.tolist() == expected.nodes.argmax(axis=1).tolist()
    parts = zip(case.singles(), np.split(got.labels, case.starts[1:]), strict=True)
    assert got.scores == pytest.approx([oracle.score_of_one(*part) for part in parts])


def test_arguments_are_not_changed():
    case = small(lengths=[3, 1])
    before = [array.copy() for array in (case.scores, case.trans, case.edge_scores)]
    decode(case), posterior(case).expected, posterior(case).backprop(np.ones((4, 3)))
    assert all(map(np.array_equal, before, (case.scores, case.trans, case.edge_scores)))


def test_edge_scores_that_differ_widely():
    case = small()
    case.edge_scores[2, 0, 1], case.edge_scores[3, 1] = 400, -350
    assert decode(case).labels.tolist() == oracle.joint_table(case).best_labels.tolist()
    assert posterior(case).log_z == pytest.approx([oracle.joint_table(case).log_z])
