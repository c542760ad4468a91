"""Who may ask: requests that name this server, from no page but its own.

A page of another site can make its name mean this machine (DNS rebinding) and would then read what
is typed here. So `Host` has to be an address that the server listens on, `localhost` if that is
this machine, or a name that it was given, with the port; and `Origin`, which browsers send with
what comes from a page, the same with the scheme.
"""

import re
from ipaddress import IPv6Address, ip_address
from typing import Any, Collection, Optional, Tuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse

from ...errors import Errors

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with "no-referrer" a form would come from the origin "null"
    "X-Content-Type-Options": "nosniff",
}
PORTS = {"http": 80, "https": 443}  # that a browser leaves out
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::([0-9]{1,5}))?")


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

    def _stranger(self, scope: Any) -> Optional[str]:
        """Who the request is for or from, if it may not be answered."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        origins = headers.getlist("origin")
        scheme = scope["scheme"]
        if len(hosts) != 1 or not is_this_server(hosts[0], self._hosts, scope["server"], scheme):
            return ", ".join(hosts)
        return next(
            (origin for origin in origins if origin.lower() != f"{scheme}://{hosts[0].lower()}"),
            None,
        )


def is_this_server(
    host: str, names: Collection[str], server: Tuple[str, int], scheme: str = "http"
) -> bool:
    """Whether a `Host` header is exactly an address and port of this connection, or one of these
    names.

    server: address and port at which the connection has arrived."""
    parts = _HOST.fullmatch(host)
    if parts is None:
        return False
    name = parts[1].lower()
    port = int(parts[2] or PORTS[scheme])
    if f"{name}:{port}" in names:
        return True
    return port == server[1] and (
        name in names or _address(name.strip("[]")) == _address(server[0])
    )


def _address(name: str) -> object:
    """None: it is a name."""
    try:
        address = ip_address(name)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if mapped is None else mapped
