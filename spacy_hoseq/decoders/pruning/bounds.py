"""Bounds for exact pruning: labels that cannot be on a best path, found without decoding.

Replace label k at one token by label j, and nothing else. Emissions change by scores[j] -
scores[k]. Towards the token before, with label a, j earns at least trans[a, j], and k at most E[a,
k] = trans[a, k] + the largest weight of patterns that end here with a, k. Towards the token after,
with label b, j earns at least trans[j, b] and k at most G[k, b] = trans[k, b] + the largest weight
of patterns that hold k, b and end at the next token, plus at the one after it, and so on. (Weights
are >= 0, so patterns that j gains can be left out.) With A, B the labels that the two neighbours
can have, if

    scores[t, j] - scores[t, k]  >  max_{a in A} (E[a, k] - trans[a, j]) + max_{b in B} (G[k, b] - trans[j, b])

then every labelling with k at t has a better one, and no best path has k at t. The test is strict:
labels on paths of equal score stay, so ties are decided as before. It is applied with all labels as
A and B (`limits.py`; the ends of a sequence, where a side is missing, are covered by max(0, .)),
then with the labels of neighbours that this has decided, then, with patterns, with the candidates
that are left of all neighbours. No best path has a label that was dropped, so dropping it from A
and B keeps the later tests sound.

Checked label by label against the unpruned decoders in tests/decoders/pruning/test_pruned.py.

The labels that are left at each token, in lists: what is done with them costs what they are, not
N x L.
"""

from typing import NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import DTypeLike

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask
from ..problem import TUNING, Fired, Tuning, Weights, added_up, ranges
from .limits import Limits


class Candidates(NamedTuple):
    """first (N + 1,): token n has the candidates first[n] to first[n + 1], at least one.

    labels (C,): ascending at each token. scores (C,): their emissions. loss (C,): weight of the
    patterns that fire at given positions and need the label there.
    """

    first: Ints
    labels: Ints
    scores: Floats
    loss: Floats

    @property
    def counts(self) -> Ints:
        """Candidates of each token. RETURNS (N,)."""
        return self.first[1:] - self.first[:-1]

    @property
    def tokens(self) -> Ints:
        """Token of each candidate. RETURNS (C,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    def chosen(self, kept: Mask) -> "Candidates":
        """Those that are `kept` (C,)."""
        first = np.concatenate([[0], np.cumsum(kept)]).take(self.first)
        at = np.flatnonzero(kept)
        return Candidates(first, self.labels.take(at), self.scores.take(at), self.loss.take(at))

    def of(self, tokens: Ints) -> "Candidates":
        """Those of some tokens, in their order."""
        if len(tokens) == len(self.first) - 1 and (tokens[:-1] < tokens[1:]).all():
            return self  # all of them
        sizes = self.counts[tokens]
        at = ranges(self.first[tokens], sizes)
        first = np.concatenate([[0], np.cumsum(sizes)])
        return Candidates(first, self.labels[at], self.scores[at], self.loss[at])

    def dense(self, n_labels: int) -> Tuple[Floats, Mask]:
        """Scores (N, L), 0 for other labels, and the candidates as a mask (N, L)."""
        shape = len(self.first) - 1, n_labels
        scores = np.zeros(shape)
        mask = np.zeros(shape, bool)
        at = self.tokens, self.labels
        scores[at] = self.scores
        mask[at] = True
        return scores, mask


def first_best(values: AnyFloats, first: Ints) -> Ints:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    group = np.repeat(np.arange(len(first) - 1), first[1:] - first[:-1])
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, first[:-1]).take(group))[::-1]
    best = np.zeros(len(first) - 1, np.intp)
    best[group[is_best]] = is_best  # of several the first is assigned last
    return best


MOST_NODES = 4_000


def dense_cost(weights: Weights, tuning: Tuning) -> int:
    """Time of a token in a decoder of all labels, in steps of `Tuning`."""
    if weights.has_patterns:
        # of a large trie few nodes are cells of the sparse decoder, but each takes more
        return weights.n_labels**2 + tuning.node_cost * min(len(weights.node_weights), MOST_NODES)
    return weights.n_labels**2 + tuning.step_cost


# relative: how far the two sides may round apart; far above float64 rounding, far below any real gap
ROUNDING = 1e-9
SINGLE_ROUNDING = 1e-6  # the same where they are in single precision


class FiredLoss(NamedTuple):
    """Summed weight of the fired patterns that need a label at a token. cells (M,): token * L +
    label, ascending, distinct. weights (M,)."""

    cells: Ints
    weights: Floats

    def at(self, cells: Ints) -> Floats:
        """RETURNS (C,)."""
        place = np.minimum(np.searchsorted(self.cells, cells), len(self.cells) - 1)
        return np.where(self.cells[place] == cells, self.weights[place], 0.0)


def candidate_labels(
    scores: AnyFloats,
    limits: Limits,
    *,
    allowed: Optional[Mask] = None,
    fired_loss: Optional[FiredLoss] = None,
    tuning: Tuning = TUNING,
) -> Candidates:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label, whatever
    its neighbours have.

    scores (N, L), allowed (N, L). RETURNS (Candidates): at least one label a token.
    """
    n_tokens, n_labels = scores.shape
    size = max(1, tuning.bound_cells // max(1, n_labels))
    parts = [np.zeros(0, np.intp)]
    for start in range(0, n_tokens, size):
        block = slice(start, start + size)
        here = scores[block]  # (n, L)
        emissions = here if allowed is None else np.where(allowed[block], here, -np.inf)
        reach = limits.everywhere(emissions.argmax(axis=1))  # (n, L)
        if fired_loss is not None:
            _add_within(fired_loss, reach, start * n_labels)
        least = least_reach(emissions.max(axis=1, initial=-np.inf), here.dtype)
        reach = np.add(
            reach, here, out=reach if reach.dtype == np.result_type(reach, here) else None
        )
        kept = reach >= least[:, None]
        if allowed is not None:
            kept &= allowed[block]
        parts.append(np.flatnonzero(kept) + start * n_labels)
    cells = np.concatenate(parts)
    counts = np.bincount(cells // max(1, n_labels), minlength=n_tokens)
    first = np.concatenate([[0], np.cumsum(counts)])
    labels = cells - np.repeat(np.arange(n_tokens) * n_labels, counts)
    loss = np.zeros(len(cells)) if fired_loss is None else fired_loss.at(cells)
    return Candidates(first, labels, scores.reshape(-1).take(cells).astype(np.float64), loss)


def least_reach(best: AnyFloats, dtype: DTypeLike) -> AnyFloats:
    """What scores and limits together must come up to beside the best score of a token, rounded
    downwards. (n,)"""
    precise = best.astype(np.float64)
    return np.asarray((precise - SINGLE_ROUNDING * np.abs(precise)).astype(dtype))


def beside_decided(candidates: Candidates, limits: Limits, lengths: AnyInts) -> Candidates:
    """The same test, with neighbours that have one candidate restricted to it. What it costs grows
    with the candidates, not with pairs of them; so it comes before `refine`, and leaves half of
    them or less."""
    is_open = candidates.counts > 1
    ends, known_before, known_after = _known_beside(is_open, lengths)
    tokens = np.flatnonzero(is_open & (known_before | known_after))
    rivals, tested, token = _against_best(candidates, tokens)
    j = candidates.labels.take(rivals)
    k = candidates.labels.take(tested)
    limit = candidates.loss.take(tested)
    possible = np.ones(len(tested), bool)
    label = candidates.labels.take(candidates.first[:-1])  # of tokens that are decided
    for step, known, is_end in ((-1, known_before, ends[:-1]), (1, known_after, ends[1:])):
        lost = _lost_beside_one(label.take(token + step, mode="clip"), j, k, step, limits)
        lost[is_end.take(token)] = 0
        lost = np.where(known.take(token), lost, limits.of_side(j, k, step))
        if not limits.are_finite:
            possible &= lost > -np.inf  # (not if it is no number)
            lost[~possible] = 0
        limit += lost
    gap = candidates.scores.take(rivals) - candidates.scores.take(tested)
    kept = np.ones(len(candidates.labels), bool)
    kept[tested] = possible & ~(gap - limit > ROUNDING * (1 + gap))
    return candidates.chosen(kept)


def _known_beside(is_open: Mask, lengths: AnyInts) -> Tuple[Mask, Mask, Mask]:
    """RETURNS where sequences end, before each token and behind the last one (N + 1,), and tokens
    whose neighbour before, and after, is decided or not there (N,)."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    ends = np.ones(len(is_open) + 1, bool)
    ends[1:-1] = sequence[1:] != sequence[:-1]
    before = ends[:-1].copy()
    after = ends[1:].copy()
    before[1:] |= ~is_open[:-1]
    after[:-1] |= ~is_open[1:]
    return ends, before, after


def refine(
    candidates: Candidates, limits: Limits, lengths: AnyInts, *, tuning: Tuning = TUNING
) -> Candidates:
    """The same test with neighbours restricted to their candidates, one side at a time: first the
    neighbours after, then those before. The second round works with what the first has left, and
    takes for the other side the limit that the first has found (which takes that of all labels)."""
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    rivals, tested, token = _against_best(candidates, np.flatnonzero(candidates.counts > 1))
    other_side = limits.of_side(
        candidates.labels.take(rivals), candidates.labels.take(tested), -1
    ).astype(np.float64)
    kept = np.ones(len(candidates.labels), bool)
    for step in (1, -1):
        j = candidates.labels.take(rivals)
        k = candidates.labels.take(tested)
        lost = _lost_beside(
            candidates, token, j, k, step, limits, sequence, kept, tuning.bound_candidates
        )
        limit = lost + candidates.loss.take(tested)
        limit += np.where(lost > -np.inf, other_side, 0.0)
        gap = candidates.scores.take(rivals) - candidates.scores.take(tested)
        stays = ~(gap - limit > ROUNDING * (1 + gap))
        kept[tested] = stays
        left = np.flatnonzero(stays)
        rivals = rivals.take(left)
        tested = tested.take(left)
        token = token.take(left)
        other_side = lost.take(left)
    return candidates.chosen(kept)


def _lost_beside_one(other: Ints, j: Ints, k: Ints, step: int, limits: Limits) -> Floats:
    """What label k can have over j beside one label of the next token (step 1) or the last one
    (-1). Where k cannot stand it is -inf, or not a number if j cannot stand either. other, j, k
    (n,). RETURNS (n,)."""
    upper, lower = limits.sides[0 if step < 0 else 1]
    n_labels = len(limits.trans)
    with np.errstate(invalid="ignore"):
        lost: Floats = upper.take(k * n_labels + other) - lower.take(j * n_labels + other)
    return lost


def _lost_beside(
    candidates: Candidates,
    token: Ints,
    j: Ints,
    k: Ints,
    step: int,
    limits: Limits,
    sequence: Ints,
    kept: Mask,
    max_candidates: int,
) -> Floats:
    """The same beside the candidates of that token; 0 where there is none. token (n,): where j and
    k stand. sequence (N,): of each token. kept (C,): the candidates that count, at least one a
    token. RETURNS (n,)."""
    upper, lower = limits.sides[0 if step < 0 else 1]
    n_labels = len(limits.trans)
    neighbour = token + step
    is_within = sequence.take(neighbour, mode="clip") == sequence.take(token)
    is_one = is_within & (neighbour >= 0) & (neighbour < len(sequence))
    most = np.zeros(len(token))
    every = np.flatnonzero(is_one)
    for start in range(0, len(every), max_candidates):
        at = every[start : start + max_candidates]
        counts = candidates.counts.take(neighbour.take(at))
        cells = ranges(candidates.first.take(neighbour.take(at)), counts)
        other = candidates.labels.take(cells)
        of_k = (k.take(at) * n_labels).repeat(counts)
        of_j = (j.take(at) * n_labels).repeat(counts)
        of_k += other
        of_j += other
        loss = upper.take(of_k)
        possible = None if limits.are_finite else loss > -np.inf
        with np.errstate(invalid="ignore"):
            loss -= lower.take(of_j)
        if possible is not None:
            # where label k is forbidden it has nothing; where only j is, everything
            loss[~possible] = -np.inf
        loss[~kept.take(cells)] = -np.inf
        most[at] = np.maximum.reduceat(loss, np.cumsum(counts) - counts)
    return most


def _against_best(candidates: Candidates, tokens: Ints) -> Tuple[Ints, Ints, Ints]:
    """All candidates of some tokens (n,) but the best-scoring one. RETURNS the best-scoring one at
    the token of each, which they are (m,), and the token of each."""
    first = candidates.first.take(tokens)
    counts = candidates.counts.take(tokens)
    cells = ranges(first, counts)
    best = cells.take(
        first_best(candidates.scores.take(cells), np.concatenate([[0], np.cumsum(counts)]))
    )
    rivals = best.repeat(counts)
    token = tokens.repeat(counts)
    others = np.flatnonzero(cells != rivals)
    return rivals.take(others), cells.take(others), token.take(others)


def fired_loss_of(
    fired: Optional[Fired], weights: Weights, shape: Tuple[int, ...]
) -> Optional[FiredLoss]:
    """The weight that a change of label loses in patterns that fire at positions; None if nothing
    fires."""
    if fired is None or not len(fired.tokens):
        return None
    cells = []
    lost = []
    trie = weights.trie
    token = fired.tokens
    node = fired.nodes
    weight = fired.weights
    while len(token):
        cells.append(token * shape[1] + trie.label.take(node))
        lost.append(weight)
        token = token - 1
        node = trie.parent.take(node)
        going_on = np.flatnonzero((node >= 0) & (token >= 0))
        token = token.take(going_on)
        node = node.take(going_on)
        weight = weight.take(going_on)
    return FiredLoss(*added_up(np.concatenate(cells), np.concatenate(lost)))


def _add_within(loss: FiredLoss, limits: AnyFloats, start: int) -> None:
    """Add to the limits (n, L) of the cells from `start` on, rounded upwards."""
    a, b = np.searchsorted(loss.cells, [start, start + limits.size])
    limits.reshape(-1)[loss.cells[a:b] - start] += (
        loss.weights[a:b] * (1 + SINGLE_ROUNDING)
    ).astype(limits.dtype)
