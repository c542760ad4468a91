"""The server itself: where it listens, and how long."""

import socket
from ipaddress import ip_address
from typing import Tuple

import uvicorn
from starlette.applications import Starlette

from ...errors import Errors

MOST = 32  # connections and requests at a time; more are told to come again
IDLE = 5  # seconds


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


def serve(app: Starlette, listener: socket.socket) -> None:
    """Answer until interrupted."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        http="h11",
        limit_concurrency=MOST,
        timeout_keep_alive=IDLE,
    )
    uvicorn.Server(config).run(sockets=[listener])
