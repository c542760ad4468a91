"""Who does the parts: this process, several of this machine, or Ray. All give the results in the
order of the parts."""

import os
import signal
import threading
import time
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from typing import Any, Callable, Deque, Iterable, Iterator, List, Optional

from ..errors import Errors
from .parts import InputPart
from .work import Done, Work

AHEAD = 2  # parts for each process that are read before they are wanted
START = 4.0  # seconds: about what it takes until processes have loaded a pipeline
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_WORK: List[Work] = []  # of a process that works for another one


def here(work: Work, parts: Iterable[InputPart]) -> Iterator[Done]:
    """In this process."""
    return map(work, parts)


def processes(work: Work, parts: Iterable[InputPart], n: int) -> Iterator[Done]:
    """In n processes of this machine, if there is work for longer than START seconds: until then
    it is done here. They end when this one does, in whatever way: each watches a pipe that only
    this one holds open. RAISES ValueError [HS114]: one of them, or the one that starts them, has
    ended."""
    remaining = iter(parts)
    begun = time.monotonic()
    for part in remaining:
        yield work(part)
        if time.monotonic() - begun > START:
            break
    for name in THREADS:  # of those that start now: libraries that compute in threads would compete
        os.environ.setdefault(name, "1")
    context = _context()
    watched, alive = context.Pipe(duplex=False)
    with ProcessPoolExecutor(
        n, mp_context=context, initializer=_begin, initargs=(work, watched)
    ) as pool:
        is_done = False
        try:
            submit = _coded(lambda part: pool.submit(_do, part))
            yield from in_order(submit, _coded(Future.result), remaining, n * (1 + AHEAD))
            is_done = True
        finally:
            if is_done:
                pool.shutdown()
            alive.close()
            pool.shutdown(cancel_futures=True)
            watched.close()


def _context() -> Any:
    """Processes begin in one that has loaded what all need, where there is such a thing."""
    if "forkserver" not in get_all_start_methods():
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _coded(ask: Callable[[Any], object]) -> Callable[[object], Any]:
    """The same, which RAISES ValueError [HS114] if a process of the pool, or the one that starts
    them, has ended."""

    def asked(value: object) -> Any:
        try:
            return ask(value)
        except (BrokenProcessPool, EOFError, ConnectionError) as error:
            raise ValueError(Errors.HS114.format(problem=str(error) or repr(error))) from error

    return asked


def in_order(
    submit: Callable[[InputPart], Any],
    result: Callable[[Any], Done],
    parts: Iterable[InputPart],
    limit: int,
) -> Iterator[Done]:
    """Results in the order of the parts, with at most so many under way."""
    waiting: Deque[object] = deque()
    for part in parts:
        waiting.append(submit(part))
        if len(waiting) >= limit:
            yield result(waiting.popleft())
    while waiting:
        yield result(waiting.popleft())


def _begin(work: Work, watched: Connection) -> None:
    # a terminal sends it to all; whoever waits for us says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()
    _WORK.append(work)


def _end_with(watched: Connection) -> None:
    try:
        watched.recv()
    except (EOFError, OSError):
        os._exit(1)


def _do(part: InputPart) -> Done:
    return _WORK[-1](part)


def ray_actors(
    work: Work, parts: Iterable[InputPart], n: int, address: Optional[str]
) -> Iterator[Done]:
    """In n actors of Ray, on this machine or the cluster at the address. The pipeline travels as
    bytes, and the bytes of files come back: no disk is shared. RAISES ValueError [HS170]: Ray is
    not installed; [HS114]: an actor has ended for good."""
    try:
        import ray
    except ImportError as error:
        raise ValueError(
            Errors.HS170.format(package="Ray", install='"spacy-hoseq[ray]"')
        ) from error
    # by default its workers yield to all else on the machine
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(
        address=address, log_to_driver=False, include_dashboard=False, ignore_reinit_error=True
    )
    try:
        sent = ray.put(work.with_bytes())
        start = ray.remote(num_cpus=1, max_restarts=3, max_task_retries=3)(RayActor)
        actors = [start.remote(sent) for _ in range(n)]
        submit = lambda part: actors[part.number % n].do.remote(part)  # noqa: E731
        yield from in_order(submit, ray.get, parts, n * (1 + AHEAD))
    except ray.exceptions.RayError as error:
        raise ValueError(Errors.HS114.format(problem=error)) from error
    finally:
        ray.shutdown()


class RayActor:
    """A process of Ray that does parts."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def do(self, part: InputPart) -> Done:
        return self._work(part)
