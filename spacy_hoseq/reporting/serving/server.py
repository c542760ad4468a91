"""The server itself: where it listens, and how long."""

import socket
from ipaddress import ip_address
from typing import Any, Optional, Tuple

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from ...errors import Errors

IDLE = 5  # seconds without a request; one has twice as long to say what it is for


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens. port (int): 0 = any that is free. RAISES ValueError [HS157]: it cannot
    be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ValueError(Errors.HS157.format(host=host, port=port, problem=error)) from error


def names_of_server(host: str) -> Tuple[str, ...]:
    """By which requests may name it, beside its addresses: `localhost` if it listens there, the
    name that it listens on, and, if it listens on all addresses, that of the machine."""
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

    def connection_lost(self, exc: Optional[Exception]) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        if self.conn.their_state is h11.IDLE and self.scope is self._seen:
            self.transport.close()
        self._seen = self.scope
        self._timer = self.loop.call_later(IDLE, self._look)


def server_of(app: Starlette) -> uvicorn.Server:
    """Not running yet."""
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


def serve(app: Starlette, listener: socket.socket) -> None:
    """Answer until interrupted."""
    server_of(app).run(sockets=[listener])
