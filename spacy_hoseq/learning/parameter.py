"""One array of weights that learns: sparse updates, exact lazy averaging, projection to >= 0."""

from typing import Dict, Optional, Protocol, Sequence, Tuple, Union, runtime_checkable

import numpy as np

from ..arrays import AnyFloats, AnyInts, Ints, Mask
from ..errors import Errors
from .cell_table import CellTable
from .gradients import CellGradient, Gradient, RowGradient, added_cells, summed
from .sparse_state import TouchedCells, TouchedRows
from .used_weights import MANY_COLUMNS, Used, UsedCells, UsedRows, to_storage

BLOCK_ROWS = 1024  # averaged and rounded together: they stay in the processor's cache
BLOCK = 1 << 22  # weights that are updated together


@runtime_checkable
class UpdateRule(Protocol):
    """What to do with a gradient. `memory` is what the rule keeps for each weight (nothing, squared
    gradients, ...), row by row: `start` makes it for some rows (shape[0] of them) when an update
    touches them first.

    A rule may say `is_sparse` (bool): where the gradient is 0, `step` changes neither weight nor
    memory, of which there is a number for each weight. Then an update looks at the other weights
    only.
    """

    def start(
        self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats: ...

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> Tuple[AnyFloats, AnyFloats]: ...


class Parameter:
    """Weights w (R, C), changed row by row, with the mean of all their values over time.

    Let update i weigh c_i, and C_i = c_1 + ... + c_i. After updates 1..T the average is (1/C_T)
    sum_i c_i w_i, w_i = the weights after update i. A change d made by update i is part of w_i,
    ..., w_T, which weigh C_T - C_{i-1}; so with the sums u <- u + C_{i-1} d the average is w - u /
    C_T: no update touches a row that has not changed (Daume 2006, section 2.2.1; Collins 2002). The
    change put into the sums is the one APPLIED, after projection: with the change before
    projection, w - u / C_T would be larger than the mean of the iterates.

    Plain means have c_i = 1. "Late" ones have c_i = i (i + 1) (i + 2), so that C_i = i (i + 1) (i +
    2) (i + 3) / 4 and m_i = (1 - 4 / (i + 3)) m_{i-1} + 4 / (i + 3) w_i: the polynomial-decay
    averaging (eta = 3) of Shamir & Zhang (2013, section 4), in which the first iterates are soon
    forgotten.

    name (str): for messages. values (R, C) or (R,): starting weights, those that were loaded as the
        rows or cells in
    use: an array of all is made when something asks for it, as learning does and prediction with
    sparse features does not. A layer that learns by `summands` needs no such array for many
    columns.
    nonnegative (bool): project onto w >= 0 after every step (Qian & Liu, "Experiments").
    resumed (bool): the weights were learnt before, and the rule's memory is gone. block_rows (int):
    rows that are averaged and rounded together. many_columns (int): from which on `summands` are
    cells.
    """

    def __init__(
        self,
        name: str,
        values: Union[AnyFloats, Used],
        *,
        nonnegative: bool = False,
        resumed: bool = False,
        block_rows: int = BLOCK_ROWS,
        many_columns: int = MANY_COLUMNS,
    ) -> None:
        self.name = name
        self.nonnegative = nonnegative
        self.resumed = resumed
        self._block_rows = block_rows
        self._many_columns = many_columns
        is_loaded = isinstance(values, (UsedRows, UsedCells))
        self._loaded: Optional[Used] = values if is_loaded else None  # type: ignore[assignment]
        self._values = None if is_loaded else values
        self._table: Optional[CellTable] = (
            None  # weights, sums and the rule's memory, in place of arrays of them
        )
        self.shape = values.shape
        self.n_updates = 0
        self._factor = 1.0  # of what predicts and is saved
        self._weight = 0  # C_T
        self._used: Mask = np.ones(self.shape[0], bool)  # rows that may hold a weight
        self._cells: Optional[TouchedCells] = (
            None  # those that may, as long as all updates were of cells
        )
        self._touched: Optional[TouchedRows] = None
        self._finished: Dict[bool, AnyFloats] = {}
        self._finished_rows: Dict[bool, UsedRows] = {}
        self._finished_cells: Dict[bool, UsedCells] = {}

    @property
    def values(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        loaded = self._loaded  # (which another thread may be taking, too)
        if loaded is not None:
            self._values = loaded.dense()
            self._loaded = None
        table = self._table
        if table is not None:
            return self._cells_now(table).dense()
        return self._values  # type: ignore[return-value]  # one of both is there

    @values.setter
    def values(self, values: AnyFloats) -> None:
        self._values = values
        self._loaded = None
        self._table = None
        self._used = np.ones(self.shape[0], bool)
        self._cells = None
        self._forget_finished()

    def update(
        self, rule: UpdateRule, gradients: Sequence[Gradient], *, late: bool = False
    ) -> None:
        """One update. gradients: add up. late (bool): how much it weighs in the average.

        An update without gradients still counts for the average. RAISES ValueError [HS041]: NaN or
        infinite gradient.
        """
        if self._table is not None and all(
            isinstance(gradient, CellGradient) for gradient in gradients
        ):
            self._update_cells(rule, self._table, gradients)
        else:
            self._update_rows(rule, gradients)
        self._forget_finished()
        self.n_updates += 1
        self._weight += self.n_updates * (self.n_updates + 1) * (self.n_updates + 2) if late else 1

    def summands(self, rule: Optional[UpdateRule]) -> "Union[AnyFloats, CellTable]":
        """The weights as they are now, for layers that add up rows and whose gradients are of
        cells: those of many columns cell by cell, if the rule permits it."""
        begins = self._table is None and self._touched is None and len(self.shape) == 2
        if (
            begins
            and self.n_columns >= self._many_columns
            and rule is not None
            and getattr(rule, "is_sparse", False)
        ):
            used = self._loaded
            used = (
                UsedRows(self.shape, np.arange(self.shape[0]), self.values)
                if used is None
                else used
            )
            cells = used if isinstance(used, UsedCells) else used.cells()
            start = rule.start((1,), cells.values.dtype, resumed=self.resumed)
            self._table = CellTable.of(
                self.shape, cells.cells, cells.values, (0.0, 0.0, float(start[0]))
            )
            self._values = self._loaded = None
        return self.values if self._table is None else self._table

    def _update_cells(
        self, rule: UpdateRule, table: CellTable, gradients: Sequence[Gradient]
    ) -> None:
        if len(gradients) != 1:
            parts = [(np.zeros(0, np.intp), np.zeros(0, table.dtype)), *gradients]
            cells, of_cells = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
            gradients = [added_cells(cells, of_cells)]
        ((cells, gradient),) = gradients
        self._check(gradient)
        places = table.touch(np.asarray(cells, np.intp))
        values, sums, memory = table.fields
        values[places], sums[places], memory[places] = self._stepped(
            rule, gradient, *(numbers.take(places) for numbers in table.fields)
        )

    def _check(self, gradient: AnyFloats) -> None:
        if not np.isfinite(gradient).all():
            raise ValueError(Errors.HS041.format(name=self.name, n=(~np.isfinite(gradient)).sum()))

    def _stepped(
        self,
        rule: UpdateRule,
        gradient: AnyFloats,
        old: AnyFloats,
        sums: AnyFloats,
        memory: AnyFloats,
    ) -> Tuple[AnyFloats, AnyFloats, AnyFloats]:
        """Some weights after an update, their sums, the rule's memory."""
        new, memory = rule.step(old, gradient, memory)
        if self.nonnegative:
            new = np.maximum(new, 0)
        new = new.astype(old.dtype)
        return new, sums + float(self._weight) * (new - old), memory

    def _update_rows(self, rule: UpdateRule, gradients: Sequence[Gradient]) -> None:
        if self._touched is None:
            self._touched = self._begin(rule)
        change = summed(gradients, self.values, by_cells=getattr(rule, "is_sparse", False))
        self._check(change[1])
        if isinstance(change, CellGradient):
            self._step_cells(rule, self._touched, change)
        else:
            self._step_rows(rule, self._touched, change)

    def _step_cells(self, rule: UpdateRule, touched: TouchedRows, change: CellGradient) -> None:
        at, gradient = change
        row, column = np.divmod(at, max(1, self.n_columns))
        self._used[row] = True
        place = touched.touch(row) * self.n_columns + column
        arrays = (self.values, touched.sums, touched.memory)
        values, sums, memory = (array.reshape(-1) for array in arrays)  # views
        old = values[at]
        old_sums = sums[place]
        new, sums[place], memory[place] = self._stepped(
            rule, gradient, old, old_sums, memory[place]
        )
        if self._cells is not None:
            self._cells.add(at[(old == 0) & (old_sums == 0) & (new != 0)])
        values[at] = new

    def _step_rows(self, rule: UpdateRule, touched: TouchedRows, change: RowGradient) -> None:
        row = np.asarray(change[0], np.intp)
        place = touched.touch(row)
        self._cells = None if len(row) else self._cells
        self._used[row] = True
        n_rows = max(1, BLOCK // max(1, self.n_columns))
        for start in range(0, len(row), n_rows):  # of many labels all at once need much memory
            rows = row[start : start + n_rows]
            places = place[start : start + n_rows]
            some = change[1][start : start + n_rows]
            self.values[rows], touched.sums[places], touched.memory[places] = self._stepped(
                rule, some, self.values[rows], touched.sums[places], touched.memory[places]
            )

    def _begin(self, rule: UpdateRule) -> TouchedRows:
        loaded = self._loaded
        table = self._table
        self.values = np.ascontiguousarray(self.values)
        if loaded is None:
            self._used = np.asarray(self.values.any(axis=tuple(range(1, self.values.ndim))))
            begun = np.flatnonzero(self.values)
        else:  # (all others are 0, and need not be looked at)
            begun = (loaded if isinstance(loaded, UsedCells) else loaded.cells()).cells
            self._used = np.zeros(self.shape[0], bool)
            self._used[begun // max(1, self.n_columns)] = True
        self._cells = TouchedCells(begun)
        touched = TouchedRows(
            self.values.shape, self.values.dtype, rule.start, resumed=self.resumed
        )
        if table is not None:
            for cells, places in table.cells():
                touched.begin_at(cells, *(numbers.take(places) for numbers in table.fields[1:]))
                self._used[cells // self.n_columns] = True
                self._cells.add(cells)
        return touched

    def scale_finished(self, factor: float) -> None:
        """Multiply what predicts and is saved, from now on; what is being learnt stays as it is."""
        self._factor *= factor
        self._forget_finished()

    def _forget_finished(self) -> None:
        self._finished = {}
        self._finished_rows = {}
        self._finished_cells = {}

    def as_loaded(self) -> Optional[UsedCells]:
        """The weights that are not zero, if they were loaded and nothing was learnt since; else
        None."""
        learns = self.n_updates or self._touched is not None or self._table is not None
        if learns or not self.resumed:
            return None
        loaded = self._loaded
        if loaded is None:
            loaded = UsedRows(self.shape, np.arange(self.shape[0]), self.values)
        return loaded if isinstance(loaded, UsedCells) else loaded.cells()

    def __getstate__(self) -> Dict[str, object]:
        """What is made of the weights is made again in a copy."""
        return {**self.__dict__, "_finished": {}, "_finished_rows": {}, "_finished_cells": {}}

    @property
    def n_columns(self) -> int:
        """Weights of a row."""
        return int(np.prod(self.shape[1:]))

    def average(self) -> AnyFloats:
        """Mean of the weights over all updates; the weights themselves before the first."""
        if self._table is not None:
            return self._cells_now(self._table, averaged=True).dense()
        return self._mean_of_rows(np.arange(self.shape[0]))

    def _mean_of_rows(self, rows: AnyInts) -> AnyFloats:
        values: AnyFloats = self.values.take(rows, axis=0)
        return (
            values
            if self._touched is None
            else self._mean(values, self._touched.sums_of_rows(rows))
        )

    def _cells_now(self, table: CellTable, *, averaged: bool = False) -> UsedCells:
        """Weights or their means that are not 0."""
        parts = [(np.zeros(0, np.intp), np.zeros(0, table.dtype))]
        for cells, places in table.cells():
            values = table.fields[0].take(places)
            values = self._mean(values, table.fields[1].take(places)) if averaged else values
            used = np.flatnonzero(values)
            parts.append((cells.take(used), values.take(used).astype(table.dtype, copy=False)))
        return UsedCells(
            self.shape, *(np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        )

    def _mean(self, values: AnyFloats, sums: AnyFloats) -> AnyFloats:
        """Of some weights."""
        if self.n_updates == 0:
            return values
        mean: AnyFloats = values - sums / float(self._weight)
        return np.maximum(mean, 0) if self.nonnegative else mean  # rounding may leave -1e-9

    def finished(self, *, averaged: bool) -> AnyFloats:
        """What predicts and is saved: the average or the last weights, rounded to what half
        precision can hold; loaded weights as they were read.

        Read-only, and the same array until the next update, so that things may be made from it and
        kept beside it.
        """
        if averaged not in self._finished:
            as_read = self.resumed and not self.n_updates
            finished = (
                self.values.view() if as_read else self.finished_rows(averaged=averaged).dense()
            )
            finished.setflags(write=False)
            self._finished[averaged] = finished
        return self._finished[averaged]

    def finished_rows(self, *, averaged: bool) -> UsedRows:
        """The same, less rows that are zero."""
        if averaged not in self._finished_rows:
            used = self._loaded
            if isinstance(used, UsedCells) or (
                used is None and (self._cells or self._table) is not None
            ):
                used = self.finished_cells(averaged=averaged).rows()
            self._finished_rows[averaged] = self._rounded_rows(averaged) if used is None else used
        return self._finished_rows[averaged]

    def finished_cells(self, *, averaged: bool) -> UsedCells:
        """The same, less cells that are zero."""
        if averaged not in self._finished_cells:
            touched = self._cells
            table = self._table
            if isinstance(self._loaded, UsedCells):
                used = self._loaded
            elif table is not None:
                used = self._cells_now(table, averaged=averaged)
                if self.n_updates or not self.resumed:
                    used = used.scaled(self._factor).rounded()
            elif touched is None:
                used = self.finished_rows(averaged=averaged).cells()
            else:
                used = self._rounded_cells(touched.all(), averaged)
            self._finished_cells[averaged] = used
        return self._finished_cells[averaged]

    def finished_summands(self, *, averaged: bool) -> Used:
        """The same as cells if it was learnt or loaded as such, else as rows: the same object until
        the next update."""
        by_cells = self._table is not None or isinstance(self._loaded, UsedCells)
        return (
            self.finished_cells(averaged=averaged)
            if by_cells
            else self.finished_rows(averaged=averaged)
        )

    def _rounded_rows(self, averaged: bool) -> UsedRows:
        as_read = self.resumed and not self.n_updates
        used = np.flatnonzero(self._used)
        rounded = np.empty((len(used), *self.shape[1:]), self.values.dtype)
        is_left = np.zeros(len(used), bool)
        for start in range(0, len(used), self._block_rows):
            rows = used[start : start + self._block_rows]
            block = rounded[start : start + self._block_rows]
            block[...] = self._mean_of_rows(rows) if averaged else self.values.take(rows, axis=0)
            if self._factor != 1:
                block *= self._factor
            cells = np.flatnonzero(block != 0)  # converting numbers takes longer than all else here
            if not as_read:
                block.reshape(-1)[cells] = to_storage(block.reshape(-1).take(cells))
                cells = cells[block.reshape(-1).take(cells) != 0]
            is_left[start + cells // max(1, self.n_columns)] = True
        left = np.flatnonzero(is_left)
        whole = len(left) == len(used)
        return UsedRows(
            self.shape, used if whole else used[left], rounded if whole else rounded[left]
        )

    def _rounded_cells(self, cells: Ints, averaged: bool) -> UsedCells:
        """Of weights that all lie in some cells, which are few. cells (n,): distinct, ascending."""
        values = self.values.reshape(-1).take(cells)
        if averaged and self._touched is not None:
            values = self._mean(
                values, self._touched.sums_of(*np.divmod(cells, max(1, self.n_columns)))
            )
        return UsedCells(self.shape, cells, values).scaled(self._factor).rounded()
