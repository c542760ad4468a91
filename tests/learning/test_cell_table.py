"""Tables of cells against arrays: places, moves of rows that grow, sums of rows, and learning by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hoseq.learning.adagrad import AdaGrad, Additive
from spacy_hoseq.learning.cell_table import CellTable
from spacy_hoseq.learning.gradients import CellGradient
from spacy_hoseq.learning.parameter import Parameter
from spacy_hoseq.learning.used_weights import UsedCells, UsedRows

R, C = 12, 150
RATES = (0.0, 0.02, 0.6)  # of rows that are empty, hold a few cells, are whole


def dense_of(table, field=0):
    dense = np.full(R * C, table._starts[field])
    for cells, places in table.cells():
        dense[cells] = table.fields[field][places]
    return dense.reshape(R, C)


def filled(rng, table, n_updates=8):
    """Touch cells as updates do. RETURNS what each holds."""
    dense = np.stack([np.full((R, C), start) for start in table._starts])
    for _ in range(n_updates):
        cells = np.flatnonzero(rng.random((R, C)) < rng.choice(RATES, (R, 1)) / 3)
        places = table.touch(cells)
        assert len(np.unique(places)) == len(cells) and (table.columns[places] == cells % C).all()
        for field, numbers in zip(table.fields, dense, strict=True):
            assert field[places].tolist() == numbers.reshape(-1)[cells].tolist(), "what was there moves with it"
            field[places] = numbers.reshape(-1)[cells] = rng.normal(size=len(cells)).astype(np.float32)
    return dense


@given(seed=st.integers(0, 10**6), resumed=st.booleans())
def test_touched_cells_keep_their_numbers(seed, resumed):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(R, C)).astype(np.float32) * (rng.random((R, C)) < rng.choice(RATES, (R, 1)))
    cells = np.flatnonzero(start) if resumed else np.zeros(0, np.intp)
    table = CellTable.of((R, C), cells, start.reshape(-1)[cells], (0.0, 0.0, 0.5))
    assert np.array_equal(dense_of(table), start * resumed)
    begun = np.flatnonzero(dense_of(table).any(axis=1))
    fresh = CellTable((R, C), np.float32, (0.0, 0.0, 0.5))
    dense = filled(rng, fresh)
    assert all(np.array_equal(dense_of(fresh, i), numbers) for i, numbers in enumerate(dense))
    touched = table.touch(np.arange(R * C))
    assert (table.fields[0][touched].reshape(R, C) == start * resumed).all() and (table.fields[2][touched] == 0.5).all()
    assert (table.counts == C).all() and len(begun) <= R
    every = [cells for cells, _ in fresh.cells()]
    assert (np.diff(np.concatenate([[-1], *every])) > 0).all()


@given(seed=st.integers(0, 10**6), n=st.integers(0, 30))
def test_sums_of_rows_are_those_of_an_array(seed, n):
    rng = np.random.default_rng(seed)
    table = CellTable((R, C), np.float32)
    dense = filled(rng, table)[0].astype(np.float32)
    rows = rng.integers(0, R, (5, n))
    sums, wanted = rng.normal(size=(2, n, C)).astype(np.float32)
    wanted[:] = sums
    for of_template in rows:
        wanted += dense[of_template]
    alone = sums.copy()
    table.add_to(sums, rows)
    assert np.allclose(sums, wanted, rtol=0, atol=1e-5)
    for token in range(n):
        table.add_to(alone[token : token + 1], rows[:, token : token + 1])
    assert sums.tobytes() == alone.tobytes(), "whatever the other tokens are"


def test_places_that_rows_leave_are_used_again():
    """Of rows that grow one after the other only the first leaves places that nobody needs."""
    table = CellTable((R, C), np.float32)
    for row in range(R):
        for last in range(1, C // 4):
            table.touch(row * C + np.arange(last))
    left = 1 + 2 + 4 + 8 + 16 + 32
    assert (table.counts == C // 4 - 1).all() and len(table.columns) <= 1.25 * (R * 64 + left)
    table.touch(np.arange(R * C))
    assert (table.counts == C).all()


class RowByRow(AdaGrad):
    """Without sparse steps."""

    def __init__(self, learn_rate):
        super().__init__(learn_rate)
        self.is_sparse = False


def start_of(kind, rng, nonnegative):
    values = rng.choice([-0.5, 0.25, 0.0], (R, C), p=[0.05, 0.05, 0.9]).astype(np.float32)
    values[rng.random(R) < 0.3] = 0
    values = np.abs(values) if nonnegative else values
    if kind == "array":
        return values, values.copy()
    rows = np.flatnonzero(values.any(axis=1))
    used = UsedRows(values.shape, rows, values[rows])
    return values, used if kind == "rows" else used.cells()


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["array", "rows", "cells"])
@pytest.mark.parametrize("by_rows_from", [99, 6])
def test_learning_by_cells_is_that_of_an_array(kind, nonnegative, late, by_rows_from):
    """Weights, averages, what is finished between updates: bit by bit; also if gradients of whole rows follow."""
    rng = np.random.default_rng(7)
    values, begun = start_of(kind, rng, nonnegative)
    resumed = kind != "array"
    cells = Parameter("w", begun, nonnegative=nonnegative, resumed=resumed, many_columns=C)
    array = Parameter("w", values.copy(), nonnegative=nonnegative, resumed=resumed)
    assert isinstance(cells.summands(AdaGrad(0.3)), CellTable)
    for i in range(12):
        chosen = np.flatnonzero(rng.random((R, C)) < rng.choice(RATES, (R, 1)) / 4)
        gradient = rng.choice([-1.0, 1.0], len(chosen)).astype(np.float32)
        change = CellGradient(chosen, gradient)
        if i >= by_rows_from:
            rows = np.array([3, 1])
            change = (rows, rng.normal(size=(2, C)).astype(np.float32))
        cells.update(AdaGrad(0.3), [change], late=late)
        array.update(RowByRow(0.3), [change], late=late)
        assert isinstance(cells.summands(AdaGrad(0.3)), CellTable) == (i < by_rows_from)
        if i % 3 == 0:
            for averaged in (False, True):
                found, wanted = (one.finished_cells(averaged=averaged) for one in (cells, array))
                assert found.cells.tolist() == wanted.cells.tolist() and found.values.tolist() == wanted.values.tolist()
                assert cells.finished_summands(averaged=averaged) is cells.finished_summands(averaged=averaged)
                assert np.array_equal(cells.finished(averaged=averaged), array.finished(averaged=averaged))
    assert cells.values.tolist() == array.values.tolist() and cells.average().tolist() == array.average().tolist()


def test_gradients_of_cells_add_up():
    cells = Parameter("w", np.zeros((R, C), np.float32), many_columns=C)
    cells.summands(AdaGrad(0.5))
    parts = [CellGradient(np.array([4, 9]), np.ones(2)), CellGradient(np.array([4]), np.array([-1.0]))]
    cells.update(AdaGrad(0.5), parts)
    cells.update(AdaGrad(0.5), [])
    assert cells.n_updates == 2 and np.flatnonzero(cells.values).tolist() == [9]
    with pytest.raises(ValueError, match=r"\[HS041\]"):
        cells.update(AdaGrad(0.5), [CellGradient(np.array([4]), np.array([np.nan]))])


def test_arrays_stay_arrays():
    """With few columns, by rules that need whole rows, and after updates of rows."""
    few, rows = (Parameter("w", np.zeros((3, C), np.float32), many_columns=n) for n in (C + 1, C))
    assert few.summands(AdaGrad()) is few.values
    for rule in (Additive(), AdaGrad(l1=0.1), None):
        assert rows.summands(rule) is rows.values
    rows.update(AdaGrad(), [(np.array([1]), np.ones((1, C), np.float32))])
    assert rows.summands(AdaGrad()) is rows.values


def test_loaded_cells_are_finished_as_they_were_read():
    used = UsedCells((R, C), np.array([5, 900]), np.array([1 / 3, 2.0], np.float32))
    parameter = Parameter("w", used, resumed=True)
    assert parameter.finished_summands(averaged=True) is used
    assert parameter.finished(averaged=True)[0, 5] == np.float32(1 / 3)
    assert parameter.finished_rows(averaged=True).rows.tolist() == [0, 6]
