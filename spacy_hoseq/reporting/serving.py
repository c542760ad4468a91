"""A page for text that one types, from a small server (`python -m spacy hoseq serve`; extra `ui`).

    GET /           the page
    POST /          the page of a text, of a form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as `hoseq explain --json` has them

A pipeline works for one request at a time; the others stand in a queue. Only requests that name this
server are answered, from no page but its own: a page of another site can make its name mean this
machine (DNS rebinding) and would then read what is typed here. So `Host` has to be an address that
the server listens on, `localhost` if that is this machine, or a name that it was given, with the
port; and `Origin`, which browsers send with what comes from a page, the same with the scheme.
"""

import asyncio
import socket
from collections.abc import Collection, Iterator, Sequence
from ipaddress import ip_address
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

import h11
import uvicorn
from pydantic import BaseModel
from spacy.language import Language
from spacy.tokens import Doc
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..errors import Errors
from ..inspection.explanation import annotated, explained
from .sentence import shown
from .text import reasons_of, text_page

BYTES = 12  # of a request: for each character, %XX for each of four bytes; and beside the text
MORE = 4096
PLACES = 32  # requests that wait
WAIT = 60.0  # seconds, at most
LOOK = 0.02  # seconds between looks at the queue
GONE = 499  # nobody reads the answer
EXPECTED = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
END = object()
IDLE = 5  # seconds without a request; one has twice as long to say what it is for
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with "no-referrer" a form would come from the origin "null"
    "X-Content-Type-Options": "nosniff",
}
PORTS = {"http": 80, "https": 443}  # that a browser leaves out


def application(
    nlp: Language,
    names: Sequence[str] | None = None,
    *,
    max_length: int = 5000,
    max_words: int = 500,
    max_seconds: float = 10.0,
    hosts: Collection[str] = ("localhost",),
) -> Starlette:
    """RETURNS (Starlette): for any ASGI server.

    names: of components, None = all that can be explained. max_length: characters of the longest
    text. max_words: for how many words one request may have reasons. max_seconds: of work for a
    request, and in which its text has to arrive. hosts: names of this server beside its
    addresses."""
    # long: the answers share the pipeline, its queue and the limits
    known = explained(nlp, names)
    queue = Queue(max_seconds)

    def page(docs: Sequence[Doc], text: str = "", problem: str = "") -> str:
        form: Any = {"typed": text, "problem": problem, "most": max_length}
        return text_page(docs, nlp, template="typed.html.jinja", **form)

    def tagged(text: str) -> Iterator[str]:
        check_length(len(text), max_length)
        with nlp.memory_zone():
            yield page([nlp(text)], text)

    def reasons(asked: Asked) -> Iterator[Any]:
        check_length(len(asked.text), max_length)
        names = known if asked.component is None else [asked.component]
        if not set(names) <= set(known):
            raise ValueError(Errors.HS152.format(names=asked.component, known=", ".join(known)))
        with nlp.memory_zone():
            doc, seen = annotated(nlp, nlp.make_doc(asked.text), names)
            every = [token.i for token in doc if not token.is_space]
            words = list(dict.fromkeys(every if asked.tokens is None else asked.tokens))
            if len(words) * len(seen) > max_words:
                message = Errors.HS182.format(n=len(words) * len(seen), most=max_words)
                raise HTTPException(413, message)
            yield [shown(token.text) for token in doc]
            yield from reasons_of(nlp, doc, seen, words)

    async def body(request: Request) -> bytes:
        try:
            return await asyncio.wait_for(body_of(request, max_length), max_seconds)
        except asyncio.TimeoutError as error:
            raise HTTPException(408, Errors.HS181.format(seconds=max_seconds)) from error

    async def typed(request: Request) -> Response:
        if request.method != "POST":
            return HTMLResponse(page([]))
        form = parse_qs((await body(request)).decode("utf8", "replace"), max_num_fields=4)
        request.state.text = form.get("text", [""])[0].replace("\r\n", "\n")
        return HTMLResponse(*await queue.all_of(tagged(request.state.text), request))

    async def explain(request: Request) -> Response:
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            message = Errors.HS172.format(actual="another type", expected="application/json")
            raise HTTPException(415, message)
        asked = asked_in(await body(request))
        words, *found = await queue.all_of(reasons(asked), request)
        return JSONResponse({"words": words, "decisions": found})

    async def refused(request: Request, error: Exception) -> Response:
        message = f"{getattr(error, 'detail', error)}".encode("utf8", "replace").decode("utf8")
        status = getattr(error, "status_code", 400)
        if request.url.path == "/explain":
            return JSONResponse({"error": message}, status)
        return HTMLResponse(page([], getattr(request.state, "text", ""), message), status)

    routes = [
        Route("/", typed, methods=["GET", "POST"]),
        Route("/explain", explain, methods=["POST"]),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]
    handlers: Any = {ValueError: refused, HTTPException: refused}
    guard = [Middleware(Guard, hosts=hosts)]
    return Starlette(routes=routes, middleware=guard, exception_handlers=handlers)


class Queue:
    """Requests, first come, first served. Those whose clients are gone lose their place before any
    work begins. seconds (float): of work for one request."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._line: list[Iterator[Any]] = []

    async def all_of(self, pieces: Iterator[Any], request: Request) -> list[Any]:
        """What an iterator gives, when it is the request's turn. RAISES HTTPException [HS180]: the work
        takes too long; [HS184]: the queue does; with the status GONE: nobody waits for it; what the
        iterator raises."""
        too_many = HTTPException(503, Errors.HS184.format(n=len(self._line)))
        if len(self._line) >= PLACES:
            raise too_many
        self._line.append(pieces)
        items: list[Any] = []
        try:
            end = monotonic() + WAIT
            while self._line[0] is not pieces:
                await check_waits(request, end, too_many)
                await asyncio.sleep(LOOK)
            end = monotonic() + self._seconds
            too_long = HTTPException(503, Errors.HS180.format(seconds=self._seconds))
            while END not in items[-1:]:
                await check_waits(request, end, too_long)
                items.append(await run_in_threadpool(next, pieces, END))
            return items[:-1]
        finally:
            self._line.remove(pieces)
            pieces.close()  # type: ignore[attr-defined]  # its Docs belong to a memory zone


async def check_waits(request: Request, end: float, late: HTTPException) -> None:
    """RAISES HTTPException: it is too late, or nobody waits for the answer."""
    if monotonic() > end:
        raise late
    if await request.is_disconnected():
        raise HTTPException(GONE)


def check_length(n: int, most: int) -> None:
    """Check the length of a text. RAISES HTTPException [HS149]."""
    if n > most:
        raise HTTPException(413, Errors.HS149.format(n=n, most=most))


async def body_of(request: Request, max_length: int) -> bytes:
    """RAISES HTTPException [HS149]: more bytes than the longest text can be."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > BYTES * max_length + MORE:
            check_length(len(body), max_length)
    return body


class Asked(BaseModel, extra="forbid", strict=True):
    """A request for reasons. tokens: None = all words. component: None = all that are served."""

    text: str
    component: str | None = None
    tokens: list[int] | None = None


def asked_in(body: bytes) -> Asked:
    """What a request asks for. RAISES ValueError [HS172]: it is not what was expected."""
    try:
        return Asked.model_validate_json(body)
    except ValueError as error:
        raise ValueError(Errors.HS172.format(actual=f"{error}"[:200], expected=EXPECTED)) from error


class Guard:
    """ASGI middleware: refuses requests that do not mean this server, and adds headers to all
    answers.

    hosts: names of the server beside its addresses, as "name" (with the port it listens on) or
        "name:port".
    """

    def __init__(self, app: Any, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        stranger = self._stranger(scope)
        refusal = PlainTextResponse(Errors.HS148.format(host=stranger), 403)
        await (self._app if stranger is None else refusal)(scope, receive, send_with_headers)

    def _stranger(self, scope: Any) -> str | None:
        """Who the request is for or from, if it may not be answered."""
        headers = Headers(scope=scope)
        host, *more = headers.getlist("host") or [""]
        if more or not is_this_server(host, self._hosts, scope["server"], scope["scheme"]):
            return ", ".join([host, *more])
        own = f"{scope['scheme']}://{host.lower()}"
        return next((each for each in headers.getlist("origin") if each.lower() != own), None)


def is_this_server(
    host: str, names: Collection[str], server: tuple[str, int], scheme: str = "http"
) -> bool:
    """True if a `Host` header is exactly an address and port of this connection, or one of these
    names.

    server: address and port at which the connection has arrived."""
    address = ip_address(server[0])
    address = getattr(address, "ipv4_mapped", None) or address
    own = [*names, f"[{address}]" if address.version == 6 else f"{address}"]
    own = [*(f"{name}:{server[1]}" for name in own), *(name for name in names if ":" in name)]
    given = host.lower()
    return given in own or f"{given}:{PORTS[scheme]}" in own


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. port (int): 0 = any that is free. RAISES ValueError [HS157]: it cannot
    be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ValueError(Errors.HS157.format(host=host, port=port, problem=error)) from error


def names_of_server(host: str) -> tuple[str, ...]:
    """Names by which requests may name it, beside its addresses: `localhost` if it listens there,
    the name that it listens on, and, if it listens on all addresses, that of the machine."""
    try:
        address = ip_address(host)
    except ValueError:
        return (host,)
    if address.is_unspecified:
        return ("localhost", socket.gethostname())
    return ("localhost",) if address.is_loopback else ()


class Connection(H11Protocol):
    """Is closed if no whole head of a request arrives in time, however slowly its bytes go on."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._seen = self.scope
        self._timer = self.loop.call_later(IDLE, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state is h11.IDLE and self.scope is self._seen:
            self.transport.close()
        self._seen = self.scope
        self._timer = self.loop.call_later(IDLE, self._look)


def server_of(app: Starlette) -> uvicorn.Server:
    """A server that does not run yet."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http=Connection,
        timeout_keep_alive=IDLE,
    )
    return uvicorn.Server(config)
