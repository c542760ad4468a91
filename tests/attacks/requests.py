"""Hostile requests to `hoseq serve`: each gets an answer that is no error of the server, and the server goes on.

    python -m tests.attacks requests

A real server on a free port of this machine; requests go over sockets, byte by byte as they stand here. After each, an
ordinary request has to be answered as ever.
"""

import json
import random
import time
from collections import Counter

from tests.components import chunker_helpers
from tests.reporting.running import Running

MOST = 300  # characters of a text
TEXT = {"text": "the old cat runs"}


def post(server, path, body, kind="application/json", **headers):
    """The bytes of a request. headers: "Host" among them; None leaves one out."""
    every = {
        "Host": ":".join(map(str, server.address)),
        "Content-Type": kind,
        "Content-Length": len(body),
        **headers,
    }
    lines = [f"{name}: {value}" for name, value in every.items() if value is not None]
    head = "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""])
    return head.encode("latin1", "replace") + body


def bodies():
    """JSON, and what is none."""
    rng = random.Random(0)
    values = [
        None,
        True,
        -1,
        0,
        10**30,
        1e308,
        "",
        "x",
        "\ud800",
        "\x00",
        "a" * (MOST + 1),
        [],
        [[]],
        {},
        [None],
        [True],
    ]
    for key in ("text", "component", "tokens"):
        for value in values:
            yield json.dumps({**TEXT, key: value}).encode()
    for tokens in ([0] * 2000, [-1], [4], [10**20], list(range(900)), [1.0], ["0"], [0, 0, 3, 3]):
        yield json.dumps({**TEXT, "tokens": tokens}).encode()
    for text in (
        "\u202e" * 50,
        "\n" * MOST,
        " " * MOST,
        "e\u0301" * 100,
        "\U0001f469\u200d" * 60,
        "<script>" * 30,
        "a " * 149,
    ):
        yield json.dumps({"text": text}).encode()
    yield from (
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b"NaN",
        b'{"text": NaN}',
        b'"a"',
        b"0" * 4000,
        b"{}" * 100,
    )
    for depth in (500, 990, 1500, 4000):
        yield b"[" * depth
        yield b'{"text": ' * (depth // 10)
        yield b'{"text": "a", "tokens": ' + b"[" * depth
    yield b'{"text": "a", "text": "b"}'
    yield b'{"text": "a", "__class__": "os.system"}'
    yield "{'text': 'a'}".encode("utf-16")
    for _ in range(20):
        yield bytes(rng.randrange(256) for _ in range(rng.randrange(200)))


def requests(server):
    """Name of a request, its bytes, statuses that it may have (0: the connection is closed)."""
    client_errors = {200, 400, 404, 405, 408, 411, 413, 415, 431, 503}
    host = ":".join(map(str, server.address))
    for body in bodies():
        yield "body", post(server, "/explain", body), client_errors
        yield (
            "form",
            post(server, "/", b"text=" + body, "application/x-www-form-urlencoded"),
            client_errors,
        )
    for name in (
        "evil.example",
        "127.0.0.1",
        f"evil@{host}",
        f"{host}.evil",
        "",
        "[::1]",
        "localhost:1",
        f"{host} x",
        "\xe9",
    ):
        yield "host", post(server, "/explain", b"{}", Host=name), {400, 403}
    for origin in (
        "null",
        "http://evil.example",
        "http://127.0.0.1",
        f"https://{host}",
        f"http://{host}/",
        f"x{host}",
        "",
    ):
        yield "origin", post(server, "/explain", b"{}", Origin=origin), {403}
    two = post(server, "/explain", b"{}").replace(
        b"\r\n\r\n", f"\r\nOrigin: http://{host}\r\nOrigin: null\r\n\r\n".encode()
    )
    yield "two origins", two, {400, 403}
    yield "two hosts", post(server, "/", b"").replace(b"Host:", b"Host: a\r\nHost:"), {400, 403}
    yield "no host", post(server, "/", b"", Host=None), {400, 403}
    for method in ("GET", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "HEAD", "BREW", "get"):
        data = f"{method} /explain HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
        yield "method", data, {405, 501}
    for path in (
        "/../../etc/passwd",
        "/%2e%2e/x",
        "/explain/",
        "//explain",
        "/\x01",
        "/" + "a" * 5000,
        "http://evil/",
        "*",
    ):
        yield (
            "path",
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin1"),
            {200, 400, 404, 405},
        )
    for length in ("-1", "abc", "1e9", "99999999999999999999", "0x10"):
        yield (
            "length",
            post(server, "/explain", b"{}", **{"Content-Length": length}),
            {0, 400, 408, 413},
        )
    for raw in (
        b"\r\n" * 50,
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /",
        b"A" * 70000,
        b"\x00" * 100,
    ):
        yield "raw", raw, {0, 400, 403, 414, 431}
    chunked = post(
        server, "/explain", b"", **{"Content-Length": None, "Transfer-Encoding": "chunked"}
    )
    yield "chunks", chunked + b'5\r\n{"tex\r\n0\r\n\r\n', {400}
    yield "chunks", chunked + b"zz\r\n", {0, 400, 408}
    yield "chunks", chunked + b"fffff\r\n" + b"a" * 100_000, {0, 400, 413}
    many = "".join(f"X-{i}: a\r\n" for i in range(3000))
    yield "headers", f"GET / HTTP/1.1\r\nHost: {host}\r\n{many}\r\n".encode(), {0, 200, 400, 431}
    yield (
        "fields",
        post(server, "/", b"a=b&" * 900, "application/x-www-form-urlencoded"),
        client_errors,
    )


def attack():
    """RETURNS rows of a name, the status, and what is wrong, "" for nothing."""
    server = Running(chunker_helpers.trained("marginals", 8), max_length=MOST, max_seconds=2.0)
    rows = []
    expected = server.send(post(server, "/explain", json.dumps(TEXT).encode()))[1].partition(
        b"\r\n\r\n"
    )[2]
    for name, data, statuses in requests(server):
        status, answer = server.send(data, 8.0)
        problem = "" if status in statuses else f"status {status} for {data[:200]!r}"
        if status == 503 and b"[HS180]" not in answer:
            problem = f"no reason for {data[:200]!r}"
        if b"Traceback" in answer or b"Internal Server Error" in answer:
            problem = f"an error of the server for {data[:200]!r}"
        begin = time.monotonic()
        after = server.send(post(server, "/explain", json.dumps(TEXT).encode()))[1].partition(
            b"\r\n\r\n"
        )[2]
        if after != expected or time.monotonic() - begin > 8:
            problem = f"another answer to an ordinary request after {data[:200]!r}"
        rows.append((name, status, problem))
    server.stop()
    return rows


def main() -> None:
    rows = attack()
    print(f"{len(rows)} requests, {sum(bool(problem) for _, _, problem in rows)} problems")
    print(dict(Counter(status for _, status, _ in rows)))
    for name, _, problem in rows:
        if problem:
            print(f"  {name}: {problem}")
    raise SystemExit(any(problem for _, _, problem in rows))
