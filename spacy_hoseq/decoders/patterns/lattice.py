"""A trellis of exclusive states: every labelling is exactly one path. Here are its best paths; its
sums are in `lattice_sums.py`.

What the states are is the business of who builds the lattice: the longest match in a trie
(`longest_match.py`) or sets of partially matched configurations (`configurations.py`). Here a state
has a label, arcs lead from the states of one token to those of the next, and

    score(path) = sum_t gain_t[state_t] + sum_{t>0} move_t[state_{t-1} -> state_t]

Because states are exclusive the weights may have any sign.
"""

from typing import List, NamedTuple, Optional, Protocol, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Floats, Ints, Labels
from ..problem import TUNING, KBest, NoPath, Tuning


class Step(NamedTuple):
    """One token of n sequences that share the states.

    label (S,): of each state. gain (S, n): score of being in a state, -inf if it cannot be entered.
    source (E,): state before of each arc, arcs sorted by target. first (S + 1,): the arcs into
        state v are first[v] <= e < first[v + 1]; at least one for each state. arc (E,): their
        scores, or (E, n) if they differ from sequence to sequence. Empty at the first token.
    """

    label: Ints
    gain: Floats
    source: Ints
    first: Ints
    arc: Floats

    @property
    def columns(self) -> Floats:
        """The scores of arcs, sequence by sequence. RETURNS (E, n), or (E, 1) if all share them."""
        return self.arc[:, None] if self.arc.ndim == 1 else self.arc


class Lattice(Protocol):
    """size_at_t (T,): sequences that have a token t; columns are sequences, longest first."""

    size_at_t: NDArray[np.int64]

    def step(self, t: int) -> Step: ...


class StatePaths(NamedTuple):
    """The best path of each column. labels (N,): packed, as in `Layout`. scores (n,). states:
    (size,) for each t."""

    labels: Labels
    scores: Floats
    states: List[Ints]


def best_paths(lattice: Lattice, *, tuning: Tuning = TUNING) -> StatePaths:
    """The path of highest score of each column. Ties: the lowest state. A score is -inf where there
    is no path.

    Time O(E) a token, memory O(S) a token, in blocks of steps that are walked a second time on the
    way back.
    """
    sizes = lattice.size_at_t
    n_steps = len(sizes)
    if not n_steps:
        return StatePaths(np.zeros(0, np.int32), np.zeros(0), [])
    blocks = _blocks(lattice, tuning.history_cells)
    entries: List[Optional[Floats]] = [None]  # V before each block
    for first, last in blocks[:-1]:
        entries.append(_max_forward(lattice, first, last, entries[-1])[-1])
    scores = np.full(int(sizes[0]), -np.inf)
    states: List[Ints] = [np.zeros(0, np.intp)] * n_steps
    labels: List[Labels] = [np.zeros(0, np.int32)] * n_steps
    later = np.zeros(0, np.intp)  # states at t + 1
    for (first, last), entry in zip(reversed(blocks), reversed(entries), strict=True):
        history = _max_forward(lattice, first, last, entry)
        for t in range(last - 1, first - 1, -1):
            v = history[t - first]
            n_on = len(later)
            scores[n_on : v.shape[1]] = v[:, n_on:].max(axis=0)  # sequences whose last token is t
            ended = v[:, n_on:].argmax(axis=0)
            states[t] = (
                np.concatenate([_best_source(lattice.step(t + 1), later, v), ended])
                if n_on
                else ended
            )
            labels[t] = lattice.step(t).label[states[t]].astype(np.int32)
            later = states[t]
    return StatePaths(np.concatenate(labels), scores, states)


def _blocks(lattice: Lattice, max_cells: int) -> List[Tuple[int, int]]:
    """Ranges of steps of at most about `max_cells` cells, by the size of each step."""
    blocks = []
    first = 0
    cells = 0
    for t, size in enumerate(lattice.size_at_t.tolist()):
        more = size * len(lattice.step(t).label)
        if t > first and cells + more > max_cells:
            blocks.append((first, t))
            first = t
            cells = 0
        cells += more
    return [*blocks, (first, len(lattice.size_at_t))]


def _max_forward(lattice: Lattice, first: int, last: int, entry: Optional[Floats]) -> List[Floats]:
    """V_t (S, size_at_t[t]) for first <= t < last: the best score of a path to each state. `entry`
    = V at first - 1."""
    history = []
    v = entry
    for t in range(first, last):
        step = lattice.step(t)
        if v is None:
            v = step.gain
        else:
            n = int(lattice.size_at_t[t])
            v = (
                np.maximum.reduceat(v[step.source, :n] + step.columns, step.first[:-1], axis=0)
                + step.gain
            )
        history.append(v)
    return history


def _best_source(step: Step, states: Ints, v: Floats) -> Ints:
    """State before each of `states` on its best path; column i belongs to states[i]. v: scores at
    the token before."""
    counts = step.first[states + 1] - step.first[states]
    start = np.cumsum(counts) - counts
    arcs = np.arange(counts.sum()) - np.repeat(start - step.first[states], counts)
    column = np.repeat(np.arange(len(states)), counts)
    values = v[step.source[arcs], column] + (
        step.arc[arcs] if step.arc.ndim == 1 else step.arc[arcs, column]
    )
    is_best = np.flatnonzero(values == np.maximum.reduceat(values, start)[column])[::-1]
    chosen = np.zeros(len(states), np.intp)
    chosen[column[is_best]] = step.source[arcs[is_best]]  # of several the first is assigned last
    return chosen


def k_best_paths(lattice: Lattice, k: int) -> KBest:
    """The k paths of highest score of a lattice of ONE sequence (Schwartz & Chow 1990; Huang &
    Chiang 2005, alg. 2).

    RAISES NoPath: there is none. Ties: the lowest state before. Time O(E k log(E k)) a token.
    """
    first = lattice.step(0)
    # scores of the k best paths to each state, sorted
    best = np.full((len(first.label), k), -np.inf)
    best[:, 0] = first.gain[:, 0]
    back: List[Tuple[Ints, Ints]] = []  # state and rank before, (S, k) each
    for t in range(1, len(lattice.size_at_t)):
        step = lattice.step(t)
        best, source, rank = _top_k(best, step)
        best += step.gain
        back.append((source, rank))
    order = np.argsort(-best.reshape(-1), kind="stable")[:k]
    order = order[np.isfinite(best.reshape(-1)[order])]
    if not len(order):
        raise NoPath(0)
    state, rank = np.divmod(order, k)
    scores = best[state, rank]
    labels = [lattice.step(len(back)).label[state]]
    for t in range(len(back) - 1, -1, -1):
        states_before, ranks_before = back[t]
        here = state, rank
        state = states_before[here]
        rank = ranks_before[here]
        labels.append(lattice.step(t).label[state])
    return KBest(np.stack(labels[::-1], axis=1).astype(np.int32), scores)


def _top_k(best: Floats, step: Step) -> Tuple[Floats, Ints, Ints]:
    """The k best paths to each state, without its gain. best (S', k): to the states before. RETURNS
    scores, states before and their ranks, (S, k) each; -inf where there are fewer. Arcs that no
    path takes are left out: where labels are known, nearly all."""
    n = len(step.label)
    k = best.shape[1]
    open_before = np.isfinite(best[:, 0])
    open_now = np.isfinite(step.gain[:, 0])
    target = np.repeat(np.arange(n), np.diff(step.first))
    arcs = np.flatnonzero(open_before[step.source] & open_now[target])
    states, first = np.unique(target[arcs], return_index=True)
    flat = (best[step.source[arcs]] + step.arc.reshape(-1, 1)[arcs]).reshape(-1)
    order = np.lexsort((-flat, np.repeat(target[arcs], k)))
    chosen = order[first[:, None] * k + np.arange(k)]  # an arc has k candidates
    scores = np.full((n, k), -np.inf)
    source = np.zeros((n, k), np.intp)
    rank = np.zeros((n, k), np.intp)
    scores[states] = flat[chosen]
    source[states] = step.source[arcs[chosen // k]]
    rank[states] = chosen % k
    return scores, source, rank
