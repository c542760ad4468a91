"""Labels that can be on a best path, found without decoding.

Replace label k at one token by label j, and nothing else. If

    scores[t, j] - scores[t, k]  >  limits[j, k]

which is the most that k can have over j beside any neighbours (`Limits`; in patterns that fire at
the token, too), then every labelling with k at t has a better one, and no best path has k at t.
It is tried with the best-scoring label of each token as j. The test is strict: labels on paths of
equal score stay, so ties are decided as before.

Checked label by label against all labellings in tests/decoders/pruning/test_pruned.py.
"""

from typing import NamedTuple

import numpy as np

from ...arrays import AnyFloats, AnyInts, Floats, Ints, Mask, distinct
from ..problem import Fired, Weights, added_up, ranges

ROUNDING = 1e-6  # relative: what a sum in single precision is off, and more
LARGE = 1e18  # numbers up to which single precision will do
MOST_DRIFT = 0.5  # on average, by which limits of earlier weights may be too high
BLOCK_CELLS = 180_000  # (token, label) pairs that are compared at once, in the processor's cache


class Candidates(NamedTuple):
    """In lists: what is done with them costs what they are, not N x L.

    first (N + 1,): token n has the candidates first[n] to first[n + 1], at least one. labels (C,):
    ascending at each token. scores (C,): their emissions.
    """

    first: Ints
    labels: Ints
    scores: Floats

    @property
    def counts(self) -> Ints:
        """Candidates of each token. RETURNS (N,)."""
        return self.first[1:] - self.first[:-1]

    @property
    def tokens(self) -> Ints:
        """Token of each candidate. RETURNS (C,)."""
        return np.repeat(np.arange(len(self.first) - 1), self.counts)

    def of(self, tokens: Ints) -> "Candidates":
        """Those of some tokens, in their order."""
        sizes = self.counts.take(tokens)
        at = ranges(self.first.take(tokens), sizes)
        first = np.zeros(len(sizes) + 1, np.intp)
        np.cumsum(sizes, out=first[1:])
        return Candidates(first, self.labels.take(at), self.scores.take(at))

    def dense(self, n_labels: int) -> tuple[Floats, Mask]:
        """Scores (N, L), 0 for other labels, and the candidates as a mask (N, L)."""
        shape = len(self.first) - 1, n_labels
        scores = np.zeros(shape)
        mask = np.zeros(shape, bool)
        at = self.tokens, self.labels
        scores[at] = self.scores
        mask[at] = True
        return scores, mask


class FiredLoss(NamedTuple):
    """Summed weight of the fired patterns that need a label at a token. cells (M,): token * L +
    label, ascending, distinct. weights (M,)."""

    cells: Ints
    weights: Floats

    def add(self, limits: AnyFloats, start: int) -> None:
        """To the limits (n, L) of the cells from `start` on, rounded upwards."""
        a, b = np.searchsorted(self.cells, [start, start + limits.size])
        weights = (self.weights[a:b] * (1 + ROUNDING)).astype(limits.dtype)
        limits.reshape(-1)[self.cells[a:b] - start] += weights


def candidate_labels(
    scores: AnyFloats,
    limits: "Limits",
    *,
    allowed: Mask | None = None,
    fired_loss: FiredLoss | None = None,
    block_cells: int = BLOCK_CELLS,
) -> Candidates:
    """Labels that cannot be excluded in favour of the token's best-scoring allowed label.

    scores (N, L), allowed (N, L). RETURNS (Candidates): at least one label a token.
    """
    n_tokens, n_labels = scores.shape
    size = max(1, block_cells // max(1, n_labels))
    parts = []
    for start in range(0, n_tokens, size):
        block = slice(start, start + size)
        here = scores[block]  # (n, L)
        emissions = here if allowed is None else np.where(allowed[block], here, -np.inf)
        best = emissions.argmax(axis=1)
        top = emissions[np.arange(len(here)), best].astype(np.float64)
        reach = limits.of(best)  # (n, L)
        if fired_loss is not None:
            fired_loss.add(reach, start * n_labels)
        reach = reach + here
        is_candidate = reach >= (top - ROUNDING * np.abs(top)).astype(here.dtype)[:, None]
        if allowed is not None:
            is_candidate &= allowed[block]
        parts.append(np.flatnonzero(is_candidate) + start * n_labels)
    cells = parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.intp), *parts])
    tokens, labels = np.divmod(cells, max(1, n_labels))
    first = np.searchsorted(tokens, np.arange(n_tokens + 1))
    return Candidates(first, labels, scores.reshape(-1).take(cells).astype(np.float64))


def first_best(values: AnyFloats, first: Ints) -> Ints:
    """Index of the first largest value of each group first[n] : first[n + 1]. RETURNS (N,)."""
    starts = first[:-1]
    group = np.arange(len(starts)).repeat(first[1:] - starts)
    is_best = (values == np.maximum.reduceat(values, starts).take(group)).nonzero()[0]
    return np.asarray(is_best.take(group.take(is_best).searchsorted(np.arange(len(starts)))))


def fired_loss_of(fired: Fired | None, weights: Weights, lengths: AnyInts) -> FiredLoss | None:
    """The weight that a change of label loses in patterns that fire at positions, in the sequence in
    which they end; None if nothing fires."""
    if fired is None or not len(fired.tokens):
        return None
    cells = []
    lost = []
    trie = weights.trie
    token = fired.tokens
    node = fired.nodes
    weight = fired.weights
    is_first = np.zeros(int(lengths.sum()), bool)
    is_first[lengths.cumsum() - lengths] = True
    while len(token):
        cells.append(token * weights.n_labels + trie.label.take(node))
        lost.append(weight)
        node = trie.parent.take(node)
        going_on = np.flatnonzero((node >= 0) & ~is_first.take(token))
        token = token.take(going_on) - 1
        node = node.take(going_on)
        weight = weight.take(going_on)
    return FiredLoss(*added_up(np.concatenate(cells), np.concatenate(lost)))


class Drift(NamedTuple):
    """Largest change of trans in row j, column k: up[k] + down[j]. (L,) each."""

    up: AnyFloats
    down: AnyFloats


class Limits:
    """Largest loss by a change of one label, for one set of weights (`weights.prepared(Limits)`).
    Filled while they are used, perhaps by several threads at once. Patterns that fire at positions
    have no part in it.

        rows[j, k] = max(0, max_a (E[a, k] - trans[a, j])) + max(0, max_b (G[k, b] - trans[j, b]))

    is what label k can have over label j at one token, whatever its neighbours are; 0 stands for a
    missing neighbour. Towards the token before, with label a, j earns at least trans[a, j], and k at
    most E[a, k] = trans[a, k] + the largest weight of patterns that end here with a, k. Towards the
    token after, with label b, j earns at least trans[j, b] and k at most G[k, b] = trans[k, b] + the
    largest weight of patterns that hold k, b and end at the next token, plus at the one after it, and
    so on. (Weights are >= 0, so patterns that j gains can be left out.)

    The whole table costs O(L^3). So rows are made when they are asked for, those of labels that are the
    best-scoring one of some token, each in O(L^2), and kept: with weights that stay, as in prediction,
    every row is made once.

    Weights that follow others (`Weights.follow`), as after each update of learning, keep the rows of
    those: with D the change of trans since the rows were made, they are too low by at most

        max_a D[a, k] - min_a D[a, j]  +  max_b D[k, b] - min_b D[j, b]

    which is added. It costs O(L^2) once. When it has grown too large, rows are made anew.

    Rows are single precision, rounded upwards: a limit that is too high excludes fewer labels, never a
    wrong one.
    """

    def __init__(self, weights: Weights) -> None:
        # (weights hold their limits: a way back would keep both until the next collection)
        self.trans = weights.precise_trans  # (L, L)
        self.after, self.before = _upper(weights)  # E[a, k], G[k, b] (L, L)
        self._follows = weights.permit_all and not weights.has_patterns
        self._largest = max(map(_most, (self.trans, self.after, self.before)))
        dtype = np.float32 if self._largest < LARGE else np.float64
        self._rows: AnyFloats = np.empty(self.trans.shape, dtype)
        self._has_row = np.zeros(len(self.trans), bool)
        self._start: Limits = self  # whose rows are used
        self._drift: Drift | None = None
        earlier = weights.before(Limits)
        if earlier is not None and self._follows and earlier._start._follows:
            self._follow(earlier._start)

    def of(self, labels: Ints) -> AnyFloats:
        """Largest advantage of other labels over these. labels (n,): j. RETURNS (n, L)."""
        start = self._start
        missing = labels[~start._has_row.take(labels)]
        if len(missing):
            start._make_rows(distinct(missing))
        rows: AnyFloats = start._rows.take(labels, axis=0)
        if self._drift is not None:
            rows += self._drift.up
            rows += self._drift.down.take(labels)[:, None]
        return rows

    def _follow(self, start: "Limits") -> None:
        """Use the rows of earlier limits, if they are near enough."""
        change = self.trans - start.trans
        rounding = ROUNDING * (1 + 2 * start._largest + _most(change))
        up = np.full(len(change), 2 * rounding)
        down = np.zeros(len(change))
        for axis in (0, 1):  # the token before, the token after
            up += np.maximum(change.max(axis=axis, initial=0), 0)
            down += np.maximum(-change.min(axis=axis, initial=0), 0)
        if up.mean() + down.mean() <= MOST_DRIFT:
            self._start = start
            dtype = start._rows.dtype
            self._drift = Drift(up.astype(dtype), down.astype(dtype))

    def _make_rows(self, labels: Ints) -> None:
        trans = self.trans
        # four roundings of sums up to 4 times that
        margin = 16 * float(np.finfo(self._rows.dtype).eps) * self._largest
        # where both are forbidden nothing can be lost: -inf - -inf = nan, and fmax leaves nan out
        with np.errstate(invalid="ignore"):
            for j in labels.tolist():
                before = np.fmax.reduce(self.after - trans[:, j, None], axis=0, initial=0.0)
                after = np.fmax.reduce(self.before - trans[j], axis=1, initial=0.0)
                self._rows[j] = before + after + margin
        self._has_row[labels] = True  # after the rows: other threads may be reading


def _most(values: Floats) -> float:
    """The largest absolute value among the finite ones."""
    return float(np.abs(values[values > -np.inf]).max(initial=0.0))


def _upper(weights: Weights) -> tuple[Floats, Floats]:
    """E[a, k] and G[k, b]."""
    trans = weights.precise_trans
    if not weights.has_patterns:
        return trans, trans
    after = trans.copy()
    before = trans.copy()
    psi = weights.psi
    for j, (nodes, shorter, pairs, starts) in enumerate(weights.trie.covers):
        if len(nodes):
            # patterns in u longer than j labels
            covered = psi[nodes] - np.where(shorter >= 0, psi[shorter], 0.0)
            (before if j else after).reshape(-1)[pairs] += np.maximum.reduceat(covered, starts)
    return after, before
