"""Wherever probabilities of a pipeline are shown that is not calibrated, it is said beside them, with the command that
mends it [HW009]; and nowhere of one that is."""

import json
import re
import runpy
import sys

import pytest
from spacy.training import Example
from typer.testing import CliRunner

from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.reporting import render
from spacy_hoseq.reporting.text import notes_of

from ..components import chunker_helpers
from ..repository import ROOT

TEXT = "the old dog sees a cat"
NOTE = re.compile(r"\[HW009\].{,200}?hoseq calibrate MODEL DEV\.spacy -o OUTPUT", re.S)


@pytest.fixture(scope="module", params=["max_margin", "log_likelihood"])
def model(request, tmp_path_factory):
    """A tagger and a chunker; both of the same objective."""
    nlp = chunker_helpers.trained("marginals", 2)
    path = tmp_path_factory.mktemp("model") / request.param
    nlp.to_disk(path)
    config = (path / "config.cfg").read_text("utf8")
    replaced = re.sub(r'objective = "\w+"', f'objective = "{request.param}"', config)
    (path / "config.cfg").write_text(replaced, "utf8")
    return path


def run(*arguments):
    result = CliRunner().invoke(hoseq_cli, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def flat(text):
    return " ".join(text.split())


def check(model, text, n):
    """n (int): notes, each of a component."""
    assert len(NOTE.findall(flat(text))) == (n if model.name == "max_margin" else 0), text


def test_in_the_terminal(model):
    output = run("tag", model, TEXT).output
    check(model, output, 2)
    is_rough = model.name == "max_margin"
    assert bool(re.search(r"^word +tag +p\* +chunks", output, re.M)) == is_rough
    assert bool(re.search(r"[01]\.\d\d\* *$", output, re.M)) == is_rough


def test_on_a_page(model, tmp_path):
    for command, marks in ("tag", ['marked = ["tag"']), ("explain", ['marked = ["tag"']):
        run(command, model, TEXT, "-o", tmp_path / command)
        page = (tmp_path / command).read_text("utf8")
        check(model, page, 2)
        assert all((mark in page) == (model.name == "max_margin") for mark in marks)


def test_explained(model):
    result = run("explain", model, TEXT)
    check(model, result.stderr, 2)
    assert result.stdout.count("(not calibrated)") == 2 * (model.name == "max_margin")
    lines = run("explain", model, TEXT, "--json").stdout.splitlines()
    assert {json.loads(line)["calibrated"] for line in lines} == {model.name != "max_margin"}


@pytest.mark.parametrize(
    "fields, n", [("tag,prob", 1), ("tag,spans", 1), ("prob,spans", 2), ("tag", 0)]
)
def test_applied(model, tmp_path, fields, n):
    pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    (tmp_path / "in.txt").write_text(TEXT, "utf8")
    for output, name in (("-", "jsonl"), (tmp_path / "out", "parquet")):
        arguments = ["-o", output, "-f", name, "--fields", fields]
        check(model, run("apply", model, tmp_path / "in.txt", *arguments).stderr, n)


def test_reported(model, tmp_path):
    from spacy_hoseq.cli.shared import pipeline_of
    from spacy_hoseq.reporting.report import as_markdown, as_page, report

    nlp = pipeline_of(model, probable=True)
    found = report(nlp, [Example(nlp.make_doc(TEXT), nlp(TEXT))], model="m", data="d")
    check(model, as_page(found), 2)
    check(model, as_markdown(found), 2)


def test_served(model):
    from spacy_hoseq.cli.shared import pipeline_of
    from spacy_hoseq.reporting.answers import Answers

    page = Answers(pipeline_of(model, probable=True)).tagged(TEXT, lambda: None)
    check(model, page, 2)
    assert ('marked = ["tag"' in page) == (model.name == "max_margin") and ">old<" in page


def test_in_a_notebook(model):
    from spacy_hoseq.cli.shared import pipeline_of

    nlp = pipeline_of(model, probable=True)
    doc = nlp(TEXT)
    check(model, render(doc, nlp).html, 2)
    unknown = "do not tell whether probabilities are calibrated"
    assert unknown in render(doc).html and unknown not in render(nlp.make_doc(TEXT)).html


@pytest.mark.parametrize("ending, n", [(".svg", 1), (".html", 2)])
def test_pictures_of_the_demo(model, tmp_path, monkeypatch, ending, n):
    (tmp_path / "in.txt").write_text(TEXT, "utf8")
    script = ROOT / "experiments" / "common" / "draw.py"
    arguments = [script, model, tmp_path / "in.txt"]
    monkeypatch.setattr(sys, "argv", [str(each) for each in arguments])
    sys.argv.append(str(tmp_path / f"out{ending}"))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code in (0, None)
    written = (tmp_path / f"out{ending}").read_text("utf8")
    check(model, re.sub(r"</text>\s*<text[^>]*>", " ", written), n)


def test_starts_of_sentences_are_no_layer(model):
    import spacy_hoseq

    layers = {"tag", "chunks"} if model.name == "max_margin" else set()
    assert set(notes_of(spacy_hoseq.load(model))) == layers
