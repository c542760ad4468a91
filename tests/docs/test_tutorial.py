"""docs/tutorial.md from beginning to end, as a reader types it: commands, and what the code prints."""

import ast
import contextlib
import io
import re
import shlex
import shutil

import pytest

from ..repository import run
from .pages import PAGES, ROOT, blocks

TUTORIAL = "docs/tutorial.md"
NUMBER = r"\b[01]\.\d\d\b"


def steps():
    """(language, code) of its blocks, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGES[TUTORIAL], flags=re.DOTALL | re.MULTILINE)


def printed(code, namespace):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(ast.parse(code), TUTORIAL, "exec"), namespace)
    return output.getvalue().splitlines()


def test_code_of_the_tutorial_is_run_here_only():
    assert blocks(TUTORIAL, "python") and all("trained above" in block for block in blocks(TUTORIAL, "python"))


@pytest.mark.long
def test_tutorial(tmp_path, monkeypatch):
    """Numbers may differ a little from machine to machine."""
    shutil.copytree(ROOT / "assets", tmp_path / "assets")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for language, code in steps():
        if language == "bash":
            for line in code.splitlines():
                process = run(*shlex.split(line)[1:], folder=tmp_path)
                assert process.returncode == 0, process.stdout
            continue
        shown, said = printed(code, namespace), re.findall(r"^# (.*)$", code, flags=re.MULTILINE)
        assert [re.sub(NUMBER, "", line) for line in shown] == [re.sub(NUMBER, "", line) for line in said]
        numbers = [[float(n) for line in lines for n in re.findall(NUMBER, line)] for lines in (shown, said)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.03)
