"""The layout of a batch in memory, and the sizes of its parts: sequences sorted longest first,
time-major, no padding.

Step t of all sequences that have a token t is one slice `offset[t] : offset[t + 1]`, in the same
order at every step; sequences that have ended are missing at the end of the slice. thinc's `Padded`
orders sequences in the same way.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ...errors import Errors, wrong_value


class Tuning(NamedTuple):
    """Sizes that decide how fast decoders and sums are, and how much memory they take; none changes
    labels, ties included, or sums by more than rounding.

    A part is as large as the processor's cache likes it, or as memory permits. Every function that
    cuts its work takes `tuning`; tests hand in small numbers, so that a small case is cut, too. A
    cell is one number of a table.

    history_cells: of the lattice, stored for the way back. A longer batch is walked in blocks of
        steps, each computed a second time on the way back.
    column_cells: of one step of the sequences that are walked together, nodes x sequences
        (`nonnegative.py`).
    min_columns: sequences that are walked together even if that makes more cells.
    arc_cells: arcs of one step of the sequences that are walked together, over longest matches
        (`longest_match.py`).
    sum_cells: states of all tokens that are stored together for sums.
    matrix_cells: for each node of a trie, up to which products of matrices take less time
        (`matrix_messages.py`).
    pair_cells: pairs of candidates at neighbouring tokens that are decoded together.
    block_scores, block_tokens: scores of local classifiers (contexts x labels), and tokens, that
        are computed together.
    short_queries: of local classifiers, tokens x sets of visible neighbours, that are classified at once
        (`easiest_first.py`).
    search_cells: of all windows, times modes, that are searched together (`decompositions.py`).
    """

    history_cells: int = 4_000_000
    column_cells: int = 65_536  # half a megabyte
    min_columns: int = 16
    arc_cells: int = 2_000_000
    sum_cells: int = 4_000_000
    matrix_cells: int = 50
    pair_cells: int = 1_000_000
    block_scores: int = 4_000_000
    block_tokens: int = 4_096
    short_queries: int = 2_048
    search_cells: int = 4_000_000


TUNING = Tuning()


class Layout(NamedTuple):
    """lengths (S,): as given. order (S,): sequence at each rank, longest first, ties in the given
    order.

    size_at_t (T,): sequences that have a token t. offset (T + 1,): start of step t among the packed
        tokens.
    tokens (N,): flat index of each packed token.
    """

    lengths: NDArray[np.int64]
    order: Ints
    size_at_t: NDArray[np.int64]
    offset: NDArray[np.int64]
    tokens: Ints

    @property
    def place(self) -> Ints:
        """Packed place of each flat token. RETURNS (N,)."""
        place = np.empty(len(self.tokens), np.intp)
        place[self.tokens] = np.arange(len(place))
        return place

    @property
    def ends(self) -> Ints:
        """Packed places of last tokens. RETURNS (S,) by rank."""
        sizes = self.lengths[self.order]
        return np.asarray(self.offset[sizes - 1] + np.arange(len(sizes)))

    def step(self, t: int) -> slice:
        return slice(int(self.offset[t]), int(self.offset[t + 1]))

    def before(self, t: int) -> slice:
        """The tokens before those of step t > 0."""
        start = int(self.offset[t - 1])
        return slice(start, start + int(self.size_at_t[t]))

    def steps_of(self, packed: Ints) -> tuple[Ints, Ints]:
        """Step and column of packed places. RETURNS (n,), (n,)."""
        steps = np.searchsorted(self.offset, packed, side="right") - 1
        return steps, packed - self.offset[steps]

    def blocks(self, cells_per_token: int, max_cells: int) -> Iterator[tuple[int, int]]:
        """Ranges of steps [first, last) of at most about `max_cells` cells, in order."""
        first = 0
        n_steps = len(self.size_at_t)
        while first < n_steps:
            room = self.offset[first] + max_cells // max(1, cells_per_token)
            last = max(first + 1, int(np.searchsorted(self.offset, room, side="right")) - 1)
            yield first, last
            first = last


class Groups:
    """Equal keys, together. order (n,): indices of the keys, group by group. keys (g,): the
    distinct ones, ascending. starts (g,): of each group in that order."""

    def __init__(self, keys: Ints) -> None:
        self.order: Ints = np.argsort(keys, kind="stable")
        self.keys, self.starts = np.unique(keys[self.order], return_index=True)

    @property
    def which(self) -> Ints:
        """The group of each place in that order. RETURNS (n,)."""
        sizes = np.diff(self.starts, append=len(self.order))
        return np.repeat(np.arange(len(sizes)), sizes)

    def added(self, values: Floats) -> Floats:
        """Sums of values (n, ...), real or complex, group by group. RETURNS (g, ...)."""
        return np.add.reduceat(values[self.order], self.starts, axis=0)

    def largest(self, values: Floats) -> Floats:
        """RETURNS (g, ...)."""
        return np.maximum.reduceat(values[self.order], self.starts, axis=0)


def check_lengths(lengths: AnyInts, n_tokens: int) -> NDArray[np.int64]:
    """RETURNS (S,) int64. RAISES ValueError [HS027]: lengths are not positive or do not add up to
    `n_tokens`."""
    sizes: NDArray[np.int64] = np.asarray(lengths).astype(np.int64)
    listed = sizes.tolist()
    if min(listed, default=1) < 1 or sum(listed) != n_tokens:
        raise wrong_value("lengths", listed[:10], f"positive numbers that add up to {n_tokens}")
    return sizes


def make_layout(lengths: AnyInts, n_tokens: int) -> Layout:
    """RAISES ValueError [HS027] as `check_lengths`."""
    sizes = check_lengths(lengths, n_tokens)
    if len(sizes) == 1:
        tokens = np.arange(n_tokens + 1)
        return Layout(sizes, tokens[:1], np.ones(n_tokens, np.int64), tokens, tokens[:-1])
    order = np.argsort(-sizes, kind="stable")  # longest first
    n_steps = int(sizes.max(initial=0))
    size_at_t = len(sizes) - np.searchsorted(np.sort(sizes), np.arange(n_steps), side="right")
    offset = np.concatenate([[0], np.cumsum(size_at_t)])
    rank = np.empty(len(sizes), np.intp)
    rank[order] = np.arange(len(sizes))
    # (N,) position in the own sequence
    time = np.arange(n_tokens) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    tokens = np.empty(n_tokens, np.intp)
    tokens[offset[time] + np.repeat(rank, sizes)] = np.arange(n_tokens)
    return Layout(sizes, order, size_at_t, offset, tokens)


def parts_of(lengths: AnyInts, max_columns: int, max_tokens: int) -> Iterator[Ints]:
    """The batch in parts of at most `max_columns` sequences and about `max_tokens` tokens, those of
    like length
    together: lattices of few columns stay in the processor's cache."""
    sizes = lengths.astype(np.intp)
    order = np.argsort(-sizes, kind="stable")
    ends = np.concatenate([[0], np.cumsum(sizes[order])])  # tokens of the first i sequences
    first = 0
    while first < len(order):
        last = int(np.searchsorted(ends, ends[first] + max_tokens, side="right")) - 1
        last = min(first + max_columns, max(first + 1, last), len(order))
        yield np.sort(order[first:last])
        first = last


def check_emissions(
    scores: AnyFloats, shape_of_trans: tuple[int, ...], allowed: Mask | None
) -> None:
    """RAISES ValueError [HS020], [HS022], [HS024]."""
    n_tokens, n_labels = scores.shape
    if shape_of_trans != (n_labels, n_labels):
        raise ValueError(
            Errors.HS024.format(name="trans", got=shape_of_trans, expected=(n_labels, n_labels))
        )
    finite = np.isfinite(scores)
    if not finite.all():
        token, label = np.argwhere(~finite)[0]
        where = f"emissions, first at token {token}, label {label}"
        raise ValueError(Errors.HS020.format(name=where, n=(~finite).sum(), size=scores.size))
    check_allowed(allowed, scores.shape)


def check_allowed(allowed: Mask | None, shape: tuple[int, ...]) -> None:
    """shape: (N, L). RAISES ValueError [HS022], [HS024]."""
    if allowed is None:
        return
    if allowed.shape != shape:
        raise ValueError(Errors.HS024.format(name="allowed", got=allowed.shape, expected=shape))
    closed = np.flatnonzero(~allowed.any(axis=1))
    if len(closed):
        raise ValueError(Errors.HS022.format(token=closed[0]))


def check_transitions(trans: AnyFloats) -> None:
    """RAISES ValueError [HS020]."""
    usable = trans < np.inf
    if not usable.all():
        raise ValueError(
            Errors.HS020.format(name="transitions", n=(~usable).sum(), size=trans.size)
        )


def largest(scores: AnyFloats) -> float:
    """The largest absolute score; not finite if one of the scores is not."""
    top = float(scores.max(initial=0.0))
    bottom = float(scores.min(initial=0.0))
    return top if top > -bottom or top != top else -bottom


def masked(scores: AnyFloats, allowed: Mask | None) -> Floats:
    """In double precision, -inf where a label is not allowed. RETURNS (N, L), a copy."""
    emissions: Floats = scores.astype(np.float64)
    if allowed is not None:
        emissions[~allowed] = -np.inf
    return emissions


def packed_scores(scores: AnyFloats, allowed: Mask | None, layout: Layout) -> Floats:
    """Emission scores in packed order, label-major. RETURNS (L, N) float64, or complex as the scores
    are; -inf where a label is not allowed."""
    rows = layout.tokens
    packed: Floats = scores[rows].T.astype(np.result_type(scores, np.float64), order="C")
    if allowed is not None:
        packed[~allowed[rows].T] = -np.inf
    return packed


def check_edge_scores(edge_scores: AnyFloats, shape: tuple[int, ...]) -> None:
    """shape: of the emissions. RAISES ValueError [HS024]: another one; [HS020]: NaN or infinite
    scores."""
    expected = (*shape, shape[1])
    if edge_scores.shape != expected:
        raise ValueError(
            Errors.HS024.format(name="edge_scores", got=edge_scores.shape, expected=expected)
        )
    finite = np.isfinite(edge_scores)
    if not finite.all():
        raise ValueError(
            Errors.HS020.format(name="edge_scores", n=(~finite).sum(), size=edge_scores.size)
        )


def packed_edge_scores(edge_scores: AnyFloats, layout: Layout) -> Floats:
    """RETURNS (N, L, L) float64, 0 at first tokens, which count for nothing."""
    packed: Floats = edge_scores[layout.tokens].astype(np.float64)
    if len(packed):
        packed[layout.step(0)] = 0.0
    return packed


def ranges(first: AnyInts, sizes: AnyInts) -> Ints:
    """All integers of the ranges [first_i, first_i + sizes_i), end to end. RETURNS (sum of sizes,)
    intp."""
    ends = sizes.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.asarray(np.arange(total) + (first - (ends - sizes)).repeat(sizes), np.intp)


def binned(keys: Ints, values: Floats, n: int) -> Floats:
    """Sums of values, real or complex, by key. RETURNS (n,)."""
    sums: Floats = np.bincount(keys, values.real, n).astype(np.float64)  # of none: integers
    return sums + 1j * np.bincount(keys, values.imag, n) if np.iscomplexobj(values) else sums


def sums_of_sequences(values: Floats, lengths: AnyInts) -> Floats:
    """The values of all tokens (N,), added up in each sequence. RETURNS (S,) float64."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(np.bincount(sequence, values, minlength=len(lengths)), np.float64)


def check_segments(first: AnyInts, sizes: AnyInts, lengths: AnyInts) -> None:
    """RAISES ValueError [HS027]: a segment that is empty, or not within a sequence."""
    if outside_sequences(first, sizes, lengths).any():
        raise wrong_value(
            "segments",
            f"first {first.tolist()[:10]}, sizes {sizes.tolist()[:10]}",
            "one token or more each, within a sequence",
        )


def outside_sequences(first: AnyInts, sizes: AnyInts, lengths: AnyInts) -> Mask:
    """The spans that are empty, or not within one sequence. RETURNS (C,)."""
    ends = lengths.cumsum()
    end = np.append(ends, 0)[ends.searchsorted(first, side="right")]  # 0 behind the last sequence
    return np.asarray((first + sizes > end) | (sizes < 1) | (first < 0))
