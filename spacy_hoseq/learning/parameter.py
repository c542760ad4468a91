"""One array of weights that learns: sparse updates, exact lazy averaging, projection to >= 0."""

from typing import Any, Dict, Optional, Protocol, Tuple, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import Errors

Floats = NDArray[np.floating]
Rows = NDArray[np.integer]


@runtime_checkable
class UpdateRule(Protocol):
    """What to do with a gradient. `memory` is what the rule keeps for each weight (nothing, squared gradients, ...)."""

    def start(self, shape: Tuple[int, ...], dtype: "np.dtype[np.floating]", *, resumed: bool = False) -> Floats: ...

    def step(self, weights: Floats, gradient: Floats, memory: Floats) -> Tuple[Floats, Floats]: ...


class Parameter:
    """Weights w (R, C), changed row by row, with the mean of all their values over time.

    After updates 1..T the average is (1/T) sum_i w_i, w_i = the weights after update i. A change d made by update i
    is part of w_i, ..., w_T, so with the sums u <- u + (i - 1) d the average is w - u / T: no update touches a row
    that has not changed (Daume 2006, section 2.2.1; Collins 2002). The change put into the sums is the one APPLIED,
    after projection:
    with the change before projection, w - u / T would be larger than the mean of the iterates.

    name (str): for messages. values (R, C) or (R,): starting weights.
    nonnegative (bool): project onto w >= 0 after every step (Qian & Liu, "Experiments").
    resumed (bool): the weights were learnt before, and the rule's memory is gone.
    """

    def __init__(self, name: str, values: Floats, *, nonnegative: bool = False, resumed: bool = False) -> None:
        self.name, self.values, self.nonnegative, self.resumed = name, values, nonnegative, resumed
        self.n_updates = 0
        self._sums: Optional[Floats] = None
        self._memory: Optional[Floats] = None
        self._finished: Dict[bool, Floats] = {}

    def update(self, rule: UpdateRule, gradients: "list[Tuple[Rows, Floats]]") -> None:
        """One update. gradients: (rows (n,), gradient (n, C)) pairs, rows distinct within a pair; pairs add up.

        An update without gradients still counts for the average. RAISES ValueError [HS041]: NaN or infinite gradient.
        """
        if self._sums is None or self._memory is None:
            self._sums = np.zeros_like(self.values)
            self._memory = rule.start(self.values.shape, self.values.dtype, resumed=self.resumed)
        self._finished = {}
        rows, gradient = merge_gradients(gradients, self.values)
        if not np.isfinite(gradient).all():
            raise ValueError(Errors.HS041.format(name=self.name, n=(~np.isfinite(gradient)).sum()))
        old = self.values[rows]
        new, self._memory[rows] = rule.step(old, gradient, self._memory[rows])
        if self.nonnegative:
            new = np.maximum(new, 0)
        new = new.astype(self.values.dtype)
        self._sums[rows] += self.n_updates * (new - old)
        self.values[rows] = new
        self.n_updates += 1

    def average(self) -> Floats:
        """Mean of the weights over all updates; the weights themselves before the first."""
        if self._sums is None or self.n_updates == 0:
            return self.values
        mean: Floats = self.values - self._sums / self.n_updates
        return np.maximum(mean, 0) if self.nonnegative else mean  # rounding may leave -1e-9

    def finished(self, *, averaged: bool) -> Floats:
        """What predicts and is saved: the average or the last weights, rounded to what half precision can hold; loaded
        weights as they were read.

        Read-only, and the same array until the next update, so that things may be made from it and kept beside it.
        """
        if averaged not in self._finished and self.resumed and not self.n_updates:
            self._finished[averaged] = self.values.view()
            self._finished[averaged].setflags(write=False)
        if averaged not in self._finished:
            weights = self.average() if averaged else self.values
            rounded = to_storage(weights).astype(self.values.dtype)
            rounded.setflags(write=False)
            self._finished[averaged] = rounded
        return self._finished[averaged]


def to_storage(weights: Floats) -> NDArray[Any]:
    """Half precision (11 bits) where the weights fit, else single. Idempotent, so saving again changes nothing."""
    fits = np.abs(weights).max(initial=0) < np.finfo(np.float16).max
    return weights.astype(np.float16 if fits else np.float32)


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
