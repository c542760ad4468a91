"""A local classifier that learns p(y_i | o, gold labels of the neighbours that it sees).

Most tokens are easy, and soon have next to no gradient. With the error e = 1 - p(gold) of a token,
its gradient is taken with probability min(1, e / SURE), and then max(1, SURE / e) times: what is
expected is the sum over all tokens, so that the weights go where they would go (importance
sampling, as Zhao & Zhang 2015 have it). The loss is of all.
"""

from typing import List, NamedTuple, Tuple

import numpy as np

from ..arrays import Floats, Floats32, Ints, Rows
from ..learning.gradients import RowGradient, merge_gradients
from ..learning.inequality import InequalityWeights
from ..learning.used_rows import UsedRows
from .shim import add_rows
from .sparse_linear import row_gradient

SURE = 0.1  # error below which a token is learnt from now and then


class TrainingBatch(NamedTuple):
    """rows (K, n): features at each token. gold (n,): label ids, -1 = not known. known (n,): slots
    whose gold label is known, as a mask."""

    rows: Rows
    gold: Ints
    known: Ints


class Learning(NamedTuple):
    """How classifiers learn. n_tokens (int): that an epoch has. sure (float): as `SURE`, 0 = always
    from all tokens. The rest as `InequalityWeights` has it."""

    learn_rate: float
    width: float
    seed: int
    n_tokens: int
    sure: float = SURE


class LocalClassifier:
    """visible (int): the slots that it sees, as a mask. seen: the rows of a batch that it looks at.
    start: weights (F, L)."""

    def __init__(self, visible: int, seen: List[int], start: UsedRows, learning: Learning) -> None:
        self._visible = visible
        self._seen = seen
        self._shape = start.shape
        # the row of features that are not known, which is zero
        self._nothing, n_labels = start.shape
        self._sure = np.float32(learning.sure)
        self._weights = InequalityWeights(
            self._nothing + 1,
            n_labels,
            learn_rate=learning.learn_rate,
            width=learning.width,
            n_tokens=learning.n_tokens,
        )
        self._weights.resume(start.rows, start.values)
        self._rng = np.random.default_rng([learning.seed, visible])
        self._pending: List[RowGradient] = []
        self._n_tokens = 0

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
        """Keep the gradient of a batch for `step`. RETURNS the negative log-likelihood of the gold
        labels, in nats."""
        tokens = np.flatnonzero((batch.gold >= 0) & (self._visible & ~batch.known == 0))
        gold = batch.gold.take(tokens)
        rows = batch.rows[self._seen].take(tokens, axis=1)
        if drop:
            rows[self._rng.random(rows.shape, dtype=np.float32) < drop] = self._nothing
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        losses, d_scores = log_loss(add_rows(self._weights.values, rows) * scale, gold)
        errors = -d_scores[np.arange(len(gold)), gold]
        draws = self._rng.random(len(gold), dtype=np.float32)
        kept = np.flatnonzero(draws * self._sure < errors)
        times: Floats32 = np.maximum(1, self._sure / errors.take(kept)) * scale
        d_kept = d_scores.take(kept, axis=0) * times[:, None]
        self._pending.append(row_gradient(rows.take(kept, axis=1), d_kept, self._nothing))
        self._n_tokens += len(tokens)
        return float(losses.sum())

    def step(self) -> None:
        """Learn from the gradients kept."""
        rows, gradient = merge_gradients(self._pending, self._weights.values)
        self._weights.step(rows, gradient, self._n_tokens)
        self._pending = []
        self._n_tokens = 0

    def finish(self) -> UsedRows:
        """The weights (F, L), as they are saved. Training can go on after this."""
        return self._weights.finish().rounded()._replace(shape=self._shape)


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
