"""First-order chain: log Z and marginals (Rabiner 1989, section III; Lafferty, McCallum & Pereira
2001).

    alpha_t(y) = e_t(y) sum_a alpha_{t-1}(a) w(a, y)        e = exp(scores), w = exp(trans)
    beta_t(a)  = sum_y w(a, y) m_{t+1}(y)                   m_t(y) = e_t(y) beta_t(y)
    p(y_t = y) = alpha_t(y) beta_t(y) / Z

In probabilities, of which a step is one matrix product. The largest e of a token and the largest w
are 1, and alpha is scaled to sum to 1 every few steps, before its logarithm has changed by 100.

Nothing is lost while any two transitions differ by less than MAX_RANGE, since then a label can
never be worth more than e^(2 MAX_RANGE) times what its share of alpha says. A forbidden transition
can make a tiny prefix the only possible one. There every alpha has to be 0, where no prefix can end
with the label, or above LEAST: a step then leaves more than e^-MAX_RANGE of it, which is a number
with all its digits. Where that does not hold (scores that are far apart), `scaled_prefixes` has no
result, and sums are of logarithms (`patterns/lattice_sums.py`).

Checked against enumeration in tests/decoders/test_posterior.py.
"""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, Floats, Ints, Mask
from ..problem import Layout, Weights

# e^300 squared still leaves e^-100 of precision before float64 underflows at e^-708
MAX_RANGE = 300.0
LEAST = 1e-150
NORMAL = 1e-290  # number that has all its digits
# multiplications for which BLAS starts no second thread (OpenBLAS: up to 262,144). A step is so
# short that threads double its processor time, and where other processes run they wait for each
# other
ONE_THREAD = 250_000


class ChainWeights(NamedTuple):
    """Weights of transitions, and perhaps of scores of pairs of labels at each token. weights (L, L)
    or (N, L, L): e^trans, the largest 1; log_largest: what they were divided by. back: the later label first.
    spread: by how much those differ that are not forbidden. permit_all: none is forbidden."""

    weights: Floats
    log_largest: float
    back: Floats
    spread: float
    permit_all: bool

    @classmethod
    def of(cls, weights: Weights) -> "ChainWeights":
        """`weights.prepared(ChainWeights.of)`."""
        return cls.of_scores(weights.precise_trans, permit_all=weights.permit_all)

    @classmethod
    def of_scores(cls, trans: Floats, *, permit_all: bool) -> "ChainWeights":
        """trans (L, L) or (N, L, L)."""
        top = float(trans.max(initial=-np.inf))
        if not np.isfinite(top):  # no labels, or everything is forbidden
            top = 0.0
        weights: Floats = np.exp(trans - top)
        back = weights.swapaxes(-1, -2)
        # Laid out anew, since products with a transposed matrix take longer; of many labels another
        # table of their pairs takes memory that is missed.
        if weights.ndim == 2 and len(weights) <= 500:
            back = np.ascontiguousarray(back)
        return cls(weights, top, back, finite_range(trans), permit_all)


class Prefixes(NamedTuple):
    """The way forward, packed. e (N, L): scaled like alpha. alpha (N, L): rows sum to anything. ends
    (S,): places of last tokens, and total (S,): what alpha sums to there. log_z (S,). By rank."""

    e: Floats
    alpha: Floats
    ends: Ints
    total: Floats
    log_z: Floats


class Suffixes(NamedTuple):
    """The way back, packed (N, L): beta, so that alpha times beta are probabilities, and m."""

    beta: Floats
    message: Floats


def scaled_prefixes(emissions: AnyFloats, of: ChainWeights, layout: Layout) -> Prefixes | None:
    """emissions (N, L): packed, -inf where a label is not allowed. RETURNS None if digits would be
    lost, or if a sequence has no path."""
    top = highest(emissions)
    e: Floats = np.subtract(emissions, top[:, None], dtype=np.float64, order="C")
    np.exp(e, out=e)
    if of.spread >= MAX_RANGE or not (of.permit_all or _is_near(e, emissions, of)):
        return None
    alpha = e.copy()  # (N, L)
    # a step changes the logarithm of a sum by no more than the number below the line, if it can go on
    n_steps = max(1, int(100.0 / (1.0 + of.spread + math.log(1 + e.shape[1]))))
    log_z = sum_by_rank(top, layout) + of.log_largest * (layout.lengths[layout.order] - 1.0)
    product, weights = _products(of.weights, layout)
    rows = by_step(alpha, layout), before_step(alpha, layout), by_step(e, layout), weights
    for t, (here, before, factors, moves) in enumerate(zip(*rows, strict=True)):
        if t > 0:
            product(before, moves, here)
            here *= factors
        if t % n_steps == n_steps - 1:
            scale = np.maximum(here.sum(axis=-1, keepdims=True), NORMAL)
            log_z[: len(scale)] += np.log(scale.reshape(-1))
            here /= scale
            factors /= scale
    ends = layout.ends
    total = alpha.take(ends, axis=0).sum(axis=1)  # (S,): Z, scaled
    if not of.permit_all:
        low = (alpha < LEAST).reshape(-1).nonzero()[0]
        if alpha.take(low).any() or not total.all():
            return None
        e.reshape(-1)[low] = 0.0  # else suffixes of labels that no prefix ends with could overflow
    return Prefixes(e, alpha, ends, total, log_z + np.log(total))


def scaled_suffixes(
    prefixes: Prefixes, of: ChainWeights, layout: Layout, last: Floats | None = None
) -> Suffixes:
    """last (S, L), by rank: beta of last tokens, times anything; None = 1."""
    e, alpha, ends, total, _ = prefixes
    beta = np.empty_like(e)
    message = np.empty_like(e)
    beta[ends] = 1.0 / total[:, None]
    if last is not None:
        beta[ends] = last / (alpha[ends] * last).sum(axis=1, keepdims=True)
    message[ends] = e[ends] * beta[ends]
    product, back = _products(of.back, layout)
    rows = [before_step(packed, layout) for packed in (e, beta, message)]
    steps = zip(by_step(message, layout), *rows, back, strict=True)
    for after, factors, here, into, moves in reversed(list(steps)[1:]):
        product(after, moves, here)  # beta
        np.multiply(factors, here, into)  # m
    return Suffixes(beta, message)


def by_step(packed: Floats, layout: Layout) -> list[Floats]:
    """The rows of each step: views (n, L), of one sequence (L,). packed (N, L)."""
    if len(layout.order) == 1:
        return list(packed)
    offset = layout.offset.tolist()
    return [packed[start:end] for start, end in pairwise(offset)]


def before_step(packed: Floats, layout: Layout) -> list[Floats]:
    """The rows of the tokens before those of each step, none before the first one, as `by_step`."""
    if len(layout.order) == 1:
        return [packed[:0], *packed[:-1]]
    steps = range(1, len(layout.size_at_t))
    return [packed[:0], *(packed[layout.before(t)] for t in steps)][: len(layout.size_at_t)]


Product = Callable[[Floats, Floats, Floats], Floats]


def _products(weights: Floats, layout: Layout) -> tuple[Product, list[Floats]]:
    """Factors of the rows of a step, and of each step. weights (L, L) or (N, L, L)."""
    n_columns = len(layout.order)
    shared = weights.ndim == 2
    step_weights = [weights] * len(layout.size_at_t) if shared else by_step(weights, layout)
    if n_columns == 1 or (shared and n_columns * weights.size <= ONE_THREAD):
        return np.dot, step_weights
    return multiply, step_weights


def multiply(rows: Floats, weights: Floats, product: Floats | None = None) -> Floats:
    """sum_a rows[n, a] weights[a, b], or weights[n, a, b]. RETURNS (n, L). In blocks of rows, so
    that one thread does it, unless there are many labels."""
    if product is None:
        product = np.empty((len(rows), weights.shape[-1]))
    if weights.ndim == 3:
        np.matmul(rows[:, None], weights, out=product[:, None])
        return product
    # (of fewer than 32 rows at once, one thread would do too little: there threads pay)
    n_rows = max(32, ONE_THREAD // max(1, weights.size))
    for start in range(0, len(rows), n_rows):
        stop = start + n_rows
        np.dot(rows[start:stop], weights, out=product[start:stop])
    return product


def _is_near(e: Floats, emissions: AnyFloats, of: ChainWeights) -> bool:
    """A step leaves more than e^-MAX_RANGE of any alpha, if it leaves something."""
    low = (e < math.exp(of.spread - MAX_RANGE)).reshape(-1).nonzero()[0]
    return not (emissions.take(low) > -np.inf).any()


def finite_range(trans: AnyFloats) -> float:
    """The largest difference between transitions that are not forbidden."""
    finite = np.isfinite(trans)
    most = float(trans.max(initial=-np.inf, where=finite))
    return max(0.0, most - float(trans.min(initial=np.inf, where=finite)))


def highest(values: AnyFloats) -> AnyFloats:
    """The largest value of each row, -inf of rows without any: numpy finds where it is four times
    as fast as what it is. values (n, L), no NaN. RETURNS (n,)."""
    n, n_columns = values.shape
    if not n_columns:
        return np.full(n, -np.inf)
    return np.asarray(values.take(np.arange(n) * n_columns + values.argmax(axis=1)))


def reached_labels(allowed: Mask, trans: AnyFloats, layout: Layout) -> Mask | None:
    """Labels with which a prefix can end, where transitions are forbidden: others, however high
    their scores, count for nothing. allowed (N, L), packed. RETURNS (N, L), or None if nothing is
    forbidden: then all that are allowed."""
    opened = trans > -np.inf
    if opened.all():
        return None
    reached: Mask = allowed.copy()
    steps = opened.astype(np.float32)
    for t in range(1, len(layout.size_at_t)):
        here = layout.step(t)
        reached[here] &= reached[layout.before(t)].astype(np.float32) @ steps > 0
    return reached


def vanished(current: Floats, share: Floats, reached: Mask) -> bool:
    """True if digits were lost in a step, or may be in the next. current, share (n, L): before and
    after scaling."""
    return bool((current[reached] < NORMAL).any() or (share[reached] < LEAST).any())


def sum_by_rank(values: AnyFloats, layout: Layout) -> Floats:
    """Sum of the packed values of each sequence. values (N,). RETURNS (S,) by rank."""
    rank = np.arange(len(values)) - np.repeat(layout.offset[:-1], layout.size_at_t)
    return np.asarray(np.bincount(rank, weights=values, minlength=len(layout.lengths)), np.float64)
