"""Local classifiers in training, each independent of the others; in several processes when asked.

Every classifier learns p(y_i | o, gold labels of the neighbours that it sees) by itself, from the same rows of
features. With n processes the classifiers are dealt out to this one and n - 1 workers, which hold their weights and
hand over the finished ones when asked. Results do not depend on the number of processes.

Most tokens are easy, and soon have next to no gradient. With the error e = 1 - p(gold) of a token, its gradient is
taken with probability min(1, e / SURE), and then max(1, SURE / e) times: what is expected is the sum over all tokens,
so that the weights go where they would go (importance sampling, as Zhao & Zhang 2015 have it). The loss is of all.
"""

import multiprocessing
import signal
import weakref
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray
from thinc.api import NumpyOps

from ...arrays import Floats32, Ints
from ...errors import Errors
from ...learning.gradients import RowGradient, merge_gradients
from ...learning.inequality import InequalityWeights
from ...learning.used_weights import UsedCells, to_storage
from ..weights.row_sums import add_rows
from .features import TrainingRows

SURE = 0.1  # error below which a token is learnt from now and then


class Batch(NamedTuple):
    """rows: features at each token. gold (n,): label ids, -1 = not known. known (n,): slots whose gold label is
    known, as a mask."""

    rows: TrainingRows
    gold: Ints
    known: Ints


class SparseRows(NamedTuple):
    """Rows of a table that are not all zero. rows (R,) ascending; values (R, L) as they are saved."""

    rows: NDArray[np.int32]
    values: NDArray[Any]


class ClassifierSetup(NamedTuple):
    """What a classifier is made of. sizes: rows of the groups that it uses; groups: which these are. start: weights."""

    visible: int
    groups: List[int]
    sizes: List[int]
    n_labels: int
    learn_rate: float
    width: float
    n_tokens: int
    seed: int
    start: SparseRows


class LocalClassifier:
    """One classifier in training. In its table the groups follow each other, each closed by a row of zeros.

    sure (float): error below which a token is learnt from now and then; 0 = always from all.
    """

    def __init__(self, setup: ClassifierSetup, sure: float = SURE) -> None:
        self.visible, self._sure = setup.visible, np.float32(sure)
        self._groups = setup.groups
        self._starts = group_starts(setup.sizes)
        n_rows = self._starts[-1]
        self._nothing = self._starts[1:] - 1  # closing rows
        self._weights = InequalityWeights(
            n_rows, setup.n_labels, learn_rate=setup.learn_rate, width=setup.width, n_tokens=setup.n_tokens
        )
        self._weights.resume(*setup.start)
        self._rng = np.random.default_rng([setup.seed, setup.visible])
        self._touched = np.zeros(n_rows, bool)
        self._place = np.zeros(n_rows, np.int32)
        self._pending: List[RowGradient] = []
        self._n_tokens = 0

    def gradient(self, batch: Batch, drop: float) -> float:
        """Keep the gradient of a batch for `step`. RETURNS the negative log-likelihood of its gold labels, in nats."""
        use = np.flatnonzero((batch.gold >= 0) & (self.visible & ~batch.known == 0))
        if not len(use):
            return 0.0
        rows = self._rows_of(batch.rows, use)
        if drop:
            rows[self._rng.random(rows.shape, dtype=np.float32) < drop] = self._nothing[0]
        scale = np.float32(1 / (1 - drop) if drop < 1 else 0)
        scores = add_rows(self._weights.values, rows)
        scores *= scale
        loss, d_scores = log_loss(scores, batch.gold[use])
        at, times = self._learnt_from(-d_scores[np.arange(len(use)), batch.gold[use]])
        d_scores = d_scores.take(at, axis=0)
        d_scores *= (scale * times)[:, None]
        self._pending.append(self._row_gradient(rows.take(at, axis=1), d_scores))
        self._n_tokens += len(use)
        return loss

    def _learnt_from(self, errors: Floats32) -> Tuple[Ints, Floats32]:
        """RETURNS the tokens whose gradient is taken, and how many times."""
        at = np.flatnonzero(self._rng.random(errors.shape, dtype=np.float32) * self._sure < errors)
        times: Floats32 = np.maximum(1, self._sure / errors.take(at))
        return at, times

    def _row_gradient(self, rows: NDArray[np.int32], d_scores: Floats32) -> RowGradient:
        """rows (K, n), d_scores (n, L). RETURNS distinct rows, without the closing ones, and their gradient."""
        self._touched[rows] = True
        self._touched[self._nothing] = False
        distinct = np.flatnonzero(self._touched)
        self._touched[distinct] = False
        self._place[self._nothing] = len(distinct)
        self._place[distinct] = np.arange(len(distinct))
        gradient = np.zeros((len(distinct) + 1, d_scores.shape[1]), np.float32)
        ops = NumpyOps()
        for row in self._place[rows]:
            ops.scatter_add(gradient, row, d_scores)
        return distinct, gradient[:-1]

    def step(self) -> None:
        """Learn from the gradients kept."""
        if self._pending:
            self._weights.step(*merge_gradients(self._pending, self._weights.values), self._n_tokens)
        self._pending, self._n_tokens = [], 0

    def finish(self) -> SparseRows:
        return sparse_rows(self._weights.finish())

    def _rows_of(self, rows: TrainingRows, use: Ints) -> NDArray[np.int32]:
        """RETURNS (K, n), a copy: rows in the classifier's own table."""
        places = zip(self._groups[1:], self._starts[1:], strict=False)
        labels = [rows.labels[g - 1, use] + np.int32(start) for g, start in places]
        return np.concatenate([rows.plain.take(use, axis=1), *(row[None] for row in labels)])


class LocalTraining:
    """All classifiers in training. setups: one each. n_process (int): >= 1. Workers end with this object."""

    def __init__(self, setups: Sequence[ClassifierSetup], n_process: int) -> None:
        shares = [setups[i::n_process] for i in range(n_process)]
        self._own = [LocalClassifier(setup) for setup in shares[0]]
        self._workers: List[Any] = []
        self._pipes: List[Any] = []
        self._turn = 0
        for share in filter(None, shares[1:]):
            here, there = multiprocessing.Pipe()
            # a forked worker holds copies of all pipes, and would not notice that this process has closed its own
            inherited = [here, *self._pipes] if multiprocessing.get_start_method() == "fork" else []
            worker = multiprocessing.Process(target=work, args=(there, share, inherited), daemon=True)
            worker.start()
            there.close()
            self._workers.append(worker)
            self._pipes.append(here)
        self._end = weakref.finalize(self, end_workers, self._pipes, self._workers)

    def gradient(self, batch: Batch, drop: float) -> float:
        """RETURNS the sum of the losses of all classifiers."""
        return float(sum(loss for _, loss in self._ask("gradient", batch, drop)))

    def step(self) -> None:
        self._ask("step")

    def finish(self) -> Dict[int, SparseRows]:
        """The weights of each classifier that are not zero. Training can go on after this."""
        return dict(sorted(self._ask("finish")))

    def close(self) -> None:
        """End the workers."""
        self._end()

    def _ask(self, name: str, *arguments: Any) -> "List[Tuple[int, Any]]":
        """Have all classifiers do something. RETURNS (mask, answer) of each, in no order."""
        self._turn += 1
        try:
            for pipe in self._pipes:
                pipe.send((self._turn, name, arguments))
        except OSError as error:
            raise RuntimeError(Errors.HS094.format(problem=repr(error))) from error
        answers = _do(self._own, name, arguments)
        received = [self._receive(pipe) for pipe in self._pipes]
        for answer, problem in received:
            if problem is not None:
                raise problem
            answers += answer
        return answers

    def _receive(self, pipe: Any) -> "Tuple[List[Tuple[int, Any]], Optional[Exception]]":
        """The answer of this turn; those of turns that were interrupted are dropped."""
        while True:
            try:
                turn, answer, error = pipe.recv()
            except (EOFError, OSError) as broken:
                raise RuntimeError(Errors.HS094.format(problem=repr(broken))) from broken
            if turn == self._turn:
                return answer, error


def work(pipe: Any, setups: Sequence[ClassifierSetup], inherited: Sequence[Any] = ()) -> None:
    """A worker: answers (turn, answers, error) to each message until the other end is closed.

    Ctrl-C reaches it, too, but interrupts the training only: its weights are wanted for what is saved after that.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    classifiers = [LocalClassifier(setup) for setup in setups]
    while True:
        try:
            turn, name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send((turn, _do(classifiers, name, arguments), None))
        except Exception as error:
            pipe.send((turn, [], error))


def _do(classifiers: Sequence[LocalClassifier], name: str, arguments: Sequence[Any]) -> "List[Tuple[int, Any]]":
    return [(classifier.visible, getattr(classifier, name)(*arguments)) for classifier in classifiers]


def end_workers(pipes: List[Any], workers: List[Any]) -> None:
    """A worker ends when nobody holds the other end of its pipe."""
    for pipe in pipes:
        pipe.close()
    for worker in workers:
        worker.join(timeout=5)
    pipes.clear()
    workers.clear()


def group_starts(sizes: Sequence[int]) -> Ints:
    """Where each group begins in a classifier's table, with a closing row after each; then the rows in all."""
    return np.cumsum([0, *(size + 1 for size in sizes)]).astype(np.intp)


def sparse_rows(weights: UsedCells) -> SparseRows:
    """Rows with weights that are not zero once rounded for storage."""
    _, rows, values, _ = weights.rows()
    stored = to_storage(values)
    keep = stored.any(axis=1)
    return SparseRows(rows[keep].astype(np.int32), stored[keep])


def log_loss(scores: Floats32, gold: Ints) -> Tuple[float, Floats32]:
    """-sum log p(gold), p = softmax of each row. RETURNS the loss, and its gradient (n, L)."""
    rows = np.arange(len(gold))
    p = scores - scores.max(axis=1, keepdims=True)
    loss = -float(p[rows, gold].sum(dtype=np.float64))
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    loss += float(np.log(total).sum(dtype=np.float64))
    p /= total
    p[rows, gold] -= 1
    return loss, p
