"""Local classifiers in training, in several processes when asked.

With n processes the classifiers are dealt out to this one and n - 1 workers, which hold their
weights and hand over the finished ones when asked. Results do not depend on the number of
processes.
"""

import multiprocessing
import signal
import weakref
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ...errors import Errors
from .learner import ClassifierSetup, Learner, SparseRows, TrainingBatch


class LocalTraining:
    """All classifiers in training. setups: one each. n_process (int): >= 1. Workers end with this
    object."""

    def __init__(self, setups: Sequence[ClassifierSetup], n_process: int) -> None:
        shares = [setups[i::n_process] for i in range(n_process)]
        self._own = Learner(shares[0])
        self._workers: List[object] = []
        self._pipes: List[Any] = []
        self._turn = 0
        for share in filter(None, shares[1:]):
            here, there = multiprocessing.Pipe()
            # a forked worker holds copies of all pipes, and would not notice that this process has closed its own
            inherited = [here, *self._pipes] if multiprocessing.get_start_method() == "fork" else []
            worker = multiprocessing.Process(
                target=work, args=(there, share, inherited), daemon=True
            )
            worker.start()
            there.close()
            self._workers.append(worker)
            self._pipes.append(here)
        self._end = weakref.finalize(self, end_workers, self._pipes, self._workers)

    def gradient(self, batch: TrainingBatch, drop: float) -> float:
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

    def _ask(self, name: str, *arguments: object) -> "List[Tuple[int, Any]]":
        """Have all classifiers do something. RETURNS (mask, answer) of each, in no order."""
        self._turn += 1
        try:
            for pipe in self._pipes:
                pipe.send((self._turn, name, arguments))
        except OSError as error:
            raise RuntimeError(Errors.HS094.format(problem=repr(error))) from error
        answers = getattr(self._own, name)(*arguments)
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

    Ctrl-C reaches it, too, but interrupts the training only: its weights are wanted for what is
    saved after that.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for other in inherited:
        other.close()
    learner = Learner(setups)
    while True:
        try:
            turn, name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            pipe.send((turn, getattr(learner, name)(*arguments), None))
        except Exception as error:
            pipe.send((turn, [], error))


def end_workers(pipes: List[Any], workers: List[Any]) -> None:
    """A worker ends when nobody holds the other end of its pipe."""
    for pipe in pipes:
        pipe.close()
    for worker in workers:
        worker.join(timeout=5)
    pipes.clear()
    workers.clear()
