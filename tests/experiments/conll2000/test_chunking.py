"""The workflow `chunking` of experiments/conll2000, and its scripts, on made-up sentences."""

import re
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest
import srsly

from ...chunk_corpus import sentences
from ...repository import ROOT, copy_of_project, quicker, run_workflow

SYSTEMS = {
    "multilayer_1best": "paper: best tags",
    "multilayer_marginal": "paper: marginals",
    "multilayer_joint": "paper: joint",
    "pipeline_1best": "ours: best tags",
    "pipeline_marginal": "ours: marginals",
    "pipeline_joint": "ours: joint",
    "given": "ours: tags given",
}
PAPER = [["95.6", "92.1"], ["95.6", "92.7"], ["95.8", "93.1"]]  # Table 2
STEPS = [
    "files", "convert", "chunks", "chunking-train-multilayer", "chunking-train",
    "chunking-measure", "chunking-report",
]  # fmt: skip
QUICK = (
    "--training.max_epochs 0 --training.max_steps 8 --training.eval_frequency 8 --training.logger.progress_bar null"
    " --nlp.lang xx"  # which is loaded sooner
)
FLOOR = {"tag_acc": 0.85, "spans_chunks_f": 0.75}


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
    quicker(folder / "experiments" / "conll2000", QUICK, "chunking-train")
    process = workflow(folder / "experiments" / "conll2000", corpora)
    assert process.returncode == 0, process.stdout
    return folder / "experiments" / "conll2000"


def workflow(project: Path, corpora: Path) -> Any:
    return run_workflow("chunking", ".", "--vars.conll2000", corpora, folder=project)


def report_of(project: Path, system: str) -> Dict[str, Any]:
    return srsly.read_json(project / "metrics" / "chunking" / system / "report.json")


def tables(page: str) -> List[List[List[str]]]:
    """Rows of each table, without the line below its header."""
    blocks = re.split(r"\n(?!\|)", page)
    found = [[line for line in block.split("\n") if line.startswith("|")] for block in blocks]
    return [
        [re.split(r"\s*\|\s*", line.strip("| ")) for line in lines[:1] + lines[2:]] for lines in found if len(lines) > 1
    ]


def page_of(project: Path) -> str:
    return (project / "reports" / "chunking.md").read_text(encoding="utf8")


@pytest.mark.long
@pytest.mark.parametrize("system", SYSTEMS)
def test_reports(system, project, corpora):
    found = report_of(project, system)
    words = [line for line in (corpora / "test.txt").read_text(encoding="utf8").split("\n") if line]
    *tags, chunks = found["layers"]
    right, guessed, gold = np.sum(chunks["counts"], axis=0).tolist()
    assert found["sentences"] == len(chunks["counts"]) == 28 and found["tokens"] == len(words)
    assert gold == sum(line.split()[2][0] == "B" for line in words)
    expected = [right / guessed, right / gold, 2 * right / (guessed + gold)]
    assert [chunks["scores"][name]["value"] for name in ("precision", "recall", "f")] == pytest.approx(expected)
    assert expected[0] < expected[1], "`it` is no chunk in the test part"
    assert FLOOR["spans_chunks_f"] < expected[2] < 1 and sum(chunks["calibration"]["counts"]) == guessed
    assert len(tags) == (system != "given"), "tags that are given are not measured"
    assert all(FLOOR["tag_acc"] < layer["scores"]["accuracy"]["value"] < 1 for layer in tags)
    folder = project / "training" / "chunking" / system
    assert found["bytes"] == sum(p.stat().st_size for p in (folder / "model-best").rglob("*") if p.is_file())
    assert found["tokens_per_second"] > 1
    assert 0.1 < srsly.read_json(folder / "timings.json")["training_seconds"] < 300


@pytest.mark.long
def test_table_of_systems(project):
    header, *rows = tables(page_of(project))[0]
    assert header == [
        "System", "Tags", "Precision", "Recall", "F", "Calibration error", "Training, s", "Memory, MiB", "Tokens/s",
        "Model, MB",
    ]  # fmt: skip
    for (system, name), row in zip(SYSTEMS.items(), rows, strict=False):
        found = report_of(project, system)
        scores = {
            key: f"{100 * share['value']:.2f}" for layer in found["layers"] for key, share in layer["scores"].items()
        }
        tags, error = scores.get("accuracy", ""), found["layers"][-1]["calibration"]["ece"]
        timings = srsly.read_json(project / "training" / "chunking" / system / "timings.json")
        assert row == [
            f"[{name}](../metrics/chunking/{system}/report.html)", tags,
            *(scores[x] for x in ("precision", "recall", "f")),
            f"{error:.4f}", f"{timings['training_seconds']:.0f}", f"{timings['peak_bytes'] / 2**20:,.0f}",
            f"{found['tokens_per_second']:,.0f}", f"{found['bytes'] / 1e6:.1f}",
        ]  # fmt: skip
    assert [[row[1], row[4]] for row in rows[len(SYSTEMS) :]] == PAPER


@pytest.mark.long
def test_table_of_differences(project):
    _, *rows = tables(page_of(project))[1]
    names = list(SYSTEMS)
    pairs = [*pairwise(names[:3]), *pairwise(names[3:6])]
    expected = [[f"{SYSTEMS[a]} → {SYSTEMS[b]}", kind] for a, b in pairs for kind in ("tag", "spans.chunks")]
    assert [row[:2] for row in rows] == expected
    for (a, b), row in zip(pairs, rows[1::2], strict=True):
        f = [report_of(project, one)["layers"][-1]["scores"]["f"]["value"] for one in (a, b)]
        assert row[2] == f"{100 * (f[1] - f[0]):+.2f}" and 0 <= float(row[3]) <= 1 and row[4:] == []
    comparison = report_of(project, "pipeline_marginal")["layers"][-1]["comparison"]
    assert f"{100 * comparison['difference']['gain']:+.2f}" == rows[-1][2], "the same by `hoseq report --against`"
    assert f"{comparison['difference']['p']:.4f}" == rows[-1][3]


@pytest.mark.long
def test_chunks_to_look_at(project):
    samples = (ROOT / "assets" / "en" / "samples.txt").read_text(encoding="utf8")
    page = (project / "reports" / "chunking.html").read_text(encoding="utf8")
    assert all(f">{escape(word)}<" in page for word in samples.split())


@pytest.mark.long
def test_second_run_has_nothing_to_do(project, corpora):
    process = workflow(project, corpora)
    assert process.returncode == 0, process.stdout
    assert re.findall(r"Skipping '([\w-]+)'", process.stdout) == STEPS
