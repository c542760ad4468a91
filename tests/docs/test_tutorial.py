"""The tutorials from beginning to end, as a reader types it: commands, and what the code prints."""

import ast
import contextlib
import io
import re
import shlex
import shutil

import pytest
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)

from .pages import PAGES, ROOT, TUTORIALS, blocks

NUMBER = r"\b[01]\.\d\d\b"


def steps(page):
    """(language, code) of its blocks, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGES[page], flags=re.DOTALL | re.MULTILINE)


def printed(page, code, namespace):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(ast.parse(code), page, "exec"), namespace)
    return output.getvalue().splitlines()


def test_tutorials_have_code():
    assert all(blocks(page, "python") and blocks(page, "bash") for page in TUTORIALS)


def run(command):
    """`python -m spacy ...`, without the costs of another process. tests/project/test_demo.py has them."""
    python, option, name, *arguments = shlex.split(command)
    assert (python, option, name) == ("python", "-m", "spacy")
    result = CliRunner().invoke(app, arguments, prog_name="spacy")
    assert result.exit_code == 0, result.output


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", TUTORIALS)
def test_tutorial(page, tmp_path, monkeypatch):
    """Numbers may differ a little from machine to machine."""
    shutil.copytree(ROOT / "assets", tmp_path / "assets")
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for language, code in steps(page):
        if language == "bash":
            for line in code.splitlines():
                run(line)
            continue
        if language != "python":
            continue
        shown = printed(page, code, namespace)
        said = re.findall(r"^# (.*)$", code, flags=re.MULTILINE)
        found = [re.sub(NUMBER, "", line) for line in shown]
        assert found == [re.sub(NUMBER, "", line) for line in said]
        ours, theirs = (map(float, re.findall(NUMBER, "\n".join(x))) for x in (shown, said))
        assert list(ours) == pytest.approx(list(theirs), abs=0.03)
