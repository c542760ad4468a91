"""`python -m spacy hoseq apply`: files written by one process or several, and what is left out."""

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.tokens import Doc, DocBin
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.cli import processes
from spacy_hoseq.readers.texts import Share, Text

from ..components.helpers import ready

SENTENCES = ["The dog sees the cat .", "A cat sleeps .", "", "The old dog runs ."]
CODE = """
import os
from spacy.language import Language
from spacy.tokens import DocBin

def half_a_file(self, path):
    path.write_bytes(b"half")
    os._exit(3)

@Language.component("picky")
def picky(doc):
    if "stop" in doc.text:
        raise RuntimeError("this one not")
    if "die" in doc.text:
        os._exit(3)
    if "half" in doc.text:
        DocBin.to_disk = half_a_file
    return doc
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("apply") / "model"
    ready().to_disk(path)
    return path


@pytest.fixture(scope="module")
def picky(tmp_path_factory):
    """A pipeline with a component of another package, and the file with its code."""
    folder = tmp_path_factory.mktemp("picky")
    (folder / "code.py").write_text(CODE)
    nlp = spacy.blank("en")
    nlp.to_disk(folder / "model")
    config = srsly.read_json(folder / "model" / "meta.json")
    assert config["pipeline"] == []
    text = (folder / "model" / "config.cfg").read_text().replace("pipeline = []", 'pipeline = ["picky"]')
    text = text.replace("[components]", '[components]\n\n[components.picky]\nfactory = "picky"')
    (folder / "model" / "config.cfg").write_text(text)
    return folder


def run(*arguments):
    result = CliRunner().invoke(app, ["hoseq", "apply", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def written(folder):
    """The Docs of each file, in the order of names."""
    vocab = spacy.blank("en").vocab
    return [list(DocBin().from_disk(path).get_docs(vocab)) for path in sorted(folder.iterdir())]


def bytes_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_docs_are_those_of_the_pipeline_in_order(model, tmp_path):
    texts = SENTENCES * 3
    srsly.write_jsonl(tmp_path / "in.jsonl", [{"text": text, "id": i} for i, text in enumerate(texts)])
    code, output = run(model, tmp_path / "in.jsonl", tmp_path / "out", "--docs-per-file", 5)
    assert code == 0, output
    files = written(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"{i:06}.spacy" for i in range(3)]
    assert [len(docs) for docs in files] == [5, 5, 2]
    docs = [doc for docs in files for doc in docs]
    expected = list(spacy.load(model).pipe(texts))
    assert [doc.text for doc in docs] == texts
    assert [doc.user_data for doc in docs] == [{"meta": {"id": i}} for i in range(12)]
    tags = [[token.tag_ for token in doc] for doc in docs]
    assert tags == [[token.tag_ for token in doc] for doc in expected] and all(map(all, tags))
    n_tokens = sum(map(len, expected))
    assert f"Files read 1 Docs 12 Tokens {n_tokens} Files written 3 Problems 0" in output


@pytest.mark.long
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_processes_write_the_same_bytes(model, tmp_path, monkeypatch, context):
    if context not in multiprocessing.get_all_start_methods():
        pytest.skip("not on this system")
    pool = partial(ProcessPoolExecutor, mp_context=multiprocessing.get_context(context))
    monkeypatch.setattr(processes, "ProcessPoolExecutor", pool)
    (tmp_path / "in").mkdir()
    srsly.write_jsonl(tmp_path / "in" / "a.jsonl", [{"text": text} for text in SENTENCES * 3])
    (tmp_path / "in" / "b.txt").write_text(SENTENCES[0])
    vocab = spacy.blank("en").vocab
    DocBin(docs=[Doc(vocab, words=text.split()) for text in SENTENCES]).to_disk(tmp_path / "in" / "a2.spacy")
    for n in (1, 2):
        code, output = run(model, tmp_path / "in", tmp_path / f"out{n}", "--docs-per-file", 3, "--n-process", n)
        assert code == 0, output
    one, two = bytes_in(tmp_path / "out1"), bytes_in(tmp_path / "out2")
    assert one == two and len(one) == 6
    of_docs = written(tmp_path / "out2")[0]  # a2 is before a.jsonl
    assert [doc.text.split() for doc in of_docs] == [text.split() for text in SENTENCES]
    assert all(token.tag_ for doc in of_docs for token in doc)


def test_an_earlier_run_is_replaced_only_when_asked_for(model, tmp_path):
    out = tmp_path / "out"
    srsly.write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in SENTENCES])
    assert run(model, tmp_path / "in.jsonl", out, "--docs-per-file", 1)[0] == 0
    (out / "000007.part").write_bytes(b"of a run that was stopped")
    before = bytes_in(out)
    assert len(before) == 5
    code, output = run(model, tmp_path / "in.jsonl", out)
    assert code == 1 and "[HS113]" in output and "earlier run" in output and bytes_in(out) == before
    assert run(model, tmp_path / "in.jsonl", out, "-F")[0] == 0
    assert [len(docs) for docs in written(out)] == [4]
    (out / "notes.txt").write_text("mine")
    code, output = run(model, tmp_path / "in.jsonl", out, "-F")
    assert code == 1 and "[HS113]" in output and "other files" in output and len(bytes_in(out)) == 2
    code, output = run(tmp_path / "no_model", tmp_path / "in.jsonl", tmp_path / "new")
    assert code == 1 and "E050" in output and not (tmp_path / "new").exists()


@pytest.mark.parametrize("n_process", [1, 2])
def test_what_a_component_refuses_is_told_and_nothing_else_lost(picky, tmp_path, n_process):
    (tmp_path / "in").mkdir()
    texts = ["one", "stop it", "two", "three", "go on"]
    srsly.write_jsonl(tmp_path / "in" / "a.jsonl", [{"text": text} for text in texts] + [{"txt": "four"}])
    (tmp_path / "in" / "b.spacy").write_bytes(b"no docs")
    arguments = (tmp_path / "in", tmp_path / "out", "--code", picky / "code.py", "--docs-per-file", 3)
    code, output = run(picky / "model", *arguments, "--n-process", n_process)
    assert code == 1 and "Docs 4 Tokens 5 Files written 2 Problems 3" in output
    assert "a.jsonl:2 this one not" in output and "a.jsonl:6" in output and "b.spacy:1" in output
    assert [[doc.text for doc in docs] for docs in written(tmp_path / "out")] == [["one", "two"], ["three", "go on"]]


def test_words_are_forgotten_when_there_are_many(model, monkeypatch, tmp_path):
    pipeline = processes.Pipeline(str(model), None)
    todo = [Share([Text(tmp_path, 1, f"new{i}a new{i}b", {})], None, []) for i in range(7)]
    monkeypatch.setattr(processes, "ZONE_TOKENS", 6)
    known = []
    for number, _ in enumerate(processes.annotated(pipeline, todo, tmp_path, 1)):
        known.append([f"new{i}a" in pipeline.nlp.vocab.strings for i in range(number + 1)])
    assert known == [[1], [1, 1], [0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1, 1], [0] * 6, [0] * 6 + [1]]
    assert [[doc.text for doc in docs] for docs in written(tmp_path)] == [[f"new{i}a new{i}b"] for i in range(7)]


def test_a_process_that_dies(picky, tmp_path):
    srsly.write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in ["one", "two", "die", "three"]])
    arguments = (tmp_path / "in.jsonl", tmp_path / "out", "--code", picky / "code.py", "--docs-per-file", 1)
    code, output = run(picky / "model", *arguments, "-n", 2)
    assert code == 1 and "[HS114]" in output and "Stopped, with" in output
    assert all(len(docs) == 1 for docs in written(tmp_path / "out"))


def test_a_process_that_dies_while_it_writes(picky, tmp_path):
    srsly.write_jsonl(tmp_path / "in.jsonl", [{"text": "half"}])
    arguments = (tmp_path / "in.jsonl", tmp_path / "out", "--code", picky / "code.py")
    code, output = run(picky / "model", *arguments, "-n", 2)
    assert code == 1 and "[HS114]" in output and not bytes_in(tmp_path / "out")


def test_one_process_for_each_core(model, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(os, "cpu_count", lambda: asked.append(1) or 1)
    (tmp_path / "in.txt").write_text(SENTENCES[0])
    assert run(model, tmp_path / "in.txt", tmp_path / "out", "-n", -1)[0] == 0 and asked
