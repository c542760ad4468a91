"""The workflows `bidirectional` and `chunking` of experiments/conll2000 on made-up sentences: run once, small."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import srsly
from spacy.tokens import DocBin
from spacy.vocab import Vocab

from ...chunk_corpus import sentences
from ...repository import ROOT, copy_of_project, quicker, run, run_workflow, script

pytestmark = pytest.mark.long
STRATEGIES = [
    "left_to_right", "right_to_left", "dependency_network", "easiest_last", "easiest_first", "full_bidirectional",
]  # fmt: skip
BIDIRECTIONAL = ["tags_1", "tags_2", "iob2_1", "iob2_2", "start_end_1", "start_end_2"]
CHUNKING = {
    "multilayer_1best": "paper: best tags",
    "multilayer_marginal": "paper: marginals",
    "multilayer_joint": "paper: joint",
    "pipeline_1best": "ours: best tags",
    "pipeline_marginal": "ours: marginals",
    "pipeline_joint": "ours: joint",
    "given": "ours: tags given",
}
PUBLISHED = {  # of Tsuruoka and Tsujii (2005), tables 2 and 5
    ("left_to_right", "2"): ["96.92%", "844"],
    ("easiest_first", "2"): ["97.13%", "2,461"],
    ("iob2", "left_to_right", "1"): ["93.11", "1,775"],
    ("start_end", "full_bidirectional", "1"): ["93.39", "392"],
    ("start_end", "easiest_last", "1"): ["-", "-"],
}
STEPS = (
    "--training.max_epochs 0 --training.max_steps {0} --training.eval_frequency {1} --nlp.lang xx"
)
QUICK = {
    "bidirectional": STEPS.format(60, 15)
    + " --components.hoseq_bidirectional_tagger.model.min_count 1",
    "chunking": STEPS.format(8, 8),
}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, made = tmp_path_factory.mktemp("corpora"), sentences()
    (folder / "train.txt").write_text("\n\n".join(made[:80]) + "\n\n", encoding="utf8")
    test = (
        "\n\n".join(made[80:]).replace("it PRP B-NP", "it PRP O").replace("May NNP", "May NN")
    )  # what is not learnt
    (folder / "test.txt").write_text(test + "\n\n", encoding="utf8")
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, corpora: Path) -> Path:
    """A copy in which both workflows have run, and a second time with nothing to do."""
    folder = (
        copy_of_project(tmp_path_factory.mktemp("project") / "copy") / "experiments" / "conll2000"
    )
    for name, settings in QUICK.items():
        quicker(folder, settings, f"{name}-train")
        for is_done in (False, True):
            variables = ["--vars.conll2000", corpora, "--vars.processes", "1"]
            process = run_workflow(name, ".", *variables, folder=folder)
            assert process.returncode == 0, process.stdout
            steps = re.findall(r"=+ ([\w-]+) =+", process.stdout)
            assert (re.findall(r"Skipping '([\w-]+)'", process.stdout) == steps) == is_done
    return folder


def tables(page: str) -> list[list[list[str]]]:
    """Rows of each table, without its header."""
    blocks = re.findall(r"(?:^\|.*\n?)+", page, re.MULTILINE)
    return [
        [re.split(r"\s*\|\s*", line.strip("| ")) for line in block.split("\n")[2:] if line]
        for block in blocks
    ]


@pytest.mark.parametrize("system", BIDIRECTIONAL)
def test_strategies_are_measured(system: str, project: Path, corpora: Path):
    found = srsly.read_json(project / "metrics" / "bidirectional" / f"{system}.json")
    representation, order = system.rsplit("_", 1)
    assert (found["order"], found["representation"] or "tags") == (int(order), representation)
    words = [line for line in (corpora / "test.txt").read_text(encoding="utf8").split("\n") if line]
    assert found["tokens"] == len(words) > 200 and list(found["strategies"]) == STRATEGIES
    assert min(found["training_seconds"], found["peak_bytes"], found["model_bytes"]) > 0
    for scores in found["strategies"].values():
        right, guessed, gold, tags, tokens = np.sum(scores["sentences"], axis=0).tolist()
        score = tags / tokens if representation == "tags" else 2 * right / (guessed + gold)
        assert score == pytest.approx(
            scores["tag_acc" if representation == "tags" else "spans_chunks_f"]
        )
        assert 0.8 < score < 1 and tokens == len(words)


def test_report_on_strategies(project: Path):
    page = (project / "reports" / "bidirectional.md").read_text(encoding="utf8")
    tags, chunks, training = tables(page)
    assert (len(tags), len(chunks), len(training)) == (12, 24, 6)
    assert [row[:2] for row in tags] == [
        [strategy, order] for order in "12" for strategy in STRATEGIES
    ]
    for strategy, order, accuracy, *_ in tags:
        found = srsly.read_json(project / "metrics" / "bidirectional" / f"tags_{order}.json")
        assert accuracy == f"{found['strategies'][strategy]['tag_acc']:.2%}"
    rows = {tuple(row[:2]): row[4:] for row in tags} | {tuple(row[:3]): row[7:] for row in chunks}
    assert {key: rows[key] for key in PUBLISHED} == PUBLISHED
    texts = (ROOT / "assets" / "en" / "samples.txt").read_text(encoding="utf8").split("\n")
    shown = [
        [item.rsplit("/", 2)[0] for item in line[2:].split()]
        for line in page.split("\n")
        if line[:2] == "- "
    ]
    assert shown == [text.split() for text in texts if text]


def test_report_on_layers(project: Path):
    page = (project / "reports" / "chunking.md").read_text(encoding="utf8")
    systems, differences = tables(page)[:2]
    reports = [
        srsly.read_json(project / "metrics" / "chunking" / name / "report.json")
        for name in CHUNKING
    ]
    for row, found, name in zip(systems, reports, CHUNKING, strict=False):
        *tags, chunks = found["layers"]
        right, guessed, gold = np.sum(chunks["counts"], axis=0).tolist()
        assert 0.75 < 2 * right / (guessed + gold) < 1 and len(tags) == (name != "given")
        assert row[0] == f"[{CHUNKING[name]}](../metrics/chunking/{name}/report.html)"
        assert row[4] == f"{200 * right / (guessed + gold):.2f}"
    published = [[row[1], row[4]] for row in systems[len(CHUNKING) :]]
    assert published == [["95.6", "92.1"], ["95.6", "92.7"], ["95.8", "93.1"]]
    names = [*CHUNKING.values()]
    pairs = [*pairwise(names[:3]), *pairwise(names[3:6])]
    expected = [[f"{a} → {b}", kind] for a, b in pairs for kind in ("tag", "spans.chunks")]
    assert [row[:2] for row in differences] == expected
    gain = reports[4]["layers"][-1]["comparison"]["difference"]
    assert [f"{100 * gain['gain']:+.2f}", f"{gain['p']:.4f}"] == differences[5][2:4], (
        "as by `hoseq report --against`"
    )


def test_chunk_column_becomes_spans(tmp_path: Path):
    rows = ["She PRP B-NP", "gave VBD B-VP", "him PRP B-NP", "a DT B-NP", "boat NN I-NP", ". . O"]
    (tmp_path / "one.conll").write_text("\n".join(rows) + "\n\nWell UH O\n\n", encoding="utf8")
    process: Any = run(
        "-m", "spacy", "convert", tmp_path / "one.conll", tmp_path, "--converter", "conll"
    )
    assert process.returncode == 0, process.stdout
    script("common/chunk_spans").main(tmp_path / "one.spacy", tmp_path / "out.spacy", key="phrases")
    doc, other = DocBin().from_disk(tmp_path / "out.spacy").get_docs(Vocab())
    chunks = [(span.text, span.label_) for span in doc.spans["phrases"]]
    assert chunks == [("She", "NP"), ("gave", "VP"), ("him", "NP"), ("a boat", "NP")]
    assert list(other.spans) == ["phrases"] and len(other.spans["phrases"]) == 0, (
        "annotated: there are no chunks"
    )
    assert not doc.ents and [token.tag_ for token in doc] == ["PRP", "VBD", "PRP", "DT", "NN", "."]
