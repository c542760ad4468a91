"""Hostile requests to `hoseq serve`: each gets an answer that is no error of the server, and the server goes on.

Requests go over sockets to a server on a free port of this machine, byte by byte as they stand here. After each, an
ordinary request is answered as ever.
"""

import json
import random

import pytest

from ..components import chunker_helpers
from ..reporting.running import Running

LONGEST = 300  # characters of a text
TEXT = {"text": "the old cat runs"}
FORM = "application/x-www-form-urlencoded"
REFUSED = {200, 400, 404, 405, 408, 411, 413, 415, 431, 503}
VALUES = [
    None, True, -1, 10**30, 1e308, "", "\ud800", "\x00", "a" * (LONGEST + 1), [], [[]], {}, [None],
]  # fmt: skip
TOKENS = [[0] * 2000, [-1], [4], [10**20], list(range(900)), [1.0], ["0"], [0, 0, 3, 3]]
TEXTS = ["\u202e" * 50, "\n" * LONGEST, "e\u0301" * 100, "\U0001f469\u200d" * 60, "a " * 149]
BODIES = [
    b"", b"{", b"null", b"[]", b"\xff\xfe", b"NaN", b'{"text": NaN}', b"0" * 4000, b"{}" * 100, b"[" * 4000,
    b'{"text": ' * 400, b'{"text": "a", "tokens": ' + b"[" * 990, b'{"text": "a", "text": "b"}',
    b'{"text": "a", "__class__": "os.system"}', "{'text': 'a'}".encode("utf-16"), random.Random(0).randbytes(200),
]  # fmt: skip


@pytest.fixture(scope="module")
def server():
    server = Running(chunker_helpers.trained("marginals", 8), max_length=LONGEST, max_seconds=2.0)
    yield server
    server.stop()


def host_of(server):
    return ":".join(map(str, server.address))


def post(server, path, body, kind="application/json", more="", **headers):
    """The bytes of a request. headers: "Host" among them; None leaves one out. more: others."""
    usual = {"Host": host_of(server), "Content-Type": kind, "Content-Length": len(body)}
    sent = {name: value for name, value in (usual | headers).items() if value is not None}
    lines = [f"{name}: {value}" for name, value in sent.items()]
    head = "\r\n".join([f"POST {path} HTTP/1.1", *lines]) + f"\r\n{more}\r\n"
    return head.encode("latin1", "replace") + body


def get(server, path, method="GET", more=""):
    head = f"{method} {path} HTTP/1.1\r\nHost: {host_of(server)}\r\nConnection: close\r\n{more}\r\n"
    return head.encode("latin1")


def bodies(server):
    jsons = [{**TEXT, key: value} for key in ("text", "component", "tokens") for value in VALUES]
    jsons += [{**TEXT, "tokens": tokens} for tokens in TOKENS] + [{"text": text} for text in TEXTS]
    for body in [*(json.dumps(each).encode() for each in jsons), *BODIES]:
        yield post(server, "/explain", body), REFUSED
        yield post(server, "/", b"text=" + body, FORM), REFUSED
    yield post(server, "/", b"a=b&" * 900, FORM), REFUSED


def origins(server):
    host = host_of(server)
    hosts = ["evil.example", f"evil@{host}", f"{host}.evil"]
    hosts += ["", "[::1]", "localhost:1", "\xe9", None]
    for name in hosts:
        yield post(server, "/explain", b"{}", Host=name), {400, 403}
    mine = f"https://{host}", f"http://{host}/", f"x{host}"
    for name in ("null", "http://evil.example", *mine, ""):
        yield post(server, "/explain", b"{}", Origin=name), {403}
    two = f"Origin: http://{host}\r\nOrigin: null\r\n"
    yield post(server, "/explain", b"{}", more=two), {400, 403}
    yield post(server, "/", b"", more="Host: a\r\n"), {400, 403}


def lines(server):
    for method in ("GET", "PUT", "OPTIONS", "TRACE", "CONNECT", "HEAD", "BREW", "get"):
        yield get(server, "/explain", method), {405, 501}
    for path in ("/../../etc/passwd", "/%2e%2e/x", "//explain", "/\x01", "/" + "a" * 5000, "*"):
        yield get(server, path), {200, 400, 404, 405}
    for length in ("-1", "abc", "1e9", "99999999999999999999", "0x10"):
        yield post(server, "/explain", b"{}", **{"Content-Length": length}), {0, 400, 408, 413}
    for raw in (b"\r\n" * 50, b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"A" * 70000):
        yield raw, {0, 400, 403, 414, 431}
    chunked = {"Content-Length": None, "Transfer-Encoding": "chunked"}
    for chunk in (b'5\r\n{"tex\r\n0\r\n\r\n', b"zz\r\n", b"fffff\r\n" + b"a" * 100_000):
        yield post(server, "/explain", b"", **chunked) + chunk, {0, 400, 408, 411, 413}
    yield get(server, "/", more="".join(f"X-{i}: a\r\n" for i in range(3000))), {0, 200, 400, 431}


@pytest.mark.long
@pytest.mark.parametrize("requests", [bodies, origins, lines])
def test_hostile_requests(server, requests):
    def ordinary():
        answer = server.send(post(server, "/explain", json.dumps(TEXT).encode()))[1]
        return answer.partition(b"\r\n\r\n")[2]

    expected = ordinary()
    for data, statuses in requests(server):
        status, answer = server.send(data, 8.0)
        assert status in statuses, data[:200]
        assert status != 503 or b"[HS180]" in answer
        assert b"Traceback" not in answer and b"Internal Server Error" not in answer, data[:200]
        assert ordinary() == expected, data[:200]
