"""What `pruning/pruned.py` does, for a text of a few tokens: plain Python over the candidates,
since a call of NumPy takes as long as a dozen of them.

Tests, windows and recurrences are those of `bounds.py`, `sparse_viterbi.py` and `sparse.py` there,
sum by sum in the same order, so that labels are those of a batch to the last bit. What is rare is
left to them: patterns that fire at positions, many candidates, sequences without a path. Checked
against them in tests/decoders/short/test_labels.py.
"""

from operator import mul
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, cast

import numpy as np

from ...arrays import AnyFloats, Ints, Labels
from ..problem import Potentials, Profile, Tuning, Weights
from ..pruning import ROUNDING, Limits, dense_cost, least_reach

INF = float("inf")
Window = Tuple[int, int]  # first token, end


class NumberViews:
    """What is read number by number of some weights (`weights.prepared(NumberViews)`), flat: as
    memory views, whose numbers are got in a third of the time. upper, lower, of_side: by the step
    to the neighbour, as `Limits` has them."""

    def __init__(self, weights: Weights) -> None:
        limits = weights.prepared(Limits)
        self.n_labels = weights.n_labels
        self.are_finite = limits.are_finite
        self.trans = weights.prepared(transitions)
        self.upper = {
            step: _flat(side.upper) for step, side in zip((-1, 1), limits.sides, strict=True)
        }
        self.lower = {
            step: _flat(side.lower) for step, side in zip((-1, 1), limits.sides, strict=True)
        }
        self.of_side = {step: _flat(limits.terms(step)) for step in (-1, 1)}
        self.trie = weights.trie
        self.psi = _flat(weights.psi)
        self.reach = (
            weights.trie.max_length - 1
            if weights.has_patterns and weights.node_weights.any()
            else 0
        )


class Remaining(NamedTuple):
    """What remains at each token of a sequence: labels, ascending, and their scores."""

    labels: List[List[int]]
    scores: List[List[float]]

    @classmethod
    def of(cls, tokens: Ints, labels: Ints, scores: AnyFloats) -> "Remaining":
        """tokens, labels (C,): what remains, by token. scores (N, L): of all."""
        remaining = cls([[] for _ in scores], [[] for _ in scores])
        for token, label, score in zip(
            tokens.tolist(), labels.tolist(), scores[tokens, labels].tolist(), strict=True
        ):
            remaining.labels[token].append(label)
            remaining.scores[token].append(score)
        return remaining

    def open_tokens(self) -> List[int]:
        """Those with several labels."""
        return [token for token, labels in enumerate(self.labels) if len(labels) > 1]

    def against_best(self, token: int) -> List[Tuple[int, int, int, float]]:
        """For each label k but the best-scoring one j (of several the first): its place, j, k, how
        far j is ahead."""
        labels = self.labels[token]
        scores = self.scores[token]
        most = max(scores)
        best = scores.index(most)
        others = enumerate(zip(labels, scores, strict=True))
        return [
            (place, labels[best], k, most - score) for place, (k, score) in others if place != best
        ]

    def without(self, dropped: Dict[int, List[int]]) -> None:
        """dropped: token -> places of labels in its list."""
        for token, places in dropped.items():
            for place in reversed(places):
                del self.labels[token][place], self.scores[token][place]

    def n_pairs(self, first: int, end: int) -> int:
        """Pairs of candidates at neighbouring tokens."""
        counts = [*map(len, self.labels[first:end])]
        return sum(map(mul, counts, counts[1:]))


def is_short_text(profile: Profile, tuning: Tuning) -> bool:
    """Whether it is for `short_labels`: a few tokens, where no patterns fire at positions."""
    is_short = 0 < profile.n_tokens <= tuning.short_tokens
    return is_short and profile.is_plain and not profile.has_fired


def short_labels(potentials: Potentials, tuning: Tuning) -> Optional[Labels]:
    """The labels of a few short sequences (N,), or None if too much is in doubt, or there is no
    path. potentials: checked."""
    weights = potentials.weights
    remaining = _candidates(potentials, weights.prepared(Limits), tuning)
    if remaining is None:
        return None
    tables = weights.prepared(NumberViews)
    result: List[int] = []
    for length in potentials.lengths.tolist():
        some = slice(len(result), len(result) + length)
        labels = _labels_of(
            Remaining(remaining.labels[some], remaining.scores[some]), tables, weights, tuning
        )
        if labels is None:
            return None
        result += labels
    return np.array(result, np.int32)


def _candidates(potentials: Potentials, limits: Limits, tuning: Tuning) -> Optional[Remaining]:
    """As `bounds.candidate_labels`. RETURNS None if there are many."""
    scores = potentials.scores
    allowed = potentials.allowed
    emissions = scores if allowed is None else np.where(allowed, scores, -np.inf)
    reach = limits.everywhere(emissions.argmax(axis=1))
    reach = np.add(
        reach, scores, out=reach if reach.dtype == np.result_type(reach, scores) else None
    )
    kept = reach >= least_reach(emissions.max(axis=1), scores.dtype)[:, None]
    if allowed is not None:
        kept &= allowed
    tokens, labels = kept.nonzero()
    return (
        None
        if len(tokens) > tuning.short_candidates * len(scores)
        else Remaining.of(tokens, labels, scores)
    )


def best_of_remaining(remaining: Remaining, weights: Weights) -> Optional[List[int]]:
    """The best labels of one sequence of a chain. RETURNS None if there is no path."""
    trans = weights.prepared(transitions)
    chosen = [of_token[0] for of_token in remaining.labels]
    for first, end in _windows(remaining, 1):
        path = _chain(remaining, (first, end), trans, weights.n_labels)
        if path is None:
            return None
        chosen[first:end] = path
    return chosen


def _labels_of(
    remaining: Remaining, tables: NumberViews, weights: Weights, tuning: Tuning
) -> Optional[List[int]]:
    labels = remaining.labels
    n = len(remaining.labels)
    remaining.without(_beside_decided(remaining, tables))
    dense = dense_cost(weights, tuning)
    n_pairs = remaining.n_pairs(0, n)
    if n_pairs * tuning.pair_cost > n * dense:
        return None
    if weights.has_patterns:
        if n_pairs > tuning.short_refined:
            return None
        _refine(remaining, tables)
    chosen = [of_token[0] for of_token in labels]
    windows = _windows(remaining, max(1, tables.reach))
    pairs = [remaining.n_pairs(first, end) for first, end in windows]
    if sum(pairs) > tuning.short_pairs:
        return None
    for window, n_pairs in zip(windows, pairs, strict=True):
        first, end = window
        if not tables.reach:
            path = _chain(remaining, window, tables.trans, tables.n_labels)
        elif n_pairs * tuning.sparse_cost <= (end - first) * dense:
            path = _with_patterns(remaining, window, tables)
        else:
            return None
        if path is None:
            return None
        chosen[first:end] = path
    if not tables.are_finite:
        trans = tables.trans
        n_labels = tables.n_labels
        if any(trans[a * n_labels + b] == -INF for a, b in zip(chosen, chosen[1:], strict=False)):
            return None
    return chosen


def _beside_decided(remaining: Remaining, tables: NumberViews) -> Dict[int, List[int]]:
    """As `bounds.beside_decided`. RETURNS what can be dropped."""
    n_labels = tables.n_labels
    are_finite = tables.are_finite
    dropped: Dict[int, List[int]] = {}
    labels = remaining.labels
    last = len(remaining.labels) - 1
    for token in remaining.open_tokens():
        known = (
            token == 0 or len(labels[token - 1]) == 1,
            token == last or len(labels[token + 1]) == 1,
        )
        if not any(known):
            continue
        for place, j, k, gap in remaining.against_best(token):
            limit = 0.0
            possible = True
            for step, is_known in zip((-1, 1), known, strict=True):
                if not 0 <= token + step <= last:
                    lost = 0.0
                elif is_known:
                    other = labels[token + step][0]
                    lost = (
                        tables.upper[step][k * n_labels + other]
                        - tables.lower[step][j * n_labels + other]
                    )
                else:
                    lost = tables.of_side[step][j * n_labels + k]
                if not are_finite:
                    possible = possible and lost > -INF  # (not if it is no number)
                    lost = lost if possible else 0.0
                limit += lost
            if not possible or gap - limit > ROUNDING * (1 + gap):
                dropped.setdefault(token, []).append(place)
    return dropped


def _refine(remaining: Remaining, tables: NumberViews) -> None:
    """As `bounds.refine`: what neighbours after leave, then those before."""
    # (token, label) -> what it can have beside the other neighbour
    other_side: Dict[Tuple[int, int], float] = {}
    for step in (1, -1):
        lost_at: Dict[Tuple[int, int], float] = {}
        dropped: Dict[int, List[int]] = {}
        for token in remaining.open_tokens():
            for place, j, k, gap in remaining.against_best(token):
                lost = _lost_beside(remaining, token + step, j, k, step, tables)
                if step == 1:
                    limit = tables.of_side[-1][j * tables.n_labels + k]
                else:
                    limit = other_side[token, k]
                limit = lost + (limit if lost > -INF else 0.0)
                if gap - limit > ROUNDING * (1 + gap):
                    dropped.setdefault(token, []).append(place)
                lost_at[token, k] = lost
        remaining.without(dropped)
        other_side = lost_at


def _lost_beside(
    remaining: Remaining, neighbour: int, j: int, k: int, step: int, tables: NumberViews
) -> float:
    """What label k can have over j beside the candidates of a neighbour; 0 beside none."""
    if not 0 <= neighbour < len(remaining.labels):
        return 0.0
    upper = tables.upper[step]
    lower = tables.lower[step]
    most = -INF
    of_k = k * tables.n_labels
    of_j = j * tables.n_labels
    for other in remaining.labels[neighbour]:
        gain = upper[of_k + other]
        if gain > -INF:
            most = max(most, gain - lower[of_j + other])
    return most


def _windows(remaining: Remaining, reach: int) -> List[Window]:
    """As `pruned.open_windows`."""
    runs: List[List[int]] = []
    for token, labels in enumerate(remaining.labels):
        if len(labels) > 1:
            if runs and token - runs[-1][1] <= reach:
                runs[-1][1] = token
            else:
                runs.append([token, token])
    return [
        (max(first - reach, 0), min(last + reach + 1, len(remaining.labels)))
        for first, last in runs
    ]


def _chain(
    remaining: Remaining, window: Window, trans: "memoryview[float]", n_labels: int
) -> Optional[List[int]]:
    """As `sparse_viterbi`. RETURNS None if there is no path."""
    first, end = window
    v = remaining.scores[first]
    came_from = []
    for token in range(first + 1, end):
        rows = [label * n_labels for label in remaining.labels[token - 1]]
        reached = []
        sources = []
        for label, score in zip(remaining.labels[token], remaining.scores[token], strict=True):
            arrived = [trans[row + label] + before for row, before in zip(rows, v, strict=True)]
            largest = max(arrived)
            sources.append(arrived.index(largest))
            reached.append(score + largest)
        v = reached
        came_from.append(sources)
    best = max(v)
    if best == -INF:
        return None
    place = v.index(best)
    path = [remaining.labels[end - 1][place]]
    for token, sources in zip(range(end - 2, first - 1, -1), reversed(came_from), strict=True):
        place = sources[place]
        path.append(remaining.labels[token][place])
    return path[::-1]


class Column(NamedTuple):
    """The cells of a token, level by level: first its labels, then nodes of the trie that may match
    there.

    node, label: of each. fail: the cell of the longest suffix, -1 of labels. previous: the cell at
    the token before that it is built on. v: score of the best path to it. via: the longer cell that
    this comes from, or itself.
    ends: of the levels.
    """

    node: List[int]
    label: List[int]
    fail: List[int]
    previous: List[int]
    v: List[float]
    via: List[int]
    ends: List[int]


def _with_patterns(
    remaining: Remaining, window: Window, tables: NumberViews
) -> Optional[List[int]]:
    """As `decode_sparse`. RETURNS None if there is no path."""
    columns: List[Column] = []
    for token in range(*window):
        columns.append(
            _column(
                columns[-1] if columns else None,
                remaining.labels[token],
                remaining.scores[token],
                tables,
            )
        )
    of_labels = columns[-1].v[: columns[-1].ends[0]]
    best = max(of_labels)
    if best == -INF:
        return None
    cell = of_labels.index(best)
    path = []
    for column in reversed(columns):
        while column.via[cell] != cell:
            cell = column.via[cell]
        path.append(column.label[cell])
        cell = column.previous[cell]
    return path[::-1]


def _column(
    before: Optional[Column], labels: List[int], scores: List[float], tables: NumberViews
) -> Column:
    """The cells of a token. before: those of the token before it, None at the first."""
    n = len(labels)
    # long: one recursion over the levels of the cells; a call for each cell would cost more than it
    column = Column([*labels], [*labels], [-1] * n, [-1] * n, [*scores], list(range(n)), [n])
    if before is None:
        return column
    trans = tables.trans
    psi = tables.psi
    n_labels = tables.n_labels
    children = tables.trie.children
    node, label, fail, previous, v, via, ends = column
    sources = [
        (other * n_labels, earlier)
        for other, earlier in zip(before.label[: before.ends[0]], before.v, strict=False)
    ]
    for place, (y, score) in enumerate(zip(labels, scores, strict=True)):
        reached = [earlier + trans[row + y] + score for row, earlier in sources]
        v[place] = max(reached)
        previous[place] = reached.index(v[place])  # of equal ones that of the lowest label
    extended: Dict[Tuple[int, int], int] = {}  # (cell before, label) -> cell
    start = 0
    for end in before.ends:
        for parent in range(start, end):
            row = before.label[parent] * n_labels
            of_parent = before.node[parent] * n_labels
            for place, y in enumerate(labels):
                of_both = children.get(of_parent + y)
                if of_both is None:
                    continue
                shorter = before.fail[parent]
                suffix = place
                while shorter >= 0:
                    if (shorter, y) in extended:
                        suffix = extended[shorter, y]
                        break
                    shorter = before.fail[shorter]
                extended[parent, y] = cell = len(node)
                node.append(of_both)
                label.append(y)
                fail.append(suffix)
                previous.append(parent)
                v.append(scores[place] + (trans[row + y] + psi[of_both]) + before.v[parent])
                via.append(cell)
        start = end
        ends.append(len(node))
    for first, end in reversed(list(zip(ends, ends[1:], strict=False))):
        for cell in range(first, end):
            v[fail[cell]] = max(v[fail[cell]], v[cell])
        for cell in range(first, end):
            if v[fail[cell]] == v[cell]:
                via[fail[cell]] = cell
    return column


def transitions(weights: Weights) -> "memoryview[float]":
    return _flat(weights.precise_trans)


def _flat(table: AnyFloats) -> "memoryview[float]":
    return memoryview(cast(Any, np.ascontiguousarray(table).reshape(-1)))
