"""What users do, in one table: each command, the ways to give it a text or a model, and what comes out, which is equal
whichever way is taken."""

import gzip
import json
import os
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
import srsly
from spacy.tokens import DocBin
from typer.testing import CliRunner

from spacy_hoseq.batch import Annotator
from spacy_hoseq.cli import hoseq_cli
from spacy_hoseq.inspection.selection import doubts_of, select
from spacy_hoseq.pipelines import embedded_path

from ..builders import packaged

pytestmark = pytest.mark.usefixtures("loaded_once")

TEXTS = ["They tag it at once.", "Zoë paid 5 € for naïve dogs.", "The old ferry runs twice a day."]
LINES = "".join(f"{text}\n" for text in TEXTS)
CORPUS = "They PRP B-NP O\ntag VBP B-VP O\nAnn NNP B-NP B-PER\n\n"
CORPUS += "It PRP B-NP O\nworks VBZ B-VP O\n\n"


def given(way, folder, text=LINES, name="a.txt"):
    """The argument of a command, and its standard input, for one of the ways to give a text."""
    folder.mkdir()
    path = folder / name
    data = text.encode()
    if way in ("-", "/dev/stdin"):
        return way, data
    if way == "pipe":
        reads, writes = os.pipe()
        os.write(writes, data)
        os.close(writes)
        return f"/dev/fd/{reads}", b""
    if way == "gz":
        path = path.with_name(f"{name}.gz")
        data = gzip.compress(data)
    path.write_bytes(data)
    if way == "glob":
        return str(folder / "*.t*"), b""
    if way == "jsonl":
        path.unlink()
        path = path.with_suffix(".jsonl")
        srsly.write_jsonl(path, [{"text": line} for line in text.splitlines()])
    if way == "spacy":
        path.unlink()
        path = path.with_suffix(".spacy")
        DocBin(docs=map(packaged().make_doc, text.splitlines())).to_disk(path)
    return str(folder if way == "folder" else path), b""


def run(*arguments, given=b""):
    """Standard output of a command that succeeds."""
    words, settings = list(map(str, arguments)), {"COLUMNS": "200"}
    result = CliRunner().invoke(hoseq_cli, words, input=given, env=settings)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


# apply


def annotations(output):
    """Rows without their ids, which name files."""
    return [{**json.loads(line), "id": ""} for line in output.splitlines()]


@pytest.fixture(scope="module")
def annotated():
    """By Python."""
    table = Annotator("en", outputs=["text", "word", "tag", "pos", "sentences", "spans"])(
        pa.table({"id": [""] * len(TEXTS), "text": TEXTS})
    )
    return json.loads(json.dumps(table.to_pylist()))


def same(rows, expected):
    """Probabilities are in single precision."""
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, expected, strict=True):
        assert row["tokens"] == wanted["tokens"] and row["sentences"] == wanted["sentences"]
        spans = [[{**span, "prob": 0} for span in each["spans"]] for each in (row, wanted)]
        assert spans[0] == spans[1]


@pytest.mark.parametrize("way", ["file", "folder", "glob", "gz", "-", "pipe", "jsonl"])
@pytest.mark.parametrize("options", [(), ("-j", 2), ("--part-size", 1)])
def test_apply(way, options, annotated, tmp_path):
    if options and way not in ("file", "-"):
        pytest.skip("each option once")
    argument, data = given(way, tmp_path / "in")
    rows = annotations(run("apply", "en", argument, "-o", "-", *options, given=data))
    same(rows, annotated)
    argument, data = given(way, tmp_path / "again")
    run("apply", "en", argument, "-o", tmp_path / "out", "-f", "jsonl", *options, given=data)
    parts = sorted((tmp_path / "out" / "parts").iterdir())
    assert annotations("".join(part.read_text("utf8") for part in parts)) == rows


@pytest.mark.parametrize("model", ["name", "folder", "package"])
def test_models(model, annotated, tmp_path, monkeypatch):
    """By its name, as a folder, as a package that is installed."""
    path = embedded_path("en")
    place = {"name": "en", "folder": path, "package": "made_up"}[model]
    if model == "package":
        (tmp_path / "made_up").mkdir()
        (tmp_path / "made_up" / "__init__.py").write_text("")
        (tmp_path / "made_up" / "made_up-1.0").symlink_to(path)
        monkeypatch.syspath_prepend(tmp_path)
        names = "spacy_hoseq.pipelines.loading"
        monkeypatch.setattr(f"{names}.is_package", lambda name: name == "made_up")
    argument, _ = given("file", tmp_path / "in")
    same(annotations(run("apply", place, argument, "-o", "-")), annotated)


# tag


def tagged(output):
    """Words and tags that are shown."""
    return [line.split()[:2] for line in re.sub(r"\x1b\[[\d;]*m", "", output).splitlines() if line]


@pytest.mark.parametrize("way", ["text", "file", "-", "pipe"])
@pytest.mark.parametrize("model", [(), ("en",)])
def test_tag(way, model, tmp_path):
    argument, data = (LINES, b"") if way == "text" else given(way, tmp_path / "in")
    rows = tagged(run("tag", *model, argument, given=data))
    doc = packaged()(LINES)
    expected = [[token.text, token.tag_] for token in doc if not token.is_space]
    assert [row for row in rows if row in expected] == expected


# select


@pytest.mark.parametrize("way", ["file", "folder", "gz", "jsonl", "spacy"])
@pytest.mark.parametrize("options", [{}, {"diverse": False}, {"per_word": True}])
def test_select(way, options, tmp_path):
    if options and way != "file":
        pytest.skip("each option once")
    argument, _ = given(way, tmp_path / "in")
    words = {"diverse": "--no-diverse", "per_word": "--per-word"}
    arguments = [words[name] for name in options]
    run("select", "en", argument, "-o", tmp_path / "next.jsonl", "-n", 2, *arguments)
    nlp = packaged()
    docs = [nlp.make_doc(text) for text in TEXTS]
    chosen = select(list(doubts_of(nlp, docs)), 2, **options)
    rows = list(srsly.read_jsonl(tmp_path / "next.jsonl"))
    assert [row["text"].strip() for row in rows] == [TEXTS[i] for i in chosen]


# convert, and report of what it wrote


@pytest.fixture
def converted(tmp_path):
    def convert(way, *options):
        argument, _ = given(way, tmp_path / f"in {way}", CORPUS, "a.conll")
        output = tmp_path / f"{way}.spacy"
        run("convert", argument, "-o", output, *options)
        return output

    return convert


@pytest.mark.parametrize("way", ["file", "folder", "gz"])
@pytest.mark.parametrize("options", [(), ("-f", "columns"), ("--n-sents", 1), ("--no-unescape",)])
def test_convert(way, options, converted):
    if options and way != "file":
        pytest.skip("each option once")
    docs = list(DocBin().from_disk(converted(way, *options)).get_docs(packaged().vocab))
    found = [(token.text, token.tag_, token.ent_type_) for doc in docs for token in doc]
    rows = [line.split() for line in CORPUS.splitlines() if line]
    assert found == [(word, tag, entity[2:]) for word, tag, _, entity in rows]
    assert len(docs) == (2 if "--n-sents" in options else 1)
    assert {span.label_ for doc in docs for span in doc.spans["chunks"]} == {"NP", "VP"}


@pytest.mark.parametrize("way", ["file", "folder"])
def test_report(way, converted, tmp_path):
    corpus = converted("file", "--n-sents", 1)
    if way == "folder":
        (tmp_path / "corpus").mkdir()
        corpus = corpus.rename(tmp_path / "corpus" / corpus.name).parent
    run("report", "en", corpus, "-o", tmp_path / "report")
    layers = srsly.read_json(tmp_path / "report" / "report.json")["layers"]
    tags = next(layer for layer in layers if layer["component"] == "hoseq_tagger")
    nlp = packaged()
    docs = list(DocBin().from_disk(next(tmp_path.rglob("file.spacy"))).get_docs(nlp.vocab))
    words = [([token.text for token in doc], [token.tag_ for token in doc]) for doc in docs]
    right = 0
    for doc, (_, gold) in zip(docs, words, strict=True):
        copy = doc.copy()
        for token in copy:
            token.tag_ = ""
        right += sum(t.tag_ == tag for t, tag in zip(nlp(copy), gold, strict=True))
    assert tags["scores"]["accuracy"]["value"] == pytest.approx(right / 5)


# options that no other test gives: a command, and what it prints or writes

OPTIONS = [
    ("convert $a.conll -o $out --dev 0.5 --seed 1 --chunk-column 0", "train 1, dev 1"),
    ("convert $tags.jsonl -o $out.spacy -f tokens --labels O,B-PER,I-PER", "Entities: PER 1"),
    ("select en $a.txt -o $out.jsonl --component hoseq_chunker -n 1", "1 of 3 texts"),
    ("inspect $model $dev.spacy --limit 1 --keep-names", "-> $model/hoseq_names.json"),
    (
        "calibrate en $dev.spacy -o $out --component hoseq_tagger --limit 2",
        "labels that changed, of 14",
    ),
    ("tag --html Hello", "-> text.html"),
]


@pytest.mark.parametrize("command, expected", OPTIONS)
def test_options(command, expected, tmp_path, monkeypatch):
    (tmp_path / "a.conll").write_text(CORPUS)
    (tmp_path / "a.txt").write_text(LINES)
    srsly.write_jsonl(tmp_path / "tags.jsonl", [{"tokens": ["Ann", "ran"], "ner_tags": [1, 0]}])
    nlp = packaged()
    DocBin(docs=list(nlp.pipe(TEXTS))).to_disk(tmp_path / "dev.spacy")
    if "$model" in command:
        shutil.copytree(embedded_path("en"), tmp_path / "model")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    printed = run(*command.replace("$", f"{tmp_path}/").split())
    written = expected.partition("-> ")[2].replace("$", f"{tmp_path}/")
    if written:
        assert any(file.match(written) for file in [*tmp_path.rglob("*"), *map(Path, opened)])
    else:
        assert expected in " ".join(printed.split())


def test_options_of_serve(monkeypatch):
    """They reach the server and its answers; one request of more than a word is refused."""
    made = {}

    class Server:
        def __init__(self, listener, answers, **settings):
            made.update(settings, answers=answers)
            raise KeyboardInterrupt

    monkeypatch.setattr("spacy_hoseq.reporting.serving.Server", Server)
    words = (
        "serve en --port 0 --component hoseq_tagger --max-length 9 --max-words 1 --max-seconds 2.5"
    )
    arguments = [*words.split(), "--host", "localhost", "--name", "tags.example"]
    assert CliRunner().invoke(hoseq_cli, arguments).exit_code == 130
    answers = made["answers"]
    assert answers.names == ["hoseq_tagger"]
    assert (answers.max_length, answers.max_words, made["max_seconds"]) == (9, 1, 2.5)
    assert {"localhost", "tags.example"} <= made["hosts"]
