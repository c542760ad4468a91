"""Marginals of a chain part by part: in memory that does not grow with the batch, and in the processor's cache.

A part is some whole sequences of like length, or a stretch of a long one. A long sequence is cut into PIECES that are
summed together as if each were a sequence of its own, with WARM_UP more tokens on both sides of those that it answers
for. What lies further away is not looked at, and hardly matters: each step of forward-backward multiplies by a
non-negative matrix, and these bring any two vectors of messages closer together (Birkhoff 1957), in the metric

    d(a, b) = log max_y (a_y / b_y) - log min_y (a_y / b_y)

How close is measured, not assumed. Where piece c begins to answer, it is compared with piece c - 1, whose prefixes are
one piece longer. No step makes distances larger, so with m_c for what is measured there and e_c for the distance to the
prefixes of the whole sequence

    e_c <= m_c + e_{c-1} <= m_1 + ... + m_c

and the same for suffixes, from the other end. Probabilities then differ by at most a quarter of both sums together
(a distance d between two distributions bounds their difference by tanh(d / 4)). If a sum exceeds TOLERANCE, or a
label is possible in one piece and not in the other, the sequence is summed as a whole.

Checked against marginals of whole sequences in tests/decoders/chain/test_pieces.py.
"""

from typing import Any, Callable, Iterator, List, NamedTuple, Optional, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts, Floats, Ints, Mask
from ..problem.layout import check_scores, largest, parts_of, ranges
from ..problem.potentials import Potentials
from ..problem.results import NoPath
from .chain_marginals import ChainMarginals

PART_TOKENS = 6_000  # of the sequences that are summed together
LONG = 4_000  # tokens of a sequence from which it is cut
PIECE, WARM_UP = 128, 32  # tokens that a piece answers for, and that it looks at on each side
TOLERANCE = 1e-8

Found = TypeVar("Found")


class Part(NamedTuple):
    """sequences (s,): of the batch. tokens (n,): of the batch, those that are summed, ascending. inner (m,): which of
    these the part answers for, None = all, since its sequences are whole; those of all parts are all tokens, each once.
    marginals: of `tokens`, where each piece is a sequence."""

    sequences: Ints
    tokens: Ints
    inner: Optional[Ints]
    marginals: ChainMarginals

    @property
    def answered(self) -> Ints:
        """The tokens of the batch that the part answers for. RETURNS (m,)."""
        return self.inner_of(self.tokens)

    def inner_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """What is known of `tokens` (n, ...), at those that the part answers for. RETURNS (m, ...)."""
        return values if self.inner is None else values[self.inner]


class Chain(NamedTuple):
    """A batch that has been checked. most (float): how far its scores are from 0."""

    potentials: Potentials
    allowed: Optional[Mask]
    most: float

    def marginals(self, tokens: Ints, lengths: AnyInts) -> ChainMarginals:
        scores, trans = self.potentials.scores, self.potentials.trans
        return ChainMarginals.of_some(scores, trans, lengths, tokens, self.allowed, self.most)


class NotClose(Exception):
    """Pieces agree less than they should."""


def read_parts(potentials: Potentials, allowed: Optional[Mask], read: Callable[[Part], Found]) -> List[Found]:
    """What `read` finds in each part of a batch. potentials: of a chain. allowed (N, L).

    RAISES ValueError as `ChainMarginals`.
    """
    check_scores(potentials.scores, potentials.trans, allowed)
    chain = Chain(potentials, allowed, largest(potentials.scores))
    lengths = potentials.lengths.astype(np.intp)
    starts = np.cumsum(lengths) - lengths
    found: List[Found] = []
    for sequence in np.flatnonzero(lengths >= LONG).tolist():
        found += _read_long(chain, sequence, int(starts[sequence]), read)
    short = np.flatnonzero(lengths < LONG)
    for chosen, _ in parts_of(lengths[short], len(lengths), PART_TOKENS):
        found.append(read(_whole(chain, short[chosen], starts[short[chosen]])))
    return found


def _read_long(chain: Chain, sequence: int, start: int, read: Callable[[Part], Found]) -> List[Found]:
    try:
        return [read(part) for part in _pieces(chain, sequence, start)]
    except NotClose:
        return [read(_whole(chain, np.array([sequence]), np.array([start])))]


def _whole(chain: Chain, sequences: Ints, starts: Ints) -> Part:
    lengths = chain.potentials.lengths[sequences]
    tokens = ranges(starts, lengths)
    try:
        return Part(sequences, tokens, None, chain.marginals(tokens, lengths))
    except NoPath as no_path:
        raise NoPath(int(sequences[no_path.sequence])) from None


def _pieces(chain: Chain, sequence: int, start: int) -> Iterator[Part]:
    """RAISES NotClose, at the end."""
    end = start + int(chain.potentials.lengths[sequence])
    firsts = np.arange(start, end, PIECE)
    together = max(1, PART_TOKENS // PIECE)
    prefixes, suffixes = [], []  # of each part (2, pieces, L): where its pieces begin to answer, and where they end
    for i in range(0, len(firsts), together):
        first = firsts[i : i + together]
        last = np.minimum(first + PIECE, end)
        left, right = np.maximum(first - WARM_UP, start), np.minimum(last + WARM_UP, end)
        sizes = right - left
        place = np.cumsum(sizes) - sizes - left  # in the part, less that in the batch
        try:
            tokens = ranges(left, sizes)
            marginals = chain.marginals(tokens, sizes)
        except NoPath:
            raise NoPath(sequence) from None
        prefixes.append(marginals.prefixes(np.stack([np.maximum(first - 1, start), last - 1]) + place))
        suffixes.append(marginals.suffixes(np.stack([first, np.minimum(last, end - 1)]) + place))
        yield Part(np.array([sequence]), tokens, ranges(first + place, last - first), marginals)
    for messages in (np.concatenate(prefixes, axis=1), np.concatenate(suffixes, axis=1)):
        with np.errstate(divide="ignore"):
            logs = np.log(messages)
        if not distances(logs[0, 1:], logs[1, :-1]).sum() <= TOLERANCE:
            raise NotClose


def distances(a: Floats, b: Floats) -> Floats:
    """max (a - b) - min (a - b) of each row, infinite if only one is -inf somewhere. a, b (n, L). RETURNS (n,)."""
    with np.errstate(invalid="ignore"):
        difference = a - b  # nan where both are -inf
        return np.asarray(np.fmax.reduce(difference, axis=1) - np.fmin.reduce(difference, axis=1))
