"""One array of weights that learns: sparse updates, exact lazy averaging, projection to >= 0."""

from collections.abc import Sequence
from typing import Protocol, cast, runtime_checkable

import numpy as np

from ..arrays import AnyFloats, AnyInts, Mask
from ..errors import Errors
from .adagrad import Averaging
from .gradients import CellGradient, Gradient, RowGradient, summed
from .used_rows import UsedRows, are_used, to_storage

WEIGHTS_PER_STEP = 1 << 22  # updated together, so that what a step makes of them fits in memory
ROWS_PER_ROUNDING = 1024  # averaged and rounded together: they stay in the processor's cache


@runtime_checkable
class UpdateRule(Protocol):
    """Rule of an update. `memory` is what the rule keeps for each weight (nothing, squared
    gradients, ...), row by row, made by `start` at the first update. `average` says which mean of
    the weights predicts.

    A rule is sparse if, where the gradient is 0, `step` changes neither weight nor memory, of which
    there is a number for each weight. Then an update looks at the other weights only. A rule is
    dense if `step` changes weights, other than 0, whose gradient is 0. Then an update looks at all
    of them.
    """

    average: Averaging
    is_sparse: bool
    is_dense: bool

    def start(
        self, shape: tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False
    ) -> AnyFloats: ...

    def step(
        self, weights: AnyFloats, gradient: AnyFloats, memory: AnyFloats
    ) -> tuple[AnyFloats, AnyFloats]: ...


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

    name (str): for messages.
    values (R, C) or (R,): starting weights; rows in use become an array when something asks for it,
        as learning does.
    nonnegative (bool): project onto w >= 0 after every step (Qian & Liu, "Experiments").
    resumed (bool): the weights were learnt before, and the rule's memory is gone.
    """

    def __init__(
        self,
        name: str,
        values: AnyFloats | UsedRows,
        *,
        nonnegative: bool = False,
        resumed: bool = False,
    ) -> None:
        self.name = name
        self.shape = values.shape
        self.nonnegative = nonnegative
        self.resumed = resumed
        self.n_updates = 0
        self._weight = 0  # C_T
        self._factor = 1.0  # of what predicts and is saved
        self._start: UsedRows | None = None  # the weights, until an array of all is asked for
        self._values: AnyFloats | None = None
        self._used: Mask = np.ones(self.shape[0], bool)  # rows that may hold a weight
        if isinstance(values, UsedRows):
            self._start = values
            self._used[:] = False
            self._used[values.rows] = True
        else:
            self._values = values
        self._sums: AnyFloats = np.zeros(0)
        self._memory: AnyFloats | None = None
        self._is_averaged = True
        self._finished: AnyFloats | None = None
        self._finished_rows: UsedRows | None = None

    @property
    def values(self) -> AnyFloats:
        """RETURNS (R, C) or (R,)."""
        values = self._values
        if values is None and self._start is not None:
            values = self._values = self._start.dense()
        return cast(AnyFloats, values)

    @property
    def is_as_read(self) -> bool:
        """RETURNS whether the weights are those that were loaded, rounded already."""
        return self.resumed and not self.n_updates and self._factor == 1

    def update(self, rule: UpdateRule, gradients: Sequence[Gradient]) -> None:
        """One update. gradients: add up.

        An update without gradients still counts for the average. RAISES ValueError [HS020]: NaN or
        infinite gradient.
        """
        if self._memory is None:
            self._begin(rule)
        change = summed(gradients, self.values, by_cells=rule.is_sparse)
        self._step(rule, self._of_used_rows(*change) if rule.is_dense else change)
        self._forget_finished()
        self._is_averaged = bool(rule.average)
        self.n_updates += 1
        weight = 1  # c_i
        if rule.average == "late":
            i = self.n_updates
            weight = i * (i + 1) * (i + 2)
        self._weight += weight

    def _begin(self, rule: UpdateRule) -> None:
        """Make the arrays that learning needs. Zeros take no memory until they are written on."""
        self._values = np.ascontiguousarray(self.values)
        if self._start is None:
            self._used = are_used(self._values)
        self._start = None
        self._sums = np.zeros(self.shape, self._values.dtype)
        self._memory = rule.start(self.shape, self._values.dtype, resumed=self.resumed)

    def _step(self, rule: UpdateRule, change: Gradient) -> None:
        index, gradient = change
        if not np.isfinite(gradient).all():
            n = (~np.isfinite(gradient)).sum()
            raise ValueError(
                Errors.HS020.format(name=f"gradient of {self.name}", n=n, size=gradient.size)
            )
        arrays = [self.values, self._sums, cast(AnyFloats, self._memory)]
        if isinstance(change, CellGradient):
            self._used[index // self.values[:1].size] = True
            arrays = [array.reshape(-1) for array in arrays]  # views
        else:
            self._used[index] = True
        values, sums, memory = arrays
        n_together = max(1, WEIGHTS_PER_STEP // max(1, gradient[:1].size))
        for first in range(0, len(index), n_together):
            part = slice(first, first + n_together)
            at = index[part]
            old = values[at]
            new, memory[at] = rule.step(old, gradient[part], memory[at])
            if self.nonnegative:
                new = np.maximum(new, 0)
            new = new.astype(old.dtype)
            # the change that was applied, after projection: the average needs this one
            sums[at] += float(self._weight) * (new - old)
            values[at] = new

    def _of_used_rows(self, rows: AnyInts, gradient: AnyFloats) -> RowGradient:
        """The same gradient with 0 for all other rows that may hold a weight."""
        self._used[rows] = True
        used = np.flatnonzero(self._used)
        every: AnyFloats = np.zeros((len(used), *self.shape[1:]), gradient.dtype)
        every[np.searchsorted(used, rows)] = gradient
        return used, every

    def scale(self, factor: float) -> None:
        """Multiply what predicts and is saved, from now on; what is being learnt stays as it is."""
        self._factor *= factor
        self._forget_finished()

    def _forget_finished(self) -> None:
        self._finished = None
        self._finished_rows = None

    def __getstate__(self) -> dict[str, object]:
        """Without what is made of the weights, which a copy makes again."""
        values = self._values if self._start is None else None
        return {**self.__dict__, "_values": values, "_finished": None, "_finished_rows": None}

    def average(self, rows: AnyInts | slice = slice(None)) -> AnyFloats:
        """Mean of the weights over all updates; the weights themselves before the first."""
        values: AnyFloats = self.values[rows]
        if not self.n_updates:
            return values
        mean: AnyFloats = values - self._sums[rows] / float(self._weight)
        return np.maximum(mean, 0) if self.nonnegative else mean  # rounding may leave -1e-9

    def finished(self) -> AnyFloats:
        """Weights that predict and are saved: the average or the last weights, rounded to what half
        precision can hold; loaded weights as they were read.

        Read-only, and the same array until the next update, so that things may be made from it and
        kept beside it.
        """
        finished = self._finished
        if finished is None:
            self._finished = finished = self.finished_rows().dense()
            finished.setflags(write=False)
        return finished

    def finished_rows(self) -> UsedRows:
        """The same, less rows that are zero."""
        rows = self._finished_rows
        if rows is None:
            rows = self._start
            if not self.is_as_read:
                rows = self._rounded()
            elif rows is None:
                rows = UsedRows.of(self.values)
            self._finished_rows = rows
        return rows

    def _rounded(self) -> UsedRows:
        rows = np.flatnonzero(self._used)
        used = []
        n_used = 0
        # (rows that stay zero take no memory)
        table = np.zeros((len(rows) + 1, *self.shape[1:]), self.values.dtype)
        for first in range(0, len(rows), ROWS_PER_ROUNDING):
            block_rows = rows[first : first + ROWS_PER_ROUNDING]
            values = self.values[block_rows]
            if self._is_averaged:
                values = self.average(block_rows)
            flat = self._factor * values.reshape(-1)
            cells = np.flatnonzero(flat != 0)  # (converting numbers takes longer than all else)
            flat[cells] = to_storage(flat[cells])
            values = flat.reshape(values.shape)
            is_used = are_used(values)
            used.append(block_rows[is_used])
            table[n_used : n_used + len(used[-1])] = values[is_used]
            n_used += len(used[-1])
        return UsedRows(self.shape, np.concatenate([rows[:0], *used]), table[: n_used + 1])
