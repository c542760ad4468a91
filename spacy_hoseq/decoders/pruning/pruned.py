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
from ..patterns import decode_nonnegative, decode_sparse
from ..problem import (
    Candidates,
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
from .bounds import Bounds
from .candidates import candidate_labels, fired_loss_of

# time of a pair of candidates, and of one with patterns, over that of a transition
PAIR_COST = 32
PATTERN_PAIR_COST = 64


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


class Part(NamedTuple):
    """Windows that are decoded together. is_sparse (bool): over pairs of candidates, else over all
    labels. with_patterns (bool): label patterns can match in them, else they are chains."""

    windows: Windows
    is_sparse: bool
    with_patterns: bool


def pruned_labels(potentials: Potentials, tuning: Tuning) -> Labels:
    """The labels y* = argmax_y score(x, y) (N,) of a chain, or with patterns whose weights are not
    negative, for less work than over all labels. potentials: checked.

    RAISES ValueError [HS023]. Where two labellings have exactly the same score, the chosen one may
    differ from the unpruned decoder's with patterns (never without); it does not depend on the rest
    of the batch.

    Time O(N L), that of the bounds, which are cached with the weights, and that of the decoder on
    the windows that stay open.
    """
    scores, weights, lengths = potentials[:3]
    if not len(scores):
        return np.zeros(0, np.int32)
    fired = potentials.fired
    if fired is not None:
        fired = fired.where(fired.weights > 0)
    candidates = candidate_labels(
        scores,
        weights.prepared(Bounds.of),
        allowed=potentials.allowed,
        fired_loss=fired_loss_of(fired, weights, lengths),
    )
    return best_among(candidates, weights, lengths, tuning, fired)


def best_among(
    candidates: Candidates,
    weights: Weights,
    lengths: AnyInts,
    tuning: Tuning,
    fired: Fired | None = None,
) -> Labels:
    """The best labels (N,) of sequences of which only candidates are left. fired: with weights above
    0. RAISES NoPath."""
    labels = candidates.labels.take(candidates.first[:-1]).astype(np.int32)
    is_open = candidates.counts > 1
    context = 1
    if weights.has_patterns:
        fired = _deciding(fired, weights, candidates, lengths)
        is_open |= _covered(fired, weights, len(labels))
        if weights.node_weights.any():
            # a pattern with an open token reaches so many decided tokens
            context = max(1, weights.trie.max_length - 1)
    windows = open_windows(is_open, lengths, context)
    for part in plan(windows, candidates.counts, weights, fired, tuning):
        tokens = part.windows.tokens
        try:
            labels[tokens] = _decode(part, candidates, weights, fired, tuning).labels
        except NoPath as no_path:
            token = tokens[part.windows.starts[no_path.sequence]]
            raise NoPath(int(np.searchsorted(np.cumsum(lengths), token, side="right"))) from None
    # what is decided may be impossible, where nothing else is possible, either
    if not weights.permit_all:
        check_possible(labels, weights.trans, lengths)
    return labels


def _decode(
    part: Part, candidates: Candidates, weights: Weights, fired: Fired | None, tuning: Tuning
) -> Paths:
    """The best labels of windows, as sequences. RAISES NoPath."""
    windows, is_sparse, with_patterns = part
    own = candidates.of(windows.tokens)
    own_fired = _fired_in(fired, windows) if with_patterns else None
    if is_sparse:
        return decode_sparse(
            own, weights, windows.lengths, fired=own_fired, with_patterns=with_patterns
        )
    scores, allowed = own.dense(weights.n_labels)
    potentials = Potentials(scores, weights, windows.lengths, own_fired, allowed=allowed)
    if with_patterns:
        return decode_nonnegative(potentials, tuning=tuning)
    return best_paths(potentials)


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
    n_open = np.concatenate([[0], np.cumsum(candidates.counts > 1)])  # open tokens before each
    first = fired.tokens - weights.trie.depth[fired.nodes] + 1
    return fired.where(n_open[fired.tokens + 1] > n_open[first])


def _covered(fired: Fired | None, weights: Weights, n_tokens: int) -> Mask:
    """Tokens of patterns that fire. Each pattern must lie in one window, so all of them count as
    open. (N,)"""
    if fired is None:
        return np.zeros(n_tokens, bool)
    first = fired.tokens - weights.trie.depth[fired.nodes] + 1
    n_starts = np.bincount(first, minlength=n_tokens + 1)
    n_ends = np.bincount(fired.tokens + 1, minlength=n_tokens + 1)
    return np.asarray(np.cumsum(n_starts - n_ends)[:-1] > 0)  # patterns that cover each token


def open_windows(is_open: Mask, lengths: AnyInts, context: int) -> Windows:
    """Runs of tokens that are open, or at most `context` tokens of their sequence away from one.

    is_open (N,) bool, lengths (S,).
    """
    follows = np.ones(len(is_open), bool)  # a token of the same sequence
    follows[lengths.cumsum() - lengths] = False
    inside = is_open.copy()
    # one token to both sides in each round
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


def plan(
    windows: Windows, n_candidates: Ints, weights: Weights, fired: Fired | None, tuning: Tuning
) -> Iterator[Part]:
    """Windows in parts that are decoded together. How a window is decoded depends on it alone, not
    on the batch or on tuning, so ties do not either. n_candidates (N,): of each token."""
    if not len(windows.lengths):
        return
    n_pairs = _pairs(n_candidates.take(windows.tokens), windows)
    with_patterns = _with_patterns(windows, len(n_candidates), weights, fired)
    # in transitions: what a window costs over all labels, the calls of a step of a chain included,
    # which the sequences of a batch share; of a large trie few nodes are cells of the sparse decoder
    n_transitions = weights.n_labels**2
    chain_cost = windows.lengths * (n_transitions + 4_000)
    is_sparse = n_pairs * PAIR_COST <= chain_cost
    if with_patterns.any():
        trie_cost = windows.lengths * (n_transitions + 8 * min(len(weights.trie), 4_000))
        is_sparse = np.where(with_patterns, n_pairs * PATTERN_PAIR_COST <= trie_cost, is_sparse)
    is_sparse &= n_pairs <= 1_000_000  # all of a window's are in memory at once
    if is_sparse.all() and not with_patterns.any() and n_pairs.sum() <= tuning.pair_cells:
        yield Part(windows, True, False)  # as nearly always with a chain
        return
    cells = np.where(is_sparse, n_pairs, windows.lengths * weights.n_labels)
    kinds = 2 * is_sparse + with_patterns
    for kind in np.unique(kinds)[::-1].tolist():
        which = np.flatnonzero(kinds == kind)
        number = np.cumsum(cells[which]) // tuning.pair_cells
        for members in np.split(which, np.flatnonzero(np.diff(number)) + 1):
            yield Part(windows.chosen(members), kind >= 2, kind % 2 == 1)


def _with_patterns(windows: Windows, n_tokens: int, weights: Weights, fired: Fired | None) -> Mask:
    """Windows in which a label pattern can match: everywhere, or where one fires. RETURNS (W,)."""
    if not weights.has_patterns:
        return np.zeros(len(windows.lengths), bool)
    fires = np.full(n_tokens, weights.node_weights.any())
    if fired is not None:
        fires[fired.tokens] = True
    return np.asarray(np.logical_or.reduceat(fires[windows.tokens], windows.starts))


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
