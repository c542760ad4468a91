"""A lattice of exclusive states: every labelling is exactly one path. Here are its best paths; its
sums are in `lattice_sums.py`.

What the states are is the business of the subclass: the longest match in a trie
(`longest_match.py`), and sets of partially matched configurations (`configurations.py`). A state
has a label, arcs lead from the states of one token to those of the next, and

    score(path) = sum_t gain_t[state_t] + sum_{t>0} arc_t[state_{t-1} -> state_t]

Because states are exclusive the weights may have any sign.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Floats, Ints, Labels, Mask
from ...caches import cached_property
from ..problem import (
    Groups,
    KBest,
    Layout,
    NoPath,
    Paths,
    PatternTrie,
    Potentials,
    Selection,
    Tuning,
)


class Arcs:
    """Arcs from the states of one token to those of the next, sorted by target. source (E,): state
    before of each. first (S + 1,): the arcs into state s are first[s] to first[s + 1], at least
    one. target (E,)."""

    def __init__(self, source: Ints, first: Ints) -> None:
        self.source = source
        self.first = first

    @cached_property
    def target(self) -> Ints:
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def out_of(self) -> Groups:
        """The arcs by the state that they come from."""
        return Groups(self.source)


class Step(NamedTuple):
    """One token of n sequences that share the states.

    label (S,): of each state. gain (S, n): score of being in a state, -inf if it cannot be entered.
    arcs: into the states, none at the first token. scores (E, n), or (E, 1) if all sequences share
    them: of the arcs, -inf if one is forbidden.
    """

    label: Ints
    gain: Floats
    arcs: Arcs
    scores: Floats


NO_ARCS = Arcs(np.zeros(0, np.intp), np.zeros(1, np.intp))


class Lattice:
    """trie: states are the longest match in it, and more. layout: of the sequences, which are the
    columns. n_final: best paths end in one of so many first states; None = in any."""

    trie: PatternTrie
    layout: Layout
    n_final: int | None = None

    def step(self, t: int) -> Step:
        raise NotImplementedError

    def nodes(self, t: int) -> Ints:
        """The longest match of each state. RETURNS (S,)."""
        return np.arange(len(self.trie))

    def completed(self, t: int) -> tuple[Ints, Mask]:
        """The configurations that end at a token (m,), and which arcs (at the first token: states)
        complete them (E, m)."""
        return np.zeros(0, np.intp), np.zeros((0, 0), bool)

    def labels(self, t: int) -> Ints:
        """Label of each state. RETURNS (S,)."""
        raise NotImplementedError

    def forward(self, t: int, before: Floats | None) -> Floats:
        """V_t: the best score of a path to each state. before: V_{t-1}. RETURNS (S, n)."""
        step = self.step(t)
        if before is None:
            return step.gain
        paths = before[step.arcs.source, : step.gain.shape[1]] + step.scores  # (E, n)
        return np.maximum.reduceat(paths, step.arcs.first[:-1], axis=0) + step.gain

    def back(self, t: int, states: Ints, v: Floats, before: Floats) -> Ints:
        """The states before some states on their best paths; column i belongs to states[i]. v:
        V_t. before: V_{t-1}."""
        step = self.step(t)
        source = step.arcs.source
        first = step.arcs.first
        counts = first[states + 1] - first[states]  # arcs into each
        start = np.cumsum(counts) - counts
        arcs = np.arange(counts.sum()) - np.repeat(start - first[states], counts)
        column = np.repeat(np.arange(len(states)), counts)
        scores = np.broadcast_to(step.scores, (len(source), v.shape[1]))
        values = before[source[arcs], column] + scores[arcs, column]
        is_best = np.flatnonzero(values == np.maximum.reduceat(values, start)[column])[::-1]
        result = np.zeros(len(states), np.intp)
        result[column[is_best]] = source[arcs[is_best]]  # of several the first is assigned last
        return result


def decode_lattices(
    potentials: Potentials, lattices: Iterable[tuple[Lattice, Selection]], tuning: Tuning
) -> Paths:
    """The best label sequences of a batch, of which each lattice has a part. RAISES NoPath."""
    labels = np.zeros(len(potentials.scores), np.int32)
    scores = np.zeros(len(potentials.lengths))
    for lattice, part in lattices:
        layout = lattice.layout
        blocks = list(layout.blocks(len(lattice.trie), tuning.history_cells))
        packed, by_rank = best_paths(lattice, blocks)
        labels[part.tokens[layout.tokens]] = packed
        scores[part.sequences[layout.order]] = by_rank
    if len(scores) and scores.min() == -np.inf:
        raise NoPath(int(scores.argmin()))
    return Paths(labels, scores)


def best_paths(lattice: Lattice, blocks: Sequence[tuple[int, int]]) -> tuple[Labels, Floats]:
    """The path of highest score of each column. Ties: the lowest state. RETURNS labels (N,),
    packed as in `Layout`, and scores (n,), -inf where there is no path.

    blocks: ranges of steps. The scores of one are stored for the way back, those of the others are
    found once more. Time O(E) a token.
    """
    layout = lattice.layout
    labels = np.zeros(len(layout.tokens), np.int32)
    scores = np.zeros(len(layout.lengths))
    entries: list[Floats | None] = [None]  # V before each block
    # the way forward; the last block is walked below, and its V stay
    for block in blocks[:-1]:
        entries.append(_forward(lattice, block, entries[-1])[-1])
    states = np.zeros(0, np.intp)  # at t + 1
    later = np.zeros((0, 0))  # V at t + 1
    for block, entry in zip(reversed(blocks), reversed(entries), strict=False):
        history = _forward(lattice, block, entry)
        for t in range(block[1] - 1, block[0] - 1, -1):
            v = history[t - block[0]]
            n_on = len(states)  # sequences that go on, in the first columns
            if n_on:
                states = lattice.back(t + 1, states, later, v)
            if n_on < v.shape[1]:  # sequences whose last token is t
                ended = v[: lattice.n_final, n_on:].argmax(axis=0)
                scores[n_on : v.shape[1]] = v[ended, np.arange(n_on, v.shape[1])]
                states = np.concatenate([states, ended])
            labels[layout.step(t)] = lattice.labels(t)[states]
            later = v
    return labels, scores


def _forward(lattice: Lattice, block: tuple[int, int], entry: Floats | None) -> list[Floats]:
    """V_t of each step of a block. entry: V of the step before."""
    history = []
    v = entry
    for t in range(*block):
        v = lattice.forward(t, v)
        history.append(v)
    return history


def k_best_paths(lattice: Lattice, k: int) -> KBest:
    """The k paths of highest score of a lattice of ONE sequence (Schwartz & Chow 1990; Huang &
    Chiang 2005, alg. 2).

    RAISES NoPath: there is none. Ties: the lowest state before. Time O(E k log(E k)) a token.
    """
    first = lattice.step(0)
    # scores of the k best paths to each state, sorted
    best = np.full((len(first.label), k), -np.inf)
    best[:, 0] = first.gain[:, 0]
    back: list[tuple[Ints, Ints]] = []  # state and rank before, (S, k) each
    for t in range(1, len(lattice.layout.tokens)):
        step = lattice.step(t)
        best, source, rank = _top_k(best, step)
        best += step.gain
        back.append((source, rank))
    # the k best ends, and back from them
    order = np.argsort(-best.reshape(-1), kind="stable")[:k]
    order = order[np.isfinite(best.reshape(-1)[order])]
    if not len(order):
        raise NoPath(0)
    state, rank = np.divmod(order, k)
    scores = best[state, rank]
    labels = [lattice.labels(len(back))[state]]
    for t in range(len(back) - 1, -1, -1):
        states_before, ranks_before = back[t]
        here = state, rank
        state = states_before[here]
        rank = ranks_before[here]
        labels.append(lattice.labels(t)[state])
    return KBest(np.stack(labels[::-1], axis=1).astype(np.int32), scores)


def _top_k(best: Floats, step: Step) -> tuple[Floats, Ints, Ints]:
    """The k best paths to each state, without its gain. best (S', k): to the states before. RETURNS
    scores, states before and their ranks, (S, k) each; -inf where there are fewer."""
    n = len(step.label)
    k = best.shape[1]
    source = step.arcs.source
    target = step.arcs.target
    # arcs that no path takes are left out: where labels are known, nearly all
    arcs = np.flatnonzero(np.isfinite(best[source, 0]) & np.isfinite(step.gain[target, 0]))
    states, first = np.unique(target[arcs], return_index=True)
    flat = (best[source[arcs]] + step.scores[arcs]).reshape(-1)  # arc by arc, k each
    order = np.lexsort((-flat, np.repeat(target[arcs], k)))
    chosen = order[first[:, None] * k + np.arange(k)]  # an arc has k candidates
    scores = np.full((n, k), -np.inf)
    sources = np.zeros((n, k), np.intp)
    ranks = np.zeros((n, k), np.intp)
    scores[states] = flat[chosen]
    sources[states] = source[arcs[chosen // k]]
    ranks[states] = chosen % k
    return scores, sources, ranks


def max_marginals(lattice: Lattice) -> Floats:
    """The best score with each label: max of score(x, y) over all y with y_t = a, which is the max
    of V_t(u) + W_t(u) over the states u of label a, with W_t(u) the best that can follow u.
    RETURNS (L, N), packed, -inf where there is no such path. Time O(E), memory O(S) a token."""
    layout = lattice.layout
    prefixes = _forward(lattice, (0, len(layout.size_at_t)), None)
    best = np.full((lattice.trie.n_labels, len(layout.tokens)), -np.inf)
    suffixes = np.zeros((0, 0))
    for t in range(len(prefixes) - 1, -1, -1):
        step = lattice.step(t)
        suffixes = with_ended(suffixes, prefixes[t].shape)  # W_t (S, n)
        by_label = Groups(step.label)
        best[by_label.keys, layout.step(t)] = by_label.largest(prefixes[t] + suffixes)
        if t:
            later = (step.gain + suffixes)[step.arcs.target] + step.scores  # (E, n)
            sources = step.arcs.out_of
            suffixes = np.full((len(prefixes[t - 1]), later.shape[1]), -np.inf)
            suffixes[sources.keys] = sources.largest(later)
    return best


def with_ended(values: Floats, shape: tuple[int, ...]) -> Floats:
    """values (S, n') with 0 in the columns of sequences that end here. RETURNS (S, n)."""
    result = np.zeros(shape, values.dtype)
    result[:, : values.shape[1]] = values.reshape(shape[0], -1)
    return result
