"""One array of weights that learns: sparse updates, exact lazy averaging, projection to >= 0."""

from typing import Any, Dict, NamedTuple, Optional, Protocol, Tuple, Union, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors

BLOCK_ROWS = 1024  # averaged and rounded together: they stay in the processor's cache
FEW_CELLS = 4  # a gradient is applied cell by cell if at most one cell in so many is not 0, else row by row

Floats = NDArray[np.floating]
Rows = NDArray[np.integer]


@runtime_checkable
class UpdateRule(Protocol):
    """What to do with a gradient. `memory` is what the rule keeps for each weight (nothing, squared gradients, ...).

    A rule may say `is_sparse` (bool): where the gradient is 0, `step` changes neither weight nor memory, of which there
    is a number for each weight. Then an update looks at the other weights only.
    """

    def start(self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False) -> Floats: ...

    def step(self, weights: Floats, gradient: Floats, memory: Floats) -> Tuple[Floats, Floats]: ...


class UsedRows(NamedTuple):
    """An array (R, C) or (R,) of which most rows are zero. shape: of all. rows (U,): ascending; all others are zero.
    values (U, C) or (U,)."""

    shape: Tuple[int, ...]
    rows: NDArray[np.intp]
    values: Floats

    def dense(self) -> Floats:
        """RETURNS (R, C) or (R,)."""
        every = np.zeros(self.shape, self.values.dtype)
        every[self.rows] = self.values
        return every


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
    resumed (bool): the weights were learnt before, and the rule's memory is gone.
    """

    def __init__(
        self, name: str, values: Union[Floats, UsedRows], *, nonnegative: bool = False, resumed: bool = False
    ) -> None:
        self.name, self.nonnegative, self.resumed = name, nonnegative, resumed
        self._loaded = values if isinstance(values, UsedRows) else None
        self._values = None if isinstance(values, UsedRows) else values
        self.shape = values.shape
        self.n_updates = 0
        self._weight = 0  # C_T
        self._used: NDArray[np.bool_] = np.ones(self.shape[0], bool)  # rows that may hold a weight
        self._sums: Optional[Floats] = None
        self._memory: Optional[Floats] = None
        self._finished: Dict[bool, Floats] = {}
        self._finished_rows: Dict[bool, UsedRows] = {}

    @property
    def values(self) -> Floats:
        """RETURNS (R, C) or (R,)."""
        loaded = self._loaded  # (which another thread may be taking, too)
        if loaded is not None:
            self._values, self._loaded = loaded.dense(), None
        return self._values  # type: ignore[return-value]  # one of both is there

    @values.setter
    def values(self, values: Floats) -> None:
        self._values, self._loaded = values, None
        self._finished, self._finished_rows = {}, {}

    def update(self, rule: UpdateRule, gradients: "list[Tuple[Rows, Floats]]", *, late: bool = False) -> None:
        """One update. gradients: (rows (n,), gradient (n, C)) pairs, rows distinct within a pair; pairs add up.
        late (bool): how much it weighs in the average.

        An update without gradients still counts for the average. RAISES ValueError [HS041]: NaN or infinite gradient.
        """
        if self._sums is None or self._memory is None:
            self.values = np.ascontiguousarray(self.values)
            self._sums = np.zeros(self.values.shape, self.values.dtype)
            self._memory = rule.start(self.values.shape, self.values.dtype, resumed=self.resumed)
            self._used = np.asarray(self.values.any(axis=tuple(range(1, self.values.ndim))))
        self._finished, self._finished_rows = {}, {}
        rows, gradient = merge_gradients(gradients, self.values)
        if not np.isfinite(gradient).all():
            raise ValueError(Errors.HS041.format(name=self.name, n=(~np.isfinite(gradient)).sum()))
        self._used[rows] = True
        values, sums, memory, at = self.values, self._sums, self._memory, rows
        if getattr(rule, "is_sparse", False) and FEW_CELLS * np.count_nonzero(gradient) <= gradient.size:
            at, gradient = _cells(rows, gradient)
            values, sums, memory = (array.reshape(-1) for array in (values, sums, memory))  # views
        old = values[at]
        new, memory[at] = rule.step(old, gradient, memory[at])
        if self.nonnegative:
            new = np.maximum(new, 0)
        new = new.astype(values.dtype)
        sums[at] += float(self._weight) * (new - old)
        values[at] = new
        self.n_updates += 1
        self._weight += self.n_updates * (self.n_updates + 1) * (self.n_updates + 2) if late else 1

    def average(self, rows: Optional[Rows] = None) -> Floats:
        """Mean of the weights over all updates; the weights themselves before the first. rows (n,): None = all."""
        values = self.values if rows is None else self.values.take(rows, axis=0)
        if self._sums is None or self.n_updates == 0:
            return values
        sums = self._sums if rows is None else self._sums.take(rows, axis=0)
        mean: Floats = values - sums / float(self._weight)
        return np.maximum(mean, 0) if self.nonnegative else mean  # rounding may leave -1e-9

    def finished(self, *, averaged: bool) -> Floats:
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
            loaded = self._loaded
            self._finished_rows[averaged] = self._rounded(averaged) if loaded is None else loaded
        return self._finished_rows[averaged]

    def _rounded(self, averaged: bool) -> UsedRows:
        """Most weights of a row are zero, and converting numbers takes longer than all else here."""
        as_read = self.resumed and not self.n_updates
        used = np.flatnonzero(self._used)
        rounded = np.empty((len(used), *self.shape[1:]), self.values.dtype)
        is_left = np.zeros(len(used), bool)
        for start in range(0, len(used), BLOCK_ROWS):
            rows = used[start : start + BLOCK_ROWS]
            block = rounded[start : start + BLOCK_ROWS]
            block[...] = self.average(rows) if averaged else self.values.take(rows, axis=0)
            cells = np.flatnonzero(block != 0)
            if not as_read:
                block.reshape(-1)[cells] = to_storage(block.reshape(-1).take(cells))
                cells = cells[block.reshape(-1).take(cells) != 0]
            is_left[start + cells // int(np.prod(self.shape[1:]))] = True
        left = np.flatnonzero(is_left)
        whole = len(left) == len(used)
        return UsedRows(self.shape, used if whole else used[left], rounded if whole else rounded[left])


def to_storage(weights: Floats) -> NDArray[Any]:
    """Half precision (11 bits) where the weights fit, else single. Idempotent, so saving again changes nothing."""
    fits = np.abs(weights).max(initial=0) < np.finfo(np.float16).max
    return weights.astype(np.float16 if fits else np.float32)


def _cells(rows: Rows, gradient: Floats) -> Tuple[Rows, Floats]:
    """Where a gradient is not 0, as indices into the flat array of weights, and what it is there."""
    n_columns = int(np.prod(gradient.shape[1:]))
    found = np.flatnonzero(gradient != 0)
    row, column = np.divmod(found, max(1, n_columns))
    return rows.astype(np.intp).take(row) * n_columns + column, gradient.reshape(-1).take(found)


def merge_gradients(gradients: "list[Tuple[Rows, Floats]]", values: Floats) -> Tuple[Rows, Floats]:
    """The sum of gradients of some rows each. RETURNS distinct rows, their gradient; none are of the type of values."""
    if not gradients:
        return np.zeros(0, np.intp), np.zeros((0, *values.shape[1:]), values.dtype)
    if len(gradients) == 1:
        return gradients[0]
    rows = np.concatenate([r for r, _ in gradients])
    stacked = np.concatenate([g for _, g in gradients])
    order = np.argsort(rows, kind="stable")
    unique, starts = np.unique(rows[order], return_index=True)
    merged: Floats = np.add.reduceat(stacked[order], starts, axis=0)
    return unique, merged
