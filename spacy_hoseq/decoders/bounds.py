"""Bounds for exact pruning: labels that cannot be on a best path, found without decoding.

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

Checked label by label against the unpruned decoders in tests/decoders/test_pruning.py.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from .layout import ranges
from .trie import PatternScores

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
ROUNDING = 1e-9  # relative: how far the two sides may round apart; far above float64 rounding, far below any real gap
BLOCK_TOKENS = 4096  # tokens compared at once: the tables of a block stay in the processor's cache
CUBE_CELLS = 200_000  # (a, j, k) triples compared at once


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
        psi = patterns.trie.suffix_sums(patterns.weights)
        for j, (nodes, shorter, pairs, starts) in enumerate(patterns.trie.covers):
            if len(nodes):
                covered = psi[nodes] - np.where(shorter >= 0, psi[shorter], 0.0)  # patterns in u longer than j labels
                (before if j else after).reshape(-1)[pairs] += np.maximum.reduceat(covered, starts)
    left, right = np.zeros_like(moves), np.zeros_like(moves)
    rows = max(1, CUBE_CELLS // moves.size) if moves.size else 1
    # -inf - -inf = nan: both are forbidden there, nothing can be lost, and fmax leaves nan out; maximum is faster
    largest = np.maximum if np.isfinite(moves).all() else np.fmax
    with np.errstate(invalid="ignore"):
        for first in range(0, len(moves), rows):
            some = slice(first, first + rows)
            gained = after[some, None, :] - moves[some, :, None]  # (a, j, k)
            left = largest(left, largest.reduce(gained, axis=0, initial=0.0))
            gained = before.T[some, None, :] - moves.T[some, :, None]  # (b, j, k)
            right = largest(right, largest.reduce(gained, axis=0, initial=0.0))
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


def fired_loss_of(patterns: PatternScores, shape: Tuple[int, ...]) -> Optional[Floats]:
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
