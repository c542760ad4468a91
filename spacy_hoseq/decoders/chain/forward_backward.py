"""First-order chain: log Z and marginals (Rabiner 1989, section III; Lafferty, McCallum & Pereira
2001).

    alpha_t(y) = exp(scores[t, y]) sum_a alpha_{t-1}(a) exp(trans[a, y])
    beta_t(a)  = sum_y exp(trans[a, y] + scores[t+1, y]) beta_{t+1}(y)
    p(y_t = y) = alpha_t(y) beta_t(y) / Z

The walk works with probabilities that are scaled to sum to 1 at every step: a step is one matrix
product. It loses nothing while any two transitions differ by less than MAX_RANGE, since then a
label can never be worth more than e^(2 MAX_RANGE) times what its share of alpha says. Where some
transitions are forbidden there is no such bound, since what a label is worth depends on all ways to
it and from it: there no label that a prefix can end with may have a share below LEAST, which the
walk looks at. If one of both does not hold (very large weights), `scaled_prefixes` has no result,
and whoever asks takes sums on logarithms (`patterns/lattice_sums.py`). Where no score is large, as
a rule, scores need no shift, and scaling waits for several steps (`_way_of_small_scores`).

Checked against enumeration in tests/decoders/chain/test_forward_backward.py.
"""

from itertools import pairwise
from typing import List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, Floats, Mask
from ..problem import Layout, Weights

# e^300 squared still leaves e^-100 of precision before float64 underflows at e^-708
MAX_RANGE = 300.0
# share of alpha that keeps its digits through the next step, with MAX_RANGE below it
LEAST = 1e-150
MANY_LABELS = 500  # from which on a second table of their pairs takes memory that is missed
NORMAL = 1e-290  # number that has all its digits
SMALL = 50.0  # by how much a step with small scores changes logarithms at most
# multiplications for which BLAS starts no second thread (OpenBLAS: up to 262,144). A step is so short that threads
# double its processor time, and where other processes run they wait for each other
ONE_THREAD = 250_000
LEAST_ROWS = 32  # of a block: where one thread would do less at once, threads pay
# by how much all steps do that go without scaling: e^-ROOM * LEAST * e^-SMALL is above NORMAL
ROOM = 200.0


class ScaledPrefixes(NamedTuple):
    """The way forward in scaled probabilities, packed. e (N, L): e^scores, scaled like alpha. alpha
    (N, L): last rows of sequences sum to 1, others to anything. log_z (S,) by rank."""

    e: Floats
    alpha: Floats
    log_z: Floats


def packed_emissions(scores: AnyFloats, allowed: Optional[Mask], layout: Layout) -> AnyFloats:
    """Emission scores in packed order. RETURNS (N, L), -inf where a label is not allowed."""
    emissions: AnyFloats = scores.take(layout.tokens, axis=0)
    if allowed is not None:
        emissions[~allowed.take(layout.tokens, axis=0)] = -np.inf
    return emissions


class ChainWeights(NamedTuple):
    """Of transitions, and perhaps scores of pairs of labels at each token. weights: e^trans, the
    largest 1; log_largest: what they were divided by. back: the later label first. spread: by how
    much those differ that are not forbidden. permit_all: none is forbidden."""

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
        top = top if np.isfinite(top) else 0.0
        weights: Floats = np.exp(trans - top)
        return cls(weights, top, turned(weights), finite_range(trans), permit_all)


def finite_range(trans: AnyFloats) -> float:
    """By how much the transitions that are not forbidden differ."""
    finite = np.isfinite(trans)
    most = float(trans.max(initial=-np.inf, where=finite))
    return max(0.0, most - float(trans.min(initial=np.inf, where=finite)))


def scaled_prefixes(
    emissions: AnyFloats,
    of: ChainWeights,
    trans: AnyFloats,
    layout: Layout,
    most: float,
) -> Optional[ScaledPrefixes]:
    """most (float): no finite emission is further from 0. RETURNS None if digits would be lost, or
    if a sequence has no path."""
    if of.spread >= MAX_RANGE:
        return None
    change = most + of.spread + np.log(max(1, len(trans)))
    if of.weights.ndim == 2 and change <= SMALL:
        n_steps = int(ROOM / max(change, 1.0))
        prefixes = _way_of_small_scores(emissions, of, layout, n_steps)
        if prefixes is not None:
            return prefixes
    precise: Floats = emissions.astype(np.float64, copy=False)
    prefixes = _way_forward(precise, of, layout)
    reached = (
        None
        if prefixes is not None or of.permit_all
        else reached_labels(precise > -np.inf, trans, layout)
    )
    if reached is not None:  # labels that no prefix can end with may have had the highest scores
        prefixes = _way_forward(np.where(reached, precise, -np.inf), of, layout)
    return prefixes


def by_step(packed: Floats, layout: Layout) -> List[Floats]:
    """The rows of each step: views (n, L), of one sequence (L,). packed (N, L)."""
    if len(layout.order) == 1:
        return list(packed)
    offset = layout.offset.tolist()
    return [packed[start:end] for start, end in pairwise(offset)]


def _way_of_small_scores(
    emissions: AnyFloats, of: ChainWeights, layout: Layout, n_steps: int
) -> Optional[ScaledPrefixes]:
    """Scaled every `n_steps` steps, and where sequences end. No sum of a row changes by more than
    e^SMALL in a step, unless a label that has nearly all of it cannot go on. RETURNS None if digits
    may be lost, or if a sequence has no path; only where transitions are forbidden."""
    e: Floats = np.exp(emissions, dtype=np.float64)
    alpha = e.copy()
    ones = np.ones(e.shape[1])
    log_z: Floats = np.multiply(of.log_largest, layout.lengths[layout.order] - 1.0)
    before = alpha[:0]
    for t, (here, of_tokens) in enumerate(
        zip(by_step(alpha, layout), by_step(e, layout), strict=True)
    ):
        if t > 0:
            multiply(before[: len(here)], of.weights, here)
            here *= of_tokens
        if t % n_steps == n_steps - 1:
            scale = np.maximum(here.sum(axis=-1, keepdims=True), NORMAL)
            log_z[: len(scale)] += np.log(scale.reshape(-1))
            here /= scale
            of_tokens /= scale
        before = here
    ends = ends_of(layout)
    total = alpha.take(ends, axis=0) @ ones
    if not of.permit_all and not (_kept(alpha, e, ones) and total.min(initial=1.0) >= NORMAL):
        return None
    alpha[ends] /= total[:, None]
    e[ends] /= total[:, None]
    return ScaledPrefixes(e, alpha, log_z + np.log(total))


def _kept(alpha: Floats, e: Floats, ones: Floats) -> bool:
    """Whether all shares have their digits. Takes labels that no prefix ends with out of e:
    suffixes of them could overflow."""
    sums = alpha @ ones
    if sums.min(initial=1.0) < np.exp(-ROOM):
        return False
    cells = np.flatnonzero(alpha < LEAST * np.exp(ROOM))
    low = alpha.take(cells)
    if ((low > 0) & (low < LEAST * sums.take(cells // len(ones)))).any():
        return False
    e.reshape(-1)[cells[low == 0]] = 0.0
    return True


def ends_of(layout: Layout) -> NDArray[np.int64]:
    """Where the last token of each sequence is packed. RETURNS (S,) by rank."""
    return layout.offset[layout.lengths[layout.order] - 1] + np.arange(len(layout.order))


def scaled_suffixes(
    prefixes: ScaledPrefixes, of: ChainWeights, layout: Layout, last: Optional[Floats] = None
) -> Tuple[Floats, Floats]:
    """RETURNS beta, scaled in such a way that alpha times beta are probabilities, and these. (N, L)
    each, packed. last (S, L), by rank: beta of last tokens; None = 1."""
    e, alpha, _ = prefixes
    beta = np.ones_like(e)
    nodes = alpha.copy()
    if last is not None:
        ends = ends_of(layout)
        nodes[ends] *= last
        total = nodes[ends].sum(axis=1, keepdims=True)
        nodes[ends] /= total
        beta[ends] = last / total
    after = np.zeros(0)
    rows = [by_step(packed, layout) for packed in (e, alpha, beta, nodes)]
    steps = list(zip(*rows, strict=True))
    for t in range(len(steps) - 1, 0, -1):
        of_tokens, _, after, _ = steps[t]
        _, of_prefixes, here, p = steps[t - 1]
        n = len(after)
        message = of_tokens * after
        if of.weights.ndim == 2:
            multiply(message, of.back, here[:n])
        else:
            here[:n] = moved_on(message, of.back, layout.step(t))
        # as long as they are in the processor's cache
        np.multiply(of_prefixes[:n], here[:n], out=p[:n])
    return beta, nodes


def _way_forward(emissions: Floats, of: ChainWeights, layout: Layout) -> Optional[ScaledPrefixes]:
    """Scaled at every step. Where some transitions are forbidden, a label can be reached if its sum
    over the labels before is above 0, as long as no share was below LEAST until then."""
    shift = highest(emissions)[:, None]
    if not np.isfinite(shift).all():
        return None
    potentials = emissions - shift  # (N, L)
    np.exp(potentials, out=potentials)
    alpha = np.empty_like(potentials)
    scale = np.empty(len(potentials))
    reached = None if of.permit_all else emissions > -np.inf
    before = alpha[:0]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for t in range(len(layout.size_at_t)):
            here = layout.step(t)
            current = potentials[here]  # (n, L)
            if t > 0:
                moved = moved_on(before[: len(current)], of.weights, here)
                if reached is not None:
                    reached[here] &= moved > 0
                current = np.multiply(moved, current, out=moved)
            current.sum(axis=1, out=scale[here])
            before = np.divide(current, scale[here, None], out=alpha[here])
        potentials /= scale[:, None]
    kept = scale.min(initial=1.0) >= NORMAL  # not where there is no path, and then no number
    if not kept or (reached is not None and _lost(alpha, scale, reached)):
        return None
    if reached is not None:
        potentials *= reached  # else suffixes of labels that no prefix ends with could overflow
    log_z = sum_by_rank(np.log(scale) + shift[:, 0], layout)
    log_z += of.log_largest * (layout.lengths[layout.order] - 1)
    return ScaledPrefixes(potentials, alpha, log_z)


def moved_on(before: Floats, weights: Floats, here: slice) -> Floats:
    """sum_a before[n, a] weights[a, b] for the tokens of a step, packed. RETURNS (n, L)."""
    if weights.ndim == 2:
        return multiply(before, weights, np.empty(before.shape))
    return np.asarray((before.reshape(-1, 1, weights.shape[1]) @ weights[here])[:, 0])


def multiply(left: Floats, right: Floats, product: Floats) -> Floats:
    """left (n, K), or one row, @ right (K, L), written to product. In blocks of rows, so that one
    thread does it, unless there are many labels."""
    if left.size * right.shape[1] <= ONE_THREAD or left.ndim == 1:
        return np.dot(left, right, out=product)
    n_rows = max(LEAST_ROWS, ONE_THREAD // right.size)
    for start in range(0, len(left), n_rows):
        stop = start + n_rows
        np.matmul(left[start:stop], right, out=product[start:stop])
    return product


def turned(weights: Floats) -> Floats:
    """With the later label first: `moved_on` with these is a step back. Laid out anew, since
    products with a transposed matrix take longer, unless it is large."""
    swapped = weights.swapaxes(-1, -2)
    is_small = weights.ndim == 2 and len(weights) <= MANY_LABELS
    return np.ascontiguousarray(swapped) if is_small else swapped


def highest(values: Floats) -> Floats:
    """The largest value of each row, -inf of rows without any: numpy finds where it is four times
    as fast as what it is. values (n, L), no NaN. RETURNS (n,)."""
    n, n_columns = values.shape
    if not n_columns:
        return np.full(n, -np.inf)
    return np.asarray(values.take(np.arange(n) * n_columns + values.argmax(axis=1)))


def reached_labels(allowed: Mask, trans: AnyFloats, layout: Layout) -> Optional[Mask]:
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
        start = int(layout.offset[t - 1])
        before = reached[start : start + here.stop - here.start]
        reached[here] &= before.astype(np.float32) @ steps > 0
    return reached


def vanished(current: Floats, share: Floats, reached: Mask) -> bool:
    """Whether digits were lost in a step, or may be in the next. current, share (n, L): before and
    after scaling."""
    return bool((current[reached] < NORMAL).any() or (share[reached] < LEAST).any())


def _lost(alpha: Floats, scale: Floats, reached: Mask) -> bool:
    """`vanished` for all steps at once: a share of LEAST that comes from a usual sum has its
    digits."""
    if scale.min(initial=np.inf) >= NORMAL / LEAST:
        return bool((reached & (alpha < LEAST)).any())
    return vanished(alpha * scale[:, None], alpha, reached)


def sum_by_rank(values: Floats, layout: Layout) -> Floats:
    """Sum of the packed values of each sequence. values (N,). RETURNS (S,) by rank."""
    rank = np.arange(len(values)) - np.repeat(layout.offset[:-1], layout.size_at_t)
    return np.asarray(np.bincount(rank, weights=values, minlength=len(layout.lengths)), np.float64)
