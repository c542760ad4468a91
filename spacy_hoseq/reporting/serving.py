"""The server of `python -m spacy hoseq serve`. `answers.py` says what it answers.

It is the server of the standard library: one thread and one request for each connection. The
pipeline works in a thread of its own, for one request at a time; the others wait. It is guarded in
three ways.

Hosts: a page of another site can make its name mean this machine (DNS rebinding), and could then
read what is typed here. So a request is answered only if its `Host` is this server: an address that
it listens on, or a name that it was given, with the port. An `Origin`, which browsers add to what a
page sends, must be the same host with its scheme.
Sizes: of requests in bytes; `answers.py` limits texts.
Time: to arrive, to wait, to be answered, and to be read. A request that takes too long is refused
then; its work ends as soon as the component that is at it returns.
"""

import socket
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from threading import BoundedSemaphore, Event, Timer
from time import monotonic

from ..errors import Errors
from .answers import Answers, Check, Refusal, Request

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with "no-referrer" a form would come from the origin "null"
    "X-Content-Type-Options": "nosniff",
}


class Server(ThreadingHTTPServer):
    """Answers requests while `serve_forever` runs.

    listener: of `listening`. hosts: names of this server, as "name" (with the port it listens on)
    or "name:port"; its addresses need not be named. max_seconds: for a request to arrive, and again
    for its answer to be made. max_waiting: requests that wait or are answered."""

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
        self._too_many = Errors.HS184.format(n=max_waiting)
        self._places = BoundedSemaphore(max_waiting)
        self._pipeline = ThreadPoolExecutor(1)

    def work(self, make: Callable[[Check], object], check_client: Check) -> object:
        """What `make` returns, which is called when the pipeline is free. check_client: called
        while it waits and works; what it raises ends both. RAISES Refusal [HS184]: too many wait,
        or for too long; [HS180]: the work takes too long."""
        is_abandoned = Event()

        def check() -> None:
            if is_abandoned.is_set():
                raise TimeoutError

        if not self._places.acquire(blocking=False):
            raise Refusal(503, self._too_many)
        arrived = started = monotonic()
        job = self._pipeline.submit(make, check)
        try:
            while not wait([job], timeout=0.1).done:
                check_client()
                if not job.running():
                    started = monotonic()
                if started > arrived + 60.0:
                    raise Refusal(503, self._too_many)
                if monotonic() > started + self.max_seconds:
                    raise Refusal(503, Errors.HS180.format(seconds=self.max_seconds))
            return job.result()
        finally:
            # one that waits leaves the queue; one at work ends at its next check
            job.cancel()
            is_abandoned.set()
            self._places.release()

    def server_close(self) -> None:
        super().server_close()
        self._pipeline.shutdown(wait=False, cancel_futures=True)


class Handler(BaseHTTPRequestHandler):
    """One connection, with one request."""

    server: Server

    def handle(self) -> None:
        # reading ends after this time in all, however slowly bytes come
        self.late = Timer(self.server.max_seconds, self.connection.shutdown, [socket.SHUT_RD])
        self.late.start()
        with suppress(ConnectionError):  # nobody waits for the answer
            super().handle()
        self.late.cancel()

    def do_GET(self) -> None:
        """Answer a request, or say what is wrong with it."""
        request = Request(self.command, self.path, self.headers.get_content_type())
        try:
            # A body is read before anything is refused: a connection that is closed with unread
            # bytes is reset, and its answer may be lost.
            request = request._replace(body=self._body())
            self._check_host()
            answer = self.server.answers.answer(
                request, lambda make: self.server.work(make, self._check_client)
            )
        except (Refusal, ValueError) as error:
            answer = self.server.answers.refusal(request, error)
        body = answer.text.encode("utf8", "replace")
        self.connection.settimeout(self.server.max_seconds)  # for a client that does not read
        self.send_response(answer.status)
        for name, value in {
            **HEADERS,
            "Content-Type": f"{answer.kind}; charset=utf-8",
            "Content-Length": f"{len(body)}",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def _body(self) -> bytes:
        """RAISES Refusal [HS149]: more bytes than the longest text can have; [HS181]: they do not
        arrive in time; ValueError: their number is none."""
        n = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(max(0, min(n, 2**24)))
        self.late.cancel()
        if n > self.server.answers.max_bytes:
            raise Refusal(
                413, Errors.HS149.format(what="text", n=n, most=self.server.answers.max_length)
            )
        if len(body) < n:
            raise Refusal(408, Errors.HS181.format(seconds=self.server.max_seconds))
        return body

    def _check_host(self) -> None:
        """RAISES Refusal [HS148]: the request is for another host, or of another site's page."""
        host = ", ".join(self.headers.get_all("Host", []))
        scheme = self.headers.get("X-Forwarded-Proto", "http")  # of a proxy that encrypts
        site = f"{scheme}://{host}"
        origin = ", ".join(self.headers.get_all("Origin", [site]))
        if origin.lower() != site.lower() or not is_this_server(
            host, self.server.hosts, scheme, *self.connection.getsockname()[:2]
        ):
            raise Refusal(403, Errors.HS148.format(host=f"{host} (from {origin})"))

    def _check_client(self) -> None:
        """RAISES ConnectionError: the client is gone."""
        self.connection.setblocking(False)
        with suppress(BlockingIOError):
            if not self.connection.recv(1, socket.MSG_PEEK):
                raise ConnectionError

    def log_message(self, *args: object) -> None:
        """Nothing is logged: texts are nobody's business."""


def is_this_server(host: str, names: Collection[str], scheme: str, ip: str, port: int) -> bool:
    """True if a `Host` header is exactly an address and port of this connection, or one of these
    names. ip, port: of this end of the connection."""
    allowed = {name if ":" in name else f"{name}:{port}" for name in names}
    allowed.add(f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}")
    # browsers leave out the port that belongs to the scheme
    usual = 443 if scheme == "https" else 80
    return host.lower() in allowed or f"{host.lower()}:{usual}" in allowed


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. port (int): 0 = any that is free. RAISES ValueError [HS157]: it cannot
    be had."""
    try:
        return socket.create_server((host, port), family=socket.getaddrinfo(host, port)[0][0])
    except OSError as error:
        raise ValueError(Errors.HS157.format(host=host, port=port, problem=error)) from error
