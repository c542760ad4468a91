"""Local classifiers that learn side by side.

Every classifier learns p(y_i | o, gold labels of the neighbours that it sees) by itself, from the
same rows of features. The weights of one feature under all classifiers stand next to each other, so
that a token's scores under all of them are added up by reading long pieces of memory, and their
gradients are applied to such pieces. The numbers are those of classifiers that learn one after the
other.

Most tokens are easy, and soon have next to no gradient. With the error e = 1 - p(gold) of a token,
its gradient is taken with probability min(1, e / SURE), and then max(1, SURE / e) times: what is
expected is the sum over all tokens, so that the weights go where they would go (importance
sampling, as Zhao & Zhang 2015 have it). The loss is of all.
"""

from typing import Iterator, List, NamedTuple, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from thinc.api import NumpyOps

from ...arrays import AnyInts, Floats, Floats32, Ints, Mask, Rows
from ...learning.gradients import RowGradient, merge_gradients
from ...learning.inequality import InequalityWeights
from ...learning.used_rows import UsedRows, to_storage
from ..tuning import TUNING, Tuning
from ..weights.shim import add_rows
from .features import TrainingRows

SURE = 0.1  # error below which a token is learnt from now and then


class TrainingBatch(NamedTuple):
    """rows: features at each token. gold (n,): label ids, -1 = not known. known (n,): slots whose
    gold label is known, as a mask."""

    rows: TrainingRows
    gold: Ints
    known: Ints


class SparseRows(NamedTuple):
    """Rows of a table that are not all zero. rows (R,) ascending; values (R, L) as they are
    saved."""

    rows: NDArray[np.int32]
    values: NDArray[np.generic]


class ClassifierSetup(NamedTuple):
    """What a classifier is made of. sizes: rows of the groups that it uses; groups: which these
    are. start: weights. In its own table the groups follow each other, each closed by a row of
    zeros."""

    visible: int
    groups: List[int]
    sizes: List[int]
    n_labels: int
    learn_rate: float
    width: float
    n_tokens: int
    seed: int
    start: SparseRows


class SideBySide:
    """Where the weights of each feature are, C classifiers side by side. FEATURES are numbered
    group by group, each group closed by one that stands for "no such feature", whose weights stay
    zero.

    groups: that some classifier uses. starts (G + 1,): the first feature of each. members: the
        classifiers that use it;
    runs: these, where they follow each other, and their places among the members. first (G + 1,):
    the first row of each group. classifiers (R,): of each row.
    """

    def __init__(self, setups: Sequence[ClassifierSetup]) -> None:
        sizes = {
            g: size for setup in setups for g, size in zip(setup.groups, setup.sizes, strict=True)
        }
        self.groups = sorted(sizes)
        self.starts = group_starts([sizes[g] for g in self.groups])
        self.members = [
            [i for i, setup in enumerate(setups) if g in setup.groups] for g in self.groups
        ]
        self.runs = [list(_runs(members)) for members in self.members]
        self._counts = np.array([len(members) for members in self.members])
        n_features = np.diff(self.starts)
        self.first = np.cumsum([0, *(n_features * self._counts)])
        columns = [
            np.tile(np.array(m, np.uint8), n)
            for m, n in zip(self.members, n_features.tolist(), strict=True)
        ]
        self.classifiers = np.concatenate(columns)
        self._places = np.array(
            [[m.index(i) if i in m else 0 for m in self.members] for i in range(len(setups))]
        )
        self._own_starts = np.zeros((len(setups), len(self.groups)), np.intp)
        for i, setup in enumerate(setups):
            at = [self.groups.index(g) for g in setup.groups]
            self._own_starts[i, at] = group_starts(setup.sizes)[:-1]

    def seen(self, n_plain: int) -> List[List[int]]:
        """The features at a token that each classifier sees: those of all words, and of its label
        templates."""
        of_labels = [
            [n_plain + j for j, m in enumerate(self.members[1:]) if i in m]
            for i in range(len(self._places))
        ]
        return [[*range(n_plain), *seen] for seen in of_labels]

    def rows_of(self, classifier: int, features: AnyInts) -> Ints:
        """Rows of features (of its groups) under a classifier. RETURNS an array of the same
        shape."""
        group = np.searchsorted(self.starts, features, side="right") - 1
        within = features - self.starts.take(group)
        return (
            self.first.take(group)
            + within * self._counts.take(group)
            + self._places[classifier].take(group)
        )

    def own_features(self, classifier: int, rows: Ints) -> Ints:
        """Rows (n,) of a classifier in its own table. RETURNS (n,)."""
        group = np.searchsorted(self.first, rows, side="right") - 1
        within = (rows - self.first.take(group)) // self._counts.take(group)
        return within + self._own_starts[classifier].take(group)

    def start_rows(self, classifier: int, setup: ClassifierSetup) -> Ints:
        """Of the weights that a classifier starts with. RETURNS (n,)."""
        own_starts = group_starts(setup.sizes)
        group = np.searchsorted(own_starts, setup.start.rows, side="right") - 1
        starts = self.starts.take([self.groups.index(g) for g in setup.groups])
        return self.rows_of(
            classifier, setup.start.rows - own_starts.take(group) + starts.take(group)
        )


def _runs(members: Sequence[int]) -> Iterator[Tuple[slice, slice]]:
    """Members that follow each other, and their places."""
    begin = 0
    for end in range(1, len(members) + 1):
        if end == len(members) or members[end] != members[end - 1] + 1:
            yield slice(members[begin], members[end - 1] + 1), slice(begin, end)
            begin = end


class Learner:
    """Classifiers in training, C of them.

    setups: one each, alike but for what is seen. sure (float): error below which a token is learnt
    from now and then; 0 = always from all.
    """

    def __init__(
        self, setups: Sequence[ClassifierSetup], sure: float = SURE, tuning: Tuning = TUNING
    ) -> None:
        self._visible = [setup.visible for setup in setups]
        self._sure = np.float32(sure)
        self._tuning = tuning
        self._n_labels = setups[0].n_labels
        common = setups[0]
        self._table = table = SideBySide(setups)
        self._weights = InequalityWeights(
            int(table.first[-1]),
            self._n_labels,
            learn_rate=common.learn_rate,
            width=common.width,
            n_tokens=common.n_tokens,
            models=table.classifiers,
        )
        for i, setup in enumerate(setups):
            self._weights.resume(table.start_rows(i, setup), setup.start.values)
        self._rngs = [np.random.default_rng([setup.seed, setup.visible]) for setup in setups]
        n_features = int(table.starts[-1])
        self._touched = np.zeros(n_features, bool)
        self._place = np.zeros(n_features, np.int32)
        self._nothing = table.starts[1:] - 1
        self._pending: List[List[RowGradient]] = [[] for _ in setups]
        self._n_tokens = np.zeros(len(setups), np.intp)

    def gradient(self, batch: TrainingBatch, drop: float) -> List[Tuple[int, float]]:
        """Keep the gradient of a batch for `step`. RETURNS (mask, negative log-likelihood of the
        gold labels, in nats) of each classifier."""
        use = (batch.gold >= 0) & (np.array(self._visible)[:, None] & ~batch.known == 0)  # (C, n)
        features = self._features(batch.rows)
        left = [self._left(i, features, use[i], drop) for i in range(len(use))] if drop else None
        draws = self._draws(use)
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        losses = np.zeros(len(use))
        parts = []
        for start in range(0, len(draws), self._tuning.side_tokens):
            block = slice(start, start + self._tuning.side_tokens)
            scores = (
                self._scores(features[:, block]) if left is None else self._scores_left(left, block)
            )
            scores *= scale
            gold = batch.gold[block].repeat(len(use))
            loss, d_scores = log_loss(scores.reshape(-1, self._n_labels), gold)
            losses += np.where(use.T[block], loss.reshape(-1, len(use)), 0).sum(axis=0)
            at, times = self._learnt_from(
                -d_scores[np.arange(len(gold)), gold], draws[block], use.T[block]
            )
            d_scores = d_scores.take(at, axis=0)
            d_scores *= (scale * times)[:, None]
            parts.append((at + start * len(use), d_scores))
        at, d_scores = (np.concatenate(part) for part in zip(*parts, strict=True))
        for i, sees in enumerate(self._table.seen(len(batch.rows.plain))):
            here = np.flatnonzero(at % len(use) == i)
            tokens = at.take(here) // len(use)
            rows = (
                features[sees].take(tokens, axis=1)
                if left is None
                else left[i].take(tokens, axis=1)
            )
            self._pending[i].append(self._row_gradient(i, rows, d_scores.take(here, axis=0)))
        self._n_tokens += use.sum(axis=1)
        return list(zip(self._visible, losses.tolist(), strict=True))

    def _draws(self, use: Mask) -> Floats32:
        """A random number for each token that a classifier learns from. RETURNS (n, C)."""
        draws = np.zeros(use.T.shape, np.float32)
        for rng, tokens, of_classifier in zip(self._rngs, use, draws.T, strict=True):
            of_classifier[tokens] = rng.random(np.count_nonzero(tokens), dtype=np.float32)
        return draws

    def step(self) -> List[Tuple[int, None]]:
        """Learn from the gradients kept."""
        merged = [merge_gradients(pending, self._weights.values) for pending in self._pending]
        if any(self._pending):
            rows = np.concatenate([of_classifier for of_classifier, _ in merged])
            gradient = np.concatenate([of_classifier for _, of_classifier in merged])
            order = np.argsort(rows, kind="stable")  # memory is read in order
            self._weights.step(rows.take(order), gradient.take(order, axis=0), self._n_tokens)
        self._pending = [[] for _ in self._visible]
        self._n_tokens[:] = 0
        return [(visible, None) for visible in self._visible]

    def finish(self) -> List[Tuple[int, SparseRows]]:
        """(mask, weights) of each classifier. Training can go on after this."""
        tables = self._weights.finish()
        return [(visible, self._finished(i, tables[i])) for i, visible in enumerate(self._visible)]

    def _finished(self, i: int, used: UsedRows) -> SparseRows:
        """Without weights that are zero once rounded for storage."""
        rounded = used.rounded()
        features = self._table.own_features(i, rounded.rows).astype(np.int32)
        return SparseRows(features, to_storage(rounded.values))

    def _features(self, rows: TrainingRows) -> Rows:
        """All features of a batch, those of templates about words first. RETURNS (K, n)."""
        labels = [
            rows.labels[g - 1] + np.int32(s)
            for g, s in zip(self._table.groups[1:], self._table.starts[1:], strict=False)
        ]
        return np.concatenate([rows.plain, *(row[None] for row in labels)])

    def _left(self, i: int, features: Rows, use: Mask, drop: float) -> Rows:
        """The features of one classifier that are left after some were dropped. RETURNS (K, n)."""
        rows = features[self._table.seen(len(features) - len(self._table.groups) + 1)[i]]
        tokens = np.flatnonzero(use)
        is_dropped = self._rngs[i].random((len(rows), len(tokens)), dtype=np.float32) < drop
        rows[:, tokens] = np.where(is_dropped, self._nothing[0], rows[:, tokens])
        return rows

    def _scores(self, features: Rows) -> Floats32:
        """features (K, n) of some tokens. RETURNS (n, C, L), added up in the order of the
        features."""
        table = self._table
        width = len(self._visible) * self._n_labels
        n_plain = len(features) - len(table.groups) + 1
        values = self._weights.values.reshape(-1)
        of_words = values[: int(table.first[1]) * self._n_labels].reshape(-1, width)
        scores = add_rows(of_words, features[:n_plain]).reshape(
            -1, len(self._visible), self._n_labels
        )
        for j, row in enumerate(features[n_plain:], 1):
            members = table.members[j]
            start = int(table.starts[j])
            begin, end = (int(at) * self._n_labels for at in table.first[j : j + 2])
            more = (
                values[begin:end]
                .reshape(-1, len(members) * self._n_labels)
                .take(row - start, axis=0)
            )
            more = more.reshape(len(row), len(members), self._n_labels)
            for classifiers, places in table.runs[j]:
                scores[:, classifiers] += more[:, places]
        return scores

    def _scores_left(self, left: Sequence[Rows], block: slice) -> Floats32:
        """Scores of some tokens from what is left of the features of each classifier. RETURNS (n,
        C, L)."""
        values = self._weights.values
        scores = [
            add_rows(values, self._table.rows_of(i, rows[:, block])) for i, rows in enumerate(left)
        ]
        return np.stack(scores, axis=1)

    def _learnt_from(self, errors: Floats32, draws: Floats32, use: Mask) -> Tuple[Ints, Floats32]:
        """errors (n C,), draws, use (n, C). RETURNS those whose gradient is taken, and how many
        times."""
        at = np.flatnonzero(use.reshape(-1) & (draws.reshape(-1) * self._sure < errors))
        times: Floats32 = np.maximum(1, self._sure / errors.take(at))
        return at, times

    def _row_gradient(self, i: int, features: Rows, d_scores: Floats32) -> RowGradient:
        """features (K, n), d_scores (n, L) of a classifier. RETURNS distinct rows, without the
        closing ones, and their gradient."""
        self._touched[features] = True
        self._touched[self._nothing] = False
        distinct = np.flatnonzero(self._touched)
        self._touched[distinct] = False
        self._place[self._nothing] = len(distinct)
        self._place[distinct] = np.arange(len(distinct))
        gradient = np.zeros((len(distinct) + 1, d_scores.shape[1]), np.float32)
        ops = NumpyOps()
        for row in self._place[features]:
            ops.scatter_add(gradient, row, d_scores)
        return self._table.rows_of(i, distinct), gradient[:-1]


def group_starts(sizes: Sequence[int]) -> Ints:
    """Where each group begins in a classifier's table, with a closing row after each; then the rows
    in all."""
    return np.cumsum([0, *(size + 1 for size in sizes)]).astype(np.intp)


def log_loss(scores: Floats32, gold: Ints) -> Tuple[Floats, Floats32]:
    """-log p(gold), p = softmax of each row. RETURNS the losses (n,), and their gradients (n,
    L)."""
    rows = np.arange(len(gold))
    p = scores - scores.max(axis=1, keepdims=True)
    loss = -p[rows, gold].astype(np.float64)
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    loss += np.log(total[:, 0])
    p /= total
    p[rows, gold] -= 1
    return loss, p
