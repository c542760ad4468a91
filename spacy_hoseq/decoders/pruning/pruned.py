"""Exact pruning: labels that cannot be on a best path are dropped (`bounds.py`), and what is left
decomposes into independent windows.

A token with one label left is decided. Tokens that are open influence each other only through
patterns or transitions that cover both, so a sequence decomposes into independent windows around
runs of open tokens, with `reach` decided tokens of context on both sides (1 for a chain, max_length
- 1 with patterns that fire everywhere). A pattern that fires at a position matters there only if
all its labels are left and one of its tokens is open; all its tokens then belong to one window.
Each window is decoded as a sequence of its own, and without patterns if it has none: by which
algorithm `answers/choose.py` says, which is handed in.

Checked label by label against the unpruned decoders in tests/decoders/pruning/test_pruned.py.
"""

from typing import Callable, Iterator, NamedTuple, Optional, Tuple, cast

import numpy as np

from ...arrays import AnyInts, Ints, Labels, Mask
from ..problem import (
    TUNING,
    Fired,
    NoPath,
    Potentials,
    Tuning,
    Weights,
    check_possible,
    matching,
    ranges,
)
from .bounds import Candidates, beside_decided, candidate_labels, dense_cost, fired_loss_of, refine
from .limits import Limits


class Windows(NamedTuple):
    """tokens (M,): flat token index of every window token; windows may share tokens. lengths (W,):
    window sizes."""

    tokens: Ints
    lengths: Ints


class Remaining(NamedTuple):
    """Sequences, or windows of some, with the labels that are left.

    candidates: these labels, None = all. potentials: their scores, unless there are candidates.
    has_patterns: whether any pattern matters there.
    """

    potentials: Potentials
    candidates: Optional[Candidates]
    has_patterns: bool
    tuning: Tuning

    @property
    def left(self) -> Candidates:
        """The candidates, where there are some."""
        return cast(Candidates, self.candidates)

    @property
    def has_few_candidates(self) -> bool:
        """Whether it pays to decode by pairs of them, with patterns."""
        if self.candidates is None:
            return False
        counts = self.candidates.counts
        _, weights, lengths = self.potentials[:3]
        return bool(is_few(counts, lengths, weights, self.tuning, self.tuning.sparse_cost).all())

    @property
    def dense(self) -> Potentials:
        """With the scores of all labels, and the candidates as `allowed`."""
        if self.candidates is None:
            return self.potentials
        scores, allowed = self.candidates.dense(self.potentials.weights.n_labels)
        return self.potentials._replace(scores=scores, allowed=allowed)


Decode = Callable[[Remaining], Labels]  # by the algorithm that the table chooses


def pruned_checked(potentials: Potentials, tuning: Tuning, decode: Decode) -> Labels:
    """The labels y* = argmax_y score(x, y) (N,) of a chain, or with patterns whose weights are not
    negative, for less work than over all labels. potentials: checked. decode: what is left.

    RAISES ValueError [HS023]. Where two labellings have exactly the same score, the chosen one may
    differ from the unpruned decoder's with patterns (never without); it does not depend on the rest
    of the batch.

    Time O(N L) plus that of the limits, which are kept with the weights, and of the decoder on the
    windows that stay open.
    """
    scores = potentials.scores
    sizes = potentials.lengths.astype(np.intp, copy=False)
    if not len(scores):
        return np.zeros(0, np.int32)
    limits = potentials.weights.prepared(Limits)
    fired = potentials.fired
    if fired is not None:
        first = fired.tokens - potentials.weights.trie.depth[fired.nodes] + 1
        starts = np.repeat(np.cumsum(sizes) - sizes, sizes)  # of the sequence of each token
        may_fire = (fired.weights > 0) & (first >= starts[fired.tokens])
        potentials = potentials._replace(fired=fired.where(may_fire))
    fired_loss = fired_loss_of(potentials.fired, potentials.weights, scores.shape)
    candidates = candidate_labels(
        scores, limits, allowed=potentials.allowed, fired_loss=fired_loss, tuning=tuning
    )
    candidates = beside_decided(candidates, limits, sizes)
    potentials = _possible(potentials, candidates)
    few = is_few(candidates.counts, sizes, potentials.weights, tuning)  # (S,)
    pairs = _pairs(candidates.counts, sizes)
    if few.all() and pairs.sum() < tuning.pair_cells:
        return _decode_open(candidates, limits, potentials, tuning, decode)
    # what the candidates say need not be copied
    bare = potentials._replace(scores=scores[:, :0], allowed=None)
    labels = np.zeros(len(scores), np.int32)
    for sequences in _parts(np.flatnonzero(few), pairs, tuning.pair_cells):
        part = bare.select(sequences)
        with part.numbered() as some:
            labels[part.tokens] = _decode_open(
                candidates.of(part.tokens), limits, some, tuning, decode
            )
    many = np.flatnonzero(~few)
    if len(many):
        part = potentials.select(many)
        with part.numbered() as some:
            labels[part.tokens] = decode(Remaining(some, None, some.weights.has_patterns, tuning))
    return labels


def _possible(potentials: Potentials, candidates: Candidates) -> Potentials:
    """Without the fired patterns that need a label which is no candidate."""
    if potentials.fired is None or not len(potentials.fired.tokens):
        return potentials
    n_labels = potentials.weights.n_labels
    is_candidate = np.zeros(len(candidates.counts) * n_labels, bool)
    is_candidate[candidates.tokens * n_labels + candidates.labels] = True
    matched = matching(
        potentials.fired,
        potentials.weights.trie,
        np.repeat(np.arange(len(potentials.lengths)), potentials.lengths),
        lambda token, label: is_candidate.take(token * n_labels + label),
    )
    return potentials._replace(fired=potentials.fired.where(matched))


def _pairs(counts: Ints, lengths: AnyInts) -> Ints:
    """Pairs of candidates at neighbouring tokens of each sequence. counts (N,): candidates. RETURNS
    (S,)."""
    pairs = np.zeros(len(counts), np.intp)
    pairs[1:] = counts[1:] * counts[:-1]
    starts = np.cumsum(lengths) - lengths
    pairs[starts] = 0  # none across sequences
    return np.asarray(np.add.reduceat(pairs, starts), np.intp)


def is_few(
    counts: Ints,
    lengths: AnyInts,
    weights: Weights,
    tuning: Tuning = TUNING,
    pair_cost: Optional[int] = None,
) -> Mask:
    """Sequences for which it pays to look at pairs of candidates only: a property of the sequence,
    not of the batch.

    counts (N,): candidates. pair_cost: of looking at one, instead of the tuning's. RETURNS (S,).
    """
    pair_cost = tuning.pair_cost if pair_cost is None else pair_cost
    return np.asarray(
        _pairs(counts, lengths) * pair_cost <= lengths * dense_cost(weights, tuning), bool
    )


def _parts(sequences: Ints, pairs: Ints, max_pairs: int) -> Iterator[Ints]:
    """These sequences, in parts of about so many pairs."""
    before = np.cumsum(pairs[sequences]) - pairs[sequences]
    parts = np.split(sequences, np.flatnonzero(np.diff(before // max_pairs)) + 1)
    yield from (part for part in parts if len(part))


def _decode_open(
    candidates: Candidates, limits: Limits, potentials: Potentials, tuning: Tuning, decode: Decode
) -> Labels:
    """Sequences with few candidates: fewer still by the later tests, then window by window.
    potentials: their features and lengths, without their scores."""
    weights = potentials.weights
    lengths = potentials.lengths.astype(np.intp, copy=False)
    deciding: Optional[Potentials] = None
    if weights.has_patterns:  # the windows of a chain are decoded in less time than this takes
        candidates = refine(candidates, limits, lengths, tuning=tuning)
        potentials = _possible(potentials, candidates)
        deciding = _deciding(potentials, candidates.counts > 1)
    labels = candidates.labels[candidates.first[:-1]].astype(np.int32)
    is_open = candidates.counts > 1
    reach = 1
    if deciding is not None:
        is_open = is_open | _covered(deciding, len(labels))
        reach = weights.trie.max_length - 1 if weights.node_weights.any() else 1
    windows = open_windows(is_open, lengths, max(1, reach))
    for with_patterns, some in _alike(windows, candidates.counts, deciding, tuning):
        fired = None if with_patterns is None else _fired_in(with_patterns.fired, some)
        window = Potentials(potentials.scores[:0], weights, some.lengths, fired)
        try:
            labels[some.tokens] = decode(
                Remaining(window, candidates.of(some.tokens), with_patterns is not None, tuning)
            )
        except NoPath as no_path:
            token = some.tokens[some.lengths[: no_path.sequence].sum()]
            raise NoPath(int(np.searchsorted(np.cumsum(lengths), token, side="right"))) from None
    # what is decided may be impossible, where nothing else is possible, either
    if not limits.are_finite:
        check_possible(labels, limits.trans, lengths)
    return labels


def open_windows(is_open: Mask, lengths: AnyInts, reach: int) -> Windows:
    """Windows around runs of open tokens: runs at most `reach` apart share one, and all get `reach`
    tokens of context.

    is_open (N,) bool, lengths (S,). Windows never cross a sequence boundary.
    """
    at = np.flatnonzero(is_open)
    if not len(at):
        return Windows(np.zeros(0, np.intp), np.zeros(0, np.intp))
    lengths = lengths.astype(np.intp)
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    breaks = (np.diff(at) > reach) | (np.diff(sequence[at]) > 0)
    first = at[np.append(True, breaks)]
    last = at[np.append(breaks, True)]
    begin = np.maximum(first - reach, starts[sequence[first]])
    end = np.minimum(last + reach, starts[sequence[last]] + lengths[sequence[last]] - 1) + 1
    sizes = end - begin
    return Windows(ranges(begin, sizes), sizes)


def _deciding(potentials: Potentials, is_open: Mask) -> Optional[Potentials]:
    """With the patterns that what is open depends on: not those that fire where every token is
    decided. None if there are no such."""
    weights = potentials.weights
    fired = potentials.fired
    if fired is not None:
        n_open = np.concatenate([[0], np.cumsum(is_open)])
        first = fired.tokens - weights.trie.depth[fired.nodes] + 1
        fired = fired.where(n_open[fired.tokens + 1] > n_open[first])
    if weights.node_weights.any() or (fired is not None and len(fired.tokens)):
        return potentials._replace(fired=fired)
    return None


def _covered(potentials: Potentials, n_tokens: int) -> Mask:
    """Tokens of patterns that fire. Each pattern must lie in one window, so all of them count as
    open. (N,)"""
    fired = potentials.fired
    if fired is None:
        return np.zeros(n_tokens, bool)
    first = fired.tokens - potentials.weights.trie.depth[fired.nodes] + 1
    begun = np.bincount(first, minlength=n_tokens + 1)
    ended = np.bincount(fired.tokens + 1, minlength=n_tokens + 1)
    return np.asarray(np.cumsum(begun - ended)[:-1] > 0)


def _alike(
    windows: Windows, counts: Ints, potentials: Optional[Potentials], tuning: Tuning
) -> Iterator[Tuple[Optional[Potentials], Windows]]:
    """Windows without patterns; of the others, those with few candidates apart from those with
    many. counts (N,): candidates. potentials: with the patterns that matter, if any do."""
    if not len(windows.lengths):
        return
    chain = np.ones(len(windows.lengths), bool)
    if potentials is None:
        yield from ((None, part) for part in _in_parts(windows, chain, tuning.window_tokens))
        return
    if potentials.fired is None or potentials.weights.node_weights.any():
        chain[:] = False
    else:
        fires = np.zeros(len(counts), bool)
        fires[potentials.fired.tokens] = True
        starts = np.cumsum(windows.lengths) - windows.lengths
        chain = ~np.logical_or.reduceat(fires[windows.tokens], starts)
    few = is_few(
        counts[windows.tokens], windows.lengths, potentials.weights, tuning, tuning.sparse_cost
    )
    for of_windows, chosen in (
        (None, chain),
        (potentials, few & ~chain),
        (potentials, ~few & ~chain),
    ):
        yield from ((of_windows, part) for part in _in_parts(windows, chosen, tuning.window_tokens))


def _in_parts(windows: Windows, chosen: Mask, max_tokens: int) -> Iterator[Windows]:
    """The chosen windows, in parts of about so many tokens. chosen (W,)."""
    tokens = windows.tokens[np.repeat(chosen, windows.lengths)]
    lengths = windows.lengths[chosen]
    if not len(lengths):
        return
    ends = np.cumsum(lengths)
    breaks = np.flatnonzero(np.diff(ends // max_tokens)) + 1
    for sizes, some in zip(
        np.split(lengths, breaks), np.split(tokens, ends[breaks - 1]), strict=True
    ):
        yield Windows(some, sizes)


def _fired_in(fired: Optional[Fired], windows: Windows) -> Optional[Fired]:
    """Fired patterns by window token, one copy for each window that holds the last token."""
    if fired is None or not len(fired.tokens):
        return None
    order = np.argsort(windows.tokens, kind="stable")
    placed = windows.tokens[order]
    first = np.searchsorted(placed, fired.tokens, side="left")
    counts = np.searchsorted(placed, fired.tokens, side="right") - first
    copies = np.repeat(np.arange(len(counts)), counts)
    return Fired(order[ranges(first, counts)], fired.nodes[copies], fired.weights[copies])
