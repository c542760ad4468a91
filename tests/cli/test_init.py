"""`python -m spacy hoseq init`: what is written where, and what is refused."""

import subprocess
import sys

import pytest
from thinc.api import Config
from typer.testing import CliRunner

from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.pipelines.recipes import RECIPES, recipe

from ..repository import hoseq


def run(*arguments):
    return hoseq("init", *arguments)


@pytest.mark.parametrize("where", [[], ["-o", "-"]])
def test_standard_output_has_the_config_and_nothing_else(where):
    result = CliRunner().invoke(hoseq_cli, ["init", "crf", *where])
    assert (result.exit_code, result.output) == (0, recipe("crf"))


def test_file(tmp_path):
    path = tmp_path / "config.cfg"
    code, output = run("tagger", "--lang", "de", "-o", path)
    assert code == 0 and path.read_text("utf8") == recipe("tagger", "de")
    assert f"python -m spacy train {path} --paths.train TRAIN.spacy --paths.dev DEV.spacy" in output


def test_ner_is_another_name_of_entities():
    assert run("ner") == run("entities")
    assert "entities (or ner): entities from words" in run("--help")[1]


@pytest.mark.parametrize(
    "arguments, code", [(["nope"], "HS161"), (["tagger", "-l", "qq"], "HS027")]
)
def test_refused(arguments, code, tmp_path):
    status, output = run(*arguments, "-o", tmp_path / "config.cfg")
    assert status == 1 and code in output and not (tmp_path / "config.cfg").exists()
    assert code != "HS161" or all(name in output for name in RECIPES), "the known ones are listed"


def test_a_folder_that_is_not_there(tmp_path):
    assert run("tagger", "-o", tmp_path / "new" / "config.cfg")[0] == 0
    assert (tmp_path / "new" / "config.cfg").exists()


@pytest.mark.long
def test_without_the_repository(tmp_path):
    """In an empty folder, in a process of its own."""
    command = [sys.executable, "-m", "spacy", "hoseq", "init", "chinese"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf8", check=True)
    assert Config().from_str(result.stdout, interpolate=False)["nlp"]["lang"] == "zh"
