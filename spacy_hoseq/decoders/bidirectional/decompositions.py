"""The most probable labels under a product of local classifiers, over one decomposition or over all
of them.

    max over decompositions d in D, labels y of   sum_i log p(y_i | o, the neighbours that i sees in d)

    left_to_right        D = {every token sees the k before it}: the MEMM with Viterbi's algorithm
    right_to_left        D = {every token sees the k after it}
    dependency_network   D = {every token sees all within k}; no decomposition of a probability (Toutanova et al. 2003)
    full_bidirectional   D = every acyclic choice of a direction for each pair of tokens within k of each other: the one
                         at the head of the arrow sees the other (Tsuruoka & Tsujii 2005, Figures 2 and 3)

One dynamic program does all four, sequence by sequence. After token i its state is the candidates at the window
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
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ...arrays import AnyInts
from ...errors import Errors, unknown_name, wrong_value
from ..problem import TUNING, Paths, Tuning, parts_of, ranges
from .local import (
    OFFSETS,
    Floats,
    Ints,
    LocalScores,
    Mask,
    check_local,
    check_order,
    edge_contexts,
    log_probabilities,
)

STRATEGIES = "easiest_first, easiest_last, left_to_right, right_to_left, dependency_network, full_bidirectional"
MAX_CELLS = 500_000  # at one token, times modes


class Move(NamedTuple):
    """One way to go on at a token: from the mode before to the mode after, with the
    classifier used."""

    before: int
    after: int
    visible: int


class Plan(NamedTuple):
    """The dynamic program over a set of decompositions. left, right: tokens i-left..i+right are in the
    window of token i.

    n_modes (int): mode 0 is that before the first token. chosen (bool): whether directions are
    chosen; then whoever is within k of an edge must see it.
    """

    left: int
    right: int
    n_modes: int
    steps: list[Move]
    chosen: bool


def decode_decompositions(
    local: LocalScores,
    lengths: AnyInts,
    order: int,
    strategy: str,
    *,
    prune: float = 0.0,
    allowed: Mask | None = None,
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
    if not 0 <= prune <= 1:
        raise wrong_value("prune", prune, "0 to 1")
    plan = make_plan(strategy, order)
    candidates = Candidates(local, lengths, order, prune, allowed, tuning)
    n_cells = candidates.cells(plan)
    if (n_cells > max_cells).any() and prune == 0:
        token = int(n_cells.argmax())
        message = Errors.HS091.format(
            strategy=strategy, n=f"{n_cells.max():.0f}", token=token, limit=max_cells
        )
        raise ValueError(message)
    # an uncertain passage: prune harder around it, and only there
    while (n_cells > max_cells).any():
        candidates.leave_out(np.flatnonzero(n_cells > max_cells))
        n_cells = candidates.cells(plan)
    labels = np.zeros(local.n_tokens, np.int32)
    scores = np.zeros(len(lengths))
    starts = np.cumsum(lengths) - lengths
    costs = np.add.reduceat(n_cells, starts) if len(lengths) else n_cells
    for sequences in parts_of(costs.astype(np.intp), len(lengths), tuning.search_cells):
        tokens = ranges(starts[sequences], lengths[sequences])
        tables = {move.visible: candidates.table(move.visible, tokens, plan) for move in plan.steps}
        for i in sequences.tolist():
            own = np.arange(starts[i], starts[i] + lengths[i])
            digits, scores[i] = _search(own, candidates, tables, plan)
            labels[own] = [candidates.of[n][digit] for n, digit in zip(own, digits, strict=True)]
    return Paths(labels, scores)


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
        raise unknown_name(strategy, [STRATEGIES])
    return Plan(order, order, 2 if order == 1 else 8, _directions(order), True)


def classifiers_of(strategy: str, order: int, prune: float) -> tuple[int, ...]:
    """Masks of the classifiers that a strategy may ask. RAISES ValueError [HS161]: no such
    strategy."""
    check_order(order)
    if strategy in ("easiest_first", "easiest_last", "full_bidirectional"):
        return tuple(range(1 << 2 * order))
    masks = {step.visible for step in make_plan(strategy, order).steps}
    return tuple(sorted(masks | ({0} if prune > 0 else set())))


def _directions(order: int) -> list[Move]:
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


class Candidates:
    """Candidate labels of each token: those that are allowed, and whose zero-order probability
    p(y_i | o) is at least `prune` times that of the best label (Tsuruoka & Tsujii 2005, footnote 1).

    of: the candidates of each token, ascending. sizes (N, 2k + 1): how many the tokens at the
    offsets -k..k have, 1 beyond the ends of the sequence.
    """

    def __init__(
        self,
        local: LocalScores,
        lengths: AnyInts,
        order: int,
        prune: float,
        allowed: Mask | None,
        tuning: Tuning,
    ) -> None:
        """prune (float): 0 keeps every allowed label, and then asks no classifier."""
        self._local = local
        self._allowed = allowed
        self._offsets = OFFSETS[order]
        self._order = order
        self._block = tuning.block_scores
        self._forced, self._edges = edge_contexts(lengths, order, local.n_labels)
        shape = local.n_tokens, local.n_labels
        self._keep = np.ones(shape, bool) if allowed is None else allowed.copy()
        self._rank = np.zeros(shape, np.intp)  # 0 for the most probable label, and so on
        for tokens in _blocks(np.full(shape[0], shape[1]), self._block) if prune > 0 else ():
            log_p = self._log_p(tokens, 0, np.arange(len(tokens)), self._edges[tokens])
            self._keep[tokens] &= log_p >= log_p.max(axis=1, keepdims=True) + np.log(prune)
            self._rank[tokens] = np.argsort(np.argsort(-log_p, axis=1, kind="stable"), axis=1)
        self._count()

    def cells(self, plan: Plan) -> Floats:
        """Cells of the window of each token, times modes; as floats, since they may be many."""
        window = self.sizes[:, self._order - plan.left : self._order + plan.right + 1]
        return np.asarray(window.astype(np.float64).prod(axis=1) * plan.n_modes)

    def leave_out(self, tokens: Ints) -> None:
        """The least probable fifth (at least one) of the candidates of each of these tokens and of
        those within k of them, but never the best."""
        around = [
            tokens[self._edges[tokens, slot] < 0] + offset
            for slot, offset in enumerate(self._offsets)
        ]
        most = self.sizes[:, self._order].copy()
        chosen = np.unique(np.concatenate([tokens, *around]))
        most[chosen] = np.maximum(1, most[chosen] * 4 // 5)
        self._keep &= self._rank < most[:, None]
        self._count()

    def table(self, visible: int, tokens: Ints, plan: Plan) -> dict[int, Floats]:
        """log p of one classifier, by token: in all contexts that its visible neighbours' candidates
        make, of all candidates; one axis for each token of the window. A token is missing if it
        sees more: directions are chosen, and a neighbour beyond an edge is not visible."""
        if plan.chosen:
            tokens = tokens[(self._forced[tokens] & ~visible) == 0]
        slots = [slot for slot in range(len(self._offsets)) if visible >> slot & 1]
        places = [self._order + self._offsets[slot] for slot in slots]
        n_contexts = self.sizes[tokens][:, places].prod(axis=1)
        axes = sorted([*places, self._order])
        result = {}
        for block in _blocks(n_contexts * self._local.n_labels, self._block):
            owned = tokens[block].tolist()
            contexts = self._edges[tokens[block]].repeat(n_contexts[block], axis=0)
            contexts[:, slots] = np.concatenate([self._seen(n, slots) for n in owned])
            owners = np.repeat(np.arange(len(owned)), n_contexts[block])
            log_p = self._log_p(tokens[block], visible, owners, contexts)
            tables = np.split(log_p, np.cumsum(n_contexts[block])[:-1])
            for n, rows in zip(owned, tables, strict=True):
                own = rows[:, self.of[n]].reshape(*self.sizes[n][places], len(self.of[n]))
                own = np.moveaxis(own, -1, axes.index(self._order))
                shape = np.ones(2 * self._order + 1, np.intp)
                shape[axes] = self.sizes[n][axes]
                window = slice(self._order - plan.left, self._order + plan.right + 1)
                result[n] = own.reshape(shape[window])
        return result

    def _seen(self, token: int, slots: list[int]) -> Ints:
        """Labels of the neighbours in these slots, all combinations, the first one slowest."""
        labels = np.zeros((1, 0), np.intp)
        for slot in slots:
            edge = self._edges[token, slot]
            more = [edge] if edge >= 0 else self.of[token + self._offsets[slot]]
            labels = np.column_stack([labels.repeat(len(more), axis=0), np.tile(more, len(labels))])
        return labels

    def _log_p(self, tokens: Ints, visible: int, owners: Ints, contexts: Ints) -> Floats:
        """Among the allowed labels, of each context. RETURNS (M, L)."""
        scores = self._local(tokens, np.full(len(tokens), visible), owners, contexts)
        return log_probabilities(scores, tokens[owners], self._allowed)

    def _count(self) -> None:
        self.of = [np.flatnonzero(row) for row in self._keep]
        sizes = self._keep.sum(axis=1)
        self.sizes = np.ones((len(sizes), 2 * self._order + 1), np.intp)
        self.sizes[:, self._order] = sizes
        for slot, offset in enumerate(self._offsets):
            inside = np.flatnonzero(self._edges[:, slot] < 0)
            self.sizes[inside, self._order + offset] = sizes[inside + offset]


def _search(
    tokens: Ints, candidates: Candidates, tables: dict[int, dict[int, Floats]], plan: Plan
) -> tuple[list[int], float]:
    """The dynamic program over one sequence. RETURNS the number of each token's candidate, and the
    maximum.

    A MESSAGE after token i holds, for every mode and every cell of the window i-left+1..i+right,
    the best sum over tokens 1..i.
    """
    k = candidates.sizes.shape[1] // 2
    window = candidates.sizes[tokens, k - plan.left : k + plan.right + 1]
    message = np.full((plan.n_modes, *window[0, :-1]), -np.inf)
    message[0] = 0.0
    pointers = []
    for n, sizes in zip(tokens.tolist(), window.tolist(), strict=True):
        own = {visible: table[n] for visible, table in tables.items() if n in table}
        message, pointer = _passed_on(message, own, sizes, plan)
        pointers.append(pointer)
    mode, *cell = map(int, np.unravel_index(message.argmax(), message.shape))
    digits = cell[: plan.left]  # the last tokens never leave the window
    # back from the best end: each pointer says who left the window, and in which mode
    for pointer in reversed(pointers):
        place = (mode, *cell)
        digit = int(pointer[0][place])
        mode = int(pointer[1][place])
        digits.insert(0, digit)
        cell = [digit, *cell[:-1]]
    return digits[plan.left :], float(message.max())


def _passed_on(
    message: Floats, tables: dict[int, Floats], sizes: list[int], plan: Plan
) -> tuple[Floats, Ints]:
    """The message after one more token, and for each of its cells the candidate of the token that
    leaves the window, and the mode before. tables: log p of the token, by what it sees. sizes:
    candidates of the tokens in its window."""
    after = np.full((plan.n_modes, *sizes[1:]), -np.inf)
    pointer = np.zeros((2, *after.shape), np.intp)
    for mode in range(plan.n_modes):
        moves = [move for move in plan.steps if move.after == mode and move.visible in tables]
        if not moves:
            continue
        sums = np.empty((sizes[0], len(moves), *sizes[1:]))
        for i, move in enumerate(moves):
            sums[:, i] = message[move.before][..., None] + tables[move.visible]
        sums = sums.reshape(-1, *sizes[1:])
        after[mode] = sums.max(axis=0)
        digit, which = np.divmod(sums.argmax(axis=0), len(moves))
        pointer[:, mode] = digit, np.array([move.before for move in moves])[which]
    return after, pointer


def _blocks(costs: Ints, most: int) -> Iterator[Ints]:
    """Runs of items whose costs add up to about `most`, as indices."""
    ends = np.cumsum(costs)
    start = 0
    while start < len(costs):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield np.arange(start, stop)
        start = stop
