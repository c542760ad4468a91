"""Where the code takes another way: cases below, at and above each threshold, against plain recurrences."""

from copy import deepcopy
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.decoders.answers import posterior
from spacy_hoseq.decoders.chain import best_path, forward_backward
from spacy_hoseq.decoders.choice import DECODERS, decode_exact, make_exact, make_max_marginal
from spacy_hoseq.decoders.problem import Tuning, is_permitted, path_score
from spacy_hoseq.decoders.pruning import pruned
from spacy_hoseq.learning import AdaGrad, Additive, objectives
from spacy_hoseq.learning import parameter as parameters
from spacy_hoseq.learning.gradients import added_cells
from spacy_hoseq.learning.used_rows import UsedRows

from .. import oracle
from ..cases import Case
from .answers.posteriors import assert_close, logarithmic

AROUND = (-1, 0, 1)


def plain_best(case):
    """The best labelling of each sequence (N,), token by token."""
    labels = []
    for single in case.singles():
        v, back = single.scores[0].astype(float), []
        for scores in single.scores[1:]:
            arriving = v[:, None] + single.trans
            back.append(arriving.argmax(axis=0))
            v = arriving.max(axis=0) + scores
        path = [int(v.argmax())]
        for step in reversed(back):
            path.append(int(step[path[-1]]))
        labels += path[::-1]
    return labels


def plain_sums(case):
    """log Z of each sequence, and p(y_t = y | x) (N, L), on logarithms."""
    log_z, nodes = [], []
    trans = case.trans.astype(float)
    for single in case.singles():
        scores = single.scores.astype(float)
        alpha, beta = [scores[0]], [np.zeros(case.n_labels)]
        for here, behind in zip(scores[1:], scores[:0:-1], strict=True):
            alpha.append(here + np.logaddexp.reduce(alpha[-1][:, None] + trans, axis=0))
            beta.append(np.logaddexp.reduce(trans + behind + beta[-1], axis=1))
        log_z.append(np.logaddexp.reduce(alpha[-1]))
        nodes.append(np.exp(np.array(alpha) + beta[::-1] - log_z[-1]))
    return np.array(log_z), np.concatenate(nodes)


def chain(n_labels, lengths, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, scale, (sum(lengths), n_labels))
    return Case(scores, rng.normal(0, scale, (n_labels, n_labels)), np.array(lengths))


def check_best(case, tuning=None):
    settings = {} if tuning is None else {"tuning": tuning}
    assert decode_exact(case.potentials(), **settings).labels.tolist() == plain_best(case)


def check_sums(case, **settings):
    got = posterior(case.potentials(), **settings)
    log_z, nodes = plain_sums(case)
    np.testing.assert_allclose(got.log_z, log_z, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(got.nodes, nodes, atol=1e-9)
    np.testing.assert_allclose(got.expected.trans.sum(), (case.lengths - 1).sum(), rtol=1e-9)


# The best labelling


@pytest.mark.parametrize("share", [0.5, 0.75])
@pytest.mark.parametrize("more", AROUND)
@pytest.mark.parametrize("scale", [0.2, 5.0])
def test_shares_of_permitted_pairs(share, more, scale):
    """Pruning or all labels; tables of what may precede each label, or of all pairs."""
    case = chain(8, [1, 2, 9, 30], scale=scale)
    permitted = np.random.default_rng(1).permutation(64) < 64 * share + more
    trans = np.where(permitted.reshape(8, 8), case.trans, -np.inf)
    check_best(replace(case, trans=trans))


@pytest.mark.parametrize("n_few", [3, 4, 5])
@pytest.mark.parametrize("n_sets", [7, 8, 9])
def test_labels_that_few_labels_may_precede(n_few, n_sets):
    rng = np.random.default_rng(n_few * n_sets)
    permitted = np.zeros((40, 40), bool)
    for label in range(40):
        size = n_few if label >= 2 * n_sets else 6 + label // 2
        permitted[np.random.default_rng(label // 2).permutation(40)[:size], label] = True
    case = chain(40, [1, 6, 20])
    trans = np.where(permitted, case.trans, -np.inf)
    assert permitted.mean() < 0.5
    check_best(replace(case, trans=trans, scores=rng.normal(size=case.scores.shape)))


@pytest.mark.parametrize("n_columns", [7, 8, 9, 74, 75, 76])
@pytest.mark.parametrize("cells", [1, 3_000, 120_000])
def test_labels_that_are_compared_in_one_call(n_columns, cells):
    """40 labels; of 8 columns or fewer they lie side by side, of 75 a call holds them all."""
    case = chain(40, [3] * n_columns)
    trans = np.where(np.eye(40)[::-1] > 0, -np.inf, case.trans)
    edges = np.zeros((*case.scores.shape, 40))
    with mock.patch.object(best_path, "STEP_CELLS", cells):
        got = best_path.viterbi(case.scores, trans, case.lengths)
        with_edges = best_path.viterbi(case.scores, trans, case.lengths, edge_scores=edges)
    assert got.labels.tolist() == with_edges.labels.tolist()
    assert got.labels.tolist() == plain_best(replace(case, trans=trans))


@pytest.mark.parametrize("n_tokens", [8_999, 9_000, 9_001])
def test_tokens_whose_candidates_are_found_together(n_tokens):
    """180,000 scores in a block."""
    check_best(chain(20, [n_tokens - 7, 7], scale=4.0))


@pytest.mark.parametrize("largest", [0.99e18, 1e18, 1.01e18])
def test_bounds_in_single_precision(largest):
    case = chain(5, [4, 30])
    factor = largest / np.abs(case.trans).max()
    check_best(replace(case, trans=case.trans * factor, scores=case.scores * factor))


@pytest.mark.parametrize("with_patterns", [False, True])
@pytest.mark.parametrize("n", range(1, 12))
def test_windows_of_few_and_of_many_candidates(with_patterns, n):
    """The costs of pairs are such that windows of n pairs and more are decoded over all labels."""
    case = chain(3, [5, 6, 4], seed=n, scale=0.3)
    if with_patterns:
        case = replace(case, patterns=(((0, 1, 2), 1.0), ((1, 1), 0.7)), fired=((6, (2, 0), 1.5),))
    n_cells = 3 * 3 + (8 * len(case.weights().trie) if with_patterns else 4_000)
    costs = dict.fromkeys(("PAIR_COST", "PATTERN_PAIR_COST"), 5 * n_cells / n)
    with mock.patch.multiple(pruned, **costs):
        for pair_cells in (1, n, 10**6):
            paths = decode_exact(case.potentials(), tuning=Tuning(pair_cells=pair_cells))
            expected = [oracle.joint_table(single).best_labels for single in case.singles()]
            assert paths.labels.tolist() == np.concatenate(expected).tolist()


@pytest.mark.parametrize("lengths", [[1, 2], [2], [2, 1], [5]])
@pytest.mark.parametrize("decode", [best_path.viterbi, None])
def test_one_sequence_and_several_without_a_path(lengths, decode):
    case = Case(np.zeros((sum(lengths), 2)), np.full((2, 2), -np.inf), np.array(lengths))
    with pytest.raises(ValueError, match=rf"\[HS023\] Sequence {lengths.index(max(lengths))} "):
        if decode is None:
            decode_exact(case.potentials())
        else:
            decode(case.scores, case.trans, case.lengths)


# Sums


@pytest.mark.parametrize("spread", [299.0, 299.99, 300.0, 300.01, 320.0])
def test_range_of_scaled_sums(spread):
    """From 300 on, sums are of logarithms."""
    case = chain(3, [1, 2, 12])
    trans = np.array([[0.0, -spread, -1], [-spread, 0, -spread], [-2, -1, 0]])
    check_sums(replace(case, trans=trans, scores=case.scores * 40))


@pytest.mark.parametrize("n_columns", [1, 31, 32, 33, 64, 65])
@pytest.mark.parametrize("more", AROUND)
def test_rows_that_one_thread_multiplies(n_columns, more):
    case = chain(4, [3] * n_columns)
    with mock.patch.object(forward_backward, "ONE_THREAD", max(0, n_columns * 16 + more)):
        check_sums(case)
    with mock.patch.object(forward_backward, "ONE_THREAD", 16 * 32):
        check_sums(case)


@pytest.mark.parametrize("more", AROUND)
@pytest.mark.parametrize("lengths", [[20], [1, 12, 7], [5, 5, 5, 5]])
def test_chains_in_blocks(more, lengths):
    """Four blocks are stored together, more are made anew."""
    case = chain(4, lengths)
    check_sums(case, tuning=Tuning(sum_cells=20 + more))
    check_sums(case, tuning=Tuning(sum_cells=4 + more))


@pytest.mark.parametrize("n_labels", [500, 501])
def test_tables_of_many_labels(n_labels):
    check_sums(chain(n_labels, [1, 3]))


@pytest.mark.parametrize("loss", [14.9, 15.0, 15.1, 40.0])
@pytest.mark.parametrize("gain", [1.0, 280.0, 290.0])
def test_patterns_that_cost_or_pay_much(loss, gain):
    """Sums of features up to a loss of 15 and a range of 300, else sums over longest matches."""
    case = chain(3, [2, 6])
    patterns = (((0, 1), -loss), ((1, 0, 1), gain), ((1, 2), 0.5))
    case = replace(case, patterns=patterns)
    got, expected = posterior(case.potentials()), logarithmic(case.potentials())
    np.testing.assert_allclose(got.log_z, expected.log_z, rtol=1e-11)
    np.testing.assert_allclose(got.nodes, expected.nodes, atol=1e-9)
    assert_close(*(some.expected[:3] for some in (got, expected)))


@pytest.mark.parametrize("matrix_cells", [0, 1, 2, 3, 5, 10**6])
def test_sums_by_matrices_or_step_by_step(matrix_cells):
    case = replace(chain(3, [1, 4, 4]), patterns=(((0, 1, 1), 1.0), ((2, 0), -0.5)))
    expected = logarithmic(case.potentials())
    got = posterior(case.potentials(), tuning=Tuning(matrix_cells=matrix_cells))
    np.testing.assert_allclose(got.nodes, expected.nodes, atol=1e-10)
    assert_close(*(some.expected[:3] for some in (got, expected)))


def test_blocks_that_lose_digits_are_summed_on_logarithms():
    case = replace(chain(2, [20]), trans=np.array([[0.0, -400], [-1, 0]]))
    check_sums(case, tuning=Tuning(sum_cells=4))


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_scaled_potentials(factor):
    """All scores of labellings times a factor."""
    spans = ((1, (frozenset([0, 1]), frozenset([2])), -1.0),)
    patterns = (((0, 1), 1.0), ((2, 1, 0), -2.0))
    case = replace(chain(3, [4]), patterns=patterns, fired=((2, (1, 2), 1.5),))
    case = replace(case, configurations=spans)
    table = oracle.joint_table(case)
    labels = table.labellings
    scaled = case.potentials().scaled(factor)
    found = [float(path_score(scaled, row)[0]) for row in labels]
    np.testing.assert_allclose(found, factor * table.scores)
    log_z = np.logaddexp.reduce(factor * table.scores)
    np.testing.assert_allclose(posterior(scaled).log_z, [log_z])


def test_what_a_decoder_of_ones_own_may_return():
    trans = np.array([[0.0, -np.inf], [0, 0]])
    allowed = np.array([[1, 1], [1, 1], [0, 1], [1, 1]], bool)
    case = Case(np.zeros((4, 2)), trans, np.array([2, 2]), allowed=allowed)
    potentials = case.potentials().check()
    for labels, expected in (
        ([1, 0, 1, 1], True),
        ([0, 0, 1, 0], True),
        ([0, 1, 1, 1], False),  # a forbidden transition
        ([1, 1, 0, 0], False),  # a label that is not allowed
        ([1, 1, 1, 2], False),
        ([1, 1, 1, -1], False),
        ([1, 1, 1], False),
        ([1.0, 1, 1, 1], False),
    ):
        assert is_permitted(potentials, np.array(labels)) == expected


def test_decoders_and_losses_by_name():
    assert [make_exact(), make_max_marginal()] == [*DECODERS.values()]
    makers = [getattr(objectives, f"make_{name}") for name in objectives.OBJECTIVES]
    assert {make() for make in makers} == {*objectives.OBJECTIVES.values()}


# Learning


@given(cells=st.lists(st.integers(0, 5), max_size=12))
def test_gradients_of_the_same_cells_add_up(cells):
    values = np.arange(len(cells), dtype=np.float32)
    expected = np.zeros(6)
    np.add.at(expected, cells, values)
    index, sums = added_cells(np.array(cells, np.intp), values)
    assert (sums.dtype, index.tolist()) == (np.float32, sorted({*cells}))
    assert sums.tolist() == expected[index].tolist()


def test_a_copy_of_weights_learns_on():
    weights = parameters.Parameter("w", np.zeros((3, 2), np.float32))
    for i in range(2):
        weights.update(Additive(), [(np.array([i]), np.ones((1, 2), np.float32))])
    weights.finished()
    again = deepcopy(weights)
    for one in (weights, again):
        one.update(Additive(), [(np.array([2]), np.ones((1, 2), np.float32))])
    assert again.finished().tolist() == weights.finished().tolist()
    assert again.finished()[:, 0].tolist() == np.float16([-1, -2 / 3, -1 / 3]).tolist()
    rows = UsedRows.of(np.array([[0.1, 1 / 3]], np.float32), np.array([4]), 6).rounded()
    assert rows.dense()[4].tolist() == np.float16([0.1, 1 / 3]).tolist() and rows.shape == (6, 2)


@pytest.mark.parametrize("n_rows", [1, 2, 3, 5])
def test_rows_that_an_update_changes_together(n_rows):
    """Rows of 2 ** 21 weights, of which two make a step."""
    weights = parameters.Parameter("w", np.zeros((n_rows, 1 << 21), np.float32))
    gradient = np.zeros(weights.shape, np.float32)
    gradient[:, :2] = np.arange(2 * n_rows).reshape(n_rows, 2)
    weights.update(Additive(learn_rate=0.5), [(np.arange(n_rows), gradient)])
    np.testing.assert_array_equal(weights.values[:, :2], -0.5 * gradient[:, :2])


@pytest.mark.parametrize("n_rows", [1023, 1024, 1025, 2048, 2049])
def test_rows_that_are_rounded_together(n_rows):
    rng = np.random.default_rng(n_rows)
    weights = parameters.Parameter("w", np.zeros((n_rows, 2), np.float32))
    for _ in range(2):
        gradient = rng.normal(size=weights.shape).astype(np.float32)
        weights.update(AdaGrad(), [(np.arange(n_rows), gradient)])
    expected = weights.average().astype(np.float16)
    np.testing.assert_array_equal(weights.finished(), expected.astype(np.float32))
