"""docs/tasks/annotate.md: the service answers as the page says."""

import re
import textwrap

import pytest

from .pages import section

PAGE = "docs/tasks/annotate.md"


def test_service():
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    testclient = pytest.importorskip("fastapi.testclient", reason="httpx is not installed")
    lines = re.findall(r"^(?: {4}(?!uvicorn|curl).*|)$", section(PAGE, "For programs"), re.M)
    code = "\n".join(lines)
    namespace = {"__name__": "service"}
    exec(compile(textwrap.dedent(code), "service.py", "exec"), namespace)
    answer = testclient.TestClient(namespace["app"]).post("/tags", json=["It just works.", ""])
    assert answer.json() == [[["It", "PRP"], ["just", "RB"], ["works", "VBZ"], [".", "."]], []]
