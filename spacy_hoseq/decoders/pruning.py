"""Exact pruning: labels that cannot be on a best path are dropped before decoding, and the rest falls apart.

Replace label k at one token by label j, and nothing else. Emissions change by scores[j] - scores[k]. Towards the
token before, with label a, j earns at least trans[a, j], and k at most E[a, k] = trans[a, k] + the largest weight of
patterns that end here with a, k. Towards the token after, with label b, j earns at least trans[j, b] and k at most
G[k, b] = trans[k, b] + the largest weight of patterns that hold k, b and end at the next token, plus at the one after
it, and so on. (Weights are >= 0, so patterns that j gains can be left out.) With A, B the labels that the two
neighbours can have, if

    scores[t, j] - scores[t, k]  >  max_{a in A} (E[a, k] - trans[a, j]) + max_{b in B} (G[k, b] - trans[j, b])

then every labelling with k at t has a better one, and no best path has k at t. The test is strict: labels on paths of
equal score stay, so ties are decided as before. It is applied with all labels as A and B (one table of L x L limits;
the ends of a sequence, where a side is missing, are covered by max(0, .)), then once more with the candidates that
this leaves.
No best path has a label that was dropped, so dropping it from A and B keeps the second test sound.

A token with one label left is decided. Tokens that are open influence each other only through patterns or transitions
that cover both, so a sequence falls apart into windows around runs of open tokens, with `reach` decided tokens of
context on both sides (1 for a chain, max_length - 1 with patterns). Each window is decoded as a sequence of its own.

Checked label by label against the unpruned decoders in tests/decoders/test_pruning.py.
"""

from typing import List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from .layout import check_scores, make_layout, ranges
from .nonnegative import check_weights, decode_nonnegative
from .path_score import path_score
from .records import NoPath, Paths
from .sparse import decode_sparse
from .trie import Fired, PatternScores
from .viterbi import viterbi

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUNDING = 1e-9  # relative: how far the two sides may round apart; far above float64 rounding, far below any real gap
BLOCK_TOKENS = 4096  # tokens compared at once: the tables of a block stay in the processor's cache
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
    fired_loss = None if patterns is None else _fired_loss(patterns, scores.shape)
    candidates = candidate_labels(scores, limits, allowed=allowed, fired_loss=fired_loss)
    candidates = refine(candidates, scores, limits, np.asarray(lengths), fired_loss=fired_loss)
    labels = candidates.argmax(axis=1).astype(np.int32)
    n_candidates = candidates.sum(axis=1)
    reach = 1 if patterns is None else max(1, patterns.trie.max_length - 1)
    windows = open_windows(n_candidates > 1, np.asarray(lengths), reach)
    for part in [windows] if patterns is None else _by_density(windows, n_candidates):
        try:
            labels[part.tokens] = _decode_windows(scores, trans, candidates, patterns, part)
        except NoPath as no_path:
            token = part.tokens[part.lengths[: no_path.sequence].sum()]
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
    return decode_nonnegative(scores[at], trans, inside, windows.lengths, allowed=candidates[at]).labels


class Limits(NamedTuple):
    """trans (L, L). after (L, L): E[a, k]. before (L, L): G[k, b]. everywhere (L, L), [j, k]: the right-hand side above
    when the neighbours can have any label or be missing."""

    trans: Floats
    after: Floats
    before: Floats
    everywhere: Floats


def make_limits(trans: NDArray[np.floating], patterns: Optional[PatternScores]) -> Limits:
    """The tables E and G of the module docstring, with patterns that fire everywhere, and the limits made from them."""
    moves: Floats = trans.astype(np.float64)
    after, before = moves.copy(), moves.copy()
    if patterns is not None:
        trie = patterns.trie
        psi = trie.suffix_sums(patterns.weights)
        node = np.arange(len(trie))  # u without its last j labels
        later = node  # u without its last j - 1 labels
        for j in range(trie.max_length):
            inside = np.flatnonzero(trie.depth > max(j, 1))
            shorter = trie.suffix_at_most(inside, j)
            covered = psi[inside] - np.where(shorter >= 0, psi[shorter], 0.0)  # patterns in u longer than j labels
            largest = np.zeros_like(moves)
            if j == 0:
                pair = trie.label[trie.parent[inside]], trie.label[inside]
            else:
                later, node = node, np.where(trie.depth > j, trie.parent[node], -1)
                pair = trie.label[node[inside]], trie.label[later[inside]]
            np.maximum.at(largest, pair, covered)
            if j == 0:
                after += largest
            else:
                before += largest
    n_labels = len(moves)
    left, right = np.zeros((n_labels, n_labels)), np.zeros((n_labels, n_labels))
    with np.errstate(invalid="ignore"):
        for a in range(n_labels):  # -inf - -inf = nan: both are forbidden there, nothing can be lost
            left = np.fmax(left, after[a][None, :] - moves[a][:, None])
            right = np.fmax(right, before[:, a][None, :] - moves[:, a][:, None])
    return Limits(moves, after, before, left + right)


def candidate_labels(
    scores: NDArray[np.floating],
    limits: Limits,
    *,
    allowed: Optional[Mask] = None,
    fired_loss: Optional[Floats] = None,
) -> Mask:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label, whatever its neighbours have.

    scores (N, L), allowed (N, L). fired_loss (N, L): weight of the patterns that fire at given positions and need the
    label.
    RETURNS (N, L) bool, at least one label a token.
    """
    candidates = np.empty(scores.shape, bool)
    for start in range(0, len(scores), BLOCK_TOKENS):
        block = slice(start, start + BLOCK_TOKENS)
        emissions = scores[block] if allowed is None else np.where(allowed[block], scores[block], -np.inf)
        top = emissions.argmax(axis=1)
        limit = limits.everywhere[top]  # (n, L)
        if fired_loss is not None:
            limit += fired_loss[block]
        gap = emissions[np.arange(len(top)), top].astype(np.float64)[:, None] - emissions
        candidates[block] = gap <= limit * (1 + ROUNDING) + ROUNDING
    if allowed is not None:
        candidates &= allowed
    return candidates


def refine(
    candidates: Mask,
    scores: NDArray[np.floating],
    limits: Limits,
    lengths: NDArray[np.integer],
    *,
    fired_loss: Optional[Floats] = None,
) -> Mask:
    """The same test once more, with neighbours restricted to their candidates. RETURNS (N, L) bool."""
    token, label = np.nonzero(candidates)  # candidates, by token
    first = np.searchsorted(token, np.arange(len(candidates) + 1))
    every_label = label
    rival = label[_first_best(scores[token, label], first)][token]
    is_open = np.flatnonzero(label != rival)
    token, label, rival = token[is_open], label[is_open], rival[is_open]
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    limit = np.zeros(len(token))
    for step in (-1, 1):
        neighbour = token + step
        inside = (neighbour >= 0) & (neighbour < len(sequence))
        inside[inside] = sequence[neighbour[inside]] == sequence[token[inside]]
        at = np.flatnonzero(inside)
        start, stop = first[neighbour[at]], first[neighbour[at] + 1]
        counts = stop - start
        ends = np.cumsum(counts)
        other = every_label[ranges(start, counts)]
        k, j = np.repeat(label[at], counts), np.repeat(rival[at], counts)
        if not len(other):
            continue
        earned = limits.after[other, k] if step < 0 else limits.before[k, other]
        instead = limits.trans[other, j] if step < 0 else limits.trans[j, other]
        possible = earned > -np.inf  # where label k is forbidden it has nothing to lose, where only j is, everything
        loss = np.subtract(earned, instead, out=np.full(len(other), -np.inf), where=possible)
        worst = np.maximum.reduceat(loss, ends - counts)
        limit[at] = np.where(worst > -np.inf, limit[at], -np.inf)
        limit[at] += np.where(limit[at] > -np.inf, worst, 0.0)
    gap = scores[token, rival].astype(np.float64) - scores[token, label]
    if fired_loss is not None:
        limit += fired_loss[token, label]
    dropped = gap - limit > ROUNDING * (1 + gap)
    result: Mask = candidates.copy()
    result[token[dropped], label[dropped]] = False
    return result


def _first_best(values: NDArray[np.floating], first: NDArray[np.intp]) -> NDArray[np.intp]:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    group = np.repeat(np.arange(len(first) - 1), np.diff(first))
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, first[:-1])[group])[::-1]
    best = np.zeros(len(first) - 1, np.intp)
    best[group[is_best]] = is_best  # of several the first is assigned last
    return best


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


def _fired_loss(patterns: PatternScores, shape: Tuple[int, ...]) -> Optional[Floats]:
    """Summed weight of the fired patterns that need label k at a token. RETURNS (N, L), None if nothing fires."""
    fired, trie = patterns.fired, patterns.trie
    if fired is None or not len(fired.tokens):
        return None
    loss = np.zeros(shape[0] * shape[1])
    token, node, weight = fired.tokens, fired.nodes, fired.weights
    while len(token):
        loss += np.bincount(token * shape[1] + trie.label[node], weights=weight, minlength=len(loss))
        token, node = token - 1, trie.parent[node]
        going_on = (node >= 0) & (token >= 0)
        token, node, weight = token[going_on], node[going_on], weight[going_on]
    return loss.reshape(shape)


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
