"""Candidate labels of each token, and log p of each candidate in every context that its neighbours'
candidates make.

Labels whose zero-order probability p(y_i | o) is below `prune` times that of the best label are no
candidates (Tsuruoka & Tsujii 2005, footnote 1). Tokens have few candidates then, but not equally
many: all tables are ragged. A window of tokens has as many cells as its tokens have combinations of
candidates; cells are numbered in mixed radix, the leftmost token slowest. Outside of a sequence
there is one candidate, the known label of the edge.
"""

from typing import Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from ...arrays import AnyInts
from ..problem import TUNING, Tuning, ranges
from .local import OFFSETS, Floats, Ints, LocalScores, Mask, edge_contexts, log_probabilities


class LocalCandidates(NamedTuple):
    """keep (N, L) bool: candidates of each token. rank (N, L): 0 for the most probable label of a
    token, and so on; all 0 if nothing was pruned.

    labels (C,): candidates of all tokens, ascending within a token. first, sizes (N,): where they
        are.
    radix (N, 2k + 1): candidates at the offsets -k..k of each token, 1 beyond the ends of its
        sequence.
    edges (N, 2k): labels known in the slots, -1 elsewhere (`edge_contexts`); forced (N,): these
        slots as a mask.
    """

    keep: Mask
    rank: Ints
    edges: Ints
    forced: Ints
    labels: Ints
    first: Ints
    sizes: Ints
    radix: Ints


class Table(NamedTuple):
    """log p of one classifier. values: token by token, context by context, candidate by candidate;
    the first is -inf.

    first (N,): where the values of a token begin; 0 = the token never asks this classifier.
    """

    values: Floats
    first: Ints


def make_candidates(
    local: LocalScores,
    lengths: AnyInts,
    order: int,
    prune: float,
    allowed: Optional[Mask],
    tuning: Tuning = TUNING,
) -> LocalCandidates:
    """prune (float): 0 keeps every allowed label, and then asks no classifier."""
    keep = np.ones((local.n_tokens, local.n_labels), bool) if allowed is None else allowed.copy()
    rank = np.zeros(keep.shape, np.intp)
    if prune > 0:
        for tokens in _blocks(np.full(local.n_tokens, local.n_labels), tuning.block_scores):
            nothing = np.full((len(tokens), 2 * order), -1, np.intp)
            scores = local(tokens, np.zeros(len(tokens), np.intp), np.arange(len(tokens)), nothing)
            values = log_probabilities(scores, tokens, allowed)
            keep[tokens] &= values >= values.max(axis=1, keepdims=True) + np.log(prune)
            rank[tokens] = np.argsort(np.argsort(-values, axis=1, kind="stable"), axis=1)
    forced, edges = edge_contexts(lengths, order, local.n_labels)
    return _candidates(keep, rank, edges, forced, order)


def fewer_candidates(candidates: LocalCandidates, order: int, tokens: Ints) -> LocalCandidates:
    """Leave out the least probable fifth (at least one) of the candidates of each of these tokens
    and of those within k of them, but never the best."""
    keep, rank, edges, forced = candidates[:4]
    around = [
        tokens[edges[tokens, slot] < 0] + offset for slot, offset in enumerate(OFFSETS[order])
    ]
    most = candidates.sizes.copy()
    chosen = np.unique(np.concatenate([tokens, *around]))
    most[chosen] = np.maximum(1, most[chosen] * 4 // 5)
    return _candidates(keep & (rank < most[:, None]), rank, edges, forced, order)


def _candidates(keep: Mask, rank: Ints, edges: Ints, forced: Ints, order: int) -> LocalCandidates:
    sizes = keep.sum(axis=1).astype(np.intp)
    radix = np.ones((len(sizes), 2 * order + 1), np.intp)
    radix[:, order] = sizes
    for slot, offset in enumerate(OFFSETS[order]):
        inside = np.flatnonzero(edges[:, slot] < 0)
        radix[inside, order + offset] = sizes[inside + offset]
    first = np.cumsum(sizes) - sizes
    return LocalCandidates(keep, rank, edges, forced, np.nonzero(keep)[1], first, sizes, radix)


def make_table(
    local: LocalScores,
    candidates: LocalCandidates,
    order: int,
    visible: int,
    tokens: Ints,
    allowed: Optional[Mask],
    tuning: Tuning = TUNING,
) -> Table:
    """log p(y_i | o, labels in the slots of the mask `visible`), at some tokens, for all candidates
    in all slots."""
    slots = slots_of(visible, order)
    # (Q, slots)
    radix = candidates.radix[tokens][:, [order + OFFSETS[order][slot] for slot in slots]]
    n_contexts = radix.prod(axis=1)
    n_values = n_contexts * candidates.sizes[tokens]
    first = np.zeros(len(candidates.sizes), np.intp)
    first[tokens] = 1 + np.cumsum(n_values) - n_values
    values = [np.array([-np.inf])]
    for block in _blocks(n_contexts * local.n_labels, tuning.block_scores):
        owners = np.repeat(np.arange(len(block)), n_contexts[block])
        digits = digits_of(
            ranges(np.zeros(len(block), np.intp), n_contexts[block]), radix[block][owners].T
        )
        contexts = candidates.edges[tokens[block]][owners]  # (M, 2k)
        for slot, digit in zip(slots, digits, strict=True):
            unseen = np.flatnonzero(contexts[:, slot] < 0)
            neighbour = tokens[block][owners[unseen]] + OFFSETS[order][slot]
            contexts[unseen, slot] = candidates.labels[candidates.first[neighbour] + digit[unseen]]
        scores = local(tokens[block], np.full(len(block), visible), owners, contexts)
        token = tokens[block][owners]  # (M,)
        log_p = log_probabilities(scores, token, allowed)
        sizes = candidates.sizes[token]
        label = candidates.labels[ranges(candidates.first[token], sizes)]
        values.append(log_p[np.repeat(np.arange(len(token)), sizes), label])
    return Table(np.concatenate(values), first)


def digits_of(cells: Ints, radix: Sequence[Ints]) -> List[Ints]:
    """Digits of cell numbers, one array for each radix, slowest first."""
    digits: List[Ints] = []
    for base in reversed(radix):
        digits.append(cells % base)
        cells = cells // base
    return digits[::-1]


def cells_of(digits: Sequence[Ints], radix: Sequence[Ints]) -> Ints:
    """The inverse of `digits_of`; no digits are cell 0."""
    cells: Ints = np.zeros(1, np.intp)
    for digit, base in zip(digits, radix, strict=True):
        cells = cells * base + digit
    return cells


def slots_of(visible: int, order: int) -> Tuple[int, ...]:
    return tuple(slot for slot in range(2 * order) if visible >> slot & 1)


def _blocks(costs: Ints, most: int) -> Iterator[Ints]:
    """Runs of items whose costs add up to about `most`, as indices."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield np.arange(start, stop)
        start = stop
