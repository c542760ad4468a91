"""The most probable labels under a product of local classifiers, over one decomposition or over all
of them.

    max over decompositions d in D, labels y of   sum_i log p(y_i | o, the neighbours that i sees in d)

    left_to_right        D = {every token sees the k before it}: the MEMM with Viterbi's algorithm
    right_to_left        D = {every token sees the k after it}
    dependency_network   D = {every token sees all within k}; no decomposition of a probability (Toutanova et al. 2003)
    full_bidirectional   D = every acyclic choice of a direction for each pair of tokens within k of each other: the one
                         at the head of the arrow sees the other (Tsuruoka & Tsujii 2005, Figures 2 and 3)

One dynamic program does all four. After token i its state is the candidates at the window
i-a+1..i+b, and the MODE: the directions of the pairs that reach beyond i (R: the right one sees the
left one). With k = 2 these are (i-1, i+1), (i, i+1), (i, i+2). Token i adds the directions of its
pairs to the right, which says what it sees, hence its classifier. Figure 3 carries more in its
state than that (six directions, five tags); what is left out here is decided by then.

Cycles: a direction for each pair within 2 of each other has no cycle if no three tokens i-1, i, i+1
form one, since any longer cycle has a chord that cuts a shorter one off (the graph is chordal).
These triangles are what the test `d[i-1] = d[i] != d'[i]` of Figure 3 excludes. Labels beyond the
edges of the sequence are known. Where directions are chosen, whoever is within k of an edge sees it
(the figures leave the choice, at the price of a "probability" of the edge's label); left_to_right
sees the left edge only, right_to_left the right one, dependency_network both.
"""

import itertools
from typing import Dict, List, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import AnyInts
from ...errors import Errors
from ..problem import TUNING, Layout, Paths, Tuning, make_layout, parts_of, ranges
from .local import OFFSETS, Floats, Ints, LocalScores, Mask, check_local, check_order
from .local_tables import (
    LocalCandidates,
    Table,
    cells_of,
    digits_of,
    fewer_candidates,
    make_candidates,
    make_table,
    slots_of,
)

STRATEGIES = (
    "easiest_first, easiest_last, left_to_right, right_to_left, dependency_network, full_bidirectional"
)
MAX_CELLS = 500_000  # at one token, times modes


class Move(NamedTuple):
    """One way to go on at a token: from the mode before to the mode after, with the classifier
    asked."""

    before: int
    after: int
    visible: int


class Plan(NamedTuple):
    """How a set of decompositions is searched. left, right: tokens i-left..i+right are in the
    window of token i.

    n_modes (int): mode 0 is that before the first token. chosen (bool): whether directions are
    chosen; then whoever is within k of an edge must see it.
    """

    left: int
    right: int
    n_modes: int
    steps: List[Move]
    chosen: bool


def decode_decompositions(
    local: LocalScores,
    lengths: AnyInts,
    order: int,
    strategy: str,
    *,
    prune: float = 0.0,
    allowed: Optional[Mask] = None,
    max_cells: int = MAX_CELLS,
    tuning: Tuning = TUNING,
) -> Paths:
    """The labels that maximise the objective above.

    local: the classifiers. lengths (S,): tokens of each sequence. order (int): k, 1 or 2.
    prune (float): labels with p(y_i | o) below this times the best are left out, and more of them
        where a token would have more than `max_cells` cells; 0 = exact, L^(a+b+1) cells a token,
        times the modes.
    allowed (N, L) bool: labels permitted at each token, probabilities are among these; None = all.
    RETURNS (Paths): labels, and the maximum as a log probability. Ties: the last k labels lowest,
        compared from the left (right_to_left: all labels, from the right); then, going back, the
        lowest label, and the lowest mode.
    RAISES ValueError [HS020, HS022, HS024, HS027]; [HS091]: too many cells
    without pruning.
    """
    check_local(local, lengths, order, allowed)
    check_prune(prune, strategy)
    plan = make_plan(strategy, order)
    candidates = make_candidates(local, lengths, order, prune, allowed, tuning)
    n_cells = _cells(candidates, order, plan)
    if (n_cells > max_cells).any() and prune == 0:
        token = int(n_cells.argmax())
        message = Errors.HS091.format(
            strategy=strategy, n=f"{n_cells.max():.0f}", token=token, limit=max_cells
        )
        raise ValueError(message)
    # an uncertain passage: prune harder around it, and only there
    while (n_cells > max_cells).any():
        candidates = fewer_candidates(candidates, order, np.flatnonzero(n_cells > max_cells))
        n_cells = _cells(candidates, order, plan)
    labels = np.zeros(local.n_tokens, np.int32)
    scores = np.zeros(len(lengths))
    starts = np.cumsum(lengths) - lengths
    costs = np.add.reduceat(n_cells, starts) if len(lengths) else n_cells
    for sequences in parts_of(costs.astype(np.intp), len(lengths), tuning.search_cells):
        tokens = ranges(starts[sequences], lengths[sequences])
        tables = _tables(local, candidates, order, plan, tokens, allowed, tuning)
        layout = make_layout(lengths[sequences], len(tokens))
        search = _Search(candidates, tables, order, plan, layout, tokens)
        labels[tokens], scores[sequences] = search.best()
    return Paths(labels, scores)


def _cells(candidates: LocalCandidates, order: int, plan: Plan) -> Floats:
    """Cells of the window of each token, times modes; as floats, since they may be many."""
    window = candidates.radix[:, order - plan.left : order + plan.right + 1]
    return np.asarray(window.astype(np.float64).prod(axis=1) * plan.n_modes)


def check_prune(prune: float, strategy: str) -> None:
    """RAISES ValueError [HS027]: not from 0 to 1."""
    if not 0 <= prune <= 1:
        raise ValueError(
            Errors.HS027.format(name="prune", value=prune, expected="0 to 1")
        )


def make_plan(strategy: str, order: int) -> Plan:
    """RAISES ValueError [HS161]: no such strategy."""
    every = (1 << 2 * order) - 1
    half = (1 << order) - 1
    if strategy == "left_to_right":
        return Plan(order, 0, 1, [Move(0, 0, half)], False)
    if strategy == "right_to_left":
        return Plan(0, order, 1, [Move(0, 0, every - half)], False)
    if strategy == "dependency_network":
        return Plan(order, order, 1, [Move(0, 0, every)], False)
    if strategy != "full_bidirectional":
        raise ValueError(Errors.HS161.format(name=strategy, known=STRATEGIES))
    return Plan(order, order, 2 if order == 1 else 8, _directions(order), True)


def classifiers_of(strategy: str, order: int, prune: float) -> Tuple[int, ...]:
    """Masks of the classifiers that a strategy may ask. RAISES ValueError [HS161]: no such
    strategy."""
    check_order(order)
    if strategy in ("easiest_first", "easiest_last", "full_bidirectional"):
        return tuple(range(1 << 2 * order))
    masks = {step.visible for step in make_plan(strategy, order).steps}
    return tuple(sorted(masks | ({0} if prune > 0 else set())))


def _directions(order: int) -> List[Move]:
    """R is 0, L is 1. Modes of order 1: d, of the pair (i, i+1). Of order 2: (e0, d, e), of (i-1,
    i+1), (i, i+1), (i, i+2)."""
    if order == 1:
        return [Move(before, d, (before == 0) | (d == 1) << 1) for before in (0, 1) for d in (0, 1)]
    steps = []
    for e_left, d_left, e_across, d, e in itertools.product((0, 1), repeat=5):
        if not (d_left == d and d != e_across):  # else (i-1, i, i+1) is a cycle
            visible = (e_left == 0) | (d_left == 0) << 1 | (d == 1) << 2 | (e == 1) << 3
            steps.append(
                Move(e_left << 2 | d_left << 1 | e_across, e_across << 2 | d << 1 | e, visible)
            )
    return steps


def _tables(
    local: LocalScores,
    candidates: LocalCandidates,
    order: int,
    plan: Plan,
    tokens: Ints,
    allowed: Optional[Mask],
    tuning: Tuning,
) -> Dict[int, Table]:
    tables = {}
    for visible in sorted({step.visible for step in plan.steps}):
        asks = (
            (candidates.forced[tokens] & ~visible) == 0
            if plan.chosen
            else np.ones(len(tokens), bool)
        )
        tables[visible] = make_table(
            local, candidates, order, visible, tokens[asks], allowed, tuning
        )
    return tables


class _Search:
    """The dynamic program over one part of the batch, all of its sequences at once.

    A MESSAGE after token i holds, for every mode and every cell of the window i-left+1..i+right,
    the best sum over tokens 1..i. Messages of one step lie end to end, sequence by sequence.
    """

    def __init__(
        self,
        candidates: LocalCandidates,
        tables: Dict[int, Table],
        order: int,
        plan: Plan,
        layout: Layout,
        tokens: Ints,
    ) -> None:
        self.candidates = candidates
        self.tables = tables
        self.order = order
        self.plan = plan
        self.layout = layout
        self.tokens = tokens[layout.tokens]  # packed: step by step, rank by rank
        # (N, W)
        self.window = candidates.radix[self.tokens, order - plan.left : order + plan.right + 1]
        self.into: Dict[int, List[Move]] = {
            m: [s for s in plan.steps if s.after == m] for m in range(plan.n_modes)
        }

    def best(self) -> Tuple[NDArray[np.int32], Floats]:
        """RETURNS labels (N',), scores (S',) of the part."""
        layout = self.layout
        plan = self.plan
        n_sequences = len(layout.lengths)
        n_steps = len(layout.size_at_t)
        sizes = self.window[:n_sequences, :-1].prod(axis=1)  # cells before the first token
        first = np.cumsum(sizes) - sizes
        message = np.full((plan.n_modes, int(sizes.sum())), -np.inf)
        message[0] = 0.0
        pointers: List[Ints] = []
        scores = np.zeros(n_sequences)
        end = np.zeros(n_sequences, np.intp)
        for t in range(n_steps):
            message, first, pointer = self._step(layout.step(t), message, first)
            pointers.append(pointer)
            going_on = int(layout.size_at_t[t + 1]) if t + 1 < n_steps else 0
            for rank in range(going_on, int(layout.size_at_t[t])):
                stop = first[rank + 1] if rank + 1 < len(first) else message.shape[1]
                final = message[:, first[rank] : stop]
                end[rank] = final.argmax()
                scores[layout.order[rank]] = final.max()
        return self._walk_back(pointers, end), scores

    def _step(self, here: slice, message: Floats, old_first: Ints) -> Tuple[Floats, Ints, Ints]:
        """One token of every sequence that has one. RETURNS the next message, where the sequences
        begin in it, and back pointers (modes, cells): the mode before times the most candidates,
        plus the digit of token i-left."""
        plan = self.plan
        tokens = self.tokens[here]
        window = self.window[here]
        leaving = window[:, 0]
        sizes = window[:, 1:].prod(axis=1)
        owners = np.repeat(np.arange(len(tokens)), sizes * leaving)
        cells = ranges(np.zeros(len(tokens), np.intp), sizes * leaving)
        radix = list(window[owners].T)
        # the leaving token is the fastest digit here
        digits = [cells % radix[0], *digits_of(cells // radix[0], radix[1:])]
        old = message[:, old_first[owners] + cells_of(digits[:-1], radix[:-1])]
        values = {
            visible: self._values(visible, tokens[owners], digits, radix) for visible in self.tables
        }
        starts = np.cumsum(np.append(0, np.repeat(leaving, sizes)))[:-1]
        most = int(self.candidates.sizes.max())
        new = []
        pointer = []
        for mode in range(plan.n_modes):
            best = np.full(len(cells), -np.inf)
            chosen = np.zeros(len(cells), np.intp)
            for step in self.into[mode]:
                value = old[step.before] + values[step.visible]
                better = value > best
                best = np.where(better, value, best)
                chosen[better] = step.before
            highest = np.maximum.reduceat(best, starts)
            at = np.flatnonzero(best == np.repeat(highest, np.repeat(leaving, sizes)))
            group = np.searchsorted(starts, at, side="right")
            at = at[np.append(True, np.diff(group) > 0)]
            new.append(highest)
            pointer.append(chosen[at] * most + digits[0][at])
        return np.stack(new), np.cumsum(sizes) - sizes, np.stack(pointer)

    def _values(self, visible: int, tokens: Ints, digits: List[Ints], radix: List[Ints]) -> Floats:
        """log p of every cell of the windows under one classifier; -inf where a token may not ask
        it."""
        table = self.tables[visible]
        left = self.plan.left
        seen = [left + OFFSETS[self.order][slot] for slot in slots_of(visible, self.order)]
        inner = [*seen, left]
        cells = cells_of([digits[place] for place in inner], [radix[place] for place in inner])
        first = table.first[tokens]
        return table.values[np.where(first > 0, first + cells, 0)]

    def _walk_back(self, pointers: List[Ints], end: Ints) -> NDArray[np.int32]:
        layout = self.layout
        plan = self.plan
        candidates = self.candidates
        most = int(candidates.sizes.max())
        chosen = np.zeros(len(candidates.sizes), np.intp)  # the digit of each token
        state = end.copy()  # mode and cell: mode * cells of the sequence + cell
        for t in range(len(pointers) - 1, -1, -1):
            here = layout.step(t)
            tokens = self.tokens[here]
            window = self.window[here]
            sizes = window[:, 1:].prod(axis=1)
            first = np.cumsum(sizes) - sizes
            mode = state[: len(tokens)] // sizes
            cell = state[: len(tokens)] % sizes
            ends_here = layout.lengths[layout.order[: len(tokens)]] == t + 1
            # the last tokens of a sequence never leave its window
            for place in range(1, plan.left + 1):
                digit = digits_of(cell, list(window[:, 1:].T))[place - 1]
                offset = place - plan.left
                settled = ends_here & (t + offset >= 0)
                chosen[tokens[settled] + offset] = digit[settled]
            before, digit = np.divmod(pointers[t][mode, first + cell], most)
            if t >= plan.left:
                chosen[tokens - plan.left] = digit
            # the window before: the leaving token in front, the newest token gone
            old_sizes = window[:, :-1].prod(axis=1)
            old_cell = digit * (old_sizes // window[:, 0]) + cell // window[:, -1]
            state[: len(tokens)] = before * old_sizes + old_cell
        tokens = np.empty(len(self.tokens), np.intp)
        tokens[layout.tokens] = self.tokens  # of the part, end to end
        return np.asarray(
            candidates.labels[candidates.first[tokens] + chosen[tokens]].astype(np.int32)
        )
