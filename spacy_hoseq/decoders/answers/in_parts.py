"""The best labels, and with them either all labels that are probable, or the probabilities of
segments.

Both need marginals. Those of a chain are read part by part (`pieces.py`) and forgotten; of a
segment of the best labelling it is enough to know

    p(y_s..y_t, and then no y_{t+1} with continues[y_t, y_{t+1}] | x)
        = p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(no such y_{t+1} | y_t)

token by token. All else is summed when it is asked for.

Checked against enumeration in tests/decoders/answers/test_in_parts.py.
"""

from functools import cached_property
from typing import Any, Callable, List, NamedTuple, Optional, Tuple, cast

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats, Ints, Labels, Mask
from ..chain import ChainPart, LikelyCells, read_parts
from ..problem import (
    Asked,
    Factors,
    Potentials,
    ProbableLabels,
    Tuning,
    least_reaching,
    neighbours,
    ranges,
    reach,
)
from ..pruning import least_likely, likely_labels

Decode = Callable[[Potentials, Tuning], Labels]  # of a chain, by the table of algorithms


class PartSums:
    """Of a chain. What is known of labels depends on the labelling, so that both are made at once.
    known: of labels.
    factors (N,): of sequences in pieces, whose labels are `long_labels`. nodes: None = not asked
        for."""

    def __init__(
        self,
        potentials: Potentials,
        asked: Asked,
        tuning: Tuning,
        known: "ChainCells",
        factors: Factors,
        nodes: Optional[Floats],
        long_labels: Labels,
        decode: Decode,
    ) -> None:
        self._potentials = potentials
        self._asked = asked
        self._tuning = tuning
        self._known = known
        self._factors = factors
        self.nodes = nodes
        self._long_labels = long_labels
        self._decode = decode

    @cached_property
    def _best(self) -> Tuple[Labels, Ints]:
        """The labels (N,), and sequences for which marginals did not help, so that cells may be
        missing on their best labelling."""
        potentials = self._potentials
        log_z = self._known.log_z
        labels, undecided = likely_labels(potentials, self._known.cells, log_z, self._tuning)
        labels = np.where(np.repeat(np.isnan(log_z), potentials.lengths), self._long_labels, labels)
        return decode_some(potentials, undecided, labels, self._decode, self._tuning), undecided

    @property
    def labels(self) -> Labels:
        return self._best[0]

    @cached_property
    def _factors_of_best(self) -> Factors:
        """Token by token (N,)."""
        labels, rest = self._best
        factors = self._factors
        continues = self._asked.continues
        tuning = self._tuning
        _factors_of_cells(self._known, labels, self._potentials.lengths, factors)
        # their marginals are made once more: that costs less than to keep all
        if len(rest) and continues is not None:
            chain = self._potentials.select(rest)
            some = Factors(*(np.empty(len(chain.tokens)) for _ in factors))
            of_chain = labels[chain.tokens]
            read_parts(
                chain.potentials,
                lambda part: _write_factors(part, of_chain, continues, some),
                tuning=tuning,
            )
            for every, values in zip(factors, some, strict=True):
                every[chain.tokens] = values
        return factors

    def factors(self, continues: Mask) -> Optional[Factors]:
        return self._factors_of_best if continues is self._asked.continues else None

    def probable(self, least: float) -> Optional[ProbableLabels]:
        if self._asked.probable is None or least < self._asked.probable:
            return None
        cells = self._known.cells
        weights = self._known.weights
        tokens, labels, p, alpha, message = cells.chosen(np.flatnonzero(reach(cells.p, least)))
        earlier, later = neighbours(tokens, self._potentials.lengths)
        pairs = (
            alpha.take(earlier)
            * weights[labels.take(earlier), labels.take(later)]
            * message.take(later)
        )
        kept = np.flatnonzero(reach(pairs, least))
        return ProbableLabels(
            tokens, labels, p, earlier.take(kept), later.take(kept), pairs.take(kept)
        )

    def segments(
        self,
        first: AnyInts,
        sizes: AnyInts,
        labels: AnyInts,
        continues: Optional[Mask],
        least: float,
    ) -> Optional[Floats]:
        """Labels that are no cells are less probable than `least`, and so are their segments."""
        asked = self._asked
        if asked.probable is None or least < asked.probable:
            return None
        if continues is not None and not np.array_equal(continues, cast(Any, asked.continues)):
            return None
        cells, stop, weights, _ = self._known
        n_labels = len(weights)
        numbers = cells.tokens * n_labels + cells.labels
        wanted = ranges(first, sizes) * n_labels + labels
        at = np.searchsorted(numbers, wanted).clip(max=len(numbers) - 1)
        p = cells.p.take(at)
        pairs = cells.alpha.take(at[:-1]) * weights[labels[:-1], labels[1:]]
        pairs *= cells.message.take(at[1:])
        go_on = np.ones(len(at))
        np.divide(pairs, p[:-1], out=go_on[1:])
        starts = np.cumsum(sizes) - sizes
        go_on[starts] = 1.0
        go_on[numbers.take(at) != wanted] = 0.0
        last = np.ones(len(sizes)) if continues is None else stop.take(at[starts + sizes - 1])
        return Factors(p[starts], go_on, last).product(sizes)


def part_sums(
    potentials: Potentials, asked: Asked, tuning: Tuning, decode: Decode
) -> Optional[PartSums]:
    """Of a chain. decode: finds the labels of some of its sequences. RETURNS None if scaled
    probabilities would lose digits, or if a sequence has no path."""
    n_tokens, n_labels = potentials.scores.shape
    continues = asked.continues
    # at the tokens s, i and t
    factors = Factors(*np.ones((3, n_tokens if continues is not None else 0)))
    # they are kept for the whole batch
    nodes = np.empty((n_tokens if asked.nodes else 0, n_labels), np.float32)
    long_labels = _long_labels(potentials, decode, tuning)

    def also(part: ChainPart) -> None:
        if part.inner is not None and continues is not None:
            _write_factors(part, long_labels, continues, factors)
        if asked.nodes:
            nodes[part.answered] = part.inner_of(part.posterior.nodes)

    least = least_likely(n_labels, tuning)
    if asked.probable is not None:
        least = min(least, least_reaching(asked.probable))
    known = _read(potentials, least, tuning, continues, also)
    if known is None:
        return None
    kept = cast(Floats, nodes) if asked.nodes else None
    return PartSums(potentials, asked, tuning, known, factors, kept, long_labels, decode)


class ChainCells(NamedTuple):
    """What is known of the labels of a chain that are not improbable. cells (C of them). stop (C,):
    as `ChainPosterior.stops`, if asked for. weights (L, L): of the posterior. log_z (S,): NaN of
    sequences in pieces."""

    cells: LikelyCells
    stop: Floats
    weights: Floats
    log_z: Floats


def decode_some(
    potentials: Potentials, sequences: Ints, labels: Labels, decode: Decode, tuning: Tuning
) -> Labels:
    """The labels of the batch (N,), with those of some sequences of a chain decoded. RETURNS
    (N,)."""
    if not len(sequences):
        return labels
    part = potentials.select(sequences)
    labels = labels.copy()
    with part.numbered() as some:
        labels[part.tokens] = decode(some, tuning)
    return labels


def _write_factors(part: ChainPart, labels: Labels, continues: Mask, factors: Factors) -> None:
    """Write the factors of a part (n,) into those of the batch (N,)."""
    for every, values in zip(
        factors, part.posterior.along(labels[part.tokens], continues), strict=True
    ):
        every[part.answered] = part.inner_of(values)


def _factors_of_cells(
    known: ChainCells, labels: Labels, lengths: AnyInts, factors: Factors
) -> None:
    """Write the factors at the tokens of whole sequences. What is written where a label is no cell,
    and at first tokens as that to go on, counts for nothing."""
    cells = known.cells
    whole = np.repeat(~np.isnan(known.log_z), lengths)
    at = np.zeros(len(labels), np.intp)
    on_path = np.flatnonzero(cells.labels == labels.take(cells.tokens))
    at[cells.tokens.take(on_path)] = on_path
    p = cells.p.take(at)
    before = at[:-1]
    pairs = (
        cells.alpha.take(before)
        * known.weights[labels[:-1], labels[1:]]
        * cells.message.take(at[1:])
    )
    np.copyto(factors.start, p, where=whole)
    np.copyto(factors.go_on[1:], pairs / p[:-1], where=whole[1:])
    np.copyto(factors.stop, known.stop.take(at), where=whole)


def _read(
    potentials: Potentials,
    least: float,
    tuning: Tuning,
    continues: Optional[Mask] = None,
    also: Callable[[ChainPart], None] = lambda part: None,
) -> Optional[ChainCells]:
    """Labels whose probability is at least `least`. continues: for `stop`. also: is called with
    each part. RETURNS None if scaled probabilities would lose digits, or if a sequence has no
    path."""
    weights = np.empty(potentials.trans.shape)
    log_z = np.full(len(potentials.lengths), np.nan)

    def read(part: ChainPart) -> Tuple[NDArray[np.generic], ...]:
        weights[:] = part.posterior.weights  # the same in all parts
        cells = part.posterior.likely(least, part.inner)
        if part.inner is None:
            log_z[part.sequences] = part.posterior.log_z
        also(part)
        stop = (
            np.ones(0)
            if continues is None
            else part.posterior.stops(cells.tokens, cells.labels, continues)
        )
        return part.tokens.take(cells.tokens), *cells[1:], stop

    parts = read_parts(potentials, read, tuning=tuning)
    if parts is None:
        return None
    empty: List[NDArray[np.generic]] = [
        np.zeros(0, np.intp),
        np.zeros(0, np.intp),
        *np.zeros((4, 0)),
    ]
    *columns, stop = (np.concatenate(column) for column in zip(empty, *parts, strict=True))
    order = _by_token(columns[0], len(potentials.scores))
    return ChainCells(
        LikelyCells(*(column.take(order) for column in columns)),
        stop if continues is None else stop.take(order),
        weights,
        log_z,
    )


def _by_token(tokens: Ints, n_tokens: int) -> Ints:
    """What sorts cells by token, where those of each token lie together. tokens (C,), each below
    n_tokens."""
    counts = np.bincount(tokens, minlength=n_tokens)
    begins = np.flatnonzero(np.diff(tokens, prepend=-1))
    order = np.empty(len(tokens), np.intp)
    shift = (np.cumsum(counts) - counts).take(tokens.take(begins)) - begins
    order[np.arange(len(tokens)) + np.repeat(shift, np.diff(begins, append=len(tokens)))] = (
        np.arange(len(tokens))
    )
    return order


def _long_labels(potentials: Potentials, decode: Decode, tuning: Tuning) -> Labels:
    """The labels of long sequences; 0 in others, which are decoded when their marginals are known.
    RETURNS (N,)."""
    labels = np.zeros(len(potentials.scores), np.int32)
    for sequence in np.flatnonzero(potentials.lengths >= tuning.long_tokens).tolist():
        labels = decode_some(potentials, np.array([sequence]), labels, decode, tuning)
    return labels
