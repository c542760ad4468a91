"""Bounds for exact pruning: labels that cannot be on a best path, found without decoding.

Replace label k at one token by label j, and nothing else. Emissions change by scores[j] - scores[k]. Towards the
token before, with label a, j earns at least trans[a, j], and k at most E[a, k] = trans[a, k] + the largest weight of
patterns that end here with a, k. Towards the token after, with label b, j earns at least trans[j, b] and k at most
G[k, b] = trans[k, b] + the largest weight of patterns that hold k, b and end at the next token, plus at the one after
it, and so on. (Weights are >= 0, so patterns that j gains can be left out.) With A, B the labels that the two
neighbours can have, if

    scores[t, j] - scores[t, k]  >  max_{a in A} (E[a, k] - trans[a, j]) + max_{b in B} (G[k, b] - trans[j, b])

then every labelling with k at t has a better one, and no best path has k at t. The test is strict: labels on paths of
equal score stay, so ties are decided as before. It is applied with all labels as A and B (`limits.py`; the ends of a
sequence, where a side is missing, are covered by max(0, .)), then once more with the candidates that this leaves.
No best path has a label that was dropped, so dropping it from A and B keeps the second test sound.

Checked label by label against the unpruned decoders in tests/decoders/test_pruning.py.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from .candidates import Candidates, first_best
from .firing import added_up
from .layout import ranges
from .limits import Limits
from .trie import PatternScores

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Mask = NDArray[np.bool_]
ROUNDING = 1e-9  # relative: how far the two sides may round apart; far above float64 rounding, far below any real gap
SINGLE_ROUNDING = 1e-6  # the same where they are in single precision
BLOCK_CELLS = 180_000  # (token, label) pairs compared at once: they stay in the processor's cache
BLOCK_CANDIDATES = 100_000  # candidates compared at once by the second test


class FiredLoss(NamedTuple):
    """Summed weight of the fired patterns that need a label at a token. cells (M,): token * L + label, ascending,
    distinct. weights (M,)."""

    cells: Ints
    weights: Floats

    def at(self, cells: Ints) -> Floats:
        """RETURNS (C,)."""
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[place] == cells, self.weights[place], 0.0)


def candidate_labels(
    scores: NDArray[np.floating],
    limits: Limits,
    *,
    allowed: Optional[Mask] = None,
    fired_loss: Optional[FiredLoss] = None,
) -> Candidates:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label, whatever its neighbours have.

    scores (N, L), allowed (N, L). RETURNS (Candidates): at least one label a token.
    """
    n_tokens, n_labels = scores.shape
    size = max(1, BLOCK_CELLS // max(1, n_labels))
    found = [np.zeros(0, np.intp)]
    for start in range(0, n_tokens, size):
        block = slice(start, start + size)
        here = scores[block]  # (n, L)
        emissions = here if allowed is None else np.where(allowed[block], here, -np.inf)
        top = emissions.argmax(axis=1)
        best = emissions[np.arange(len(top)), top].astype(np.float64)
        reach = limits.everywhere(top)  # (n, L)
        if fired_loss is not None:
            _add_within(fired_loss, reach, start * n_labels)
        least = (best - SINGLE_ROUNDING * np.abs(best)).astype(here.dtype)
        reach = np.add(reach, here, out=reach if reach.dtype == np.result_type(reach, here) else None)
        kept = reach >= least[:, None]
        if allowed is not None:
            kept &= allowed[block]
        found.append(np.flatnonzero(kept) + start * n_labels)
    cells = np.concatenate(found)
    first = np.searchsorted(cells, np.arange(n_tokens + 1) * n_labels)
    tokens = np.repeat(np.arange(n_tokens), np.diff(first))
    labels = cells - tokens * n_labels
    loss = np.zeros(len(cells)) if fired_loss is None else fired_loss.at(cells)
    return Candidates(first, labels, scores[tokens, labels].astype(np.float64), loss)


def refine(candidates: Candidates, limits: Limits, lengths: NDArray[np.integer]) -> Candidates:
    """The same test once more, with neighbours restricted to their candidates."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    tokens, rivals = candidates.tokens, first_best(candidates.scores, candidates.first)  # (C,), (N,) best-scoring ones
    kept = np.ones(len(candidates.labels), bool)
    for start in range(0, len(kept), BLOCK_CANDIDATES):
        block = slice(start, start + BLOCK_CANDIDATES)
        is_open = np.flatnonzero(candidates.labels[block] != candidates.labels[rivals[tokens[block]]]) + start
        kept[is_open] = _can_win(is_open, tokens[is_open], rivals[tokens[is_open]], candidates, limits, sequence)
    return candidates.chosen(kept)


def _can_win(is_open: Ints, token: Ints, rival: Ints, candidates: Candidates, limits: Limits, sequence: Ints) -> Mask:
    """Which of some candidates pass the test. is_open (C,): their numbers. token (C,): theirs. rival (C,): numbers of
    the candidates they are compared with. sequence (N,): of each token. RETURNS (C,)."""
    first, every_label, n_labels = candidates.first, candidates.labels, len(limits.trans)
    label, limit = every_label[is_open], candidates.loss[is_open]
    for step, (earned, instead) in zip((-1, 1), limits.sides, strict=True):
        neighbour = token + step
        inside = (neighbour >= 0) & (neighbour < len(sequence))
        inside[inside] = sequence[neighbour[inside]] == sequence[token[inside]]
        at = np.flatnonzero(inside)
        if not len(at):
            continue
        start = first[neighbour[at]]
        counts = first[neighbour[at] + 1] - start
        other = every_label[ranges(start, counts)]
        k, j = np.repeat(label[at] * n_labels, counts), np.repeat(every_label[rival[at]] * n_labels, counts)
        k += other
        j += other
        loss = earned.take(k)
        possible = None if limits.are_finite else loss > -np.inf
        with np.errstate(invalid="ignore"):
            loss -= instead.take(j)
        if possible is not None:
            loss[~possible] = -np.inf  # where label k is forbidden it has nothing to lose; where only j is, everything
        worst = np.maximum.reduceat(loss, np.cumsum(counts) - counts)
        limit[at] = np.where(worst > -np.inf, limit[at], -np.inf)
        limit[at] += np.where(limit[at] > -np.inf, worst, 0.0)
    gap = candidates.scores[rival] - candidates.scores[is_open]
    return ~(gap - limit > ROUNDING * (1 + gap))


def fired_loss_of(patterns: PatternScores, shape: Tuple[int, ...]) -> Optional[FiredLoss]:
    """The weight that a change of label loses in patterns that fire at positions. None if nothing fires."""
    fired, trie = patterns.fired, patterns.trie
    if fired is None or not len(fired.tokens):
        return None
    cells, weights = [], []
    token, node, weight = fired.tokens, fired.nodes, fired.weights
    while len(token):
        cells.append(token * shape[1] + trie.label[node])
        weights.append(weight)
        token, node = token - 1, trie.parent[node]
        going_on = (node >= 0) & (token >= 0)
        token, node, weight = token[going_on], node[going_on], weight[going_on]
    return FiredLoss(*added_up(np.concatenate(cells), np.concatenate(weights), shape[0] * shape[1]))


def _add_within(loss: FiredLoss, limits: NDArray[np.floating], start: int) -> None:
    """Add to the limits (n, L) of the cells from `start` on, rounded upwards."""
    a, b = np.searchsorted(loss.cells, [start, start + limits.size])
    limits.reshape(-1)[loss.cells[a:b] - start] += (loss.weights[a:b] * (1 + SINGLE_ROUNDING)).astype(limits.dtype)
