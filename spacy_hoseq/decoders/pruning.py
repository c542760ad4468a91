"""Exact pruning: labels that cannot be on a best path are dropped (`bounds.py`), and the rest falls apart.

A token with one label left is decided. Tokens that are open influence each other only through patterns or transitions
that cover both, so a sequence falls apart into windows around runs of open tokens, with `reach` decided tokens of
context on both sides (1 for a chain, max_length - 1 with patterns). Each window is decoded as a sequence of its own.

Checked label by label against the unpruned decoders in tests/decoders/test_pruning.py.
"""

from typing import List, NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from .bounds import Limits, candidate_labels, fired_loss_of, make_limits, refine
from .layout import check_scores, make_layout, ranges
from .nonnegative import MANY_NODES, check_weights, decode_checked
from .path_score import path_score
from .records import NoPath, Paths
from .sparse import decode_sparse
from .trie import Fired, PatternScores
from .viterbi import viterbi

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
PAIR_COST, NODE_COST = 32, 8  # time to compare two candidates, and of a node in the decoder, over that of a transition
FEW = 8.0  # mean candidates a token up to which a window is decoded over its candidates only


class Windows(NamedTuple):
    """tokens (M,): flat token index of every window token; windows may share tokens. lengths (W,): window sizes."""

    tokens: NDArray[np.intp]
    lengths: NDArray[np.intp]


def decode_pruned(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    lengths: NDArray[np.integer],
    *,
    patterns: Optional[PatternScores] = None,
    allowed: Optional[NDArray[np.bool_]] = None,
) -> Paths:
    """The best label sequences, as `viterbi` (no patterns) or `decode_nonnegative` give them, for less work.

    Arguments, result and errors as there. Where two labellings have exactly the same score, the chosen one may differ
    from the unpruned decoder's with patterns (never without); it does not depend on the rest of the batch.

    Time O(N L) plus that of the decoder on the windows that stay open.
    """
    check_scores(scores, trans, allowed)
    make_layout(lengths, len(scores))
    if patterns is not None:
        check_weights(patterns)
    if not len(scores):
        return Paths(np.zeros(0, np.int32), np.zeros(0))
    limits = make_limits(trans, patterns)
    fired_loss = None if patterns is None else fired_loss_of(patterns, scores.shape)
    candidates = candidate_labels(scores, limits, allowed=allowed, fired_loss=fired_loss)
    few = _has_few(candidates, np.asarray(lengths), trans, patterns)  # (S,)
    labels, best = np.zeros(len(scores), np.int32), np.zeros(len(lengths))
    for chosen, decode in ((few, _decode_open), (~few, _decode_all)):
        if not chosen.any():
            continue
        part = _Part(scores, trans, np.asarray(lengths), patterns, candidates, fired_loss, np.arange(len(scores)))
        if not chosen.all():
            part = _select(part, np.flatnonzero(chosen))
        try:
            labels[part.tokens], best[chosen] = decode(part, limits)
        except NoPath as no_path:
            raise NoPath(int(np.flatnonzero(chosen)[no_path.sequence])) from None
    return Paths(labels, best)


class _Part(NamedTuple):
    """Some sequences of a batch. tokens (N',): theirs in the batch."""

    scores: NDArray[np.floating]
    trans: NDArray[np.floating]
    lengths: NDArray[np.integer]
    patterns: Optional[PatternScores]
    candidates: Mask
    fired_loss: Optional[Floats]
    tokens: NDArray[np.intp]


def _select(batch: _Part, sequences: NDArray[np.intp]) -> _Part:
    scores, trans, lengths, patterns, candidates, fired_loss, _ = batch
    at = ranges((np.cumsum(lengths) - lengths)[sequences], lengths[sequences])
    inside = None if patterns is None else patterns.among(at, len(scores))[0]
    loss = None if fired_loss is None else fired_loss[at]
    return _Part(scores[at], trans, lengths[sequences], inside, candidates[at], loss, at)


def _has_few(
    candidates: Mask, lengths: NDArray[np.integer], trans: NDArray[np.floating], patterns: Optional[PatternScores]
) -> NDArray[np.bool_]:
    """Sequences in which comparing candidates with those beside them costs less than decoding all labels. (S,)."""
    n_nodes = len(trans) if patterns is None else min(len(patterns.trie), MANY_NODES)
    counts = candidates.sum(axis=1)
    pairs = np.zeros(len(counts), np.intp)
    pairs[1:] = counts[1:] * counts[:-1]
    starts = np.cumsum(lengths) - lengths
    pairs[starts] = 0  # none across sequences
    limit = len(trans) ** 2 + NODE_COST * n_nodes
    return np.asarray(np.add.reduceat(pairs, starts) * PAIR_COST <= lengths * limit, bool)


def _decode_all(part: _Part, limits: Limits) -> Paths:
    """Sequences with many candidates, decoded as they are."""
    scores, trans, lengths, patterns, candidates, _, _ = part
    if patterns is None:
        return viterbi(scores, trans, lengths, allowed=candidates)
    return decode_checked(scores, trans, patterns, lengths, None if candidates.all() else candidates)


def _decode_open(part: _Part, limits: Limits) -> Paths:
    """Sequences with few candidates: fewer still by the second test, then window by window."""
    scores, trans, lengths, patterns, candidates, fired_loss, _ = part
    candidates = refine(candidates, scores, limits, lengths, fired_loss=fired_loss)
    labels = candidates.argmax(axis=1).astype(np.int32)
    n_candidates = candidates.sum(axis=1)
    reach = 1 if patterns is None else max(1, patterns.trie.max_length - 1)
    windows = open_windows(n_candidates > 1, lengths, reach)
    for some in [windows] if patterns is None else _by_density(windows, n_candidates):
        try:
            labels[some.tokens] = _decode_windows(scores, trans, candidates, patterns, some)
        except NoPath as no_path:
            token = some.tokens[some.lengths[: no_path.sequence].sum()]
            raise NoPath(int(np.searchsorted(np.cumsum(lengths), token, side="right"))) from None
    best = path_score(scores, trans, labels, lengths, patterns=patterns)
    if best.min() == -np.inf:
        raise NoPath(int(best.argmin()))
    return Paths(labels, best)


def _decode_windows(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    candidates: Mask,
    patterns: Optional[PatternScores],
    windows: Windows,
) -> NDArray[np.int32]:
    """Labels of the window tokens, by the decoder that fits."""
    at = windows.tokens
    if patterns is None:
        return viterbi(scores[at], trans, windows.lengths, allowed=candidates[at]).labels
    inside = patterns._replace(fired=_fired_in(patterns.fired, windows))
    if candidates[at].sum() <= FEW * len(at):
        return decode_sparse(scores[at], trans, inside, windows.lengths, candidates[at]).labels
    return decode_checked(scores[at], trans, inside, windows.lengths, candidates[at]).labels


def open_windows(is_open: NDArray[np.bool_], lengths: NDArray[np.integer], reach: int) -> Windows:
    """Windows around runs of open tokens: runs at most `reach` apart share one, and all get `reach` tokens of context.

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


def _by_density(windows: Windows, n_candidates: NDArray[np.integer]) -> List[Windows]:
    """Windows with few candidates a token apart from those with many: a property of the window, not of the batch."""
    if not len(windows.lengths):
        return []
    starts = np.cumsum(windows.lengths) - windows.lengths
    total = np.add.reduceat(n_candidates[windows.tokens], starts)
    few = total <= FEW * windows.lengths
    parts = []
    for chosen in (few, ~few):
        if chosen.any():
            parts.append(Windows(windows.tokens[np.repeat(chosen, windows.lengths)], windows.lengths[chosen]))
    return parts


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
