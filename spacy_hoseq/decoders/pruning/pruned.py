"""Exact pruning: labels that cannot be on a best path are dropped (`bounds.py`), and what is left decomposes into
independent windows.

A token with one label left is decided. Tokens that are open influence each other only through patterns or transitions
that cover both, so a sequence decomposes into independent windows around runs of open tokens, with `reach` decided
tokens of context on both sides (1 for a chain, max_length - 1 with patterns that fire everywhere). A pattern that fires
at a position matters there only if all its labels are left and one of its tokens is open; all its tokens then belong to
one window. Each window is decoded as a sequence of its own, over its candidates only, and without patterns if
it has none.

Checked label by label against the unpruned decoders in tests/decoders/pruning/test_pruned.py.
"""

from typing import Iterator, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyFloats, AnyInts, Ints, Mask
from ..chain.viterbi import viterbi
from ..higher_order.nonnegative import MANY_NODES, check_weights, decode_checked
from ..problem.firing import matching
from ..problem.layout import check_lengths, check_scores, ranges
from ..problem.results import NoPath
from ..problem.trie import Fired, PatternScores
from .bounds import beside_decided, candidate_labels, fired_loss_of, refine
from .candidates import Candidates
from .limits import Limits
from .sparse import decode_sparse
from .sparse_viterbi import sparse_viterbi

NODE_COST = 8  # time of a node in the decoder of all labels, over that of a transition
STEP_COST = 4_000  # the same for the calls that a step of a chain takes, which sequences of a batch share
PAIR_COST = 32  # the same for two candidates to compare and decode
SPARSE_COST = 64  # the same for two candidates in `decode_sparse`
WINDOW_TOKENS = 100_000  # tokens of windows that are decoded together
MAX_PAIRS = 1_000_000  # pairs of candidates at neighbouring tokens that are looked at together


class Windows(NamedTuple):
    """tokens (M,): flat token index of every window token; windows may share tokens. lengths (W,): window sizes."""

    tokens: Ints
    lengths: Ints


def pruned_labels(
    scores: AnyFloats,
    trans: AnyFloats,
    lengths: AnyInts,
    *,
    patterns: Optional[PatternScores] = None,
    allowed: Optional[Mask] = None,
    limits: Optional[Limits] = None,
) -> NDArray[np.int32]:
    """The labels y* = argmax_y score(x, y) (N,), as `viterbi` (no patterns) or `decode_nonnegative` give them, for less
    work.

    limits: of these weights, to be kept for other batches; None = made for this one. Those of other arrays are not
    used. Other arguments and errors as there. Where two labellings have exactly the same
    score, the chosen one may differ from the unpruned decoder's with patterns (never without); it does not depend on
    the rest of the batch.

    Time O(N L) plus that of the limits, and of the decoder on the windows that stay open.
    """
    check_scores(scores, trans, allowed)
    sizes: Ints = check_lengths(lengths, len(scores)).astype(np.intp, copy=False)
    if patterns is not None:
        check_weights(patterns)
    if not len(scores):
        return np.zeros(0, np.int32)
    if limits is None or not limits.belong_to(trans, patterns):
        limits = Limits(trans, patterns)
    if patterns is not None and patterns.fired is not None:
        patterns = patterns._replace(fired=patterns.fired.where(patterns.fired.weights > 0))
    fired_loss = None if patterns is None else fired_loss_of(patterns, scores.shape)
    candidates = candidate_labels(scores, limits, allowed=allowed, fired_loss=fired_loss)
    candidates = beside_decided(candidates, limits, sizes)
    patterns = _possible(patterns, candidates, scores.shape, np.repeat(np.arange(len(sizes)), sizes))
    few = is_few(candidates.counts, sizes, trans, patterns)  # (S,)
    pairs = _pairs(candidates.counts, sizes)
    labels = np.zeros(len(scores), np.int32)
    for chosen in (*_parts(np.flatnonzero(few), pairs), np.flatnonzero(~few)):
        if not len(chosen):
            continue
        at = ranges((np.cumsum(sizes) - sizes)[chosen], sizes[chosen])
        inside = None if patterns is None else patterns.among(at, len(scores))[0]
        try:
            if few[chosen[0]]:
                part = candidates if len(chosen) == len(sizes) else candidates.of(at)
                labels[at] = _decode_open(part, limits, sizes[chosen], inside)
            else:
                mask = None if allowed is None else allowed[at]
                labels[at] = _decode_all(scores[at], trans, sizes[chosen], inside, mask)
        except NoPath as no_path:
            raise NoPath(int(chosen[no_path.sequence])) from None
    return labels


def _possible(
    patterns: Optional[PatternScores], candidates: Candidates, shape: Tuple[int, ...], sequence: Ints
) -> Optional[PatternScores]:
    """Without the fired patterns that need a label which is no candidate. shape: (N, L). sequence (N,)."""
    if patterns is None or patterns.fired is None:
        return patterns
    mask = np.zeros(shape, bool)
    mask[candidates.tokens, candidates.labels] = True
    matched = matching(patterns.fired, patterns.trie, sequence, lambda token, label: mask[token, label])
    return patterns._replace(fired=patterns.fired.where(matched))


def _pairs(counts: Ints, lengths: Ints) -> Ints:
    """Pairs of candidates at neighbouring tokens of each sequence. counts (N,): candidates. RETURNS (S,)."""
    pairs = np.zeros(len(counts), np.intp)
    pairs[1:] = counts[1:] * counts[:-1]
    starts = np.cumsum(lengths) - lengths
    pairs[starts] = 0  # none across sequences
    return np.asarray(np.add.reduceat(pairs, starts), np.intp)


def is_few(
    counts: Ints,
    lengths: Ints,
    trans: AnyFloats,
    patterns: Optional[PatternScores],
    pair_cost: int = PAIR_COST,
) -> Mask:
    """Sequences for which it pays to look at pairs of candidates only: a property of the sequence, not of the batch.

    counts (N,): candidates. pair_cost: of looking at one. RETURNS (S,).
    """
    rest = STEP_COST if patterns is None else NODE_COST * min(len(patterns.trie), MANY_NODES)
    dense = len(trans) ** 2 + rest
    return np.asarray(_pairs(counts, lengths) * pair_cost <= lengths * dense, bool)


def _parts(sequences: Ints, pairs: Ints) -> Iterator[Ints]:
    """These sequences, in parts of about MAX_PAIRS pairs."""
    before = np.cumsum(pairs[sequences]) - pairs[sequences]
    yield from np.split(sequences, np.flatnonzero(np.diff(before // MAX_PAIRS)) + 1)


def _decode_all(
    scores: AnyFloats,
    trans: AnyFloats,
    lengths: Ints,
    patterns: Optional[PatternScores],
    allowed: Optional[Mask],
) -> NDArray[np.int32]:
    """Sequences with many candidates, decoded as they are."""
    if patterns is None:
        return viterbi(scores, trans, lengths, allowed=allowed).labels
    return decode_checked(scores, trans, patterns, lengths, allowed).labels


def _decode_open(
    candidates: Candidates, limits: Limits, lengths: Ints, patterns: Optional[PatternScores]
) -> NDArray[np.int32]:
    """Sequences with few candidates: fewer still by the later tests, then window by window."""
    if patterns is not None:  # the windows of a chain are decoded in less time than this takes
        candidates = refine(candidates, limits, lengths)
    labels = candidates.labels[candidates.first[:-1]].astype(np.int32)
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    patterns = _possible(patterns, candidates, (len(labels), len(limits.trans)), sequence)
    is_open, reach = candidates.counts > 1, 1
    deciding = None if patterns is None else _deciding(patterns, is_open)
    if deciding is not None:
        is_open = is_open | _covered(deciding, len(labels))
        reach = deciding.trie.max_length - 1 if deciding.weights.any() else 1
    windows = open_windows(is_open, lengths, max(1, reach))
    for inside, some in _by_decoder(windows, candidates.counts, limits.trans, deciding):
        try:
            labels[some.tokens] = _decode_windows(candidates.of(some.tokens), limits.trans, inside, some)
        except NoPath as no_path:
            token = some.tokens[some.lengths[: no_path.sequence].sum()]
            raise NoPath(int(np.searchsorted(np.cumsum(lengths), token, side="right"))) from None
    if not limits.are_finite:  # what is decided may be impossible, where nothing else is possible, either
        impossible = np.flatnonzero(limits.trans[labels[:-1], labels[1:]] == -np.inf)
        impossible = impossible[sequence[impossible] == sequence[impossible + 1]]
        if len(impossible):
            raise NoPath(int(sequence[impossible[0]]))
    return labels


def _decode_windows(
    candidates: Candidates, trans: AnyFloats, patterns: Optional[PatternScores], windows: Windows
) -> NDArray[np.int32]:
    """Labels of the window tokens, by the decoder that fits. candidates: of the window tokens."""
    if patterns is None:
        return sparse_viterbi(candidates, trans, windows.lengths).labels
    inside = patterns._replace(fired=_fired_in(patterns.fired, windows))
    if is_few(candidates.counts, windows.lengths, trans, patterns, SPARSE_COST).all():
        return decode_sparse(candidates, trans, inside, windows.lengths).labels
    scores, mask = candidates.dense(len(trans))
    return decode_checked(scores, trans, inside, windows.lengths, mask).labels


def open_windows(is_open: Mask, lengths: AnyInts, reach: int) -> Windows:
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


def _deciding(patterns: PatternScores, is_open: Mask) -> Optional[PatternScores]:
    """The patterns that what is open depends on: not those that fire where every token is decided. None if no such."""
    fired = patterns.fired
    if fired is not None:
        n_open = np.concatenate([[0], np.cumsum(is_open)])
        first = fired.tokens - patterns.trie.depth[fired.nodes] + 1
        fired = fired.where(n_open[fired.tokens + 1] > n_open[first])
    if patterns.weights.any() or (fired is not None and len(fired.tokens)):
        return patterns._replace(fired=fired)
    return None


def _covered(patterns: PatternScores, n_tokens: int) -> Mask:
    """Tokens of patterns that fire. Each pattern must lie in one window, so all of them count as open. (N,)"""
    if patterns.fired is None:
        return np.zeros(n_tokens, bool)
    first = patterns.fired.tokens - patterns.trie.depth[patterns.fired.nodes] + 1
    begun = np.bincount(first, minlength=n_tokens + 1)
    ended = np.bincount(patterns.fired.tokens + 1, minlength=n_tokens + 1)
    return np.asarray(np.cumsum(begun - ended)[:-1] > 0)


def _by_decoder(
    windows: Windows, counts: Ints, trans: AnyFloats, patterns: Optional[PatternScores]
) -> Iterator[Tuple[Optional[PatternScores], Windows]]:
    """Windows without patterns as chains; of the others, those with few candidates apart from those with many.
    counts (N,): candidates."""
    if not len(windows.lengths):
        return
    if patterns is None:
        yield from ((None, part) for part in _in_parts(windows, np.ones(len(windows.lengths), bool)))
        return
    chain = np.zeros(len(windows.lengths), bool)
    if patterns.fired is not None and not patterns.weights.any():
        fires = np.zeros(len(counts), bool)
        fires[patterns.fired.tokens] = True
        starts = np.cumsum(windows.lengths) - windows.lengths
        chain = ~np.logical_or.reduceat(fires[windows.tokens], starts)
    few = is_few(counts[windows.tokens], windows.lengths, trans, patterns, SPARSE_COST)
    for inside, chosen in ((None, chain), (patterns, few & ~chain), (patterns, ~few & ~chain)):
        yield from ((inside, part) for part in _in_parts(windows, chosen))


def _in_parts(windows: Windows, chosen: Mask) -> Iterator[Windows]:
    """The chosen windows, in parts of about WINDOW_TOKENS tokens. chosen (W,)."""
    tokens, lengths = windows.tokens[np.repeat(chosen, windows.lengths)], windows.lengths[chosen]
    if not len(lengths):
        return
    ends = np.cumsum(lengths)
    breaks = np.flatnonzero(np.diff(ends // WINDOW_TOKENS)) + 1
    for sizes, some in zip(np.split(lengths, breaks), np.split(tokens, ends[breaks - 1]), strict=True):
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
