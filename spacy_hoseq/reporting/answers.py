"""What the server of `hoseq serve` answers: the page of a text, and the reasons of its labels, within
limits.

    GET /           the page
    POST /          the page of a text, sent by its form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as in `hoseq explain --json`
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from pydantic import BaseModel
from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc

from ..errors import Errors, unreadable
from ..inspection.explanation import annotated, explained
from .sentence import shown
from .text import reasons_of, text_page

Check = Callable[[], object]  # called between steps of the work; what it raises ends the work


class Refusal(Exception):
    """An answer that is an error: status of HTTP, and message."""


class Request(NamedTuple):
    """A request of HTTP. kind: content type of the body."""

    method: str
    path: str
    kind: str
    body: bytes = b""


class Answer(NamedTuple):
    """What is sent back. kind: content type. status: of HTTP."""

    kind: str
    text: str
    status: int = 200


class Question(BaseModel, extra="forbid", strict=True):
    """A request for reasons. tokens: None = all words. component: None = all that are served."""

    text: str
    component: str | None = None
    tokens: list[int] | None = None


class Answers:
    """Answers of a pipeline. names: of components, None = all that can be explained. max_length:
    characters of the longest text. max_words: for how many words one question may have reasons.
    RAISES ValueError [HS140, HS152]."""

    def __init__(
        self,
        nlp: Language,
        names: Sequence[str] | None = None,
        *,
        max_length: int = 5000,
        max_words: int = 500,
    ) -> None:
        self.nlp = nlp
        self.names = explained(nlp, names)
        self.max_length = max_length
        # a character of a form can be %XX for each of four bytes
        self.max_bytes = 12 * max_length + 4096
        self.max_words = max_words

    def answer(self, request: Request, work: Callable[[Callable[[Check], Any]], Any]) -> Answer:
        """The answer to a request. work: returns what a function returns that needs the pipeline.
        RAISES Refusal, ValueError."""
        path = request.path.partition("?")[0]
        if path == "/explain":
            data = work(partial(self.reasons, _question(request)))
            return Answer("application/json", json.dumps(data))
        if path == "/favicon.ico":  # browsers fetch it, and complain if there is none
            return Answer("image/x-icon", "")
        if path != "/":
            raise Refusal(404, path)
        if request.method == "POST":
            return Answer("text/html", work(partial(self.tagged, _typed(request))))
        return Answer("text/html", self.page())

    def refusal(self, request: Request, error: Exception) -> Answer:
        """What is wrong: as JSON for programs; for readers on the page, which still has what was
        typed. A page of another site gets the message alone."""
        status, message = error.args if isinstance(error, Refusal) else (400, str(error))
        if status == 403:
            return Answer("text/plain", message, status)
        if request.path.partition("?")[0] == "/explain":
            return Answer("application/json", json.dumps({"error": message}), status)
        return Answer("text/html", self.page(text=_typed(request), problem=message), status)

    def page(self, docs: Sequence[Doc] = (), text: str = "", problem: str = "") -> str:
        """The page, with an annotated text or with what is wrong."""
        form: Any = {"typed": text, "problem": problem, "most": self.max_length}
        return text_page(docs, self.nlp, template="typed.html.jinja", **form)

    def tagged(self, text: str, check: Check) -> str:
        """The page of a text. RAISES Refusal [HS149]: it is too long."""
        self._check_length(text)
        with self.nlp.memory_zone():
            doc, _ = annotated(self.nlp, self.nlp.make_doc(text), (), check)
            return self.page([doc], text)

    def reasons(self, question: Question, check: Check) -> dict[str, Any]:
        """The words of a text, and decisions about them. RAISES Refusal [HS149]; [HS182]: too many
        words; ValueError [HS152, HS141]."""
        self._check_length(question.text)
        names = self.names
        if question.component is not None:
            names = [question.component]
        if not set(names) <= set(self.names):
            known = ", ".join(self.names)
            raise ValueError(Errors.HS152.format(names=question.component, known=known))
        with self.nlp.memory_zone():
            doc, seen = annotated(self.nlp, self.nlp.make_doc(question.text), names, check)
            tokens = question.tokens
            if tokens is None:
                tokens = [token.i for token in doc if not token.is_space]
            tokens = list(dict.fromkeys(tokens))  # each once, in the order of the question
            n = len(tokens) * len(seen)
            if n > self.max_words:
                raise Refusal(413, Errors.HS182.format(n=n, most=self.max_words))
            decisions = []
            for decision in reasons_of(self.nlp, doc, seen, tokens):
                decisions.append(decision)
                check()
            return {"words": [shown(token.text) for token in doc], "decisions": decisions}

    def _check_length(self, text: str) -> None:
        """RAISES Refusal [HS149]: the text is too long, or a word of it."""
        lengths = {"text": (len(text), self.max_length)}
        if isinstance(self.nlp.tokenizer, Tokenizer):
            # It searches a word again for every suffix: 3,750 full stops take ten seconds.
            lengths["word"] = (max(map(len, text.split()), default=0), 1000)
        for what, (n, most) in lengths.items():
            if n > most:
                raise Refusal(413, Errors.HS149.format(what=what, n=n, most=most))


def _typed(request: Request) -> str:
    """The text in a form."""
    form = parse_qs(request.body.decode("utf8", "replace"))
    return form.get("text", [""])[0].replace("\r\n", "\n")


def _question(request: Request) -> Question:
    """What a program wants to know. RAISES Refusal: it is not sent as JSON; ValueError [HS172]."""
    if request.method != "POST":
        raise Refusal(405, request.method)
    if request.kind != "application/json":
        message = Errors.HS172.format(actual=request.kind, expected="application/json")
        raise Refusal(415, message)
    try:
        return Question.model_validate_json(request.body)
    except ValueError as error:
        expected = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
        raise unreadable(f"{error}"[:200], expected) from error
