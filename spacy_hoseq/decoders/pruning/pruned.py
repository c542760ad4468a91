"""Exact pruning: labels that cannot be on a best path are dropped (`candidates.py`), and what is
left decomposes into independent windows.

A token with one candidate is decided. Tokens that are open influence each other only through
patterns or transitions that cover both, so a sequence decomposes into windows: open tokens, with
decided tokens of context on both sides (1 for a chain, max_length - 1 with patterns that fire
everywhere). A pattern that fires at a position matters there only if all its labels are
candidates and one of its tokens is open; all its tokens then belong to one window. Each window is
decoded as a sequence of its own: over pairs of candidates if they are few, else over all labels.

Checked label by label against the unpruned decoders in tests/decoders/pruning/test_pruned.py.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...arrays import AnyInts, Ints, Labels, Mask
from ..chain import best_paths
from ..patterns import decode_nonnegative
from ..problem import (
    Fired,
    NoPath,
    Paths,
    Potentials,
    Tuning,
    Weights,
    check_possible,
    matching,
    ranges,
)
from .candidates import Candidates, Limits, candidate_labels, fired_loss_of
from .sparse import decode_sparse

# time of a pair of candidates, and of one with patterns, over that of a transition
PAIR_COST = 32
SPARSE_COST = 64
# the same of a node in the decoder of all labels, and of the calls that a step of a chain takes,
# which the sequences of a batch share
NODE_COST = 8
STEP_COST = 4_000
MOST_NODES = 4_000  # of a large trie few nodes are cells of the sparse decoder


class Windows(NamedTuple):
    """tokens (M,): flat token index of every window token, ascending. lengths (W,): window sizes."""

    tokens: Ints
    lengths: Ints

    @property
    def starts(self) -> Ints:
        return self.lengths.cumsum() - self.lengths

    def chosen(self, which: Ints) -> "Windows":
        sizes = self.lengths[which]
        return Windows(self.tokens[ranges(self.starts[which], sizes)], sizes)


def pruned_labels(potentials: Potentials, tuning: Tuning) -> Labels:
    """The labels y* = argmax_y score(x, y) (N,) of a chain, or with patterns whose weights are not
    negative, for less work than over all labels. potentials: checked.

    RAISES ValueError [HS023]. Where two labellings have exactly the same score, the chosen one may
    differ from the unpruned decoder's with patterns (never without); it does not depend on the rest
    of the batch.

    Time O(N L) plus that of the limits, which are kept with the weights, and of the decoder on the
    windows that stay open.
    """
    scores, weights, lengths = potentials[:3]
    if not len(scores):
        return np.zeros(0, np.int32)
    fired = potentials.fired
    if fired is not None:
        fired = fired.where(fired.weights > 0)
    candidates = candidate_labels(
        scores,
        weights.prepared(Limits),
        allowed=potentials.allowed,
        fired_loss=fired_loss_of(fired, weights, lengths),
    )
    labels = candidates.labels.take(candidates.first[:-1]).astype(np.int32)
    is_open = candidates.counts > 1
    context = 1
    if weights.has_patterns:
        fired = _deciding(fired, weights, candidates, lengths)
        is_open |= _covered(fired, weights, len(labels))
        context = max(1, weights.trie.max_length - 1 if weights.node_weights.any() else 1)
    windows = open_windows(is_open, lengths, context)
    for part, is_few, matters in _alike(windows, candidates.counts, weights, fired, tuning):
        parts = candidates.of(part.tokens), weights, part.lengths
        fired_here = _fired_in(fired, part) if matters else None
        try:
            if is_few:
                paths = decode_sparse(*parts, fired=fired_here, with_patterns=matters)
            else:
                paths = _decode_dense(*parts, fired_here, matters, tuning)
        except NoPath as no_path:
            token = part.tokens[part.lengths[: no_path.sequence].sum()]
            raise NoPath(int(np.searchsorted(np.cumsum(lengths), token, side="right"))) from None
        labels[part.tokens] = paths.labels
    # what is decided may be impossible, where nothing else is possible, either
    if not weights.permit_all:
        check_possible(labels, weights.trans, lengths)
    return labels


def _decode_dense(
    candidates: Candidates,
    weights: Weights,
    lengths: Ints,
    fired: Fired | None,
    with_patterns: bool,
    tuning: Tuning,
) -> Paths:
    """Windows, as sequences. RAISES NoPath."""
    scores, allowed = candidates.dense(weights.n_labels)
    windows = Potentials(scores, weights, lengths, fired, allowed=allowed)
    return decode_nonnegative(windows, tuning=tuning) if with_patterns else best_paths(windows)


def _deciding(
    fired: Fired | None, weights: Weights, candidates: Candidates, lengths: AnyInts
) -> Fired | None:
    """The fired patterns all of whose labels are candidates, and which have an open token."""
    if fired is None:
        return None
    n_labels = weights.n_labels
    is_candidate = np.zeros(len(candidates.counts) * n_labels, bool)
    is_candidate[candidates.tokens * n_labels + candidates.labels] = True
    fired = fired.where(
        matching(
            fired,
            weights.trie,
            np.repeat(np.arange(len(lengths)), lengths),
            lambda token, label: is_candidate.take(token * n_labels + label),
        )
    )
    n_open = np.concatenate([[0], np.cumsum(candidates.counts > 1)])
    first = fired.tokens - weights.trie.depth[fired.nodes] + 1
    return fired.where(n_open[fired.tokens + 1] > n_open[first])


def _covered(fired: Fired | None, weights: Weights, n_tokens: int) -> Mask:
    """Tokens of patterns that fire. Each pattern must lie in one window, so all of them count as
    open. (N,)"""
    if fired is None:
        return np.zeros(n_tokens, bool)
    first = fired.tokens - weights.trie.depth[fired.nodes] + 1
    begun = np.bincount(first, minlength=n_tokens + 1)
    ended = np.bincount(fired.tokens + 1, minlength=n_tokens + 1)
    return np.asarray(np.cumsum(begun - ended)[:-1] > 0)


def open_windows(is_open: Mask, lengths: AnyInts, context: int) -> Windows:
    """Runs of tokens that are open, or at most `context` tokens of their sequence away from one.

    is_open (N,) bool, lengths (S,).
    """
    follows = np.ones(len(is_open), bool)  # a token of the same sequence
    follows[lengths.cumsum() - lengths] = False
    inside = is_open.copy()
    for _ in range(context):
        both = inside[1:] & follows[1:], inside[:-1] & follows[1:]
        inside[:-1] |= both[0]
        inside[1:] |= both[1]
    tokens = inside.nonzero()[0]
    is_first = ~follows.take(tokens)
    is_first[:1] = True
    is_first[1:] |= tokens[1:] - tokens[:-1] > 1
    starts = is_first.nonzero()[0]
    return Windows(tokens, np.append(starts[1:], len(tokens))[: len(starts)] - starts)


def _alike(
    windows: Windows, counts: Ints, weights: Weights, fired: Fired | None, tuning: Tuning
) -> Iterator[tuple[Windows, bool, bool]]:
    """Windows that are decoded together, whether their candidates are few, and whether patterns
    matter there: properties of a window, not of the batch. counts (N,): candidates."""
    if not len(windows.lengths):
        return
    n_squared = weights.n_labels**2
    pairs = _pairs(counts.take(windows.tokens), windows)
    matter = np.zeros(len(pairs), bool)
    few = pairs * PAIR_COST <= windows.lengths * (n_squared + STEP_COST)
    if weights.has_patterns:
        fires = np.full(len(counts), weights.node_weights.any())
        if fired is not None:
            fires[fired.tokens] = True
        matter = np.logical_or.reduceat(fires[windows.tokens], windows.starts)
        dense = n_squared + NODE_COST * min(len(weights.trie), MOST_NODES)
        few = np.where(matter, pairs * SPARSE_COST <= windows.lengths * dense, few)
    if not weights.has_patterns and few.all() and pairs.sum() <= tuning.pair_cells:
        yield windows, True, False
        return
    few &= pairs <= tuning.pair_cells
    cells = np.where(few, pairs, windows.lengths * weights.n_labels)
    for is_few in (True, False):
        for with_patterns in (True, False):
            which = np.flatnonzero((few == is_few) & (matter == with_patterns))
            part = np.cumsum(cells[which]) // tuning.pair_cells
            for members in np.split(which, np.flatnonzero(np.diff(part)) + 1):
                if len(members):
                    yield windows.chosen(members), is_few, with_patterns


def _pairs(counts: Ints, windows: Windows) -> Ints:
    """Pairs of candidates at neighbouring tokens of each window. counts (M,). RETURNS (W,)."""
    starts = windows.starts
    pairs = np.zeros(len(counts), np.intp)
    np.multiply(counts[1:], counts[:-1], out=pairs[1:])
    pairs[starts] = 0
    return np.asarray(np.add.reduceat(pairs, starts), np.intp)


def _fired_in(fired: Fired | None, windows: Windows) -> Fired | None:
    """The fired patterns that lie in the windows, by window token."""
    if fired is None:
        return None
    place = np.searchsorted(windows.tokens, fired.tokens)
    inside = np.flatnonzero(windows.tokens.take(place, mode="clip") == fired.tokens)
    return Fired(place[inside], fired.nodes[inside], fired.weights[inside])
