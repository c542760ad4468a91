"""Marginals of a chain part by part: in memory that does not grow with the batch, and in the
processor's cache.

A part is some whole sequences of like length, or a stretch of a long one. A long sequence is cut
into pieces that are summed together as if each were a sequence of its own, with `warm_up` more
tokens on both sides of those that it answers for. What lies further away is not looked at, and
hardly matters: each step of forward-backward multiplies by a non-negative matrix, and these bring
any two vectors of messages closer together (Birkhoff 1957), in the metric

    d(a, b) = log max_y (a_y / b_y) - log min_y (a_y / b_y)

How close is measured, not assumed. Where piece c begins to answer, it is compared with piece c - 1,
whose prefixes are one piece longer. No step makes distances larger, so with m_c for what is
measured there and e_c for the distance to the prefixes of the whole sequence

    e_c <= m_c + e_{c-1} <= m_1 + ... + m_c

and the same for suffixes, from the other end. Probabilities then differ by at most a quarter of
both sums together (a distance d between two distributions bounds their difference by tanh(d / 4)).
If a sum exceeds `piece_tolerance`, or a label is possible in one piece and not in the other, the
sequence is summed as a whole.

Checked against marginals of whole sequences in tests/decoders/chain/test_pieces.py.
"""

from typing import Any, Callable, List, NamedTuple, Optional, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats, Ints
from ..problem import TUNING, Potentials, Tuning, largest, parts_of, ranges
from .chain_posterior import ChainPosterior, chain_posterior

Result = TypeVar("Result")


class ChainPart(NamedTuple):
    """sequences (s,): of the batch. tokens (n,): of the batch, those that are summed, ascending.
    inner (m,): which of these the part answers for, None = all, since its sequences are whole;
    those of all parts are all tokens, each once.
    posterior: of `tokens`, where each piece is a sequence."""

    sequences: Ints
    tokens: Ints
    inner: Optional[Ints]
    posterior: ChainPosterior

    @property
    def answered(self) -> Ints:
        """The tokens of the batch that the part answers for. RETURNS (m,)."""
        return self.inner_of(self.tokens)

    def inner_of(self, values: NDArray[np.generic]) -> NDArray[Any]:
        """What is known of `tokens` (n, ...), at those that the part answers for. RETURNS (m,
        ...)."""
        return values if self.inner is None else values[self.inner]


class Chain(NamedTuple):
    """A batch that has been checked. most (float): how far its scores are from 0."""

    potentials: Potentials
    most: float

    def posterior(self, tokens: Ints, lengths: AnyInts) -> Optional[ChainPosterior]:
        return chain_posterior(self.potentials, lengths, tokens, self.most)


def read_parts(
    potentials: Potentials, read: Callable[[ChainPart], Result], *, tuning: Tuning = TUNING
) -> Optional[List[Result]]:
    """What `read` makes of each part of a batch. potentials: of a chain, checked. RETURNS None if
    in one of the parts scaled probabilities would lose digits, or a sequence has no path."""
    chain = Chain(potentials, largest(potentials.scores))
    lengths = potentials.lengths.astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    results: List[Result] = []
    for sequence in np.flatnonzero(lengths >= tuning.long_tokens).tolist():
        pieces = _read_pieces(chain, sequence, int(starts[sequence]), read, tuning)
        if pieces is None:
            part = _whole(chain, np.array([sequence]), starts)
            if part is None:
                return None
            pieces = [read(part)]
        results += pieces
    short = np.flatnonzero(lengths < tuning.long_tokens)
    for some in parts_of(lengths[short], len(lengths), tuning.part_tokens):
        part = _whole(chain, short[some], starts)
        if part is None:
            return None
        results.append(read(part))
    return results


def _whole(chain: Chain, sequences: Ints, starts: Ints) -> Optional[ChainPart]:
    lengths = chain.potentials.lengths[sequences]
    tokens = ranges(starts[sequences], lengths)
    posterior = chain.posterior(tokens, lengths)
    return None if posterior is None else ChainPart(sequences, tokens, None, posterior)


def _read_pieces(
    chain: Chain, sequence: int, start: int, read: Callable[[ChainPart], Result], tuning: Tuning
) -> Optional[List[Result]]:
    """RETURNS None if pieces do not agree, or have no sums."""
    end = start + int(chain.potentials.lengths[sequence])
    firsts = np.arange(start, end, tuning.piece_tokens)
    together = max(1, tuning.part_tokens // tuning.piece_tokens)
    results: List[Result] = []
    # of each part (2, pieces, L): where its pieces begin to answer, and where they end
    prefixes = []
    suffixes = []
    for i in range(0, len(firsts), together):
        first = firsts[i : i + together]
        last = np.minimum(first + tuning.piece_tokens, end)
        left = np.maximum(first - tuning.warm_up, start)
        right = np.minimum(last + tuning.warm_up, end)
        sizes = right - left
        place = np.cumsum(sizes) - sizes - left  # in the part, less that in the batch
        tokens = ranges(left, sizes)
        posterior = chain.posterior(tokens, sizes)
        if posterior is None:
            return None
        prefixes.append(
            posterior.prefixes(np.stack([np.maximum(first - 1, start), last - 1]) + place)
        )
        suffixes.append(posterior.suffixes(np.stack([first, np.minimum(last, end - 1)]) + place))
        results.append(
            read(
                ChainPart(
                    np.array([sequence]), tokens, ranges(first + place, last - first), posterior
                )
            )
        )
    messages = np.concatenate(prefixes, axis=1), np.concatenate(suffixes, axis=1)
    return results if all(_distance(each) <= tuning.piece_tolerance for each in messages) else None


def _distance(messages: Floats) -> float:
    """Between pieces, all together. messages (2, pieces, L): where pieces begin to answer, and where
    they end."""
    with np.errstate(divide="ignore"):
        logs = np.log(messages)
    return float(distances(logs[0, 1:], logs[1, :-1]).sum())


def distances(a: Floats, b: Floats) -> Floats:
    """max (a - b) - min (a - b) of each row, infinite if only one is -inf somewhere. a, b (n, L).
    RETURNS (n,)."""
    with np.errstate(invalid="ignore"):
        difference = a - b  # nan where both are -inf
        return np.asarray(np.fmax.reduce(difference, axis=1) - np.fmin.reduce(difference, axis=1))
