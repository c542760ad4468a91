"""What the server answers: the page of reasons with a field to type into, and the same as JSON.

    GET /           the page
    POST /          the page of a text, of a form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as `hoseq explain --json` has them

Who may ask stands in guard.py; how several are answered at once, and for how long, in turns.py.
"""

import asyncio
import json
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence
from urllib.parse import parse_qs

from spacy.language import Language
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from ...errors import Errors
from ...inspection.accounts import as_data, each_account, explained, words_among
from ..explanation import explanation_data
from ..pages import rendered, uncalibrated
from ..sentence import shown
from .guard import Guard
from .turns import Gone, Refused, Turns

LOCAL = ("localhost",)
BYTES = 12  # of a request: for each character, %XX for each of four bytes; and beside the text
MORE = 4096
GONE = 499  # nobody reads it


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
    answers = Answers(
        nlp, explained(nlp, names), Turns(nlp, max_seconds), max_length, max_words, max_seconds
    )
    routes = [
        Route("/", answers.empty_page, methods=["GET"]),
        Route("/", answers.page, methods=["POST"]),
        Route("/explain", answers.explain, methods=["POST"]),
        Route("/favicon.ico", lambda request: Response(status_code=204)),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, hosts=hosts)])


class Answers:
    """What is answered; all work on the pipeline is done in turns."""

    def __init__(
        self,
        nlp: Language,
        names: List[str],
        turns: Turns,
        max_length: int,
        max_words: int,
        seconds: float,
    ) -> None:
        self._nlp = nlp
        self._names = names
        self._turns = turns
        self._max_length = max_length
        self._max_words = max_words
        self._seconds = seconds
        self._notes = uncalibrated(nlp, names)
        self._title = f"{nlp.meta['lang']}_{nlp.meta['name']}"

    async def empty_page(self, request: Request) -> Response:
        return self._rendered("")

    async def page(self, request: Request) -> Response:
        try:
            body = (await self._body(request)).decode("utf8", "replace")
            text = parse_qs(body, max_num_fields=4).get("text", [""])[0].replace("\r\n", "\n")
            pieces = self._sentences(self._checked(text))
            sentences = await self._turns.all_of(pieces, request, len(text))
        except Gone:
            return Response(status_code=GONE)
        except ValueError as error:
            return self._rendered("", problem=message_of(error), status=status_of(error))
        return self._rendered(text, [sentence for piece in sentences for sentence in piece])

    async def explain(self, request: Request) -> Response:
        try:
            if (
                request.headers.get("content-type", "").partition(";")[0].strip()
                != "application/json"
            ):
                raise Refused(
                    Errors.HS172.format(actual="another type", expected="application/json"), 415
                )
            asked = read_json(await self._body(request))
            text = self._checked(asked["text"])
            words, *decisions = await self._turns.all_of(self._decisions(asked), request, len(text))
        except Gone:
            return Response(status_code=GONE)
        except ValueError as error:
            return JSONResponse({"error": message_of(error)}, status_of(error))
        return JSONResponse({"words": words, "decisions": decisions})

    async def _body(self, request: Request) -> bytes:
        """RAISES Refused [HS149]: more than the longest text can be; [HS181]: it does not
        arrive."""
        body = bytearray()

        async def read() -> None:
            async for part in request.stream():
                body.extend(part)
                if len(body) > BYTES * self._max_length + MORE:
                    raise Refused(
                        Errors.HS149.format(
                            n=f"more than {self._max_length}", most=self._max_length
                        ),
                        413,
                    )

        try:
            await asyncio.wait_for(read(), self._seconds)
        except asyncio.TimeoutError as error:
            raise Refused(Errors.HS181.format(seconds=self._seconds), 408) from error
        return bytes(body)

    def _checked(self, text: str) -> str:
        if len(text) > self._max_length:
            raise Refused(Errors.HS149.format(n=len(text), most=self._max_length), 413)
        return text

    def _rendered(
        self,
        text: str,
        sentences: Sequence[Dict[str, object]] = (),
        problem: str = "",
        status: int = 200,
    ) -> Response:
        values = {
            "title": self._title,
            "text": text,
            "sentences": sentences,
            "problem": problem,
            "notes": self._notes,
        }
        lang = self._nlp.meta["lang"]
        page = rendered(
            "serving/typed.html.jinja", most=self._max_length, reasons=[], of_lang=lang, **values
        )
        return HTMLResponse(page, status)

    def _sentences(self, text: str) -> Iterator[List[Dict[str, object]]]:
        doc = self._nlp(text)
        yield []
        yield explanation_data(self._nlp, [doc], self._names, reasons=False)["sentences"]

    def _decisions(self, asked: Dict[str, Any]) -> Iterator[object]:
        """The words, then decision by decision; a token that is named twice is explained once.
        RAISES ValueError [HS141, HS152]; Refused [HS182]: reasons for too many words."""
        name = asked["component"]
        if name is not None and name not in self._names:
            raise ValueError(Errors.HS152.format(names=name, known=", ".join(self._names)))
        names = self._names if name is None else [name]
        doc = self._nlp(asked["text"])
        tokens = None if asked["tokens"] is None else list(dict.fromkeys(asked["tokens"]))
        n_words = len(names) * len(words_among(doc) if tokens is None else tokens)
        if n_words > self._max_words:
            raise Refused(Errors.HS182.format(n=n_words, most=self._max_words), 413)
        yield [shown(token.text) for token in doc]
        for one in names:
            for account in each_account(self._nlp.get_pipe(one), doc, tokens):
                yield {"component": one, **as_data(account)}


def read_json(body: bytes) -> Dict[str, Any]:
    """RAISES ValueError [HS172]: it is not what was expected."""
    expected = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(Errors.HS172.format(actual=str(error), expected=expected)) from error
    asked = {"component": None, "tokens": None, **asked} if isinstance(asked, dict) else {}
    kinds: Dict[str, Any] = {
        "text": str,
        "component": (str, type(None)),
        "tokens": (list, type(None)),
    }
    same_keys = asked.keys() == kinds.keys()
    fits = same_keys and all(isinstance(asked[key], kind) for key, kind in kinds.items())
    if not fits or not all(type(token) is int for token in asked["tokens"] or ()):
        raise ValueError(Errors.HS172.format(actual=said_of(asked), expected=expected))
    if any("\ud800" <= character <= "\udfff" for character in f"{asked['text']}{asked['component']}"):
        raise ValueError(
            Errors.HS172.format(actual="text with half of a surrogate pair", expected=expected)
        )
    return asked


def said_of(value: object) -> str:
    """The beginning of what was sent."""
    try:
        return json.dumps(value)[:200]
    except (ValueError, RecursionError):
        return "what is nested too deeply"


def message_of(error: ValueError) -> str:
    """What can be sent of it."""
    return str(error).encode("utf8", "replace").decode("utf8")


def status_of(error: ValueError) -> int:
    return error.status if isinstance(error, Refused) else 400
