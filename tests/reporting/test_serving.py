"""The server of `hoseq serve`: a real one, on a free port, asked over HTTP."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from spacy_hoseq.inspection import explain
from spacy_hoseq.inspection.explanation import as_data
from spacy_hoseq.reporting import answers
from spacy_hoseq.reporting.serving import is_this_server

from ..components import chunker_helpers
from ..repository import hoseq
from .running import Running

MOST = 60
TEXT = "the old <script>alert(1)</script> cat"


@pytest.fixture(scope="module")
def nlp():
    return chunker_helpers.trained("marginals", 8)


@pytest.fixture(scope="module")
def server(nlp):
    running = Running(nlp, max_length=MOST)
    yield running
    running.stop()


def test_a_text_that_is_typed(server):
    status, empty, headers = server.ask()
    assert status == 200 and "<textarea" in empty and 'class="word' not in empty
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    status, page, _ = server.ask("/", urlencode({"text": TEXT}).encode())
    assert status == 200 and page.count('class="word') >= 4
    assert "<script>alert" not in page and "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_decisions_are_those_of_the_command(server, nlp):
    """The objects of `hoseq explain --json`."""
    status, answer = server.explain(text="the old cat runs", component="hoseq_tagger", tokens=[1])
    assert status == 200 and answer["words"] == ["the", "old", "cat", "runs"]
    doc = nlp("the old cat runs")
    expected = json.loads(json.dumps(as_data(explain(nlp.get_pipe("hoseq_tagger"), doc, 1), doc)))
    (decision,) = answer["decisions"]
    assert decision.items() >= expected.items() and decision["terms"]
    status, answer = server.explain(text="the old cat runs")
    assert {one["component"] for one in answer["decisions"]} == {"hoseq_tagger", "hoseq_chunker"}


def test_a_text_of_characters_that_take_twelve_bytes_each(nlp):
    running = Running(nlp, max_length=1000)
    status, page, _ = running.ask("/", urlencode({"text": "\U0001f600" * 1000}).encode())
    running.stop()
    assert status == 200 and "\U0001f600" * 1000 in page


def test_what_is_refused(server):
    status, answer = server.explain(text="a" * (MOST + 1))
    assert status == 413 and "[HS149]" in answer["error"]
    status, page, _ = server.ask("/", urlencode({"text": "<b>" * MOST}).encode())
    assert status == 413 and "[HS149] This text has 180 characters; at most 60" in page
    assert f">\n{'&lt;b&gt;' * MOST}</textarea>" in page, "what was typed is still there"
    status, page, _ = server.ask("/", b"text=" + b"a" * 1_000_000)
    assert status == 413 and "[HS149]" in page
    wrong = [{"text": 1}, {"other": 1}, {"component": 1}]
    wrong += [{"tokens": each} for each in (["b"], [True], 1)]
    for more in wrong:
        status, answer = server.explain(**{"text": "a", **more})
        assert status == 400 and "[HS172]" in answer["error"], more
    for body in (b"{}", b"[]", b"{", b"\xff", b"null"):
        status, text, _ = server.ask("/explain", body, Content_Type="application/json")
        assert status == 400 and "[HS172]" in text, body
    for settings, code in (({"component": "nothing"}, "HS152"), ({"tokens": [7]}, "HS141")):
        status, answer = server.explain(text="a", **{"component": "hoseq_tagger", **settings})
        assert answer["error"].startswith(f"[{code}]")
    assert server.ask("/explain", b"{}", Content_Type="text/plain")[0] == 415
    assert server.ask("/explain")[0] == 405 and server.ask("/nothing")[0] == 404
    assert server.ask("/favicon.ico")[0] == 200


def test_pages_of_other_sites_learn_nothing(server):
    port = server.address[1]
    for path, body in (("/", None), ("/", b"text=a"), ("/explain", b"{}")):
        status, text, _ = server.ask(path, body, Host=f"elsewhere.example:{port}")
        assert status == 403 and "[HS148]" in text
        status, text, _ = server.ask(path, body, Origin="http://elsewhere.example")
        assert status == 403 and "[HS148]" in text
    assert server.ask("/", b"text=a", Origin="null")[0] == 403
    assert server.ask("/", b"text=a", Origin=server.url)[0] == 200
    assert server.ask("/", Host=f"localhost:{port}")[0] == 200


@pytest.mark.parametrize(
    "host, is_ours",
    [
        ("127.0.0.1:8000", True), ("localhost:8000", True), ("here:8000", True), ("HERE:8000", True),
        ("tags.example:443", True), ("127.0.0.1", False), ("localhost", False), ("127.0.0.1:8001", False),
        ("[::1]:8000", False), ("192.168.0.7:8000", False), ("here:443", False), ("tags.example:8000", False),
        ("", False), ("evil.example:8000", False), ("127.0.0.1.evil.example:8000", False), ("[::1", False),
        ("localhost.evil.example:8000", False), ("evil.example@127.0.0.1:8000", False), ("127.1:8000", False),
        ("localhost.:8000", False), ("127.0.0.1:08000", False), ("127.0.0.1:8000 ", False), ("127.0.0.1:", False),
        ("localhost,evil:8000", False), ("[127.0.0.1]:8000", False), ("\u0661\u0662\u0667.0.0.1:8000", False),
    ],
)  # fmt: skip
def test_names_of_this_server(host, is_ours):
    names = {"localhost", "here", "tags.example:443"}
    assert is_this_server(host, names, "http", "127.0.0.1", 8000) == is_ours


def test_origin_is_compared_whole(server):
    port = server.address[1]
    for origin in (
        "http://127.0.0.1", f"http://127.0.0.1:{port + 1}", f"https://127.0.0.1:{port}", f"http://localhost:{port}",
        f"http://127.0.0.1:{port}/", f"ftp://127.0.0.1:{port}", f"x://http://127.0.0.1:{port}", "",
    ):  # fmt: skip
        assert server.ask("/", b"text=a", Origin=origin)[0] == 403, origin
    assert server.ask("/", b"text=a", Origin=f"HTTP://127.0.0.1:{port}")[0] == 200


def test_json_that_is_nested_deeply(server):
    tokens = b"[" * 900 + b"]" * 900
    for body in (b"[" * 4000, b'{"text":' * 500, b'{"text": "a", "tokens": ' + tokens + b"}"):
        status, text, _ = server.ask("/explain", body, Content_Type="application/json")
        assert status == 400 and "[HS172]" in text
    for half in ({"text": "\ud800"}, {"text": "a", "component": "\udc00"}):
        status, answer = server.explain(**half)
        assert status == 400 and "[HS172]" in answer["error"]


def test_tokens_that_are_named_again(server):
    asked = {"component": "hoseq_tagger", "tokens": [1, 1, 0, 1]}
    status, answer = server.explain(text="the old cat", **asked)
    assert status == 200 and [one["first"] for one in answer["decisions"]] == [1, 0]


class Slow:
    """Decisions that take their time."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.n = 0

    def __call__(self, nlp, doc, seen, tokens):
        for _ in range(1000):
            time.sleep(self.seconds)
            self.n += 1
            yield {}


@pytest.fixture
def slow(monkeypatch):
    slow = Slow(0.02)
    monkeypatch.setattr(answers, "reasons_of", slow)
    return slow


def test_time_of_a_request_is_limited(nlp, slow):
    running = Running(nlp, max_seconds=0.2)
    begin = time.monotonic()
    status, answer = running.explain(text="the old cat")
    assert status == 503 and "[HS180]" in answer["error"] and time.monotonic() - begin < 10
    status, _, _ = running.ask()
    running.stop()
    assert status == 200 and slow.n < 100


def test_time_is_looked_at_before_each_component(nlp):
    checks = []
    answers.Answers(nlp).tagged("the cat", lambda: checks.append(True))
    assert len(checks) == len(nlp.pipeline) + 1


def test_a_word_for_which_the_tokenizer_would_take_long(server, nlp):
    running = Running(nlp)
    for text, status in (("." * 1000, 200), (f"a {'.' * 1001}", 413)):
        got, page, _ = running.ask("/", urlencode({"text": text}).encode())
        assert got == status
    running.stop()
    assert "[HS149] This word has 1,001 characters; at most 1,000" in page


def test_clients_that_are_slow_keep_nobody_waiting(nlp):
    """They send half a request, or read no answer."""
    running = Running(nlp, max_seconds=60)
    body = urlencode({"text": "the cat " * 600}).encode()
    begin = time.monotonic()
    with ExitStack() as stack:
        for data in [b"POST / HTTP/1.1\r\n"] * 20 + [posted_form(running, body)] * 3:
            stack.enter_context(socket.create_connection(running.address)).sendall(data)
        assert running.explain(text="the old cat")[0] == 200
    running.stop()
    assert time.monotonic() - begin < 30


def posted_form(running, body):
    host, port = running.address
    head = f"POST / HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_words_of_a_request_are_limited(nlp):
    running = Running(nlp, max_words=2)
    status, answer = running.explain(text="the old cat", component="hoseq_tagger")
    assert status == 413 and "[HS182]" in answer["error"]
    assert running.explain(text="the old cat", component="hoseq_tagger", tokens=[0, 1, 0])[0] == 200
    assert running.explain(text="the old cat", tokens=[0, 1])[0] == 413, "of two components"
    running.stop()


def posted(running, text="the old cat"):
    """A connection that has asked for reasons, and does not read."""
    host, port = running.address
    body = json.dumps({"text": text}).encode()
    head = f"POST /explain HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\n"
    client = socket.create_connection((host, port), timeout=20)
    client.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


def until(found, seconds=10):
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.01)
    return found()


def test_work_stops_when_the_client_is_gone(nlp, slow):
    running = Running(nlp, max_seconds=60)
    with posted(running):
        assert until(lambda: slow.n)
    n = -1
    while n < slow.n:  # until nothing is done for half a second
        n = slow.n
        time.sleep(0.5)
    running.stop()
    assert n < 500


def test_clients_that_are_gone_have_no_place_in_the_queue(nlp, slow):
    """They are dropped before work begins for them; whoever is there is answered, or told that the queue is full."""
    running = Running(nlp, max_seconds=60, max_waiting=4)
    idle = [socket.create_connection(running.address) for _ in range(50)]
    first = posted(running)
    assert until(lambda: slow.n)
    gone = [posted(running) for _ in range(3)]
    time.sleep(0.3)
    assert running.ask()[0] == 200, "an empty page needs no turn"
    status, answer = running.explain(text="the old cat")
    assert status == 503 and "[HS184] 4 requests are waiting" in answer["error"]
    for client in gone:
        client.close()
    time.sleep(0.3)
    answers = []
    body = urlencode({"text": "the cat"}).encode()
    waiting = threading.Thread(target=lambda: answers.append(running.ask("/", body)))
    waiting.start()
    time.sleep(0.3)
    assert not answers
    first.close()
    waiting.join(20)
    assert answers[0][0] == 200 and slow.n < 500, "nothing was begun for those that were gone"
    for client in idle:
        client.close()
    running.stop()


def test_body_that_does_not_arrive(nlp):
    running = Running(nlp, max_seconds=0.3)
    host, port = running.address
    with socket.create_connection((host, port), timeout=20) as client:
        head = f"POST / HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 10\r\n\r\n"
        client.sendall(head.encode() + b"text")
        answer = client.recv(100_000)
        while b"</html>" not in answer:
            answer += client.recv(100_000)
    running.stop()
    assert b" 408 " in answer.splitlines()[0] and b"[HS181]" in answer


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\n"])
def test_head_that_does_not_arrive(nlp, begin):
    """One line more every moment: the connection is closed, and no thread is taken for good."""
    running = Running(nlp, max_seconds=0.3)
    with socket.create_connection(running.address, timeout=10) as client:
        client.sendall(begin)
        start = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() < start + 10:
                client.sendall(b"X-a: b\r\n" if begin else b"")
                client.setblocking(False)
                with suppress(BlockingIOError):
                    if not client.recv(4096):
                        raise ConnectionResetError
                client.settimeout(10)
                time.sleep(0.02)
    running.stop()


def test_threads_get_their_own_answers(server, nlp):
    texts = [" ".join(["the", "old", "cat", "runs"][: i % 4 + 1]) for i in range(12)]
    answers = [None] * len(texts)

    def ask(i):
        answers[i] = server.explain(text=texts[i], component="hoseq_tagger")[1]["words"]

    threads = [threading.Thread(target=ask, args=[i]) for i in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [text.split() for text in texts]


def test_a_port_that_is_in_use(tmp_path, nlp):
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, output = hoseq("serve", tmp_path, "--port", other.getsockname()[1])
    assert code == 1 and "[HS157]" in output
    code, output = hoseq("serve", tmp_path, "--host", "no.such.host.invalid")
    assert code == 1 and "[HS157]" in output


@pytest.mark.long
def test_the_command(tmp_path, nlp):
    nlp.to_disk(tmp_path)
    command = [sys.executable, "-m", "spacy", "hoseq", "serve", str(tmp_path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = re.findall(r"http://[\d.:]+", process.stdout.readline())[0]
        for _ in range(100):
            try:
                with urlopen(address, timeout=10) as answer:
                    assert "<textarea" in answer.read().decode("utf8")
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError(address)
        process.send_signal(2)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.stdout.close()


@pytest.mark.parametrize("n_hosts, status", [(0, 403), (1, 200), (2, 403)])
def test_a_request_is_for_one_host(server, n_hosts, status):
    host = "Host: {}:{}\r\n".format(*server.address)
    assert server.send(f"GET / HTTP/1.1\r\n{host * n_hosts}\r\n".encode())[0] == status


def test_a_proxy_that_encrypts(nlp):
    """Its browsers name no port, and their pages come from https."""
    running = Running(nlp, hosts=["tags.example"])
    for host in ("tags.example:443", "tags.example"):
        headers = {"Host": host, "Origin": f"https://{host}", "X_Forwarded_Proto": "https"}
        status, *_ = running.ask("/", b"", **headers)
        assert status == 403, "the name is for the port that it listens on"
    running.stop()
    running = Running(nlp, hosts=["tags.example:443"])
    for scheme, status in (("https", 200), ("http", 403)):
        headers["X_Forwarded_Proto"] = scheme
        assert running.ask("/", b"", **headers)[0] == status
    running.stop()


def test_a_component_that_takes_long_is_not_waited_for(nlp, monkeypatch):
    """Its client is told so in time, though the work cannot be stopped within a component."""
    release = threading.Event()
    monkeypatch.setattr(answers, "annotated", lambda *_: release.wait(30))
    running = Running(nlp, max_seconds=0.2)
    begin = time.monotonic()
    status, answer = running.explain(text="the old cat")
    assert status == 503 and "[HS180]" in answer["error"] and time.monotonic() - begin < 10
    release.set()
    running.stop()
