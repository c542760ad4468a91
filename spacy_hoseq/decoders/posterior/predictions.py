"""The best labels, and with them either all labels that are probable, or the probabilities of segments.

Both need marginals. Those of a chain are read part by part (`pieces.py`) and forgotten; of a segment of the best
labelling it is enough to know

    p(y_s..y_t, and then no y_{t+1} with goes_on[y_t, y_{t+1}] | x)
        = p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(no such y_{t+1} | y_t)

token by token. With label patterns, with scores of label pairs at each token, and where scaled probabilities would
vanish, the marginals of the whole batch are kept.

Checked against enumeration in tests/decoders/posterior/test_predictions.py.
"""

from contextlib import suppress
from typing import Any, Callable, NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Floats32, Ints, Labels, Mask
from ..chain.long_viterbi import long_viterbi
from ..chain.pieces import LONG, Part, read_parts
from ..higher_order.configuration_marginals import SpanMarginals, span_marginals
from ..problem.layout import check_segments, ranges
from ..problem.potentials import Potentials
from ..problem.results import LostDigits
from .marginals import marginals_of
from .posterior_pruning import Cells, decode_probable, decode_some, least_likely, likely_labels
from .sparse_marginals import ProbableLabels, check_threshold, least_reaching, neighbours, probable_labels, reach


class Labelling(NamedTuple):
    """The best labelling of any potentials. labels (N,). marginals: all. goes_on (L, L) bool."""

    labels: Labels
    marginals: SpanMarginals
    goes_on: Mask

    @property
    def nodes(self) -> AnyFloats:
        """p(y_t = y | x). RETURNS (N, L)."""
        return self.marginals.nodes

    def segments(self, first: AnyInts, sizes: AnyInts) -> Floats:
        """The probability of some segments of the labelling. first, sizes (C,): their tokens, within one sequence.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence."""
        return self.marginals.segments(first, sizes, self.labels[ranges(first, sizes)], self.goes_on)


class ChainLabelling(NamedTuple):
    """The best labelling of a chain. labels (N,). lengths (S,): of the sequences. start, step, stop (N,): the three
    factors above, at the tokens s, i and t. nodes (N, L) float32: p(y_t = y | x), of no tokens if not asked for."""

    labels: Labels
    lengths: AnyInts
    start: Floats
    step: Floats
    stop: Floats
    nodes: Floats32

    def segments(self, first: AnyInts, sizes: AnyInts) -> Floats:
        """As `Labelling.segments`."""
        check_segments(first, sizes, self.lengths)
        if not len(first):
            return np.zeros(0)
        starts = np.cumsum(sizes) - sizes
        steps = self.step[ranges(first, sizes)]
        steps[starts] = self.start[first]
        return np.asarray(np.multiply.reduceat(steps, starts) * self.stop[first + sizes - 1])


def labels_and_segments(
    potentials: Potentials, goes_on: Mask, *, allowed: Optional[Mask] = None, with_nodes: bool = False
) -> Union[Labelling, ChainLabelling]:
    """The labels of `decode_exact`, and what segments of them need. allowed (N, L). goes_on (L, L) bool: pairs of
    labels across which a segment goes on. with_nodes (bool): keep the marginals of all labels.

    RAISES ValueError as `span_marginals`.
    """
    allowed = potentials.allowed if allowed is None else allowed
    if _is_chain(potentials):
        with suppress(LostDigits):
            return _labelled(potentials, goes_on, allowed, with_nodes)
    marginals = span_marginals(potentials, allowed=allowed)
    return Labelling(decode_probable(potentials, marginals, allowed=allowed), marginals, goes_on)


def labels_and_probable(
    potentials: Potentials, threshold: float, *, allowed: Optional[Mask] = None
) -> Tuple[Labels, ProbableLabels]:
    """The labels of `decode_exact`, and `probable_labels`. allowed (N, L).

    RAISES ValueError as `marginals_of`; [HS027]: the threshold.
    """
    check_threshold(threshold)
    allowed = potentials.allowed if allowed is None else allowed
    if _is_chain(potentials) and len(potentials.lengths):
        with suppress(LostDigits):
            return _probable(potentials, threshold, allowed)
    marginals = marginals_of(potentials, allowed=allowed)
    labels = decode_probable(potentials, marginals, allowed=allowed)
    return labels, probable_labels(marginals, potentials.lengths, threshold)


def _is_chain(potentials: Potentials) -> bool:
    """Whether there is nothing but scores and transitions."""
    configurations = potentials.configurations
    rest = potentials.patterns is not None or potentials.edge_scores is not None
    return not rest and (configurations is None or not len(configurations.first))


class ChainCells(NamedTuple):
    """What is known of the labels of a chain that are not improbable. cells (C of them). alpha, message (C,): as
    `ChainMarginals.likely` has them. stop (C,): as `ChainMarginals.stops`. weights (L, L): of `ChainMarginals`. log_z
    (S,): NaN of sequences in pieces."""

    cells: Cells
    alpha: Floats
    message: Floats
    stop: Floats
    weights: Floats
    log_z: Floats


def _labelled(potentials: Potentials, goes_on: Mask, allowed: Optional[Mask], with_nodes: bool) -> ChainLabelling:
    n_tokens, n_labels = potentials.scores.shape
    labels = _long_labels(potentials, allowed)
    factors = np.ones(n_tokens), np.ones(n_tokens), np.ones(n_tokens)
    nodes = np.empty((n_tokens if with_nodes else 0, n_labels), np.float32)

    def also(part: Part) -> None:
        if part.inner is not None:
            _write_factors(part, labels, goes_on, factors)
        if with_nodes:
            nodes[part.answered] = part.inner_of(part.marginals.nodes)

    found = _read(potentials, allowed, least_likely(n_labels), goes_on, also)
    labels, rest = _best_labels(potentials, allowed, found, labels)
    _factors_of_cells(found, labels, potentials.lengths, factors)
    if len(rest):  # their marginals are made once more: that costs less than to keep all
        selection = potentials.select(rest)
        chain, tokens = selection.potentials, selection.tokens
        own = tuple(np.empty(len(tokens)) for _ in factors)
        mask = None if allowed is None else allowed[tokens]
        read_parts(chain, mask, lambda part: _write_factors(part, labels[tokens], goes_on, own))
        for every, values in zip(factors, own, strict=True):
            every[tokens] = values
    return ChainLabelling(labels, potentials.lengths, *factors, nodes)


def _write_factors(part: Part, labels: Labels, goes_on: Mask, factors: Tuple[Floats, ...]) -> None:
    """Write start, step and stop of a part (n,) into those of the batch (N,)."""
    for every, values in zip(factors, part.marginals.along(labels[part.tokens], goes_on), strict=True):
        every[part.answered] = part.inner_of(values)


def _factors_of_cells(found: ChainCells, labels: Labels, lengths: AnyInts, factors: Tuple[Floats, ...]) -> None:
    """Write start, step and stop at the tokens of whole sequences. What is written where a label is no cell, and as the
    step of a first token, counts for nothing."""
    start, step, stop = factors
    cells = found.cells
    whole = np.repeat(~np.isnan(found.log_z), lengths)
    at = np.zeros(len(labels), np.intp)
    own = np.flatnonzero(cells.labels == labels.take(cells.tokens))
    at[cells.tokens.take(own)] = own
    p, before = cells.p.take(at), at[:-1]
    pairs = found.alpha.take(before) * found.weights[labels[:-1], labels[1:]] * found.message.take(at[1:])
    np.copyto(start, p, where=whole)
    np.copyto(step[1:], pairs / p[:-1], where=whole[1:])
    np.copyto(stop, found.stop.take(at), where=whole)


def _probable(potentials: Potentials, threshold: float, allowed: Optional[Mask]) -> Tuple[Labels, ProbableLabels]:
    labels, n_labels = _long_labels(potentials, allowed), potentials.scores.shape[1]
    found = _read(potentials, allowed, min(least_likely(n_labels), least_reaching(threshold)))
    labels, _ = _best_labels(potentials, allowed, found, labels)
    reached = np.flatnonzero(reach(found.cells.p, threshold))
    cells = found.cells
    tokens, own, p = cells.tokens.take(reached), cells.labels.take(reached), cells.p.take(reached)
    alpha, message = found.alpha.take(reached), found.message.take(reached)
    earlier, later = neighbours(tokens, potentials.lengths)
    pairs = alpha.take(earlier) * found.weights[own.take(earlier), own.take(later)] * message.take(later)
    kept = np.flatnonzero(reach(pairs, threshold))
    return labels, ProbableLabels(tokens, own, p, earlier.take(kept), later.take(kept), pairs.take(kept))


def _read(
    potentials: Potentials,
    allowed: Optional[Mask],
    least: float,
    goes_on: Optional[Mask] = None,
    also: Callable[[Part], None] = lambda part: None,
) -> ChainCells:
    """Labels whose probability is at least `least`. goes_on: for `stop`. also: is called with each part."""
    weights, log_z = np.empty(potentials.trans.shape), np.full(len(potentials.lengths), np.nan)

    def read(part: Part) -> Tuple[NDArray[Any], ...]:
        weights[:] = part.marginals.weights  # the same in all parts
        found = part.marginals.likely(least, part.inner)
        if part.inner is None:
            log_z[part.sequences] = part.marginals.log_z
        also(part)
        stop = np.ones(0) if goes_on is None else part.marginals.stops(found.tokens, found.labels, goes_on)
        return part.tokens.take(found.tokens), *found[1:], stop

    empty = np.zeros(0, np.intp), np.zeros(0, np.intp), *np.zeros((4, 0))
    parts = [empty, *read_parts(potentials, allowed, read)]
    tokens, own, p, alpha, message, stop = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = _by_token(tokens, len(potentials.scores))
    cells = Cells(tokens.take(order), own.take(order), p.take(order))
    stop = stop if goes_on is None else stop.take(order)
    return ChainCells(cells, alpha.take(order), message.take(order), stop, weights, log_z)


def _by_token(tokens: Ints, n_tokens: int) -> Ints:
    """What sorts cells by token, where those of each token lie together. tokens (C,), each below n_tokens."""
    counts = np.bincount(tokens, minlength=n_tokens)
    begins = np.flatnonzero(np.diff(tokens, prepend=-1))
    order = np.empty(len(tokens), np.intp)
    shift = (np.cumsum(counts) - counts).take(tokens.take(begins)) - begins
    order[np.arange(len(tokens)) + np.repeat(shift, np.diff(begins, append=len(tokens)))] = np.arange(len(tokens))
    return order


def _best_labels(
    potentials: Potentials, allowed: Optional[Mask], found: ChainCells, long: Labels
) -> Tuple[Labels, Ints]:
    """long (N,): labels of sequences in pieces. RETURNS the best labels (N,), and sequences for which marginals did not
    help."""
    labels, undecided = likely_labels(potentials, found.cells, found.log_z)
    labels = np.where(np.repeat(np.isnan(found.log_z), potentials.lengths), long, labels)
    return decode_some(potentials, allowed, undecided, labels), undecided


def _long_labels(potentials: Potentials, allowed: Optional[Mask]) -> Labels:
    """The labels of long sequences; 0 in others, which are decoded when their marginals are known. RETURNS (N,).

    Exact pruning cuts a long sequence at the tokens that are decided. With forbidden transitions hardly any are, since
    a change of one label alone is hardly ever permitted; then pieces are decoded."""
    labels = np.zeros(len(potentials.scores), np.int32)
    long = np.flatnonzero(potentials.lengths >= LONG)
    if np.isfinite(potentials.trans).all():
        return decode_some(potentials, allowed, long, labels)
    for sequence in long.tolist():
        part = potentials._replace(allowed=allowed).select(np.array([sequence]))
        long_labels = long_viterbi(part.potentials)
        if long_labels is None:
            labels = decode_some(potentials, allowed, np.array([sequence]), labels)
        else:
            labels[part.tokens] = long_labels
    return labels
