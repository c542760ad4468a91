"""What the server answers: the page of reasons with a field to type into, and the same as JSON.

    GET /           the page
    POST /          the page of a text, of a form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as `hoseq explain --json` has them

Who may ask: a page of another site can make its name mean this machine (DNS rebinding) and would then read what is
typed here. So a request has to name this server by an address, by `localhost` or by a name that it was given, and what
comes from a page has to come from one of its own.
"""

import json
from ipaddress import ip_address
from threading import Lock
from typing import Any, Collection, Dict, List, Optional, Sequence
from urllib.parse import parse_qs, urlsplit

from spacy.language import Language
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...errors import Errors
from ...inspection.accounts import accounts, as_data, explained
from ..explanation import explanation_data
from ..pages import rendered, uncalibrated
from ..sentence import shown

LOCAL = ("localhost",)
BYTES, MORE = 12, 4096  # of a request: for each character, %XX for each of four bytes; and beside the text
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with "no-referrer" a form would come from the origin "null"
    "X-Content-Type-Options": "nosniff",
}


def application(
    nlp: Language, names: Optional[Sequence[str]] = None, *, max_length: int = 5000, hosts: Collection[str] = LOCAL
) -> Starlette:
    """RETURNS (Starlette): for any ASGI server. names: of components, None = all that can be explained. max_length:
    characters of the longest text. hosts: names of this server beside its addresses."""
    answers = Answers(nlp, names, max_length)
    routes = [
        Route("/", answers.empty_page, methods=["GET"]),
        Route("/", answers.page, methods=["POST"]),
        Route("/explain", answers.explain, methods=["POST"]),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts)])


class Refused(ValueError):
    """status (int): of the answer."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Guard(BaseHTTPMiddleware):
    """Refuses requests that do not mean this server, and adds headers to all answers."""

    def __init__(self, app: Any, hosts: Collection[str]) -> None:
        super().__init__(app)
        self._hosts = {host.lower() for host in hosts}

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not is_this_server(host, self._hosts):
            response: Response = PlainTextResponse(Errors.HS148.format(host=host), 403)
        elif origin is not None and origin.partition("://")[2] != host:
            response = PlainTextResponse(Errors.HS148.format(host=origin), 403)
        else:
            response = await call_next(request)
        response.headers.update(HEADERS)
        return response


def is_this_server(host: str, names: Collection[str]) -> bool:
    """Whether a Host header is an address, which no name server gives away, or one of these names."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    try:
        return bool(ip_address(name))
    except ValueError:
        return name in names


class Answers:
    """One text at a time: what the pipeline keeps of it is given up after each (`nlp.memory_zone`)."""

    def __init__(self, nlp: Language, names: Optional[Sequence[str]], max_length: int) -> None:
        self._nlp, self._names, self._max_length = nlp, explained(nlp, names), max_length
        self._lock = Lock()
        self._notes = uncalibrated(nlp, self._names)
        self._title = f"{nlp.meta['lang']}_{nlp.meta['name']}"

    async def empty_page(self, request: Request) -> Response:
        return self._rendered("")

    async def page(self, request: Request) -> Response:
        try:
            body = (await self._body(request)).decode("utf8", "replace")
            text = parse_qs(body, max_num_fields=4).get("text", [""])[0].replace("\r\n", "\n")
            sentences = await run_in_threadpool(self._sentences, self._checked(text))
        except ValueError as error:
            return self._rendered("", problem=str(error), status=status_of(error))
        return self._rendered(text, sentences)

    async def explain(self, request: Request) -> Response:
        try:
            if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                raise Refused(Errors.HS172.format(actual="another type", expected="application/json"), 415)
            asked = read_json(await self._body(request))
            self._checked(asked["text"])
            return JSONResponse(await run_in_threadpool(self._decisions, asked))
        except ValueError as error:
            return JSONResponse({"error": str(error)}, status_of(error))

    async def _body(self, request: Request) -> bytes:
        """RAISES Refused [HS149]: more than the longest text can be."""
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > BYTES * self._max_length + MORE:
                raise Refused(Errors.HS149.format(n=f"more than {self._max_length}", most=self._max_length), 413)
        return bytes(body)

    def _checked(self, text: str) -> str:
        if len(text) > self._max_length:
            raise Refused(Errors.HS149.format(n=len(text), most=self._max_length), 413)
        return text

    def _rendered(
        self, text: str, sentences: Sequence[Dict[str, Any]] = (), problem: str = "", status: int = 200
    ) -> Response:
        values = {"title": self._title, "text": text, "sentences": sentences, "problem": problem, "notes": self._notes}
        lang = self._nlp.meta["lang"]
        page = rendered("serving/typed.html.jinja", most=self._max_length, reasons=[], of_lang=lang, **values)
        return HTMLResponse(page, status)

    def _sentences(self, text: str) -> List[Dict[str, Any]]:
        with self._lock, self._nlp.memory_zone():
            data = explanation_data(self._nlp, [self._nlp(text)], self._names, reasons=False)
        sentences: List[Dict[str, Any]] = data["sentences"]
        return sentences

    def _decisions(self, asked: Dict[str, Any]) -> Dict[str, Any]:
        """RAISES ValueError [HS141, HS152]."""
        name = asked["component"]
        if name is not None and name not in self._names:
            raise ValueError(Errors.HS152.format(names=name, known=", ".join(self._names)))
        with self._lock, self._nlp.memory_zone():
            doc = self._nlp(asked["text"])
            decisions = [
                {"component": one, **as_data(account)}
                for one in (self._names if name is None else [name])
                for account in accounts(self._nlp.get_pipe(one), doc, asked["tokens"])
            ]
            return {"words": [shown(token.text) for token in doc], "decisions": decisions}


def read_json(body: bytes) -> Dict[str, Any]:
    """RAISES ValueError [HS172]: it is not what was expected."""
    expected = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
    try:
        asked = json.loads(body)
    except ValueError as error:
        raise ValueError(Errors.HS172.format(actual=str(error), expected=expected)) from error
    asked = {"component": None, "tokens": None, **asked} if isinstance(asked, dict) else {}
    kinds = {"text": str, "component": (str, type(None)), "tokens": (list, type(None))}
    fits = asked.keys() == kinds.keys() and all(isinstance(asked[key], kind) for key, kind in kinds.items())  # type: ignore[arg-type]
    if not fits or not all(type(token) is int for token in asked["tokens"] or ()):
        raise ValueError(Errors.HS172.format(actual=json.dumps(asked)[:200], expected=expected))
    return asked


def status_of(error: ValueError) -> int:
    return error.status if isinstance(error, Refused) else 400
