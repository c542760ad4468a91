"""docs/tasks/annotate.md: the service answers as the page says."""

import json
import re
import textwrap

import pytest

from .pages import section

PAGE = "docs/tasks/annotate.md"


def test_the_docker_file():
    """What a linter asks for: a base of one version, dependencies in a layer of their own before they change, no cache
    of pip, no root, a command without a shell; and what is copied is on the page."""
    container = section(PAGE, "In a container")
    (text,) = re.findall(r"^```docker\n(.*?)^```$", container, re.M | re.S)
    steps = [line.split(" ", 1) for line in text.splitlines()]
    assert [name for name, _ in steps] == ["FROM", "WORKDIR", "COPY", "RUN", "USER", "CMD"]
    said = dict(steps)
    assert re.fullmatch(r"python:3\.\d+-slim", said["FROM"]) and said["WORKDIR"].startswith("/")
    *copied, to = said["COPY"].split()
    there = section(PAGE, "For programs") + container
    assert to == "./" and all(f"`{name}`" in there for name in copied)
    assert said["RUN"] == "pip install --no-cache-dir -r requirements.txt"
    assert said["USER"] not in ("root", "0")
    assert all(f"`{name}`" in container for name in ("spacy-hoseq", "fastapi", "uvicorn"))
    command = json.loads(said["CMD"])
    assert command[:2] == ["uvicorn", "service:app"] and command[-4:-2] == ["--host", "0.0.0.0"]
    assert f"-p {command[-1]}:{command[-1]}" in container, "the port that is published"


def test_service():
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    testclient = pytest.importorskip("fastapi.testclient", reason="httpx is not installed")
    code = "\n".join(
        re.findall(r"^(?: {4}(?!uvicorn|curl).*|)$", section(PAGE, "For programs"), re.M)
    )
    namespace = {"__name__": "service"}
    exec(compile(textwrap.dedent(code), "service.py", "exec"), namespace)
    answer = testclient.TestClient(namespace["app"]).post("/tags", json=["It just works.", ""])
    assert answer.json() == [[["It", "PRP"], ["just", "RB"], ["works", "VBZ"], [".", "."]], []]
