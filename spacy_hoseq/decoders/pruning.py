"""Exact pruning: labels that cannot be on a best path are dropped before decoding, and the rest falls apart.

Replace label k at one token by label j, and nothing else. The score changes by scores[j] - scores[k] on emissions, loses
at most max_a (trans[a, k] - trans[a, j]) on the left, max_b (trans[k, b] - trans[j, b]) on the right, and at most
loss[k] on patterns that contain k at this token (gained patterns only help, as weights are >= 0). So if

    scores[t, j] - scores[t, k]  >  max(0, max_a (trans[a,k] - trans[a,j])) + max(0, max_b (trans[k,b] - trans[j,b])) + loss[t, k]

then every labelling with k at t has a better one, and no best path has k at t (the two max(0, .) cover the ends of a
sequence, where one side is missing). The test is strict: labels on paths of equal score stay, so ties are decided as
before. Removing labels one token at a time stays sound, since each comparison holds for any labels elsewhere.

A token with one label left fixes it. Tokens that are open influence each other only through patterns or transitions
that cover both, so a sequence falls apart into windows around runs of open tokens, with `reach` decided tokens of
context on both sides (1 for a chain, max_length - 1 with patterns). Each window is decoded as a sequence of its own.

Checked label by label against the unpruned decoders in tests/decoders/test_pruning.py.
"""

from typing import NamedTuple, Optional

import numpy as np
from numpy.typing import NDArray

from .layout import check_scores, make_layout
from .nonnegative import decode_nonnegative
from .path_score import path_score
from .records import Paths
from .trie import Fired, PatternScores, PatternTrie
from .viterbi import viterbi

Floats = NDArray[np.float64]
ROUNDING = 1e-9  # relative: how far the two sides may round apart; far above float64 rounding, far below any real gap


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
    """The best label sequences, as `viterbi` (no patterns) or `decode_nonnegative` gives them, at a fraction of the work.

    Arguments, result and errors as there. Where two labellings have exactly the same score, the chosen one may differ
    from the unpruned decoder's with patterns (never without); it does not depend on the rest of the batch.

    Time O(N L) plus that of the decoder on the windows that stay open.
    """
    check_scores(scores, trans, allowed)
    make_layout(lengths, len(scores))
    if not len(scores):
        return Paths(np.zeros(0, np.int32), np.zeros(0))
    loss = None if patterns is None else pattern_loss(patterns, len(scores))
    candidates = candidate_labels(scores, trans, allowed=allowed, loss=loss)
    labels = candidates.argmax(axis=1).astype(np.int32)
    reach = 1 if patterns is None else max(1, patterns.trie.max_length - 1)
    windows = open_windows(candidates.sum(axis=1) > 1, np.asarray(lengths), reach)
    at = windows.tokens
    if len(at) and patterns is None:
        labels[at] = viterbi(scores[at], trans, windows.lengths, allowed=candidates[at]).labels
    elif len(at) and patterns is not None:
        inside = patterns._replace(fired=_fired_in(patterns.fired, windows))
        labels[at] = decode_nonnegative(scores[at], trans, inside, windows.lengths, allowed=candidates[at]).labels
    return Paths(labels, path_score(scores, trans, labels, lengths, patterns=patterns))


def candidate_labels(
    scores: NDArray[np.floating],
    trans: NDArray[np.floating],
    *,
    allowed: Optional[NDArray[np.bool_]] = None,
    loss: Optional[Floats] = None,
) -> NDArray[np.bool_]:
    """Labels that the bound above cannot exclude when compared with the token's best-scoring allowed label.

    scores (N, L), trans (L, L), allowed (N, L). loss (1, L) or (N, L) float64: bound on the pattern weight that is lost
    when the label is given up; None = no patterns. RETURNS (N, L) bool, at least one label per token.
    """
    bound = transition_bound(trans)  # (L, L)
    emissions = scores.astype(np.float64)
    if allowed is not None:
        emissions = np.where(allowed, emissions, -np.inf)
    top = emissions.argmax(axis=1)
    limit = bound[top]  # (N, L)
    if loss is not None:
        limit += loss
    gap = emissions[np.arange(len(top)), top][:, None] - emissions
    candidates: NDArray[np.bool_] = gap <= limit * (1 + ROUNDING) + ROUNDING
    candidates &= np.isfinite(emissions)
    return candidates


def transition_bound(trans: NDArray[np.floating]) -> Floats:
    """What replacing label k by label j can lose on transitions. RETURNS (L, L) float64, index [j, k]."""
    trans = trans.astype(np.float64)
    n_labels = len(trans)
    left = np.full((n_labels, n_labels), 0.0)
    right = np.full((n_labels, n_labels), 0.0)
    with np.errstate(invalid="ignore"):
        for a in range(n_labels):  # -inf - -inf = nan: both forbidden there, nothing can be lost
            left = np.fmax(left, trans[a][None, :] - trans[a][:, None])
            right = np.fmax(right, trans[:, a][None, :] - trans[:, a][:, None])
    return left + right


def pattern_loss(patterns: PatternScores, n_tokens: int) -> Floats:
    """Upper bound on the weight of all patterns that contain label k at one token. RETURNS (1, L) or (N, L) float64.

    For patterns that end j tokens later: the largest, over nodes u with label k at j from the end, of the summed
    weights of the suffixes of u longer than j; summed over j. For fired patterns: all that cover the token with k.
    """
    trie, fired = patterns.trie, patterns.fired
    loss = np.zeros((1, trie.n_labels))
    psi = trie.suffix_sums(patterns.weights)
    position = np.arange(len(trie))  # node reached j labels back from u: its label is the label j from the end
    shorter = np.full(len(trie), -1)  # longest suffix of u with at most j labels
    for j in range(trie.max_length):
        inside = np.flatnonzero(trie.depth > j)
        if j:
            position = np.where(trie.depth > j, trie.parent[position], -1)
            shorter = _suffix_at_most(trie, j)
        covered = psi[inside] - np.where(shorter[inside] >= 0, psi[shorter[inside]], 0.0)
        largest = np.zeros(trie.n_labels)
        np.maximum.at(largest, trie.label[position[inside]], covered)
        loss[0] += largest
    if fired is None or not len(fired.tokens):
        return loss
    loss = np.repeat(loss, n_tokens, axis=0)
    token, node, weight = fired.tokens, fired.nodes, fired.weights
    while len(token):
        flat = token * trie.n_labels + trie.label[node]
        loss += np.bincount(flat, weights=weight, minlength=loss.size).reshape(loss.shape)
        token, node = token - 1, trie.parent[node]
        going_on = (node >= 0) & (token >= 0)
        token, node, weight = token[going_on], node[going_on], weight[going_on]
    return loss


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
    tokens = np.arange(sizes.sum()) + np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
    return Windows(tokens, sizes)


def _suffix_at_most(trie: PatternTrie, n: int) -> NDArray[np.intp]:
    """Longest suffix of each node, itself included, of at most n labels."""
    node = np.arange(len(trie))
    while True:
        too_long = trie.depth[node] > n
        if not too_long.any():
            return node
        node = np.where(too_long, trie.fail[node], node)


def _fired_in(fired: Optional[Fired], windows: Windows) -> Optional[Fired]:
    """Fired patterns by window token, one copy for each window that holds the last token."""
    if fired is None or not len(fired.tokens):
        return None
    order = np.argsort(windows.tokens, kind="stable")
    placed = windows.tokens[order]
    first = np.searchsorted(placed, fired.tokens, side="left")
    counts = np.searchsorted(placed, fired.tokens, side="right") - first
    copies = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(copies)) - np.repeat(np.cumsum(counts) - counts, counts)
    return Fired(order[first[copies] + within], fired.nodes[copies], fired.weights[copies])
