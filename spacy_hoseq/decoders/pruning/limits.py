"""What a change of one label can lose at most: the right-hand side of the test in `bounds.py`, for
one set of weights.

    everywhere[j, k] = max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b]))

is what label k can have over label j at one token, whatever its neighbours are; 0 stands for a
missing neighbour. The whole table costs O(L^3). So rows are made when they are asked for, those of
labels that are the best-scoring one of some token, each in O(L^2), and kept: with weights that
stay, as in prediction, every row is made once in all batches. With weights that change, as in
learning, a batch of N tokens needs at most N rows, 2 L^2 steps each, where decoding it without
pruning takes N L^2.

Weights that follow others (`Weights.follow`), as after each update of learning, keep the rows of
those: with D the change of trans since the rows were made, they are too low by at most

    max_a D[a, k] - min_a D[a, j]  +  max_b D[k, b] - min_b D[j, b]

which is added. It costs O(L^2) once. When it has grown too large, rows are made anew.

Of many labels a row is not the maximum itself but a bound of it, in O(R L): with E[r, k] the R-th
largest of E[a, k] over a, and t[r, j] the R-th smallest of trans[a, j], any a is one of the first R
by one of both, or has at most E[r, k] - t[r, j] (the threshold of Fagin, Lotem & Naor 2003,
"Optimal aggregation algorithms for middleware"). Where most pairs have no weight, or weights near
that of others, the first R hold the maximum.

Rows are single precision, rounded upwards: a limit that is too high excludes fewer labels, never a
wrong one.

Checked against the formulas in tests/decoders/pruning/test_bounds.py.
"""

from functools import cached_property
from typing import NamedTuple, Optional, Tuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, distinct
from ..problem import TUNING, Tuning, Weights

ROUNDED = 1e-6  # relative: what a sum in single precision is off, and more
LABELS_TOGETHER = 256  # ranked
LARGE = 1e18  # numbers up to which single precision will do


class Side(NamedTuple):
    """What a label has beside a neighbour, at most (`upper`: its transition, and all patterns) and
    at least (`lower`: its transition). (L, L) each, [label, neighbour]."""

    upper: Floats
    lower: Floats


class Drift(NamedTuple):
    """What the change of trans adds at most to row j, column k of a table: up[k] + down[j]. (L,)
    each."""

    up: Floats
    down: Floats

    def plus(self, other: "Drift") -> "Drift":
        return Drift(self.up + other.up, self.down + other.down)

    def added(self, rows: AnyFloats, labels: Ints) -> AnyFloats:
        """rows (n, L): of these labels j."""
        with np.errstate(all="ignore"):  # rows that were not asked for hold anything
            sums: AnyFloats = rows + self.up.astype(rows.dtype)
            sums += self.down.take(labels).astype(rows.dtype)[:, None]
        return sums


class Limits:
    """Limits of one set of weights (`weights.prepared(Limits)`), filled while they are used,
    perhaps by several threads at once. Patterns that fire at positions have no part in it."""

    def __init__(self, weights: Weights, *, tuning: Tuning = TUNING) -> None:
        # (weights hold their limits: a way back would keep both until the next collection)
        self._tuning = tuning
        self.trans = weights.precise_trans  # (L, L)
        self.are_finite = weights.permit_all
        self._has_patterns = weights.has_patterns
        self.after, self.before = _upper(weights)  # E[a, k], G[k, b] (L, L)
        self._known = np.zeros(len(self.trans), bool)
        self._earlier: Optional[Limits] = None  # whose rows these are, if they follow
        self._drifts: Optional[Tuple[Drift, Drift, Drift]] = None  # of each table
        earlier = weights.before(Limits)
        if earlier is not None:
            self._follow(earlier._start)

    def _follow(self, start: "Limits") -> None:
        """Use the rows of limits of earlier weights, if they are near enough."""
        if not (start.are_finite and self.are_finite) or start._has_patterns or self._has_patterns:
            return
        change = self.trans - start.trans
        rounding = ROUNDED * (
            1 + 2 * start._largest + max(change.max(initial=0), -change.min(initial=0))
        )
        sides = []
        for axis in (1, 0):  # the token after, the token before
            up = np.maximum(change.max(axis=axis, initial=0), 0) + rounding
            sides.append(Drift(up, np.maximum(-change.min(axis=axis, initial=0), 0)))
        after, before = sides
        both = before.plus(after)
        if both.up.mean() + both.down.mean() <= self._tuning.limit_drift:
            self._earlier = start
            self._drifts = (both, after, before)

    @property
    def _start(self) -> "Limits":
        return self if self._earlier is None else self._earlier

    def everywhere(self, labels: Ints) -> AnyFloats:
        """What other labels can have over these. labels (n,): j. RETURNS (n, L)."""
        start = self._start
        start._make_rows(labels)
        rows: AnyFloats = start._tables[0].take(labels, axis=0)
        return rows if self._drifts is None else self._drifts[0].added(rows, labels)

    def of_side(self, labels: Ints, others: Ints, step: int) -> AnyFloats:
        """The part of it that one neighbour has: the token before (step -1: the first term) or the
        one after (1).
        labels, others (n,): j, k. RETURNS (n,)."""
        start = self._start
        start._make_rows(labels)
        limits: AnyFloats = start._tables[step].reshape(-1).take(labels * len(self.trans) + others)
        if self._drifts is not None:
            drift = self._drifts[step]
            limits = limits + (drift.up.take(others) + drift.down.take(labels)).astype(limits.dtype)
        return limits

    def terms(self, step: int) -> AnyFloats:
        """The table that `beside` reads (L, L), [j, k]: only rows of labels that were asked for are
        filled."""
        table: AnyFloats = self._start._tables[step]
        return (
            table
            if self._drifts is None
            else self._drifts[step].added(table, np.arange(len(table)))
        )

    @cached_property
    def _largest(self) -> float:
        return max(
            (
                float(np.abs(x[x > -np.inf]).max(initial=0.0))
                for x in (self.trans, self.after, self.before)
            ),
            default=0.0,
        )

    @cached_property
    def sides(self) -> Tuple[Side, Side]:
        """What k has at most and what j has at least beside a label before, and beside one
        after."""
        trans = np.ascontiguousarray(self.trans.T)
        after = trans if self.after is self.trans else np.ascontiguousarray(self.after.T)
        return Side(after, trans), Side(self.before, self.trans)

    @cached_property
    def _tables(self) -> AnyFloats:
        """everywhere, its second term alone, its first term alone. (3, L, L)"""
        return np.empty((3, *self.trans.shape), np.float32 if self._largest < LARGE else np.float64)

    @cached_property
    def _rounded(self) -> "Tuple[Tuple[AnyFloats, AnyFloats, Optional[Ranked]], ...]":
        dtype = self._tables.dtype
        result = []
        for upper, lower in self.sides:
            rounded = lower.T.astype(dtype, "C")
            of_upper = rounded if upper is lower else upper.T.astype(dtype, "C")
            result.append((of_upper, rounded, Ranked.of(of_upper, rounded, self._tuning)))
        return tuple(result)

    def _make_rows(self, labels: Ints) -> None:
        known = self._known.take(labels)
        if known.all():
            return
        missing = distinct(labels[~known])
        before, after = (
            most_lost(upper, lower, missing, self._tuning, ranked)
            for upper, lower, ranked in self._rounded
        )
        # four roundings of sums up to 4 times that
        margin = 16 * float(np.finfo(before.dtype).eps) * self._largest
        for table, rows in zip(self._tables, (before + after, after, before), strict=True):
            table[missing] = rows + margin
        self._known[missing] = True  # after the rows: other threads may be reading


def _upper(weights: Weights) -> Tuple[Floats, Floats]:
    """E[a, k] and G[k, b]."""
    trans = weights.precise_trans
    if not weights.has_patterns:
        return trans, trans
    after = trans.copy()
    before = trans.copy()
    psi = weights.psi
    for j, (nodes, shorter, pairs, starts) in enumerate(weights.trie.covers):
        if len(nodes):
            # patterns in u longer than j labels
            covered = psi[nodes] - np.where(shorter >= 0, psi[shorter], 0.0)
            (before if j else after).reshape(-1)[pairs] += np.maximum.reduceat(covered, starts)
    return after, before


class Ranked(NamedTuple):
    """The R neighbours beside which each label k earns most. neighbours, upper (R, L); least (L,):
    of `upper`."""

    neighbours: Ints
    upper: AnyFloats
    least: AnyFloats

    @classmethod
    def of(cls, upper: AnyFloats, lower: AnyFloats, tuning: Tuning) -> "Optional[Ranked]":
        """None where the maximum itself costs little, or some transition is forbidden. Tables
        [neighbour, label]."""
        n_ranks = min(tuning.limit_ranks, len(upper))
        if len(upper) < tuning.ranked_labels or not (
            np.isfinite(upper).all() and np.isfinite(lower).all()
        ):
            return None
        blocks = np.array_split(upper, range(LABELS_TOGETHER, len(upper), LABELS_TOGETHER), axis=1)
        ranked = [
            np.argpartition(block, len(upper) - n_ranks, axis=0)[-n_ranks:] for block in blocks
        ]
        neighbours = np.concatenate(ranked, axis=1)
        of_ranks = np.take_along_axis(upper, neighbours, axis=0)
        return cls(neighbours, of_ranks, of_ranks.min(axis=0))

    def most_lost(self, upper: AnyFloats, lower: AnyFloats, labels: Ints) -> AnyFloats:
        """As the function of that name, or more."""
        n_ranks = len(self.upper)
        result = np.empty((len(labels), upper.shape[1]), upper.dtype)
        for row, label in zip(result, labels.tolist(), strict=True):
            lost = np.ascontiguousarray(lower[:, label])
            nearest = np.argpartition(lost, n_ranks - 1)[:n_ranks]
            # (the largest of them, by how they are parted)
            np.subtract(self.least, lost.take(nearest[-1]), out=row)
            for gained in (
                self.upper - lost.take(self.neighbours),
                upper[nearest] - lost.take(nearest)[:, None],
            ):
                np.maximum(row, gained.max(axis=0), out=row)
        return np.maximum(result, 0, out=result)


def most_lost(
    upper: AnyFloats,
    lower: AnyFloats,
    labels: Ints,
    tuning: Tuning = TUNING,
    ranked: Optional[Ranked] = None,
) -> AnyFloats:
    """max(0, max_a (upper[a, k] - lower[a, j])) for j in `labels`; if they are `ranked` perhaps
    more. Tables [neighbour, label]. RETURNS (n, L)."""
    if ranked is not None:
        return ranked.most_lost(upper, lower, labels)
    n_labels = len(upper)
    result = np.zeros((len(labels), n_labels), upper.dtype)
    together = max(1, tuning.limit_cells // max(1, n_labels**2))
    depth = max(1, tuning.limit_cells // max(1, n_labels * together))
    # -inf - -inf = nan: both are forbidden there, nothing can be lost, and fmax leaves nan out; maximum is faster
    largest = np.maximum if np.isfinite(upper).all() and np.isfinite(lower).all() else np.fmax
    with np.errstate(invalid="ignore"):
        for first in range(0, len(labels), together):
            some = slice(first, first + together)
            for a in range(0, n_labels, depth):
                # (a, j, k)
                gained = upper[a : a + depth, None, :] - lower[a : a + depth, labels[some], None]
                result[some] = largest(result[some], largest.reduce(gained, axis=0))
    return result
