"""Several requests at one pipeline: each does a piece of its work, then the next one has its turn.

A pipeline works for one thread at a time, and what it keeps of a text is given up at the end of a
memory zone (`nlp.memory_zone`), of which there can be one. So all requests that are under way share
a zone, which ends when none is left; after ROOM characters new ones wait for that.
"""

import asyncio
from contextlib import ExitStack, asynccontextmanager
from time import monotonic
from typing import Any, AsyncIterator, Iterator, List

from spacy.language import Language
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from ...errors import Errors

ROOM = 1_000_000  # characters
END = object()


class Refused(ValueError):
    """status (int): of the answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Gone(Exception):
    """Nobody waits for the answer."""


class Turns:
    """seconds (float): of work for one request; time in which it waits for its turn does not
    count."""

    def __init__(self, nlp: Language, seconds: float) -> None:
        self._nlp = nlp
        self._seconds = seconds
        self._turn = asyncio.Lock()  # first come, first served
        self._change = asyncio.Condition()
        self._zone = ExitStack()
        self._n_visitors = 0
        self._room = ROOM

    async def all_of(self, pieces: Iterator[Any], request: Request, size: int) -> List[Any]:
        """What an iterator gives, one item at a turn. size (int): of the text, in characters. The
        items must not refer to Docs.

        RAISES Gone; Refused [HS180]: the work takes too long; what the iterator raises."""
        items: List[object] = []
        work = 0.0
        async with self._visit(size):
            try:
                while True:
                    async with self._turn:
                        start = monotonic()
                        piece = await run_in_threadpool(next, pieces, END)
                        work += monotonic() - start
                    if piece is END:
                        return items
                    items.append(piece)
                    if await request.is_disconnected():
                        raise Gone
                    if work > self._seconds:
                        raise Refused(Errors.HS180.format(seconds=self._seconds), 503)
            finally:
                pieces.close()  # type: ignore[attr-defined]  # a generator, whose Doc belongs to the zone

    @asynccontextmanager
    async def _visit(self, size: int) -> AsyncIterator[None]:
        async with self._change:
            await self._change.wait_for(lambda: self._room > 0 or not self._n_visitors)
            if not self._n_visitors:
                self._zone.enter_context(self._nlp.memory_zone())
                self._room = ROOM
            self._n_visitors += 1
            self._room -= size
        try:
            yield
        finally:
            self._n_visitors -= 1
            if not self._n_visitors:
                self._zone.close()
            async with self._change:
                self._change.notify_all()
