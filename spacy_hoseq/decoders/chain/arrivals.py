"""One step of a chain in the max-plus semiring:

    arriving(y) = max_a (V(a) + trans[a, y])

Hard constraints forbid most pairs of labels: after an inner label of a kind there is only that
kind. Labels that the same labels may precede share a block of the table, and only what is permitted
is added up: the same sums, so the same result to the last bit.

Of many labels few can be the earlier one. With b the one of the largest V, a can be it for some y
only if

    V(a) + max_y (trans[a, y] - trans[b, y]) >= V(b)

The maxima are a table (A, A) of the weights alone. Only labels that pass are added up.

Checked against all pairs in tests/decoders/chain/test_arrivals.py.
"""

from copy import copy
from functools import cached_property
from typing import List, NamedTuple, Optional

import numpy as np

from ...arrays import Floats, Ints, Mask
from ..problem import TUNING, Tuning, Weights

FEW = 4  # labels before a label, up to which each label is looked at by itself
COLUMN_COST = 5  # of one column more, in labels
MANY_BLOCKS = 8  # from which on the calls cost more than what they save
LEAST_LABELS = 40  # from which on it pays to ask which labels can be the earlier one
POSSIBLE_COST = 6  # of adding up one of these, in labels that are added up in one go
TABLE_COST = 4  # of the maxima: of so many columns for each label
MANY_STEPS = 10  # before it is asked again, when most could
ROUNDED = 1e-9  # relative: more than sums in double precision are off


class Table:
    """trans (A, B), and turned (B, A): the same. It counts its columns; threads may share it."""

    def __init__(self, trans: Floats) -> None:
        self.trans = np.ascontiguousarray(trans)
        self.turned = np.ascontiguousarray(trans.T)
        self._n_columns = 0  # that have been asked for

    @cached_property
    def _ahead(self) -> Floats:
        """max_y (trans[a, y] - trans[b, y]) (A, A)."""
        ahead = np.empty((len(self.trans), len(self.trans)))
        with np.errstate(invalid="ignore"):
            for b, row in enumerate(self.trans):
                np.fmax.reduce(self.trans - row, axis=1, out=ahead[:, b], initial=-np.inf)
        np.fill_diagonal(ahead, 0.0)
        largest = float(np.abs(self.trans[self.trans > -np.inf]).max(initial=0.0))
        return ahead + ROUNDED * (1 + largest)

    def possible(self, v: Floats) -> Optional[Floats]:
        """`max_plus` by the labels that can be the earlier one; None if these are many, or too few
        columns have been asked for to make the table of maxima."""
        self._n_columns += v.shape[1]
        if len(self.trans) < LEAST_LABELS or self._n_columns < TABLE_COST * len(self.trans):
            return None
        columns = np.ascontiguousarray(v.T)  # (n, A)
        top = columns.argmax(axis=1)
        least = columns.max(axis=1)
        least -= ROUNDED * np.abs(least)
        with np.errstate(invalid="ignore"):
            reach = columns + self._ahead.T.take(top, axis=0)
        cells = np.flatnonzero(reach >= least[:, None])
        if len(cells) * POSSIBLE_COST > columns.size:
            self._n_columns = -MANY_STEPS * len(columns)
            return None
        column, label = np.divmod(cells, columns.shape[1])
        sums = self.trans.take(label, axis=0)
        sums += columns.reshape(-1).take(cells)[:, None]
        starts = column.searchsorted(np.arange(len(columns)))
        return np.ascontiguousarray(np.maximum.reduceat(sums, starts, axis=0).T)


class Block(NamedTuple):
    """earlier (A,), later (B,): label ids. table (A, B): all pairs of them."""

    earlier: Ints
    later: Ints
    table: Table


class Few(NamedTuple):
    """later (M,): labels with few before them. earlier (K, M): those, the last ones with -inf in
    trans (K, M, 1)."""

    later: Ints
    earlier: Ints
    trans: Floats


class Arrivals:
    """trans (L, L) float64, the earlier label first; -inf forbids. `tuning.step_cells` decides how
    it is computed."""

    def __init__(self, trans: Floats, tuning: Tuning = TUNING) -> None:
        self.tuning = tuning
        self.blocks: List[Block] = []
        self.few: Optional[Few] = None
        permitted = trans > -np.inf
        if permitted.mean() < 0.5:
            self._group(trans, permitted)
        self.table = Table(trans if self.few is None else trans[:0, :0])

    @classmethod
    def of(cls, weights: Weights) -> "Arrivals":
        """Those of the transitions: `weights.prepared(Arrivals.of)`."""
        return cls(weights.precise_trans)

    def tuned(self, tuning: Tuning) -> "Arrivals":
        """The same tables, computed as `tuning` says."""
        other = copy(self)
        other.tuning = tuning
        return other

    def _group(self, trans: Floats, permitted: Mask) -> None:
        # (G, L): sets of earlier labels
        before, kind = np.unique(permitted.T, axis=0, return_inverse=True)
        sizes = before.sum(axis=1)
        kind = kind.reshape(-1)
        large = np.flatnonzero(sizes > FEW)
        if len(large) > MANY_BLOCKS:
            return
        for group in large.tolist():
            earlier = np.flatnonzero(before[group])
            later = np.flatnonzero(kind == group)
            self.blocks.append(Block(earlier, later, Table(trans[np.ix_(earlier, later)])))
        later = np.flatnonzero(sizes[kind] <= FEW)
        earlier = np.argsort(~permitted[:, later], axis=0, kind="stable")[:FEW]
        self.few = Few(later, earlier, trans[earlier, later][:, :, None])

    def __call__(self, v: Floats) -> Floats:
        """v (L, n). RETURNS (L, n)."""
        if self.few is None:
            return max_plus(v, self.table, self.tuning)
        result = np.empty(v.shape)
        for earlier, later, table in self.blocks:
            result[later] = max_plus(v.take(earlier, 0), table, self.tuning)
        later, sources, trans = self.few
        result[later] = np.maximum.reduce(v.take(sources, 0) + trans, axis=0)  # (K, M, n)
        return result


def max_plus(v: Floats, table: Table, tuning: Tuning = TUNING) -> Floats:
    """max_a (v[a, n] + trans[a, y]). v (A, n), table of (A, B). RETURNS (B, n)."""
    trans = table.trans
    turned = table.turned
    if v.shape[1] * COLUMN_COST <= len(trans):  # few columns: the labels are what lies side by side
        columns = np.ascontiguousarray(v.T)[:, None, :]
        largest = np.empty((v.shape[1], len(turned)))
        # of many labels a cube would need all memory
        together = max(1, tuning.step_cells // max(1, trans.size))
        at_once = max(1, tuning.step_cells // max(1, len(trans) * together))
        for i in range(0, len(columns), together):
            for y in range(0, len(turned), at_once):
                some = slice(i, i + together), slice(y, y + at_once)
                np.maximum.reduce(columns[some[0]] + turned[some[1]], axis=2, out=largest[some])
        return np.asarray(largest.T)
    possible = table.possible(v)
    if possible is not None:
        return possible
    # one call on a cube is then cheaper than 2 A calls
    if trans.size * v.shape[1] <= tuning.step_cells:
        return np.asarray(np.maximum.reduce(v[:, None, :] + trans[:, :, None], axis=0))
    result: Floats = v[0] + trans[0][:, None]  # (B, n)
    candidate = np.empty_like(result)
    for a in range(1, len(trans)):
        np.add(v[a], trans[a][:, None], out=candidate)
        np.maximum(result, candidate, out=result)
    return result
