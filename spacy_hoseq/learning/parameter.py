"""One array of weights that learns: sparse updates, exact lazy averaging, projection to >= 0."""

from typing import Any, Dict, NamedTuple, Optional, Protocol, Sequence, Tuple, Union, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..arrays import AnyFloats, AnyInts, Ints, Mask
from ..errors import Errors
from .gradients import CellGradient, Gradient, summed
from .sparse_state import TouchedCells, TouchedRows

BLOCK_ROWS = 1024  # averaged and rounded together: they stay in the processor's cache


@runtime_checkable
class UpdateRule(Protocol):
    """What to do with a gradient. `memory` is what the rule keeps for each weight (nothing, squared gradients, ...),
    row by row: `start` makes it for some rows (shape[0] of them) when an update touches them first.

    A rule may say `is_sparse` (bool): where the gradient is 0, `step` changes neither weight nor memory, of which there
    is a number for each weight. Then an update looks at the other weights only.
    """

    def start(self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False) -> AnyFloats: ...

    def step(self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats) -> Tuple[AnyFloats, AnyFloats]: ...


class UsedRows(NamedTuple):
    """An array (R, C) or (R,) of which most rows are zero. shape: of all. rows (U,): ascending; all others are zero.
    values (U, C) or (U,). room (U + 1, ...): the array of which they are the first rows, if its last one is zero."""

    shape: Tuple[int, ...]
    rows: Ints
    values: AnyFloats
    room: Optional[AnyFloats] = None

    def dense(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        every = np.zeros(self.shape, self.values.dtype)
        every[self.rows] = self.values
        return every

    def ended(self) -> AnyFloats:
        """The values, and a row of zeros. RETURNS (U + 1, C) or (U + 1,)."""
        if self.room is not None:
            return self.room
        return np.concatenate([self.values, np.zeros((1, *self.shape[1:]), self.values.dtype)])

    def cells(self) -> "UsedCells":
        n_columns = max(1, int(np.prod(self.shape[1:])))
        nonzero = np.flatnonzero(self.values != 0)
        row, column = np.divmod(nonzero, n_columns)
        return UsedCells(self.shape, self.rows.take(row) * n_columns + column, self.values.reshape(-1).take(nonzero))


class UsedCells(NamedTuple):
    """An array (R, C) or (R,), shape, of which most cells are zero. cells (n,): of the flat array, ascending; all
    others are zero. values (n,): not zero."""

    shape: Tuple[int, ...]
    cells: Ints
    values: AnyFloats

    def rows(self) -> UsedRows:
        n_columns = int(np.prod(self.shape[1:]))
        row, column = np.divmod(self.cells, max(1, n_columns))
        begins = np.diff(row, prepend=-1) != 0
        used = row[begins]
        room = np.zeros((len(used) + 1, *self.shape[1:]), self.values.dtype)
        room.reshape(-1)[(np.cumsum(begins) - 1) * n_columns + column] = self.values
        return UsedRows(self.shape, used, room[:-1], room)


class Parameter:
    """Weights w (R, C), changed row by row, with the mean of all their values over time.

    Let update i weigh c_i, and C_i = c_1 + ... + c_i. After updates 1..T the average is (1/C_T) sum_i c_i w_i, w_i =
    the weights after update i. A change d made by update i is part of w_i, ..., w_T, which weigh C_T - C_{i-1}; so with
    the sums u <- u + C_{i-1} d the average is w - u / C_T: no update touches a row that has not changed (Daume 2006,
    section 2.2.1; Collins 2002). The change put into the sums is the one APPLIED, after projection: with the change
    before projection, w - u / C_T would be larger than the mean of the iterates.

    Plain means have c_i = 1. "Late" ones have c_i = i (i + 1) (i + 2), so that C_i = i (i + 1) (i + 2) (i + 3) / 4 and
    m_i = (1 - 4 / (i + 3)) m_{i-1} + 4 / (i + 3) w_i: the polynomial-decay averaging (eta = 3) of Shamir & Zhang (2013,
    section 4), in which the first iterates are soon forgotten.

    name (str): for messages. values (R, C) or (R,): starting weights, those that were loaded as the rows in use: an
    array of all is made when something asks for it, as learning does and prediction with sparse features does not.
    nonnegative (bool): project onto w >= 0 after every step (Qian & Liu, "Experiments").
    resumed (bool): the weights were learnt before, and the rule's memory is gone. block_rows (int): rows that are
    averaged and rounded together.
    """

    def __init__(
        self,
        name: str,
        values: Union[AnyFloats, UsedRows],
        *,
        nonnegative: bool = False,
        resumed: bool = False,
        block_rows: int = BLOCK_ROWS,
    ) -> None:
        self.name, self.nonnegative, self.resumed = name, nonnegative, resumed
        self._block_rows = block_rows
        self._loaded = values if isinstance(values, UsedRows) else None
        self._values = None if isinstance(values, UsedRows) else values
        self.shape = values.shape
        self.n_updates = 0
        self._weight = 0  # C_T
        self._used: Mask = np.ones(self.shape[0], bool)  # rows that may hold a weight
        self._cells: Optional[TouchedCells] = None  # those that may, as long as all updates were of cells
        self._touched: Optional[TouchedRows] = None
        self._finished: Dict[bool, AnyFloats] = {}
        self._finished_rows: Dict[bool, UsedRows] = {}
        self._finished_cells: Dict[bool, UsedCells] = {}

    @property
    def values(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        loaded = self._loaded  # (which another thread may be taking, too)
        if loaded is not None:
            self._values, self._loaded = loaded.dense(), None
        return self._values  # type: ignore[return-value]  # one of both is there

    @values.setter
    def values(self, values: AnyFloats) -> None:
        self._values, self._loaded = values, None
        self._used, self._cells = np.ones(self.shape[0], bool), None
        self._finished, self._finished_rows, self._finished_cells = {}, {}, {}

    def update(self, rule: UpdateRule, gradients: Sequence[Gradient], *, late: bool = False) -> None:
        """One update. gradients: add up. late (bool): how much it weighs in the average.

        An update without gradients still counts for the average. RAISES ValueError [HS041]: NaN or infinite gradient.
        """
        if self._touched is None:
            self._touched = self._begin(rule)
        touched = self._touched
        self._finished, self._finished_rows, self._finished_cells = {}, {}, {}
        change = summed(gradients, self.values, by_cells=getattr(rule, "is_sparse", False))
        at, gradient = change
        if not np.isfinite(gradient).all():
            raise ValueError(Errors.HS041.format(name=self.name, n=(~np.isfinite(gradient)).sum()))
        values, sums, memory = self.values, touched.sums, touched.memory
        if isinstance(change, CellGradient):
            row, column = np.divmod(change.cells, max(1, self.n_columns))
            place = touched.touch(row) * self.n_columns + column
            values, sums, memory = (array.reshape(-1) for array in (values, sums, memory))  # views
        else:
            row, place = np.asarray(at, np.intp), touched.touch(at)
            self._cells = None if len(at) else self._cells
        self._used[row] = True
        old, old_sums = values[at], sums[place]
        new, memory[place] = rule.step(old, gradient, memory[place])
        if self.nonnegative:
            new = np.maximum(new, 0)
        new = new.astype(values.dtype)
        if self._cells is not None and isinstance(change, CellGradient):
            self._cells.add(at[(old == 0) & (old_sums == 0) & (new != 0)])
        sums[place] = old_sums + float(self._weight) * (new - old)
        values[at] = new
        self.n_updates += 1
        self._weight += self.n_updates * (self.n_updates + 1) * (self.n_updates + 2) if late else 1

    def _begin(self, rule: UpdateRule) -> TouchedRows:
        loaded = self._loaded
        self.values = np.ascontiguousarray(self.values)
        if loaded is None:
            self._used = np.asarray(self.values.any(axis=tuple(range(1, self.values.ndim))))
            begun = np.flatnonzero(self.values)
        else:  # (all others are 0, and need not be looked at)
            self._used = np.zeros(self.shape[0], bool)
            self._used[loaded.rows] = True
            begun = loaded.cells().cells
        self._cells = TouchedCells(begun)
        return TouchedRows(self.values.shape, self.values.dtype, rule.start, resumed=self.resumed)

    @property
    def n_columns(self) -> int:
        """Weights of a row."""
        return int(np.prod(self.shape[1:]))

    def average(self) -> AnyFloats:
        """Mean of the weights over all updates; the weights themselves before the first."""
        return self._mean_of_rows(np.arange(self.shape[0]))

    def _mean_of_rows(self, rows: AnyInts) -> AnyFloats:
        values: AnyFloats = self.values.take(rows, axis=0)
        return values if self._touched is None else self._mean(values, self._touched.sums_of_rows(rows))

    def _mean(self, values: AnyFloats, sums: AnyFloats) -> AnyFloats:
        """Of some weights."""
        if self.n_updates == 0:
            return values
        mean: AnyFloats = values - sums / float(self._weight)
        return np.maximum(mean, 0) if self.nonnegative else mean  # rounding may leave -1e-9

    def finished(self, *, averaged: bool) -> AnyFloats:
        """What predicts and is saved: the average or the last weights, rounded to what half precision can hold; loaded
        weights as they were read.

        Read-only, and the same array until the next update, so that things may be made from it and kept beside it.
        """
        if averaged not in self._finished:
            as_read = self.resumed and not self.n_updates
            finished = self.values.view() if as_read else self.finished_rows(averaged=averaged).dense()
            finished.setflags(write=False)
            self._finished[averaged] = finished
        return self._finished[averaged]

    def finished_rows(self, *, averaged: bool) -> UsedRows:
        """The same, less rows that are zero."""
        if averaged not in self._finished_rows:
            used = self._loaded
            if used is None and self._cells is not None:
                used = self.finished_cells(averaged=averaged).rows()
            self._finished_rows[averaged] = self._rounded_rows(averaged) if used is None else used
        return self._finished_rows[averaged]

    def finished_cells(self, *, averaged: bool) -> UsedCells:
        """The same, less cells that are zero."""
        if averaged not in self._finished_cells:
            touched = self._cells
            if touched is None:
                used = self.finished_rows(averaged=averaged).cells()
            else:
                used = self._rounded_cells(touched.all(), averaged)
            self._finished_cells[averaged] = used
        return self._finished_cells[averaged]

    def _rounded_rows(self, averaged: bool) -> UsedRows:
        as_read = self.resumed and not self.n_updates
        used = np.flatnonzero(self._used)
        rounded = np.empty((len(used), *self.shape[1:]), self.values.dtype)
        is_left = np.zeros(len(used), bool)
        for start in range(0, len(used), self._block_rows):
            rows = used[start : start + self._block_rows]
            block = rounded[start : start + self._block_rows]
            block[...] = self._mean_of_rows(rows) if averaged else self.values.take(rows, axis=0)
            cells = np.flatnonzero(block != 0)  # converting numbers takes longer than all else here
            if not as_read:
                block.reshape(-1)[cells] = to_storage(block.reshape(-1).take(cells))
                cells = cells[block.reshape(-1).take(cells) != 0]
            is_left[start + cells // max(1, self.n_columns)] = True
        left = np.flatnonzero(is_left)
        whole = len(left) == len(used)
        return UsedRows(self.shape, used if whole else used[left], rounded if whole else rounded[left])

    def _rounded_cells(self, cells: Ints, averaged: bool) -> UsedCells:
        """Of weights that all lie in some cells, which are few. cells (n,): distinct, ascending."""
        values = self.values.reshape(-1).take(cells)
        if averaged and self._touched is not None:
            values = self._mean(values, self._touched.sums_of(*np.divmod(cells, max(1, self.n_columns))))
        rounded = to_storage(values)
        left = np.flatnonzero(rounded != 0)
        return UsedCells(self.shape, cells.take(left), rounded.take(left).astype(self.values.dtype))


def to_storage(weights: AnyFloats) -> NDArray[Any]:
    """Half precision (11 bits) where the weights fit, else single. Idempotent, so saving again changes nothing."""
    fits = np.abs(weights).max(initial=0) < np.finfo(np.float16).max
    return weights.astype(np.float16 if fits else np.float32)
