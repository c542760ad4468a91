"""Sparse updates, exact lazy averaging, projection, what is finished for prediction."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from spacy_hoseq.learning import parameter as parameters
from spacy_hoseq.learning.adagrad import AdaGrad, Additive
from spacy_hoseq.learning.gradients import CellGradient
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.learning.used_rows import UsedRows, to_storage

from ..strategies import SEEDS

RULES = [Additive(1.0), Additive(0.3), AdaGrad(0.1), AdaGrad(0.5, l1=0.2), AdaGrad(0.5, l2=0.1)]


def sparse_gradient(rng, n_rows, shape):
    """(rows, gradient): some distinct rows, often none."""
    rows = np.flatnonzero(rng.random(n_rows) < rng.choice([0.0, 0.3, 0.8]))
    return rows, rng.normal(0, 1, (len(rows), *shape))


def late_mean(copies):
    """Shamir & Zhang's recursion, step by step."""
    mean = np.zeros_like(copies[0])
    for i, each in enumerate(copies, start=1):
        mean = (1 - 4 / (i + 3)) * mean + 4 / (i + 3) * each
    return mean


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
@pytest.mark.parametrize("nonnegative", [False, True])
@given(seed=SEEDS, n_updates=st.integers(1, 40), shape=st.sampled_from([(), (1,), (3,)]))
def test_lazy_average_is_the_mean_of_stored_copies(rule, nonnegative, late, seed, n_updates, shape):
    rng = np.random.default_rng(seed)
    start = rng.normal(0, 1, (6, *shape))
    rule = copy.copy(rule)
    rule.average = "late" if late else True
    parameter = Parameter("w", np.abs(start) if nonnegative else start, nonnegative=nonnegative)
    dense, memory = parameter.values.copy(), rule.start(start.shape, start.dtype)
    copies = []
    for _ in range(n_updates):
        pairs = [sparse_gradient(rng, 6, shape) for _ in range(rng.integers(0, 4))]
        parameter.update(rule, pairs)
        touched, total = np.full(6, rule.is_dense), np.zeros(start.shape)
        for rows, gradient in pairs:
            touched[rows] = True
            total[rows] += gradient
        new, new_memory = rule.step(dense, total, memory)
        dense[touched] = np.maximum(new, 0)[touched] if nonnegative else new[touched]
        if new_memory.shape == memory.shape:
            memory[touched] = new_memory[touched]
        assert_allclose(parameter.values, dense, atol=1e-12)
        copies.append(dense.copy())
    assert parameter.n_updates == n_updates
    mean = late_mean(copies) if late else np.mean(copies, axis=0)
    assert_allclose(parameter.average(), mean, atol=1e-9)
    assert_allclose(parameter.finished(), mean, rtol=2**-10, atol=1e-7)
    assert not nonnegative or (parameter.average() >= 0).all()


def test_average_worked_out_by_hand():
    """w = 1, then 3, then 3, then 2 in row 0; 0, 0, -1, -1 in row 1."""
    parameter = Parameter("w", np.zeros(2))
    parameter.update(Additive(), [(np.array([0]), np.array([-1.0]))])
    parameter.update(Additive(), [(np.array([0]), np.array([-2.0]))])
    parameter.update(Additive(), [(np.array([1]), np.array([1.0]))])
    parameter.update(Additive(), [(np.array([0]), np.array([1.0]))])
    assert parameter.values.tolist() == [2, -1]
    assert parameter.average().tolist() == [(1 + 3 + 3 + 2) / 4, (0 + 0 - 1 - 1) / 4]


def test_late_average_worked_out_by_hand():
    """w = 1, 3, 3 in row 0 and 0, 0, -1 in row 1 weigh 6, 24, 60."""
    parameter = Parameter("w", np.zeros(2))
    for row, gradient in ((0, -1.0), (0, -2.0), (1, 1.0)):
        parameter.update(Additive(average="late"), [(np.array([row]), np.array([gradient]))])
    assert parameter.average() == pytest.approx([(1 * 6 + 3 * 24 + 3 * 60) / 90, -60 / 90])


def test_average_with_projection_worked_out_by_hand():
    """w = 1, then 1 - 5 projected to 0, then 2. Averaging the unprojected change would give 1 - 8 / 3 < 0."""
    parameter = Parameter("w", np.zeros(1), nonnegative=True)
    for gradient in (-1.0, 5.0, -2.0):
        parameter.update(Additive(), [(np.array([0]), np.array([gradient]))])
    assert parameter.values.tolist() == [2] and parameter.average() == pytest.approx([1.0])


def test_update_without_gradient_counts():
    """A batch that was right: the weights stay and weigh more in the average."""
    parameter = Parameter("w", np.zeros((1, 2)))
    parameter.update(Additive(), [])
    parameter.update(Additive(), [(np.array([0]), np.array([[-3.0, 6.0]]))])
    parameter.update(Additive(), [])
    assert parameter.average() == pytest.approx(np.array([[2.0, -4.0]]))
    assert parameter.n_updates == 3


@pytest.mark.long
@pytest.mark.parametrize("late", [False, True])
def test_average_over_many_updates_in_single_precision(late):
    rng, total = np.random.default_rng(1), np.zeros(4)
    parameter = Parameter("w", np.zeros(4, np.float32))
    rule = Additive(average="late" if late else True)
    weights = [i * (i + 1) * (i + 2) if late else 1 for i in range(1, 5001)]
    for weight in weights:
        parameter.update(rule, [(np.arange(4), rng.choice([-1.0, 0.0, 1.0], 4))])
        total += weight * parameter.values.astype(np.float64)
    assert_allclose(parameter.average(), total / sum(weights), rtol=1e-4)


def test_average_before_any_update_is_the_start():
    assert Parameter("w", np.array([1.5, -2.0])).average().tolist() == [1.5, -2.0]


def test_gradients_for_one_row_add_up_before_the_step():
    """AdaGrad sees 3 + 1 = 4, not 3 and then 1: a first step of exactly the learning rate."""
    parameter = Parameter("w", np.zeros((3, 1)))
    first = np.array([2, 0]), np.array([[3.0], [-2.0]])
    parameter.update(AdaGrad(0.5), [first, (np.array([2]), np.array([[1.0]]))])
    assert parameter.values == pytest.approx(np.array([[0.5], [0.0], [-0.5]]), abs=1e-6)


class RowByRow(AdaGrad):
    """The same rule, which does not say that it leaves weights without gradient alone."""

    def __init__(self, learn_rate, average):
        super().__init__(learn_rate, average=average)
        self.is_sparse = False


@pytest.mark.parametrize("average", [True, "late"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("shape", [(9, 6), (9,), (9, 2, 3)])
@pytest.mark.parametrize(
    "share", [0.0, 0.1, 0.25, 0.26, 1.0]
)  # of cells that are not 0: from one in four row by row
def test_sparse_gradient_cell_by_cell_is_the_same_row_by_row(shape, share, nonnegative, average):
    """To the last bit; also with weights in another order in memory."""
    rng = np.random.default_rng(7)
    start = np.abs(rng.normal(0, 1, shape)).astype(np.float32)
    cells, rows = (Parameter("w", start.copy(order="F"), nonnegative=nonnegative) for _ in range(2))
    for _ in range(12):
        chosen = rng.permutation(9)[:5].astype(np.int32)
        gradient = rng.normal(0, 1, (5, *shape[1:])).astype(np.float32)
        gradient[rng.random(gradient.shape) >= share] = 0
        cells.update(AdaGrad(0.3, average=average), [(chosen, gradient)])
        rows.update(RowByRow(0.3, average), [(chosen, gradient)])
    assert cells.values.tolist() == rows.values.tolist()
    assert cells.average().tolist() == rows.average().tolist()
    assert (cells.values.tolist() != start.tolist()) == (share > 0)


@pytest.mark.parametrize("average", [True, False, "late"])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("start", ["zeros", "some", "loaded"])
def test_finished_is_the_same_after_gradients_of_cells_and_of_rows(start, nonnegative, average):
    """Of weights that were zero and changed, changed and came back to zero, or never changed; and asked for between
    updates, which cells of the same kind or gradients of whole rows follow."""
    rng = np.random.default_rng(5)
    values = np.zeros((30, 8), np.float32)
    if start != "zeros":
        values[::3, 1:4] = rng.choice([-0.5, 0.25, 0.0], (10, 3))
    if nonnegative:
        values = np.abs(values)
    begun = UsedRows.of(values) if start == "loaded" else values.copy()
    cells = Parameter("w", begun, nonnegative=nonnegative, resumed=start == "loaded")
    rows = Parameter("w", values.copy(), nonnegative=nonnegative, resumed=start == "loaded")
    for i in range(40):
        chosen = rng.permutation(200)[:12]  # (nothing happens to the last rows)
        gradient = rng.choice([-1.0, 1.0], 12).astype(np.float32)
        dense = np.zeros(240, np.float32)
        dense[chosen] = gradient
        touched = np.unique(chosen // 8)
        whole = (touched, dense.reshape(30, 8)[touched])
        change = whole if i == 35 else CellGradient(chosen, gradient)
        cells.update(AdaGrad(0.3, average=average), [change])
        rows.update(RowByRow(0.3, average), [whole])
        if i % 10 == 0 or i > 33:
            found, wanted = cells.finished_rows(), rows.finished_rows()
            assert found.rows.tolist() == wanted.rows.tolist()
            assert found.values.tolist() == wanted.values.tolist()
            assert found.values.any(axis=1).all()
            assert not found.table[-1].any()
    assert cells.values.tolist() == rows.values.tolist()


def test_cells_do_for_rules_that_need_rows():
    """A penalty is due for all weights of a row that is touched, also by a gradient that adds up to 0."""
    start = np.full((3, 2), 0.5, np.float32)
    cells, rows = Parameter("w", start.copy()), Parameter("w", start.copy())
    change = CellGradient(np.array([1, 4]), np.array([1.0, 0.0], np.float32))
    for _ in range(3):
        cells.update(AdaGrad(0.3, l1=0.1), [change])
        change = np.array([0, 2]), np.array([[0.0, 1.0], [0.0, 0.0]], np.float32)
        rows.update(AdaGrad(0.3, l1=0.1), [change])
    assert cells.values.tolist() == rows.values.tolist() and (cells.values[2] < 0.5).all()
    assert cells.values[1].tolist() == [0.5, 0.5]
    assert cells.finished_rows().values.tolist() == rows.finished_rows().values.tolist()


def test_gradients_of_cells_and_rows_add_up():
    parameter = Parameter("w", np.zeros((3, 8)))
    cells = CellGradient(np.array([9, 2]), np.array([1.0, 2.0]))
    parts = [cells, (np.array([2, 1]), np.full((2, 8), 4.0))]
    parameter.update(Additive(), [*parts, CellGradient(np.array([9]), np.array([8.0]))])
    wanted = np.zeros((3, 8))
    wanted[1:] = -4
    wanted[1, 1], wanted[0, 2] = -13, -2
    assert parameter.values.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "rule, is_sparse", [(AdaGrad(), True), (AdaGrad(l1=0.1), False), (AdaGrad(l2=0.1), False)]
)
def test_sparse_rules_leave_weights_without_gradient_alone(rule, is_sparse):
    weights, memory = np.array([0.5, -2.0]), np.array([1.0, 4.0])
    new, new_memory = rule.step(weights, np.zeros(2), memory)
    same = new.tolist() == weights.tolist() and new_memory.tolist() == memory.tolist()
    assert rule.is_sparse == is_sparse == same and rule.is_dense == bool(rule.l2)


@pytest.mark.parametrize("start", ["zeros", "loaded"])
def test_with_a_gaussian_prior_all_weights_pay_at_every_update(start):
    """AdaGrad by the gradient of sum_i loss_i + l2 / 2 |w|^2, over all weights."""
    rng = np.random.default_rng(3)
    values = np.zeros((8, 2))
    if start == "loaded":
        values[2:5] = rng.normal(0, 1, (3, 2))
    parameter = Parameter("w", UsedRows.of(values) if start == "loaded" else values.copy())
    squares = np.full((8, 2), AdaGrad.EPSILON)
    for i in range(20):
        rows, gradient = rng.permutation(8)[: i % 3], rng.normal(0, 1, (i % 3, 2))
        parameter.update(AdaGrad(0.2, l2=0.1, average=False), [(rows, gradient)])
        slope = 0.1 * values
        slope[rows] += gradient
        squares += slope**2
        values = values - 0.2 * slope / np.sqrt(squares)
    assert_allclose(parameter.values, values, atol=1e-12)
    assert_allclose(parameter.finished(), values, atol=2e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_gradient_that_is_not_finite_is_refused_and_changes_nothing(bad):
    parameter = Parameter("trans", np.ones((2, 2), np.float32))
    parameter.update(Additive(), [(np.array([1]), np.array([[1.0, 0.5]]))])
    message = r"\[HS020\] 1 of .*gradient of trans.*lower `learn_rate`"
    with pytest.raises(ValueError, match=message):
        parameter.update(Additive(), [(np.array([0]), np.array([[0.0, bad]]))])
    assert parameter.values.tolist() == [[1, 1], [0, 0.5]] == parameter.average().tolist()
    assert parameter.n_updates == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_keep_their_type(dtype):
    parameter = Parameter("w", np.zeros((2, 1), dtype))
    parameter.update(AdaGrad(0.1), [(np.array([0]), np.array([[1.0]]))])
    arrays = parameter.values, parameter.average(), parameter.finished()
    assert {array.dtype for array in arrays} == {np.dtype(dtype)}
    assert parameter.values[0, 0] == pytest.approx(-0.1, rel=1e-5)


def trained(n_updates=7, average=True):
    rng = np.random.default_rng(0)
    parameter = Parameter("w", np.zeros((5, 3), np.float32))
    for _ in range(n_updates):
        parameter.update(Additive(0.37, average), [sparse_gradient(rng, 5, (3,))])
    return parameter


def test_finished_is_the_average_or_the_last_in_half_precision():
    for averaged in (True, False):
        parameter = trained(average=averaged)
        wanted = parameter.average() if averaged else parameter.values
        got = parameter.finished()
        assert got.tolist() == wanted.astype(np.float16).astype(np.float32).tolist()
    assert trained().average().tolist() != trained().values.tolist()


@pytest.mark.parametrize("resumed", [False, True])
def test_finished_holds_rows_that_no_update_touched(monkeypatch, resumed):
    """In blocks of rows; those that were zero and stayed so are not looked at."""
    start = np.random.default_rng(2).normal(0, 1, (9, 3)).astype(np.float16).astype(np.float32)
    start[[1, 4, 8]] = 0
    monkeypatch.setattr(parameters, "ROWS_PER_ROUNDING", 2)
    parameter = Parameter("w", start.copy(), resumed=resumed)
    assert parameter.finished().tolist() == start.tolist()
    for row in (4, 4, 6):
        parameter.update(Additive(), [(np.array([row]), np.array([[1.0, 0.0, -2.0]]))])
    assert parameter.finished().tolist() == parameter.average().astype(np.float16).tolist()
    assert parameter.finished()[[1, 8]].tolist() == [[0] * 3] * 2


def test_finished_follows_updates():
    parameter = trained()
    before = parameter.finished().tolist()
    parameter.update(Additive(), [(np.arange(5), np.full((5, 3), 8.0))])
    after = parameter.finished()
    average = parameter.average().astype(np.float16)
    assert after.tolist() != before and after.tolist() == average.tolist()


@pytest.mark.parametrize("scale", [1.0, 1e5])  # 1e5: beyond half precision
def test_finished_is_idempotent(scale):
    """Loading what was saved and saving it again changes nothing."""
    parameter = trained()
    parameter = Parameter("w", (parameter.values * scale).astype(np.float32))
    once = parameter.finished()
    again = Parameter("w", once.copy()).finished()
    assert again.tolist() == once.tolist() and again.dtype == once.dtype
    assert to_storage(once).astype(np.float32).tolist() == once.tolist()
    assert_allclose(once, parameter.values, rtol=2**-11)


@pytest.mark.parametrize(
    "largest, dtype", [(0.0, "f2"), (65000.0, "f2"), (65504.0, "f4"), (1e6, "f4"), (-1e6, "f4")]
)
def test_storage_type_is_the_smallest_that_fits(largest, dtype):
    stored = to_storage(np.array([largest, 0.25], np.float32))
    assert stored.dtype == dtype and np.isfinite(stored).all()
    assert stored.tolist() == pytest.approx([largest, 0.25], rel=2**-11)


@pytest.mark.parametrize("resumed, size", [(False, 0.1), (True, 0.1 * 0.5 / np.sqrt(1 + 0.5**2))])
def test_first_step_of_weights_that_were_learnt_before(resumed, size):
    """AdaGrad's memory is gone; from G = 1e-6 each weight would be thrown by the learning rate."""
    parameter = Parameter("w", np.array([[2.0]]), resumed=resumed)
    parameter.update(AdaGrad(learn_rate=0.1), [(np.array([0]), np.array([[0.5]]))])
    assert 2.0 - parameter.values[0, 0] == pytest.approx(size, rel=1e-5)


@pytest.mark.parametrize("resumed", [False, True])
@pytest.mark.parametrize("averaged", [False, True])
def test_finished_rows_are_those_that_are_not_zero(averaged, resumed):
    """Of weights that were zero from the beginning, that no update touched, and that updates have brought back to 0."""
    start = np.zeros((9, 3), np.float32)
    start[[2, 5]] = 1.5
    parameter = Parameter("w", start, resumed=resumed)
    assert parameter.finished_rows().rows.tolist() == [2, 5]
    for rows, gradient in (([4, 5], [[0.3] * 3, [0.5] * 3]), ([5, 7], [[1.0] * 3, [0.0] * 3])):
        change = np.array(rows), np.array(gradient, np.float32)
        parameter.update(Additive(average=averaged), [change])
    found = parameter.finished_rows()
    assert parameter.finished_rows() is found
    assert found.rows.tolist() == np.flatnonzero(parameter.finished().any(axis=1)).tolist()
    assert np.array_equal(found.dense(), parameter.finished())
    assert (5 in found.rows) == averaged and 7 not in found.rows and found.shape == (9, 3)


def test_weights_too_small_for_half_precision_leave_no_row():
    parameter = Parameter("w", np.array([[0.5, 1e-9], [1e-9, -1e-9], [0, -0.25]], np.float32))
    found = parameter.finished_rows()
    assert found.rows.tolist() == [0, 2] and found.values.tolist() == [[0.5, 0], [0, -0.25]]


@pytest.mark.parametrize("shape", [(6, 2), (6,)])
def test_rows_that_were_loaded(shape):
    """As they were read; all weights are made for learning, which changes what is finished."""
    values = np.arange(1, 1 + 2 * np.prod(shape[1:])).reshape(2, *shape[1:]) / 3
    rows = UsedRows.of(values, np.array([1, 4]), shape[0])
    dense = np.zeros(shape)
    dense[[1, 4]] = rows.values
    parameter, twin = (Parameter("w", values, resumed=True) for values in (rows, dense.copy()))
    assert parameter.shape == shape and parameter.finished_rows() is rows
    assert np.array_equal(parameter.finished(), dense), "not rounded"
    assert np.array_equal(twin.finished_rows().dense(), dense)
    gradient = [(np.array([0, 4]), -np.ones((2, *shape[1:])))]
    for either in (parameter, twin):
        either.update(Additive(), gradient)
    assert np.array_equal(parameter.values, twin.values) and not np.array_equal(twin.values, dense)
    assert np.array_equal(parameter.finished_rows().dense(), twin.finished())


@pytest.mark.parametrize("start", [np.eye(3), UsedRows.of(np.eye(3))], ids=["array", "rows"])
def test_scaled_weights_are_finished_anew_and_learn_as_before(start):
    parameter = Parameter("w", start, resumed=True)
    assert parameter.finished().tolist() == np.eye(3).tolist()
    parameter.scale(1.5)
    assert parameter.finished().tolist() == (1.5 * np.eye(3)).tolist()
    assert parameter.finished_rows().values.tolist() == (1.5 * np.eye(3)).tolist()
    parameter.update(Additive(), [(np.array([0]), np.array([[1.0, 0.0, 2.0]]))])
    assert parameter.values[0].tolist() == [0, 0, -2]
    assert parameter.finished()[0].tolist() == [0, 0, -3]


def test_some_rows_in_another_order():
    used = UsedRows.of(np.array([[0.0, 1], [0, 0], [2, 3], [0, 0]]))
    taken = used.taking(np.array([2, 3, 0]))
    assert taken.shape == (3, 2) and taken.dense().tolist() == [[2, 3], [0, 0], [0, 1]]
    assert taken.rows.tolist() == [0, 2]
