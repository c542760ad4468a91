"""The server of `python -m spacy hoseq serve`: a page for text that one types.

    GET /           the page
    POST /          the page of a text, sent by its form
    POST /explain   {"text", "component", "tokens"}: {"words", "decisions"}, as in `hoseq explain --json`

It is the server of the standard library: one thread and one request for each connection. The
pipeline works for one request at a time; the others wait. It is guarded in three ways.

Hosts: a page of another site can make its name mean this machine (DNS rebinding), and could then
read what is typed here. So a request is answered only if its `Host` is this server: an address that
it listens on, or a name that it was given, with the port. An `Origin`, which browsers add to what a
page sends, must be the same host with its scheme.
Sizes: of requests in bytes; `answers.py` limits texts.
Time: to arrive, to wait, to be answered, and to be read.
"""

import json
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from io import BufferedReader, RawIOBase
from ipaddress import ip_address
from socketserver import BaseServer, ThreadingTCPServer
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any
from urllib.parse import parse_qs

from ..errors import Errors
from .answers import Answers, Check, Question, Refusal

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with "no-referrer" a form would come from the origin "null"
    "X-Content-Type-Options": "nosniff",
}


class Server(ThreadingTCPServer):
    """Answers requests while `serve_forever` runs.

    listener: of `listening`. hosts: names of this server, as "name" (with the port it listens on)
    or "name:port"; its addresses need not be named. max_seconds: for a request to arrive, and again
    for its answer to be made. max_waiting: requests that wait or are answered."""

    daemon_threads = True  # they end with the process

    def __init__(
        self,
        listener: socket.socket,
        answers: Answers,
        *,
        hosts: Collection[str] = ("localhost",),
        max_seconds: float = 10.0,
        max_waiting: int = 32,
    ) -> None:
        BaseServer.__init__(self, listener.getsockname(), Handler)
        self.socket = listener
        self.answers = answers
        self.hosts = {host.lower() for host in hosts}
        self.max_seconds = max_seconds
        self.max_waiting = max_waiting
        self._places = BoundedSemaphore(max_waiting)
        self._pipeline = Lock()

    @contextmanager
    def turn(self, check_client: Check) -> Iterator[Callable[[], None]]:
        """Wait for the pipeline. YIELDS a function that ends the work when it takes too long or the
        client is gone. RAISES Refusal [HS184]: too many wait, or for too long."""
        too_many = Refusal(503, Errors.HS184.format(n=self.max_waiting))
        too_long = Refusal(503, Errors.HS180.format(seconds=self.max_seconds))

        def check(refusal: Refusal = too_long) -> None:
            check_client()
            if monotonic() > end:
                raise refusal

        if not self._places.acquire(blocking=False):
            raise too_many
        try:
            end = monotonic() + 60.0
            while not self._pipeline.acquire(timeout=0.1):
                check(too_many)  # a client that is gone gives up its place
            end = monotonic() + self.max_seconds
            try:
                yield check
            finally:
                self._pipeline.release()
        finally:
            self._places.release()


class Arriving(RawIOBase):
    """What arrives on a connection. RAISES TimeoutError after some seconds in all, however slowly
    bytes go on."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(0.001, self._end - monotonic()))
        return self._connection.recv_into(buffer)


class Handler(BaseHTTPRequestHandler):
    """One connection, with one request."""

    server: Server

    def handle(self) -> None:
        self.rfile = BufferedReader(Arriving(self.connection, self.server.max_seconds))
        with suppress(ConnectionError):  # nobody waits for the answer
            super().handle()

    def do_GET(self) -> None:
        """Answer a request. Programs get errors as JSON; readers get them on the page, which still
        has what was typed."""
        text = ""
        path = self.path.partition("?")[0]
        try:
            # A body is read before anything is refused: a connection that is closed with unread
            # bytes is reset, and its answer may be lost.
            body = self._body()
            stranger = self._stranger()
            if stranger is not None:
                return self._send(403, "text/plain", Errors.HS148.format(host=stranger))
            if path == "/explain":
                return self._send(200, "application/json", json.dumps(self._reasons(body)))
            if path == "/favicon.ico":  # browsers fetch it, and complain if there is none
                return self._send(200, "image/x-icon", "")
            if path != "/":
                raise Refusal(404, path)
            form = parse_qs(body.decode("utf8", "replace"), max_num_fields=4)
            text = form.get("text", [""])[0].replace("\r\n", "\n")
            page = self.server.answers.page()
            if self.command == "POST":
                with self.server.turn(self._check_client) as check:
                    page = self.server.answers.tagged(text, check)
            self._send(200, "text/html", page)
        except (Refusal, ValueError) as error:
            status, message = error.args if isinstance(error, Refusal) else (400, str(error))
            if path == "/explain":
                return self._send(status, "application/json", json.dumps({"error": message}))
            self._send(status, "text/html", self.server.answers.page(text=text, problem=message))

    do_POST = do_GET

    def _reasons(self, body: bytes) -> dict[str, Any]:
        """The answer to a program. RAISES Refusal, ValueError [HS172]."""
        if self.command != "POST":
            raise Refusal(405, self.command)
        kind = self.headers.get_content_type()
        if kind != "application/json":
            raise Refusal(415, Errors.HS172.format(actual=kind, expected="application/json"))
        try:
            question = Question.model_validate_json(body)
        except ValueError as error:
            expected = '{"text": "...", "component": a name or null, "tokens": numbers or null}'
            message = Errors.HS172.format(actual=f"{error}"[:200], expected=expected)
            raise ValueError(message) from error
        with self.server.turn(self._check_client) as check:
            return self.server.answers.reasons(question, check)

    def _body(self) -> bytes:
        """RAISES Refusal [HS149]: more bytes than the longest text can have; [HS181]: they do not
        arrive in time; ValueError: their number is none."""
        n = int(self.headers.get("Content-Length", 0))
        most = self.server.answers.max_length
        try:
            body = self.rfile.read(max(0, min(n, 2**24)))
        except TimeoutError as error:
            message = Errors.HS181.format(seconds=self.server.max_seconds)
            raise Refusal(408, message) from error
        # a character of a form can be %XX for each of four bytes
        if n > 12 * most + 4096:
            raise Refusal(413, Errors.HS149.format(what="text", n=n, most=most))
        return body

    def _stranger(self) -> str | None:
        """Who the request is for or from, if it may not be answered."""
        hosts = self.headers.get_all("Host", [""])
        scheme = self.headers.get("X-Forwarded-Proto", "http")  # of a proxy that encrypts
        address = self.connection.getsockname()
        if len(hosts) > 1 or not is_this_server(hosts[0], self.server.hosts, address, scheme):
            return ", ".join(hosts)
        for origin in self.headers.get_all("Origin", []):
            if origin.lower() != f"{scheme}://{hosts[0].lower()}":
                return origin
        return None

    def _check_client(self) -> None:
        """RAISES ConnectionError: the client is gone."""
        self.connection.setblocking(False)
        with suppress(BlockingIOError):
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionError

    def _send(self, status: int, kind: str, text: str) -> None:
        body = text.encode("utf8", "replace")
        self.connection.settimeout(self.server.max_seconds)  # for a client that does not read
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", f"{len(body)}")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nothing is logged: texts are nobody's business."""


def is_this_server(
    host: str, names: Collection[str], address: tuple[Any, ...], scheme: str = "http"
) -> bool:
    """True if a `Host` header is exactly an address and port of this connection, or one of these
    names. address: of this end of the connection."""
    ip = ip_address(address[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    allowed = {name for name in names if ":" in name}
    for name in (*names, f"[{ip}]" if ip.version == 6 else f"{ip}"):
        allowed.add(f"{name}:{address[1]}")
    # browsers leave out the port that belongs to the scheme
    port = 443 if scheme == "https" else 80
    return host.lower() in allowed or f"{host.lower()}:{port}" in allowed


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. port (int): 0 = any that is free. RAISES ValueError [HS157]: it cannot
    be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise ValueError(Errors.HS157.format(host=host, port=port, problem=error)) from error
