"""The best labels, and with them either all labels that are probable, or the probabilities of segments.

Both need marginals. Those of a chain are read part by part (`pieces.py`) and forgotten; of a segment of the best
labelling it is enough to know

    p(y_s..y_t, and then no y_{t+1} with goes_on[y_t, y_{t+1}] | x)
        = p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(no such y_{t+1} | y_t)

token by token. With label patterns, with scores of label pairs at each token, and where scaled probabilities would
vanish, the marginals of the whole batch are kept.

Checked against enumeration in tests/decoders/posterior/test_predictions.py.
"""

from typing import Any, Callable, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Labels, Mask
from ..chain import Cells, Part, long_viterbi, read_parts
from ..exact import exact_labels
from ..problem import TUNING, Factors, Potentials, Tuning, check_segments, ranges
from .posterior_of import is_chain, posterior_of
from .posterior_pruning import decode_some, least_likely, likely_labels
from .short import short_posterior
from .sparse_marginals import ProbableLabels, check_threshold, least_reaching, neighbours, probable_labels, reach


class Labelling(NamedTuple):
    """The best labelling. labels (N,). nodes (N, L): p(y_t = y | x), of no tokens if not asked for. lengths (S,).
    factors: of some segments of the labelling, by their first tokens and sizes (C,)."""

    labels: Labels
    nodes: AnyFloats
    lengths: AnyInts
    factors: Callable[[AnyInts, AnyInts], Factors]

    def segments(self, first: AnyInts, sizes: AnyInts) -> Floats:
        """The probability of some segments of the labelling. first, sizes (C,): their tokens, within one sequence.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence."""
        check_segments(first, sizes, self.lengths)
        return self.factors(first, sizes).product(sizes)


def labels_and_segments(
    potentials: Potentials, goes_on: Mask, *, with_nodes: bool = False, tuning: Tuning = TUNING
) -> Labelling:
    """The labels of `decode_exact`, and what segments of them need. goes_on (L, L) bool: pairs of labels across which a
    segment goes on. with_nodes (bool): keep the marginals of all labels.

    RAISES ValueError as `posterior_of`.
    """
    if is_chain(potentials) and potentials.edge_scores is None:
        short = short_posterior(potentials.check(), tuning)
        if short is not None:
            labels, nodes = short.labels(tuning), short.nodes if with_nodes else short.nodes[:0]
            of_segments = _of_segments(short.factors(labels, goes_on))
            return Labelling(labels, nodes.astype(np.float32), potentials.lengths, of_segments)
        labelling = _labelled(potentials, goes_on, with_nodes, tuning)
        if labelling is not None:
            return labelling
    labels, posterior = exact_labels(potentials, tuning=tuning), posterior_of(potentials, tuning=tuning)

    def factors(first: AnyInts, sizes: AnyInts) -> Factors:
        return posterior.factors(first, sizes, labels[ranges(first, sizes)], goes_on)

    return Labelling(labels, posterior.nodes, potentials.lengths, factors)


def labels_and_probable(
    potentials: Potentials, threshold: float, *, tuning: Tuning = TUNING
) -> Tuple[Labels, ProbableLabels]:
    """The labels of `decode_exact`, and `probable_labels`. RAISES ValueError as `posterior_of`; [HS027]: the
    threshold."""
    check_threshold(threshold)
    if is_chain(potentials) and potentials.edge_scores is None:
        short = short_posterior(potentials.check(), tuning)
        if short is not None:
            return short.labels(tuning), short.probable(threshold)
        labels_and_rest = _probable(potentials, threshold, tuning)
        if labels_and_rest is not None:
            return labels_and_rest
    labels = exact_labels(potentials, tuning=tuning)
    return labels, probable_labels(posterior_of(potentials, tuning=tuning), threshold)


class ChainCells(NamedTuple):
    """What is known of the labels of a chain that are not improbable. cells (C of them). stop (C,): as
    `ChainPosterior.stops`, if asked for. weights (L, L): of the posterior. log_z (S,): NaN of sequences in pieces."""

    cells: Cells
    stop: Floats
    weights: Floats
    log_z: Floats


def _labelled(potentials: Potentials, goes_on: Mask, with_nodes: bool, tuning: Tuning) -> Optional[Labelling]:
    """RETURNS None if scaled probabilities would lose digits, or if a sequence has no path."""
    n_tokens, n_labels = potentials.scores.shape
    factors = Factors(np.ones(n_tokens), np.ones(n_tokens), np.ones(n_tokens))  # at the tokens s, i and t
    nodes = np.empty((n_tokens if with_nodes else 0, n_labels), np.float32)
    long_labels = _long_labels(potentials, tuning)

    def also(part: Part) -> None:
        if part.inner is not None:
            _write_factors(part, long_labels, goes_on, factors)
        if with_nodes:
            nodes[part.answered] = part.inner_of(part.posterior.nodes)

    known = _read(potentials, least_likely(n_labels, tuning), tuning, goes_on, also)
    if known is None:
        return None
    labels, rest = _best_labels(potentials, known, long_labels, tuning)
    _factors_of_cells(known, labels, potentials.lengths, factors)
    if len(rest):  # their marginals are made once more: that costs less than to keep all
        chain = potentials.select(rest)
        some = Factors(*(np.empty(len(chain.tokens)) for _ in factors))
        of_chain = labels[chain.tokens]
        read_parts(chain.potentials, lambda part: _write_factors(part, of_chain, goes_on, some), tuning=tuning)
        for every, values in zip(factors, some, strict=True):
            every[chain.tokens] = values
    return Labelling(labels, nodes, potentials.lengths, _of_segments(factors))


def _of_segments(factors: Factors) -> Callable[[AnyInts, AnyInts], Factors]:
    """factors (N,) each: token by token. RETURNS what makes those of segments."""
    start, go_on, stop = factors

    def of_segments(first: AnyInts, sizes: AnyInts) -> Factors:
        steps, starts = go_on[ranges(first, sizes)], np.cumsum(sizes) - sizes
        steps[starts] = 1.0
        return Factors(start[first], steps, stop[first + sizes - 1])

    return of_segments


def _write_factors(part: Part, labels: Labels, goes_on: Mask, factors: Factors) -> None:
    """Write the factors of a part (n,) into those of the batch (N,)."""
    for every, values in zip(factors, part.posterior.along(labels[part.tokens], goes_on), strict=True):
        every[part.answered] = part.inner_of(values)


def _factors_of_cells(known: ChainCells, labels: Labels, lengths: AnyInts, factors: Factors) -> None:
    """Write the factors at the tokens of whole sequences. What is written where a label is no cell, and at first tokens
    as that to go on, counts for nothing."""
    cells = known.cells
    whole = np.repeat(~np.isnan(known.log_z), lengths)
    at = np.zeros(len(labels), np.intp)
    on_path = np.flatnonzero(cells.labels == labels.take(cells.tokens))
    at[cells.tokens.take(on_path)] = on_path
    p, before = cells.p.take(at), at[:-1]
    pairs = cells.alpha.take(before) * known.weights[labels[:-1], labels[1:]] * cells.message.take(at[1:])
    np.copyto(factors.start, p, where=whole)
    np.copyto(factors.go_on[1:], pairs / p[:-1], where=whole[1:])
    np.copyto(factors.stop, known.stop.take(at), where=whole)


def _probable(potentials: Potentials, threshold: float, tuning: Tuning) -> Optional[Tuple[Labels, ProbableLabels]]:
    """RETURNS None as `_labelled`."""
    n_labels = potentials.scores.shape[1]
    known = _read(potentials, min(least_likely(n_labels, tuning), least_reaching(threshold)), tuning)
    if known is None:
        return None
    labels, _ = _best_labels(potentials, known, _long_labels(potentials, tuning), tuning)
    reached = np.flatnonzero(reach(known.cells.p, threshold))
    tokens, some_labels, p, alpha, message = known.cells.chosen(reached)
    earlier, later = neighbours(tokens, potentials.lengths)
    weights = known.weights[some_labels.take(earlier), some_labels.take(later)]
    pairs = alpha.take(earlier) * weights * message.take(later)
    kept = np.flatnonzero(reach(pairs, threshold))
    return labels, ProbableLabels(tokens, some_labels, p, earlier.take(kept), later.take(kept), pairs.take(kept))


def _read(
    potentials: Potentials,
    least: float,
    tuning: Tuning,
    goes_on: Optional[Mask] = None,
    also: Callable[[Part], None] = lambda part: None,
) -> Optional[ChainCells]:
    """Labels whose probability is at least `least`. goes_on: for `stop`. also: is called with each part. RETURNS None
    as `_labelled`."""
    weights, log_z = np.empty(potentials.trans.shape), np.full(len(potentials.lengths), np.nan)

    def read(part: Part) -> Tuple[NDArray[Any], ...]:
        weights[:] = part.posterior.weights  # the same in all parts
        cells = part.posterior.likely(least, part.inner)
        if part.inner is None:
            log_z[part.sequences] = part.posterior.log_z
        also(part)
        stop = np.ones(0) if goes_on is None else part.posterior.stops(cells.tokens, cells.labels, goes_on)
        return part.tokens.take(cells.tokens), *cells[1:], stop

    parts = read_parts(potentials, read, tuning=tuning)
    if parts is None:
        return None
    empty: List[NDArray[Any]] = [np.zeros(0, np.intp), np.zeros(0, np.intp), *np.zeros((4, 0))]
    *columns, stop = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
    order = _by_token(columns[0], len(potentials.scores))
    return ChainCells(
        Cells(*(column.take(order) for column in columns)),
        stop if goes_on is None else stop.take(order),
        weights,
        log_z,
    )


def _by_token(tokens: Ints, n_tokens: int) -> Ints:
    """What sorts cells by token, where those of each token lie together. tokens (C,), each below n_tokens."""
    counts = np.bincount(tokens, minlength=n_tokens)
    begins = np.flatnonzero(np.diff(tokens, prepend=-1))
    order = np.empty(len(tokens), np.intp)
    shift = (np.cumsum(counts) - counts).take(tokens.take(begins)) - begins
    order[np.arange(len(tokens)) + np.repeat(shift, np.diff(begins, append=len(tokens)))] = np.arange(len(tokens))
    return order


def _best_labels(potentials: Potentials, known: ChainCells, long: Labels, tuning: Tuning) -> Tuple[Labels, Ints]:
    """long (N,): labels of sequences in pieces. RETURNS the best labels (N,), and sequences for which marginals did not
    help, so that cells may be missing on their best labelling."""
    labels, undecided = likely_labels(potentials, known.cells, known.log_z, tuning)
    labels = np.where(np.repeat(np.isnan(known.log_z), potentials.lengths), long, labels)
    return decode_some(potentials, undecided, labels, tuning), undecided


def _long_labels(potentials: Potentials, tuning: Tuning) -> Labels:
    """The labels of long sequences; 0 in others, which are decoded when their marginals are known. RETURNS (N,).

    Exact pruning cuts a long sequence at the tokens that are decided. With forbidden transitions hardly any are, since
    a change of one label alone is hardly ever permitted; then pieces are decoded."""
    labels = np.zeros(len(potentials.scores), np.int32)
    long = np.flatnonzero(potentials.lengths >= tuning.long_tokens)
    if potentials.weights.permit_all:
        return decode_some(potentials, long, labels, tuning)
    for sequence in long.tolist():
        part = potentials.select(np.array([sequence]))
        long_labels = long_viterbi(part.potentials, tuning=tuning)
        if long_labels is None:
            labels = decode_some(potentials, np.array([sequence]), labels, tuning)
        else:
            labels[part.tokens] = long_labels
    return labels
