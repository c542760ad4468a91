"""The workflow `bidirectional` of experiments/conll2000, and its scripts, on made-up sentences."""

import re
from pathlib import Path
from typing import Any, Dict, List
from xml.etree import ElementTree

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from ...chunk_corpus import sentences
from ...repository import ROOT, copy_of_project, quicker, run, run_workflow, script

STRATEGIES = [
    "left_to_right", "right_to_left", "dependency_network", "easiest_last", "easiest_first", "full_bidirectional",
]  # fmt: skip
SYSTEMS = ["tags_1", "tags_2", "iob2_1", "iob2_2", "start_end_1", "start_end_2"]
STEPS = [
    "files", "convert", "chunks", "bidirectional-train-tags",
    "bidirectional-train-chunks", "bidirectional-measure", "bidirectional-report",
]  # fmt: skip
QUICK = (
    "--training.max_epochs 0 --training.max_steps 60 --training.eval_frequency 15 --training.logger.progress_bar null"
    " --components.hoseq_bidirectional_tagger.model.min_count 1 --nlp.lang xx"  # which is loaded sooner
)
FLOOR = {"tags": 0.9, "chunks": 0.8}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, made = tmp_path_factory.mktemp("corpora"), sentences()
    (folder / "train.txt").write_text("\n\n".join(made[:80]) + "\n\n", encoding="utf8")
    test = "\n\n".join(made[80:]).replace("it PRP B-NP", "it PRP O").replace("May NNP", "May NN")  # what is not learnt
    (folder / "test.txt").write_text(test + "\n\n", encoding="utf8")
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Path:
    """A copy in which the workflow has run, with few and small batches."""
    folder = copy_of_project(tmp_path_factory.mktemp("project") / "copy")
    quicker(folder / "experiments" / "conll2000", QUICK, "bidirectional-train")
    process = workflow(folder / "experiments" / "conll2000", corpora)
    assert process.returncode == 0, process.stdout
    return folder / "experiments" / "conll2000"


def workflow(project: Path, corpora: Path) -> Any:
    variables = ["--vars.conll2000", corpora, "--vars.processes", "1"]
    return run_workflow("bidirectional", ".", *variables, folder=project)


def metrics(project: Path, system: str) -> Dict[str, Any]:
    return srsly.read_json(project / "metrics" / "bidirectional" / f"{system}.json")


def tables(project: Path) -> "Dict[str, List[List[str]]]":
    """The table under each title, without the line below its header."""
    page = (project / "reports" / "bidirectional.md").read_text(encoding="utf8")
    found = {}
    for section in page.split("\n## ")[1:]:
        rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in section.splitlines() if line.startswith("|")]
        found[section.split("\n")[0]] = rows[:1] + rows[2:]
    return found


@pytest.mark.long
@pytest.mark.parametrize("system", SYSTEMS)
def test_metrics(system, project, corpora):
    found, (representation, order) = metrics(project, system), system.rsplit("_", 1)
    task = "tags" if representation == "tags" else "chunks"
    expected = {"task": task, "order": int(order), "representation": None if task == "tags" else representation}
    assert expected.items() <= found.items()
    words = [line for line in (corpora / "test.txt").read_text(encoding="utf8").split("\n") if line]
    assert found["tokens"] == len(words) > 200
    model = project / "training" / "bidirectional" / system / "model-best"
    assert found["model_bytes"] == sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    assert 0.1 < found["training_seconds"] < 300
    assert all(2**25 < found[name] < 2**34 for name in ("peak_bytes", "measuring_peak_bytes"))
    assert list(found["strategies"]) == STRATEGIES
    for strategy, scores in found["strategies"].items():
        assert scores["tokens_per_second"] > 1
        if order == "1" and strategy in ("left_to_right", "right_to_left"):
            changed = scores.pop("changed_by_pruning")
            assert 0 <= changed < found["tokens"] / 10
            page = (project / "reports" / "bidirectional.md").read_text(encoding="utf8")
            assert f" {representation} {strategy} {changed}" in page
        keys = ["tag_acc"] if task == "tags" else [f"spans_chunks_{key}" for key in "rpf"]
        right, guessed, gold, tags, tokens = np.sum(scores.pop("sentences"), axis=0).tolist()
        assert tokens == found["tokens"] and gold > 0
        score = tags / tokens if task == "tags" else 2 * right / (guessed + gold)
        assert score == pytest.approx(scores[keys[-1]])
        assert set(scores) == {*keys, "tokens_per_second"}
        assert all(FLOOR[task] < scores[key] <= 1 for key in keys)
        if task == "tags":
            assert scores["tag_acc"] < 1
        else:
            recall, precision, f = (scores[key] for key in keys)
            assert precision < f < recall and f == pytest.approx(2 * recall * precision / (recall + precision))


@pytest.mark.long
def test_model_of_each_system(project):
    for system in SYSTEMS:
        nlp = spacy.load(project / "training" / "bidirectional" / system / "model-best")
        tagger = nlp.get_pipe("hoseq_bidirectional_tagger")
        representation, order = system.rsplit("_", 1)
        assert tagger.model.attrs["order"] == int(order)
        assert tagger.cfg["representation"] == (None if representation == "tags" else representation)
        assert ("B-NP" in tagger.labels, "S-NP" in tagger.labels, "NNP" in tagger.labels) == (
            representation != "tags", representation == "start_end", representation == "tags",
        )  # fmt: skip


@pytest.mark.long
def test_report_on_tags(project):
    header, *rows = tables(project)["Part-of-speech tags"]
    assert header == ["Strategy", "Order", "Accuracy", "tokens/s", "paper: accuracy", "paper: tokens/s"]
    assert [row[:2] for row in rows] == [[strategy, order] for order in "12" for strategy in STRATEGIES]
    for strategy, order, accuracy, speed, *paper in rows:
        found = metrics(project, f"tags_{order}")["strategies"][strategy]
        assert [accuracy, speed] == [f"{found['tag_acc']:.2%}", f"{found['tokens_per_second']:,.0f}"]
        assert order == "2" or paper == ["-", "-"]
    papers = {row[0]: row[4:] for row in rows if row[1] == "2"}
    assert papers["left_to_right"] == ["96.92%", "844"]  # Table 2
    assert papers["easiest_last"] == ["96.58%", "2,360"]
    assert papers["easiest_first"] == ["97.13%", "2,461"]
    assert papers["full_bidirectional"] == ["97.12%", "34"]


@pytest.mark.long
def test_report_on_chunks(project):
    header, *rows = tables(project)["Chunks, tags given"]
    assert header[:7] == ["Representation", "Strategy", "Order", "Recall", "Precision", "F", "tokens/s"]
    assert header[7:] == ["paper: F", "paper: tokens/s"]
    systems = [[name, order] for name in ("iob2", "start_end") for order in "12"]
    assert [row[:3] for row in rows] == [[name, strategy, order] for name, order in systems for strategy in STRATEGIES]
    for name, strategy, order, *ours in rows:
        found = metrics(project, f"{name}_{order}")["strategies"][strategy]
        shown = [f"{100 * found[f'spans_chunks_{key}']:.2f}" for key in "rpf"]
        assert ours[:4] == [*shown, f"{found['tokens_per_second']:,.0f}"]
    papers = {tuple(row[:3]): row[7:] for row in rows}
    assert papers["iob2", "left_to_right", "1"] == ["93.11", "1,775"]  # Table 5
    assert papers["iob2", "easiest_first", "2"] == ["93.33", "1,248"]
    assert papers["start_end", "dependency_network", "2"] == ["88.28", "331"]
    assert papers["start_end", "full_bidirectional", "1"] == ["93.39", "392"]
    assert all(papers[name, "easiest_last", order] == ["-", "-"] for name, order in systems)


@pytest.mark.long
def test_report_on_training(project):
    header, *rows = tables(project)["Training"]
    assert header == ["Task", "Representation", "Order", "Classifiers", "Training", "Peak memory", "Model"]
    for system, row in zip(SYSTEMS, rows, strict=True):
        found = metrics(project, system)
        n_classifiers = {1: "4", 2: "16"}[found["order"]]
        assert row[:4] == [found["task"], found["representation"] or "-", str(found["order"]), n_classifiers]
        assert row[4] == f"{found['training_seconds']:.0f} s"
        assert row[5:] == [f"{found['peak_bytes'] / 1024**2:,.0f} MiB", f"{found['model_bytes'] / 1e6:.1f} MB"]


@pytest.mark.long
def test_report_shows_the_order_of_decisions(project):
    page = (project / "reports" / "bidirectional.md").read_text(encoding="utf8")
    shown = [[item.rsplit("/", 2) for item in line[2:].split()] for line in page.splitlines() if line.startswith("- ")]
    texts = (ROOT / "assets" / "en" / "samples.txt").read_text(encoding="utf8").split("\n")
    assert [[word for word, _, _ in row] for row in shown] == [text.split() for text in texts if text]
    nlp = spacy.load(project / "training" / "bidirectional" / "tags_2" / "model-best")
    for row in shown:
        assert sorted(int(turn) for _, _, turn in row) == list(range(1, len(row) + 1))
        doc = nlp(Doc(nlp.vocab, [word for word, _, _ in row]))
        assert [tag for _, tag, _ in row] == [token.tag_ for token in doc]
    assert "![A sentence on the staircase of its decisions](bidirectional.svg)" in page
    assert "[bidirectional.html](bidirectional.html)" in page


@pytest.mark.long
def test_pictures(project):
    sentences = (ROOT / "assets" / "en" / "samples.txt").read_text(encoding="utf8").strip().split("\n")
    view = (project / "reports" / "bidirectional.html").read_text(encoding="utf8")
    drawings = re.findall(r"<svg.*?</svg>", view)
    assert [words_in(drawing) for drawing in drawings] == [text.split() for text in sentences]
    picture = (project / "reports" / "bidirectional.svg").read_text(encoding="utf8")
    assert picture.strip() == drawings[0]


def words_in(drawing: str) -> "List[str | None]":
    return [element.text for element in ElementTree.fromstring(drawing).iter() if element.get("class") == "word"]


@pytest.mark.long
def test_second_run_has_nothing_to_do(project, corpora):
    def written() -> Dict[Path, int]:
        folders = ("corpus", "training", "metrics", "reports")
        return {path: path.stat().st_mtime_ns for name in folders for path in (project / name).rglob("*.*")}

    before, process = written(), workflow(project, corpora)
    assert process.returncode == 0, process.stdout
    assert re.findall(r"Skipping '([\w-]+)'", process.stdout) == STEPS
    assert written() == before and len(before) > 50


@pytest.mark.long
def test_chunk_column_becomes_spans(tmp_path):
    rows = ["She PRP B-NP", "gave VBD B-VP", "him PRP B-NP", "a DT B-NP", "boat NN I-NP", ". . O"]
    (tmp_path / "one.conll").write_text("\n".join(rows) + "\n\nWell UH O\n\n", encoding="utf8")
    process = run("-m", "spacy", "convert", tmp_path / "one.conll", tmp_path, "--converter", "conll")
    assert process.returncode == 0, process.stdout
    nlp = spacy.blank("xx")
    for key, arguments in {"chunks": {}, "phrases": {"key": "phrases"}}.items():
        script("common/chunk_spans").main(tmp_path / "one.spacy", tmp_path / "new" / f"{key}.spacy", **arguments)
        doc, other = DocBin().from_disk(tmp_path / "new" / f"{key}.spacy").get_docs(nlp.vocab)
        chunks = [(span.text, span.label_) for span in doc.spans[key]]
        assert chunks == [("She", "NP"), ("gave", "VP"), ("him", "NP"), ("a boat", "NP")] and list(doc.spans) == [key]
        assert list(other.spans) == [key] and len(other.spans[key]) == 0, "annotated: there are no chunks"
        assert not doc.ents and not doc.has_annotation("ENT_IOB")
        assert [token.tag_ for token in doc] == ["PRP", "VBD", "PRP", "DT", "NN", "."]
        assert [len(list(each.sents)) for each in (doc, other)] == [1, 1]


@pytest.mark.parametrize("with_tags", [True, False])
def test_what_a_model_is_given(with_tags):
    nlp = spacy.blank("xx")
    gold = Doc(
        nlp.vocab, ["She", "left", "."], spaces=[True, False, False], tags=["PRP", "VBD", "."], sent_starts=[1, 0, 0]
    )
    gold.spans["chunks"] = [gold[:1]]
    doc = script("conll2000/bidirectional").words_and_tags(gold, with_tags)
    assert [(token.text, token.whitespace_) for token in doc] == [("She", " "), ("left", ""), (".", "")]
    assert [token.tag_ for token in doc] == (["PRP", "VBD", "."] if with_tags else [""] * 3)
    assert doc is not gold and "chunks" not in doc.spans
