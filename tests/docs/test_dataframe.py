"""docs/tasks/annotate.md: the code of each section runs on what the command has written."""

import re
import textwrap

import pytest
from spacy.cli._util import app
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)

from .pages import section

pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

PAGE = "docs/tasks/annotate.md"
TEXTS = "id,text\na,They tag it at once. Nothing is missing.\n"
TEXTS += "b,The old ferry still runs twice a day.\n"


@pytest.fixture
def words(tmp_path, monkeypatch):
    """The table of the page, in the working directory."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.csv").write_text(TEXTS)
    result = CliRunner().invoke(app, ["hoseq", "apply", "en", "texts.csv", "-o", "words", "--flat"])
    assert result.exit_code == 0, result.output
    return pandas.read_parquet("words/parts")


def test_columns(words):
    said = re.findall(r"^\| (`.*?) \|", section(PAGE, "A row for each word"), re.MULTILINE)
    assert [name for row in said for name in re.findall(r"`(\w+)`", row)] == [
        "id", "sentence", "token", "start", "end", "word", "lemma", "tag", "pos", "tag_prob",
        "chunk", "chunk_prob", "entity", "entity_prob",
    ]  # fmt: skip
    assert set(words.columns) == {name for row in said for name in re.findall(r"`(\w+)`", row)}
    assert list(words.word[:6]) == ["They", "tag", "it", "at", "once", "."]
    assert list(words.sentence[:8]) == [0] * 6 + [1] * 2 and set(words.id) == {"a", "b"}
    assert words.tag_prob.between(0, 1).all() and words.chunk_prob.notna().any()


def test_code_runs(words, capsys):
    code = "\n".join(re.findall(r"^(?: {4}.*|)$", section(PAGE, "pandas"), re.MULTILINE))
    exec(compile(textwrap.dedent(code), PAGE, "exec"), {})
    assert "The old ferry" in capsys.readouterr().out
