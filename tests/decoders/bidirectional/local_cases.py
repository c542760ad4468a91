"""Tsuruoka & Tsujii (2005), section 2, as it is defined: plain, for one sequence at a time; and random classifiers.

Figures 2 and 3 of the paper treat what lies beyond the ends as tokens, and also choose the directions of pairs across
an end. Here, as in our decoders, whoever is within k of an end sees the label of that end.
"""

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

OFFSETS = {1: (-1, 1), 2: (-2, -1, 1, 2)}
DECOMPOSITIONS = ["left_to_right", "right_to_left", "dependency_network", "full_bidirectional"]
UNSEEN = -1


class Local:
    """Classifiers given by `row`, one context at a time. calls: for each call, (token, labels seen) of each context."""

    def __init__(self, n_tokens, n_labels, order):
        self.n_tokens, self.n_labels, self.order = n_tokens, n_labels, order
        self.calls = []

    def row(self, token, seen):
        """Scores of all labels. seen: a label or UNSEEN for each slot."""
        raise AssertionError("the subclass says what the scores are")

    def __call__(self, tokens, visible, owners, contexts):
        assert tokens.shape == visible.shape and contexts.shape == (len(owners), 2 * self.order)
        assert (np.diff(owners) >= 0).all()
        queries, asked = list(zip(tokens.tolist(), visible.tolist(), strict=True)), []
        for owner, context in zip(owners.tolist(), contexts.tolist(), strict=True):
            token, mask = queries[owner]
            assert all(0 <= y < self.n_labels + 2 for j, y in enumerate(context) if mask >> j & 1)
            seen = tuple(y if mask >> j & 1 else UNSEEN for j, y in enumerate(context))
            asked.append((token, seen))
        self.calls.append(asked)
        scores = np.array([self.row(*query) for query in asked]).reshape(-1, self.n_labels)
        scores.flags.writeable = False
        return scores

    @property
    def asked(self):
        return [query for call in self.calls for query in call]

    @property
    def masks(self):
        """The classifiers that were asked."""
        return {sum(1 << j for j, y in enumerate(seen) if y != UNSEEN) for _, seen in self.asked}


class RandomLocal(Local):
    """The row of a context is one of `rows`. ids: the same token in another batch has the same id."""

    def __init__(self, rows, ids, order):
        super().__init__(len(ids), len(rows[0]), order)
        self.rows, self.ids = rows, list(ids)

    def row(self, token, seen):
        return self.rows[hash((self.ids[token], *seen)) % len(self.rows)]

    def take(self, tokens):
        return RandomLocal(self.rows, [self.ids[token] for token in tokens], self.order)


class Changed(Local):
    """Other classifiers, whose rows `change` makes something else of: change(token, seen, row of the others)."""

    def __init__(self, others, change):
        super().__init__(others.n_tokens, others.n_labels, others.order)
        self.others, self.change = others, change

    def row(self, token, seen):
        return self.change(token, seen, self.others.row)


@dataclass(frozen=True)
class LocalCase:
    local: Local
    lengths: NDArray[np.integer]
    allowed: NDArray[np.bool_] | None = None

    @property
    def order(self):
        return self.local.order

    @property
    def starts(self):
        return np.cumsum(self.lengths) - self.lengths

    def parts(self, array):
        """The array, one list for each sequence."""
        return [part.tolist() for part in np.split(array, self.starts[1:])]

    def results(self, paths):
        return zip(self.singles(), self.parts(paths.labels), paths.scores, strict=True)

    def take(self, sequences):
        firsts = self.starts.tolist()
        tokens = [t for s in sequences for t in range(firsts[s], firsts[s] + self.lengths[s])]
        allowed = None if self.allowed is None else self.allowed[tokens]
        return LocalCase(self.local.take(tokens), self.lengths[list(sequences)], allowed)

    def singles(self):
        return [self.take([s]) for s in range(len(self.lengths))]

    def raised(self, token, add):
        """All scores of a token, plus a constant."""

        def change(t, seen, row):
            return [value + add * (t == token) for value in row(t, seen)]

        return replace(self, local=Changed(self.local, change))

    def relabelled(self, new):
        """Label y is now new[y]."""
        old = np.argsort(new).tolist()

        def change(token, seen, row):
            before = row(token, tuple(old[y] if 0 <= y < len(old) else y for y in seen))
            return [before[y] for y in old]

        allowed = None if self.allowed is None else self.allowed[:, old]
        return LocalCase(Changed(self.local, change), self.lengths, allowed)


REALS, SHARP, TIES, EXACT = "reals", "sharp", "ties", "exact"


def random_rows(rng, n_labels, kind):
    """REALS: nothing ties. SHARP: the same, with probabilities very near 1 and 0. TIES: few different rows, with best
    labels that tie; two rows that are not the same have clearly different probabilities. EXACT: log probabilities are
    multiples of 800, for exp(-800) is 0."""
    if kind == EXACT:
        rows = rng.integers(-2, 0, (97, n_labels)) * 800.0
        rows[np.arange(97), rng.integers(0, n_labels, 97)] = 0
        return rows.tolist()
    scale = 50.0 if kind == SHARP else rng.choice([1.0, 5.0])
    rows = rng.normal(0, scale, (4 if kind == TIES else 997, n_labels))
    if kind == TIES:
        rows[:2, rng.integers(0, n_labels)] = rows[:2].max(axis=1)
    return rows.astype(rng.choice([np.float32, np.float64])).tolist()


def random_case(rng, lengths, n_labels, order, kind=REALS, masks=False):
    n_tokens = sum(lengths)
    local = RandomLocal(random_rows(rng, n_labels, kind), range(n_tokens), order)
    allowed = rng.random((n_tokens, n_labels)) < rng.choice([0.2, 0.7])
    allowed[np.arange(n_tokens), rng.integers(0, n_labels, n_tokens)] = True
    lengths = np.array(lengths, rng.choice([np.int32, np.int64]))
    return LocalCase(local, lengths, allowed if masks else None)


@st.composite
def local_cases(draw, *, max_tokens=5, max_sequences=3, masks=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = draw(st.lists(st.integers(1, max_tokens), min_size=1, max_size=max_sequences))
    order, n_labels = draw(st.sampled_from([1, 2])), draw(st.integers(1, 3))
    return random_case(rng, lengths, n_labels, order, REALS, masks and draw(st.booleans()))


def open_labels(case, token):
    return [y for y in range(case.local.n_labels) if case.allowed is None or case.allowed[token][y]]


def log_p(case, token, seen):
    """log p(y | o, seen) of every allowed label y."""
    row, labels = case.local.row(token, seen), open_labels(case, token)
    top = max(row[y] for y in labels)
    log_z = math.log(math.fsum(math.exp(row[y] - top) for y in labels))
    return {y: row[y] - top - log_z for y in labels}


def neighbours(i, order):
    return [i + offset for offset in OFFSETS[order]]


def seen_by(case, i, sees, labels):
    """Labels in the slots of token i that sees the tokens `sees`, some of them beyond the ends."""
    before, after = case.local.n_labels, case.local.n_labels + 1
    inside = range(len(labels))
    return tuple(
        UNSEEN if j not in sees else labels[j] if j in inside else before if j < 0 else after
        for j in neighbours(i, case.order)
    )


def orientations(n, order):
    """Every choice of a direction for each pair within k of each other, as the set of tokens that each token sees."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, min(n, i + order + 1))]
    for to_the_right in itertools.product([True, False], repeat=len(pairs)):
        graph = [set() for _ in range(n)]
        for (i, j), right in zip(pairs, to_the_right, strict=True):
            graph[j if right else i].add(i if right else j)
        yield graph


def is_acyclic(graph):
    """Take away tokens that see none of the others, until none is left."""
    left = set(range(len(graph)))
    while free := {i for i in left if not graph[i] & left}:
        left -= free
    return not left


@lru_cache
def decompositions(strategy, n, order):
    """What each token sees, for every decomposition of the strategy."""
    near = [frozenset(neighbours(i, order)) for i in range(n)]
    if strategy == "left_to_right":
        return [[frozenset(j for j in near[i] if j < i) for i in range(n)]]
    if strategy == "right_to_left":
        return [[frozenset(j for j in near[i] if j > i) for i in range(n)]]
    if strategy == "dependency_network":
        return [near]
    graphs = [graph for graph in orientations(n, order) if is_acyclic(graph)]
    return [[near[i] - (set(range(n)) - graph[i]) for i in range(n)] for graph in graphs]


class Found(NamedTuple):
    score: float
    labels: list
    sees: list


def enumerated(case, strategy, prune=0.0):
    """All labellings of the one sequence under all decompositions. Only labels y with p(y | o) >= prune * the best."""
    n, found = int(case.lengths[0]), []
    graphs = decompositions(strategy, n, case.order)
    of_token = [sorted({graph[i] for graph in graphs}, key=sorted) for i in range(n)]
    candidates = []
    for i in range(n):
        alone = log_p(case, i, (UNSEEN,) * 2 * case.order)
        alone = {y: math.exp(value) for y, value in alone.items()}
        candidates.append([y for y, p in alone.items() if p >= prune * max(alone.values())])
    cached = lru_cache(None)(lambda i, seen: log_p(case, i, seen))
    for labels in itertools.product(*candidates):
        table = []
        for i in range(n):
            known = {sees: cached(i, seen_by(case, i, sees, labels)) for sees in of_token[i]}
            table.append({sees: values[labels[i]] for sees, values in known.items()})
        scores = [sum(table[i][graph[i]] for i in range(n)) for graph in graphs]
        found += map(Found, scores, itertools.repeat(list(labels)), graphs)
    return found


class Decisions(NamedTuple):
    labels: list
    log_probabilities: list
    order: list
    earlier: list


def plain_easiest_first(case, hardest=False):
    """Of the one sequence: 1. find the easiest token, 2. label it, 3. go back to 1. until all are labelled.

    earlier: the decision before among those tokens that are linked with it, by steps of at most k from one token
    without label to the next.
    """
    n = int(case.lengths[0])
    labels, values, when, earlier = [None] * n, [None] * n, [None] * n, [-1] * n

    @lru_cache(None)
    def best_label(i, seen):
        row, possible = case.local.row(i, seen), open_labels(case, i)
        best = max(possible, key=lambda y: row[y])  # the first of equal ones
        others = [row[y] - row[best] for y in possible if y != best]
        return best, -math.log1p(math.fsum(map(math.exp, others)))

    for time in range(1, n + 1):
        is_open = [i for i in range(n) if labels[i] is None]
        sees = {i: {j for j in neighbours(i, case.order) if j not in is_open} for i in is_open}
        found = {i: best_label(i, seen_by(case, i, sees[i], labels)) for i in is_open}
        # the first of equal ones
        chosen = (min if hardest else max)(is_open, key=lambda i: found[i][1])
        linked = next(run for run in _runs(is_open, case.order) if chosen in run)
        for i in linked:
            earlier[i] = earlier[i] if i == chosen else chosen
        (labels[chosen], values[chosen]), when[chosen] = found[chosen], time
    return Decisions(labels, values, when, earlier)


def _runs(tokens, order):
    runs = [tokens[:1]]
    for i in tokens[1:]:
        if i - runs[-1][-1] <= order:
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs
