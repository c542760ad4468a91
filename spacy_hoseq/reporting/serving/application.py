"""What the server answers: the page of a text with a field to type into, and its reasons as JSON.

    GET /           the page
    POST /          the page of a text, of a form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as `hoseq explain --json` has them

Who may ask stands in guard.py. A pipeline works for one request at a time; the others stand in a
queue.
"""

import asyncio
import json
from time import monotonic
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence
from urllib.parse import parse_qs

from spacy.language import Language
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ...errors import Errors
from ...inspection.explanation import annotated, as_data, decisions, explained
from ..pages import rendered
from ..sentence import shown
from ..text import notes_of, sentences_of
from .guard import Guard

LOCAL = ("localhost",)
BYTES = 12  # of a request: for each character, %XX for each of four bytes; and beside the text
MORE = 4096
PLACES = 32  # requests that wait
WAIT = 60.0  # seconds, at most
GONE = 499  # nobody reads the answer
EXPECTED = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
END = object()


class Refused(ValueError):
    """status (int): of the answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Gone(Exception):
    """Nobody waits for the answer."""


def application(
    nlp: Language,
    names: Optional[Sequence[str]] = None,
    *,
    max_length: int = 5000,
    max_words: int = 500,
    max_seconds: float = 10.0,
    hosts: Collection[str] = LOCAL,
) -> Starlette:
    """RETURNS (Starlette): for any ASGI server.

    names: of components, None = all that can be explained. max_length: characters of the longest
    text. max_words: for how many words one request may have reasons. max_seconds: of work for a
    request, and in which its text has to arrive. hosts: names of this server beside its
    addresses."""
    known = explained(nlp, names)
    notes = notes_of(nlp)
    title = f"{nlp.meta['lang']}_{nlp.meta['name']}"
    queue = Queue(max_seconds)

    def page(texts: Sequence[object], text: str, problem: str = "", status: int = 200) -> Response:
        values = {"title": title, "texts": texts, "notes": notes, "reasons": [], "opens": True}
        form = {"text": text, "problem": problem, "most": max_length, "of_lang": nlp.meta["lang"]}
        return HTMLResponse(rendered("serving/typed.html.jinja", **values, **form), status)

    def checked(text: str) -> str:
        if len(text) > max_length:
            raise Refused(Errors.HS149.format(n=len(text), most=max_length), 413)
        return text

    async def body(request: Request) -> bytes:
        most = BYTES * max_length + MORE
        read = asyncio.wait_for(body_of(request, most, max_length), max_seconds)
        try:
            return await read
        except asyncio.TimeoutError as error:
            raise Refused(Errors.HS181.format(seconds=max_seconds), 408) from error

    def tagged(text: str) -> Iterator[object]:
        with nlp.memory_zone():
            yield sentences_of(nlp(text))

    async def empty(request: Request) -> Response:
        return page([], "")

    async def typed(request: Request) -> Response:
        try:
            form = parse_qs((await body(request)).decode("utf8", "replace"), max_num_fields=4)
            text = checked(form.get("text", [""])[0].replace("\r\n", "\n"))
            texts = await queue.all_of(tagged(text), request)
        except ValueError as error:
            return page([], "", *answer_to(error))
        return page(texts, text)

    def work(asked: Dict[str, Any]) -> Iterator[object]:
        name = asked["component"]
        if name is not None and name not in known:
            raise ValueError(Errors.HS152.format(names=name, known=", ".join(known)))
        names = known if name is None else [name]
        tokens = asked["tokens"]
        with nlp.memory_zone():
            doc, seen = annotated(nlp, nlp.make_doc(asked["text"]), names)
            n_words = sum(not t.is_space for t in doc) if tokens is None else len(set(tokens))
            if n_words * len(names) > max_words:
                message = Errors.HS182.format(n=n_words * len(names), most=max_words)
                raise Refused(message, 413)
            yield [shown(token.text) for token in doc]
            chosen = None if tokens is None else list(dict.fromkeys(tokens))
            for given, one in decisions(nlp, doc, seen, chosen):
                yield as_data(one, given)

    async def explain(request: Request) -> Response:
        try:
            kind = request.headers.get("content-type", "").partition(";")[0].strip()
            if kind != "application/json":
                message = Errors.HS172.format(actual="another type", expected="application/json")
                raise Refused(message, 415)
            asked = read_json(await body(request))
            checked(asked["text"])
            words, *found = await queue.all_of(work(asked), request)
        except ValueError as error:
            message, status = answer_to(error)
            return JSONResponse({"error": message}, status)
        return JSONResponse({"words": words, "decisions": found})

    routes = [
        Route("/", empty, methods=["GET"]),
        Route("/", typed, methods=["POST"]),
        Route("/explain", explain, methods=["POST"]),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]
    gone = {Gone: lambda request, error: Response(status_code=GONE)}
    middleware = [Middleware(Guard, hosts=hosts)]
    return Starlette(routes=routes, middleware=middleware, exception_handlers=gone)


class Queue:
    """Requests, first come, first served: each has a place, and waits at most WAIT seconds. Those
    whose clients are gone lose their place before any work begins. seconds (float): of work for
    one request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._line: List[Request] = []
        self._moved = asyncio.Condition()

    async def all_of(self, pieces: Iterator[Any], request: Request) -> List[Any]:
        """What an iterator gives, when it is the request's turn. RAISES Gone; Refused [HS180]: the
        work takes too long; [HS184]: the queue does; what the iterator raises."""
        gone = [one for one in self._line[1:] if await one.is_disconnected()]
        self._line = self._line[:1] + [one for one in self._line[1:] if one not in gone]
        if len(self._line) >= PLACES:
            raise Refused(Errors.HS184.format(n=len(self._line)), 503)
        self._line.append(request)
        try:
            async with self._moved:
                turn = self._moved.wait_for(lambda: request not in self._line[1:])
                await asyncio.wait_for(turn, WAIT)
            if request not in self._line:
                raise Gone
            return await self._worked(pieces, request)
        except asyncio.TimeoutError as error:
            raise Refused(Errors.HS184.format(n=len(self._line)), 503) from error
        finally:
            self._line = [one for one in self._line if one is not request]
            async with self._moved:
                self._moved.notify_all()

    async def _worked(self, pieces: Iterator[Any], request: Request) -> List[Any]:
        items: List[object] = []
        start = monotonic()
        try:
            while True:
                if await request.is_disconnected():
                    raise Gone
                piece = await run_in_threadpool(next, pieces, END)
                if piece is END:
                    return items
                items.append(piece)
                if monotonic() - start > self._seconds:
                    raise Refused(Errors.HS180.format(seconds=self._seconds), 503)
        finally:
            pieces.close()  # type: ignore[attr-defined]  # its Docs belong to a memory zone


async def body_of(request: Request, most: int, max_length: int) -> bytes:
    """RAISES Refused [HS149]: more than the longest text can be."""
    body = bytearray()
    async for part in request.stream():
        body.extend(part)
        if len(body) > most:
            raise Refused(Errors.HS149.format(n=f"more than {max_length}", most=max_length), 413)
    return bytes(body)


def read_json(body: bytes) -> Dict[str, Any]:
    """RAISES ValueError [HS172]: it is not what was expected."""
    try:
        asked = json.loads(body)
        said = json.dumps(asked)[:200]
    except (ValueError, RecursionError) as error:
        raise ValueError(Errors.HS172.format(actual=str(error), expected=EXPECTED)) from error
    asked = {"component": None, "tokens": None, **asked} if isinstance(asked, dict) else {}
    fits = (
        asked.keys() == {"text", "component", "tokens"}
        and isinstance(asked["text"], str)
        and isinstance(asked["component"], (str, type(None)))
        and isinstance(asked["tokens"], (list, type(None)))
        and all(type(token) is int for token in asked["tokens"] or ())
    )
    strings = f"{asked.get('text')}{asked.get('component')}"
    if not fits or any("\ud800" <= character <= "\udfff" for character in strings):
        raise ValueError(Errors.HS172.format(actual=said, expected=EXPECTED))
    return asked


def answer_to(error: ValueError) -> "tuple[str, int]":
    """What can be sent of it, and the status."""
    message = str(error).encode("utf8", "replace").decode("utf8")
    return message, error.status if isinstance(error, Refused) else 400
