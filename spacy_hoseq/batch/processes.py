"""Who does the parts: this process, or several of this machine."""

import gc
import os
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import Any

from ..errors import Errors
from .formats import Done, Work
from .inputs import Part

AHEAD = 3  # parts for each process that are read before they are wanted

_WORK: list[Work] = []  # of a process that works for another one


def in_processes(work: Work, parts: Iterable[Part], n: int) -> Iterator[Done]:
    """Results in the order of the parts. The pipeline is loaded once: the others are copies of this
    process, and end when it does, in whatever way. RAISES ValueError [HS114]: one has ended."""
    _ = work.annotator.loaded
    gc.collect()
    gc.freeze()  # what is loaded stays
    try:
        yield from _shared(work, parts, n) if n > 1 else (work(part) for part in parts)
    except BrokenProcessPool as error:
        raise ValueError(Errors.HS114.format(problem=error)) from error
    finally:
        gc.unfreeze()


def _shared(work: Work, parts: Iterable[Part], n: int) -> Iterator[Done]:
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    waiting: deque[Future[Done]] = deque()
    pool = ProcessPoolExecutor(n, context, initializer=_begin, initargs=(work,))
    try:
        for part in parts:
            waiting.append(pool.submit(_do, part))
            if len(waiting) >= n * AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if waiting:
            for process in active_children():
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _begin(work: Work) -> None:
    # a terminal sends it to all; whoever waits for us says when to end
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with, args=(parent_process(),), daemon=True).start()
    _WORK.append(work)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _do(part: Part) -> Done:
    return _WORK[-1](part)
