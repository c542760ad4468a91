"""The workflows of experiments/conll2000 on made-up sentences: run once, small."""

import re

import pytest
import srsly

from ..chunk_corpus import sentences
from ..repository import copy_of_project, quicker, run_workflow

STEPS = "--training.max_epochs 0 --training.max_steps {0} --training.eval_frequency {0}"
STEPS += " --nlp.lang xx"
QUICK = {
    "bidirectional": f"{STEPS.format(60)} --components.hoseq_bidirectional_tagger.model.min_count 1",
    "chunking": STEPS.format(8),
}
PUBLISHED = [  # Tsuruoka and Tsujii (2005), tables 2 and 5; the first cell of a row, and the last two
    ("left_to_right", "96.92%", "844"), ("easiest_first", "97.13%", "2,461"),
    ("iob2", "93.11", "1,775"), ("start_end", "93.39", "392"),
]  # fmt: skip


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy in which both workflows have run."""
    corpora = tmp_path_factory.mktemp("corpora")
    made = sentences()
    test = "\n\n".join(made[80:]).replace("it PRP B-NP", "it PRP O")  # what is not learnt
    (corpora / "train.txt").write_text("\n\n".join(made[:80]) + "\n\n", "utf8")
    (corpora / "test.txt").write_text(test + "\n\n", "utf8")
    copy = copy_of_project(tmp_path_factory.mktemp("project") / "copy")
    folder = copy / "experiments" / "conll2000"
    for name, settings in QUICK.items():
        quicker(folder, settings, f"{name}-train")
        variables = ["--vars.conll2000", corpora, "--vars.processes", "1"]
        process = run_workflow(name, ".", *variables, folder=folder)
        assert process.returncode == 0, process.stdout
    return folder


def rows_of(page):
    lines = [line.strip("| ") for line in page.split("\n") if line.startswith("|")]
    return [re.split(r"\s*\|\s*", line) for line in lines]


@pytest.mark.slow
def test_strategies(project):
    rows = rows_of((project / "reports" / "bidirectional.md").read_text("utf8"))
    for name, *figures in PUBLISHED:
        assert any(row[0] == name and row[-2:] == figures for row in rows)
    for order in "12":
        found = srsly.read_json(project / "metrics" / "bidirectional" / f"tags_{order}.json")
        for strategy, scores in found["strategies"].items():
            assert 0.8 < scores["tag_acc"] <= 1
            assert [strategy, order, f"{scores['tag_acc']:.2%}"] in [row[:3] for row in rows]


@pytest.mark.slow
def test_layers(project):
    rows = rows_of((project / "reports" / "chunking.md").read_text("utf8"))
    systems = [path.parent for path in (project / "metrics" / "chunking").glob("*/report.json")]
    assert len(systems) == 7
    for system in systems:
        chunks = srsly.read_json(system / "report.json")["layers"][-1]
        right, guessed, gold = map(sum, zip(*chunks["counts"], strict=True))
        (row,) = [row for row in rows if f"({'../metrics/chunking/' + system.name}/" in row[0]]
        assert row[4] == f"{200 * right / (guessed + gold):.2f}" and 75 < float(row[4]) < 100
