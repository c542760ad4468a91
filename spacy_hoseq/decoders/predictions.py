"""The best labels, and with them either all labels that are probable, or the probabilities of segments.

Both need marginals. Those of a chain are read part by part (`chain_parts.py`) and forgotten; of a segment of the best
labelling it is enough to know

    p(y_s..y_t, and then no y_{t+1} with goes_on[y_t, y_{t+1}] | x)
        = p(y_s) * prod over s < i <= t of p(y_i | y_{i-1}) * p(no such y_{t+1} | y_t)

token by token. With label patterns, with scores of label pairs at each token, and where scaled probabilities would
vanish, the marginals of the whole batch are kept. Checked against enumeration in tests/decoders/test_predictions.py.
"""

from contextlib import suppress
from typing import NamedTuple, Optional, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from .chain_marginals import check_segments
from .chain_parts import LONG, Part, read_parts
from .configuration_marginals import SpanMarginals, span_marginals
from .layout import ranges
from .long_viterbi import long_viterbi
from .marginals import marginals_of
from .potentials import Potentials
from .probable_labels import ProbableLabels, check_threshold, neighbours, probable_labels, reach
from .probable_path import decode_probable, decode_some, likely_labels
from .records import LostDigits

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Labels = NDArray[np.int32]
Mask = NDArray[np.bool_]


class Labelling(NamedTuple):
    """The best labelling of any potentials. labels (N,). marginals: all. goes_on (L, L) bool."""

    labels: Labels
    marginals: SpanMarginals
    goes_on: Mask

    @property
    def nodes(self) -> NDArray[np.floating]:
        """p(y_t = y | x). RETURNS (N, L)."""
        return self.marginals.nodes

    def segments(self, first: NDArray[np.integer], sizes: NDArray[np.integer]) -> Floats:
        """The probability of some segments of the labelling. first, sizes (C,): their tokens, within one sequence.
        RETURNS (C,). RAISES ValueError [HS098]: a segment that is empty, or not within one sequence."""
        return self.marginals.segments(first, sizes, self.labels[ranges(first, sizes)], self.goes_on)


class ChainLabelling(NamedTuple):
    """The best labelling of a chain. labels (N,). lengths (S,): of the sequences. start, step, stop (N,): the three
    factors above, at the tokens s, i and t. nodes (N, L) float32: p(y_t = y | x), of no tokens if not asked for."""

    labels: Labels
    lengths: NDArray[np.integer]
    start: Floats
    step: Floats
    stop: Floats
    nodes: NDArray[np.float32]

    def segments(self, first: NDArray[np.integer], sizes: NDArray[np.integer]) -> Floats:
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
    if _is_chain(potentials) and len(potentials.lengths):
        with suppress(LostDigits):
            return _probable(potentials, threshold, allowed)
    marginals = marginals_of(potentials, allowed=allowed)
    labels = decode_probable(potentials, marginals, allowed=allowed)
    return labels, probable_labels(marginals, potentials.lengths, threshold)


def _is_chain(potentials: Potentials) -> bool:
    """Whether there is nothing but scores and transitions."""
    configurations = potentials.configurations
    rest = potentials.patterns is not None or potentials.moves is not None
    return not rest and (configurations is None or not len(configurations.first))


def _labelled(potentials: Potentials, goes_on: Mask, allowed: Optional[Mask], with_nodes: bool) -> ChainLabelling:
    n_tokens, n_labels = potentials.scores.shape
    labels, faint = _long_labels(potentials, allowed), np.zeros(len(potentials.lengths), bool)
    factors = np.empty(n_tokens), np.empty(n_tokens), np.empty(n_tokens)
    nodes = np.empty((n_tokens if with_nodes else 0, n_labels), np.float32)

    def read(part: Part) -> None:
        _decode(part, labels, faint)
        _write_factors(part, labels, goes_on, factors)
        if with_nodes:
            nodes[part.answered] = part.inner_of(part.marginals.nodes)

    read_parts(potentials, allowed, read)
    rest = np.flatnonzero(faint)
    if len(rest):  # their marginals are made once more: that costs less than to decode some in each part
        labels = decode_some(potentials, allowed, rest, labels)
        chain, tokens, _ = potentials.chain_of(rest)
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


def _probable(potentials: Potentials, threshold: float, allowed: Optional[Mask]) -> Tuple[Labels, ProbableLabels]:
    labels, faint = _long_labels(potentials, allowed), np.zeros(len(potentials.lengths), bool)
    weights = np.empty(potentials.trans.shape)

    def read(part: Part) -> Tuple[Ints, Ints, Floats, Floats, Floats]:
        _decode(part, labels, faint)
        weights[:] = part.marginals.weights  # the same in all parts
        nodes = part.inner_of(part.marginals.nodes)
        cells = np.flatnonzero(reach(nodes, threshold))
        inner = cells // nodes.shape[1]
        own = cells - inner * nodes.shape[1]
        local = inner if part.inner is None else part.inner[inner]
        return part.tokens[local], own, nodes.take(cells), *part.marginals.sides(local, own)

    found = read_parts(potentials, allowed, read)
    tokens, own, p, alpha, message = (np.concatenate(column) for column in zip(*found, strict=True))
    earlier, later = neighbours(tokens, potentials.lengths)
    pairs = alpha[earlier] * weights[own[earlier], own[later]] * message[later]
    kept = reach(pairs, threshold)
    labels = decode_some(potentials, allowed, np.flatnonzero(faint), labels)
    return labels, ProbableLabels(tokens, own, p, earlier[kept], later[kept], pairs[kept])


def _long_labels(potentials: Potentials, allowed: Optional[Mask]) -> Labels:
    """The labels of long sequences; 0 in others, which are decoded when their marginals are known. RETURNS (N,).

    Exact pruning cuts a long sequence at the tokens that are decided. With forbidden transitions hardly any are, since
    a change of one label alone is hardly ever permitted; then pieces are decoded."""
    labels = np.zeros(len(potentials.scores), np.int32)
    long = np.flatnonzero(potentials.lengths >= LONG)
    if np.isfinite(potentials.trans).all():
        return decode_some(potentials, allowed, long, labels)
    for sequence in long.tolist():
        at = potentials.tokens_of(sequence)
        found = long_viterbi(potentials.scores[at], potentials.trans, None if allowed is None else allowed[at])
        if found is None:
            labels = decode_some(potentials, allowed, np.array([sequence]), labels)
        else:
            labels[at] = found
    return labels


def _decode(part: Part, labels: Labels, faint: Mask) -> None:
    """Write the labels of whole sequences into those of the batch (N,), and mark the sequences (S,) that have to be
    decoded without the help of marginals."""
    if part.inner is None:
        marginals = part.marginals
        labels[part.tokens], unknown = likely_labels(part.potentials, marginals.nodes, marginals.log_z)
        faint[part.first + unknown] = True
