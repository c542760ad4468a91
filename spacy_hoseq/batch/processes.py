"""Work on parts, in this process or in several of this machine."""

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

_WORK: list[Work] = []  # of a process that works for another one


def in_processes(work: Work, parts: Iterable[Part], n: int) -> Iterator[Done]:
    """Results in the order of the parts. The pipeline is loaded once: the other processes are copies
    of this one, and end when it ends, in whatever way. RAISES ValueError [HS114]: one has ended."""
    _ = work.annotator.loaded
    gc.collect()
    gc.freeze()  # the pipeline stays, so the collector need not look at it
    try:
        if n > 1:
            yield from _shared(work, parts, n)
        else:
            for part in parts:
                yield work(part)
    except BrokenProcessPool as error:
        raise ValueError(Errors.HS114.format(problem=error)) from error
    finally:
        gc.unfreeze()


def _shared(work: Work, parts: Iterable[Part], n: int) -> Iterator[Done]:
    # copies made by fork share the memory of the pipeline; elsewhere each process loads it
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    waiting: deque[Future[Done]] = deque()
    pool = ProcessPoolExecutor(n, context, initializer=_start, initargs=(work,))
    try:
        for part in parts:
            waiting.append(pool.submit(_work, part))
            if len(waiting) >= 3 * n:  # enough that no process waits while a part is read
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        if waiting:  # the caller has stopped: nobody wants these results
            for process in active_children():
                process.terminate()
        pool.shutdown(cancel_futures=True)


def _start(work: Work) -> None:
    # a terminal interrupts all processes; the parent decides when this one ends
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_exit_after, args=(parent_process(),), daemon=True).start()
    _WORK.append(work)


def _exit_after(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work(part: Part) -> Done:
    return _WORK[-1](part)
