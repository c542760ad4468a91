"""Every trainable component, and every command.

What a component cannot do is a coded message that says so: `CANNOT`, which docs/reference/components.md repeats. A new
component is one entry of `KINDS` (kinds.py). Each is trained once.
"""

import json
from typing import Any

import pytest
import spacy
import srsly
from spacy.cli._util import app
from spacy.cli.package import package
from spacy.tokens import DocBin
from typer.testing import CliRunner

import spacy_hoseq.cli  # noqa: F401 (adds the commands)
from spacy_hoseq.reporting.answers import Answers, Question

from ..builders import spans_of
from .kinds import EACH, GREEDY, LANG, NOT_GREEDY, Kind, labels_of, said

TEXT = "The old ferry still runs twice a day. Nobody knows who pays for it."
ALL_FIELDS = "word,norm,tag,pos,morph,lemma,dep,head"  # and "prob"
FORMATS = {"jsonl": ALL_FIELDS, "parquet": ALL_FIELDS, "spacy": "tag"}
FORMATS |= {"conll": "word,tag", "conllu": "tag"}
POOL = [TEXT, "What the report left out turned out to matter."]
POOL += ["Stir the rice slowly, and never twice."]
CANNOT: dict[tuple[str, str], str] = {  # (row of the table in the docs, what is done) -> code
    **{
        (column, task): "HS105"
        for column in (GREEDY, NOT_GREEDY)
        for task in ("calibrate", "find-errors")
    },
    **{(NOT_GREEDY, task): "HS140" for task in ("explain", "select", "serve")},
    (NOT_GREEDY, "marginals"): "HS027",
    **{(column, "apply --fields prob"): "HS183" for column in (NOT_GREEDY, "hoseq_chunker")},
}
long = pytest.mark.long
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.parametrize("kind", EACH)]


def labels_alone(nlp, gold, kind) -> list[Any]:
    """The same by the best labelling, whatever probability a span has."""
    cfg = nlp.get_pipe(kind.name).cfg
    cfg.update({"span_threshold": None} if "span_threshold" in cfg else {})
    return said(nlp, gold, kind)


def hoseq(kind: Kind, ability: str, *arguments: Any) -> str:
    """A command does what it is for, or says by its code that it cannot. RETURNS what was printed, "" if it cannot."""
    result = CliRunner().invoke(app, ["hoseq", *map(str, arguments)])
    code = CANNOT.get((kind.column, ability))
    printed = " ".join(result.output.split())
    assert isinstance(result.exception, SystemExit | None), repr(result.exception)
    if code is not None:
        assert result.exit_code == 1 and f"[{code}]" in printed, printed
        return ""
    assert result.exit_code == 0, printed
    return printed


@long
def test_debug_data(kind, corpus, model):
    options = ["--no-format", "--ignore-warnings"]
    result = CliRunner().invoke(app, ["debug", "data", str(model / "config.cfg"), *options])
    assert result.exit_code in (0, 1), result.output
    assert "Pipeline can be initialized" in result.output
    assert "Traceback" not in result.output


def test_tag(kind, model, tmp_path):
    """Words with what the component says of them, and how probable it is."""
    printed = hoseq(kind, "tag", "tag", model, TEXT)
    page = tmp_path / "page.html"
    hoseq(kind, "tag", "tag", model, TEXT, "-o", page)
    nlp = spacy.load(model)
    labels = [label for label in labels_of(nlp(TEXT), kind) if label]
    names = [label if isinstance(label, tuple) else [label] for label in labels]
    names = {str(name) for each in names for name in each}
    if kind.place == "sent_start":
        return
    for name in filter(None, names):
        if not name.isdigit():
            assert name in printed
            # (features open at the word)
            assert "=" in name or name in page.read_text("utf8")
    has_probabilities = CANNOT.get((kind.column, "marginals")) is None
    assert (" 0." in printed or " 1.00" in printed) == has_probabilities, "no column of nothing"


@long
@pytest.mark.parametrize("form", FORMATS)
def test_apply(kind, model, tmp_path, form):
    (tmp_path / "text.txt").write_text(TEXT, "utf8")
    more = ",text,sentences,spans" if form in ("jsonl", "parquet") else ""
    fields = FORMATS[form] + more
    ability = f"apply --format {form}"
    files = model, tmp_path / "text.txt", "-o", tmp_path / "out"
    printed = hoseq(kind, ability, "apply", *files, "-f", form, "--fields", fields)
    assert not printed or any((tmp_path / "out" / "parts").iterdir())


def test_prob_of_apply(kind, model, tmp_path):
    (tmp_path / "text.txt").write_text(TEXT, "utf8")
    output = ["-o", tmp_path / "out", "-f", "jsonl", "--fields", "tag,prob"]
    arguments = ["apply", model, tmp_path / "text.txt", *output]
    if hoseq(kind, "apply --fields prob", *arguments):
        (path,) = (tmp_path / "out" / "parts").glob("*.jsonl")
        tokens = [token for row in srsly.read_jsonl(path) for token in row["tokens"]]
        assert tokens and all(token["prob"] and 0 < token["prob"] <= 1 for token in tokens)


def test_report(kind, corpus, model, tmp_path):
    hoseq(kind, "report", "report", model, corpus.folder / "dev.spacy", "-o", tmp_path)
    if not CANNOT.get((kind.column, "report")):
        layers = srsly.read_json(tmp_path / "report.json")["layers"]
        assert layers and all(x["component"] == kind.name and x["labels"] for x in layers)
        assert all(share["n"] for layer in layers for share in layer["scores"].values())


@pytest.mark.parametrize("how", ["printed", "json", "page"])
def test_explain(kind, model, tmp_path, how):
    page = tmp_path / "page.html"
    token = ["--token", 1]
    options = {"printed": token, "json": [*token, "--json"], "page": ["-o", page]}[how]
    printed = hoseq(kind, "explain", "explain", model, TEXT, *options)
    if printed and how == "json":
        result = CliRunner().invoke(app, ["hoseq", "explain", str(model), TEXT, *map(str, options)])
        for line in result.output.splitlines():
            account = json.loads(line)
            assert account["component"] == kind.name and 0 < account["p"] <= 1
            others = account["alternatives"][1:]
            assert account["terms"] if others else account["alternatives"]
    elif printed and how == "page":
        assert all(word in page.read_text("utf8") for word in ("ferry", "runs"))


def test_inspect(kind, corpus, model, tmp_path):
    """Every label has features, and a number of words in the corpus."""
    dev = corpus.folder / "dev.spacy"
    hoseq(kind, "inspect", "inspect", model, dev, "-o", tmp_path / "page.html")
    result = CliRunner().invoke(app, ["hoseq", "inspect", str(model), str(dev), "--json"])
    if not CANNOT.get((kind.column, "inspect")):
        (component,) = json.loads(result.output)
        assert component["name"] == kind.name and component["n_features"] and component["n_weights"]
        assert sum(component["counts"].values()) > 100
        assert any(component["strongest"].values()), "features of some label"


def test_calibrate(kind, corpus, model, gold, tmp_path):
    out = tmp_path / "calibrated"
    if hoseq(kind, "calibrate", "calibrate", model, corpus.folder / "dev.spacy", "-o", out):
        calibrated = spacy.load(out)
        assert calibrated.get_pipe(kind.name).is_calibrated
        before, after = (labels_alone(one, gold, kind) for one in (spacy.load(model), calibrated))
        assert sum(a == b for a, b in zip(before, after, strict=True)) >= len(gold) - 1


@long
def test_find_errors_and_correct(kind, corpus, model, tmp_path):
    """Findings in a corpus with mistakes, of which the first is accepted."""
    source, out = corpus.folder / "dev.spacy", tmp_path / "doubts"
    config = model.parent / "config.cfg"
    if not hoseq(kind, "find-errors", "find-errors", config, source, "-o", out, "-k", 2, "-n", 5):
        return
    tasks = list(srsly.read_jsonl(out / "findings.jsonl"))
    assert tasks
    tasks[0]["accept"] = ["1"]
    srsly.write_jsonl(tmp_path / "answers.jsonl", tasks)
    files = source, tmp_path / "answers.jsonl", "-o", tmp_path / "new.spacy"
    hoseq(kind, "correct", "correct", *files)
    before, after = (
        list(DocBin().from_disk(path).get_docs(spacy.blank(LANG).vocab))
        for path in (source, tmp_path / "new.spacy")
    )
    changed = [i for i, (a, b) in enumerate(zip(before, after, strict=True)) if differ(a, b, kind)]
    assert changed == [tasks[0]["finding"]["doc"]]


def differ(a, b, kind):
    if kind.name == "entities" and spans_of(a.ents) != spans_of(b.ents):
        return True
    if kind.place.startswith("spans."):
        key = kind.place.partition(".")[2]
        groups = [[(s.start, s.end, s.label_) for s in doc.spans.get(key, ())] for doc in (a, b)]
        return groups[0] != groups[1]
    return labels_of(a, kind) != labels_of(b, kind)


def test_select(kind, corpus, model, tmp_path):
    srsly.write_jsonl(tmp_path / "pool.jsonl", [{"text": text} for text in POOL])
    out = tmp_path / "chosen.jsonl"
    if hoseq(kind, "select", "select", model, tmp_path / "pool.jsonl", "-o", out, "-n", 1):
        (task,) = srsly.read_jsonl(out)
        assert task["meta"]["doubt"] > 0


@long
def test_compact(kind, corpus, model, tmp_path):
    out = tmp_path / "small"
    arguments = [corpus.folder / "dev.spacy", "--tolerance", 0.05, "-o", out]
    if hoseq(kind, "compact", "compact", model, *arguments):
        assert labels_of(spacy.load(out)(TEXT), kind)


@long
def test_package(kind, model, tmp_path):
    (tmp_path / "packages").mkdir()
    settings = dict(create_wheel=False, create_sdist=False, name="contract", silent=True)
    package(model, tmp_path / "packages", **settings)
    (path,) = (tmp_path / "packages").rglob("config.cfg")
    assert labels_of(spacy.load(path.parent)(TEXT), kind)


def test_serve(kind, nlp):
    code = CANNOT.get((kind.column, "serve"))
    if code is not None:
        with pytest.raises(ValueError, match=rf"\[{code}\]"):
            Answers(nlp)
        return
    answers = Answers(nlp)
    assert "ferry" in answers.tagged(TEXT, lambda: None)
    question = Question(text=TEXT, component=kind.name, tokens=[1])
    assert answers.reasons(question, lambda: None)["decisions"]
