"""The workflow `chunking` of experiments/conll2000, and its scripts, on made-up sentences."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any, Dict, List
from xml.etree import ElementTree

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span

from ...chunk_corpus import sentences
from ...repository import ROOT, copy_of_project, quicker, run, script

SYSTEMS = {
    "multilayer_1best": ("Table 1 of the paper", "CRF + CRF: best tags"),
    "multilayer_marginal": ("Table 1 of the paper", "CRF + CRF-MF: marginals"),
    "multilayer_joint": ("Table 1 of the paper", "CRF + CRF-BP: joint"),
    "pipeline_1best": ("ours", "best tags"),
    "pipeline_marginal": ("ours", "marginals"),
    "pipeline_joint": ("ours", "joint"),
    "given": ("ours", "tags given"),
}
PAPER = {
    "multilayer_1best": ["95.6", "92.1"],
    "multilayer_marginal": ["95.6", "92.7"],
    "multilayer_joint": ["95.8", "93.1"],
}  # Table 2
STEPS = [
    "files", "convert", "chunks", "chunking-train-multilayer", "chunking-train",
    "chunking-measure", "chunking-report",
]  # fmt: skip
QUICK = "--training.max_epochs 0 --training.max_steps 8 --training.eval_frequency 8 --training.logger.progress_bar null"
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
    return run("-m", "spacy", "project", "run", "chunking", ".", "--vars.conll2000", corpora, folder=project)


def metrics(project: Path, system: str) -> Dict[str, Any]:
    return srsly.read_json(project / "metrics" / "chunking" / f"{system}.json")


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
def test_metrics(system, project, corpora):
    found = metrics(project, system)
    words = [line for line in (corpora / "test.txt").read_text(encoding="utf8").split("\n") if line]
    sentences = np.array(found["sentences"])
    right, guessed, gold, right_tags, tokens = sentences.sum(axis=0).tolist()
    assert len(sentences) == 28 and found["tokens"] == tokens == len(words)
    assert gold == sum(line.split()[2][0] == "B" for line in words)
    scores = found["scores"]
    expected = [right / guessed, right / gold, 2 * right / (guessed + gold)]
    assert [scores[f"spans_chunks_{x}"] for x in "prf"] == pytest.approx(expected)
    assert expected[0] < expected[1], "`it` is no chunk in the test part"
    assert FLOOR["spans_chunks_f"] < scores["spans_chunks_f"] < 1
    if system == "given":
        assert right_tags == tokens and scores.get("tag_acc") is None
    else:
        assert scores["tag_acc"] == pytest.approx(right_tags / tokens) and FLOOR["tag_acc"] < scores["tag_acc"] < 1
    assert len(found["probabilities"]) == len(found["right"]) == guessed and sum(found["right"]) == right
    assert all(0 < p <= 1 for p in found["probabilities"]) and set(found["right"]) <= {0, 1}
    assert set(found["per_type"]) >= {"NP", "VP"} and found["tokens_per_second"] > 1
    folder = project / "training" / "chunking" / system
    assert found["model_bytes"] == sum(p.stat().st_size for p in (folder / "model-best").rglob("*") if p.is_file())
    timings = srsly.read_json(folder / "timings.json")
    assert timings.items() <= found.items() and 0.1 < timings["training_seconds"] < 300


@pytest.mark.long
def test_measured_are_the_chunks_of_the_model(project):
    nlp = spacy.load(project / "training" / "chunking" / "pipeline_joint" / "model-best")
    gold = list(DocBin().from_disk(project / "corpus" / "chunks" / "test.spacy").get_docs(nlp.vocab))
    docs = [nlp(Doc(nlp.vocab, [token.text for token in doc])) for doc in gold]
    found = metrics(project, "pipeline_joint")
    assert found["probabilities"] == pytest.approx([p for d in docs for p in d.spans["chunks"].attrs["scores"]])
    on = [{(s.start, s.end, s.label_) for s in doc.spans["chunks"]} for doc in gold]
    right = [(s.start, s.end, s.label_) in here for d, here in zip(docs, on, strict=True) for s in d.spans["chunks"]]
    assert found["right"] == right


@pytest.mark.long
def test_table_of_systems(project):
    header, *rows = tables(page_of(project))[0]
    assert header == [
        "Features", "System", "Tags", "Precision", "Recall", "F", "paper: tags", "paper: F", "ECE", "Training",
        "Peak memory", "tokens/s", "Model",
    ]  # fmt: skip
    report = script("conll2000/chunking_report")
    for name, row in zip(SYSTEMS, rows, strict=True):
        found = metrics(project, name)
        scores = found["scores"]
        shown = "-" if name == "given" else f"{scores['tag_acc']:.2%}"
        quality = report.reliability(found["probabilities"], found["right"])
        assert row == [
            *SYSTEMS[name], shown, *(f"{100 * scores[f'spans_chunks_{x}']:.2f}" for x in "prf"),
            *PAPER.get(name, ["", ""]), f"{quality.error:.4f}", f"{found['training_seconds']:.0f} s",
            f"{found['peak_bytes'] / 2**20:,.0f} MiB", f"{found['tokens_per_second']:,.0f}",
            f"{found['model_bytes'] / 1e6:.1f} MB",
        ]  # fmt: skip


@pytest.mark.long
def test_table_of_differences(project):
    header, *rows = tables(page_of(project))[1]
    assert header == ["Features", "Systems", "F", "p", "Tags", "p"]
    names = list(SYSTEMS)
    pairs = [*pairwise(names[:3]), *pairwise(names[3:6])]
    significance = script("conll2000/chunking_report").significance
    for (a, b), row in zip(pairs, rows, strict=True):
        (f, f_p), (tags, tag_p) = significance(*(np.array(metrics(project, n)["sentences"], float) for n in (a, b)))
        assert row[:2] == [SYSTEMS[a][0], f"{SYSTEMS[a][1]} → {SYSTEMS[b][1]}"]
        assert row[2:] == [f"{100 * f:+.2f}", f"{f_p:.4f}", f"{100 * tags:+.2f}", f"{tag_p:.4f}"]
        gain = metrics(project, b)["scores"]["spans_chunks_f"] - metrics(project, a)["scores"]["spans_chunks_f"]
        assert f == pytest.approx(gain)


@pytest.mark.long
def test_pictures_and_chunks(project):
    page, reports = page_of(project), project / "reports"
    assert "![Expected and observed share of right chunks](chunking_reliability.svg)" in page
    text = " ".join(ElementTree.fromstring((reports / "chunking_reliability.svg").read_text("utf8")).itertext())
    assert "Chunks, ours, joint" in text
    assert "[chunking.html](chunking.html)" in page
    samples = [s for s in (ROOT / "assets" / "en" / "samples.txt").read_text(encoding="utf8").split("\n") if s]
    shown = [line[2:] for line in page.split("\n") if line.startswith("- ")]
    assert [re.sub(r"\[(?=\S)|\]\*\*[A-Z]+\*\*", "", line) for line in shown] == samples
    assert sum(line.count("]**") for line in shown) == (reports / "chunking.html").read_text("utf8").count("<mark") > 3


@pytest.mark.long
def test_second_run_has_nothing_to_do(project, corpora):
    process = workflow(project, corpora)
    assert process.returncode == 0, process.stdout
    assert re.findall(r"Skipping '([\w-]+)'", process.stdout) == STEPS


# The report, without a model


def made_up(folder: Path, systems: List[str], **changes: Any) -> Path:
    """Measurements of 30 sentences, the later the system the better."""
    folder.mkdir()
    for i, name in enumerate(systems):
        counts = [[4 + i if s % 3 else 3, 8, 9, 9 + (i > 1), 12] for s in range(30)]
        scores = {"tag_acc": 0.9, "spans_chunks_p": 0.5, "spans_chunks_r": 0.4, "spans_chunks_f": 0.45}
        values = {"tokens": 360, "scores": scores, "sentences": counts, "probabilities": [0.9, 0.2], "right": [1, 0]}
        srsly.write_json(folder / f"{name}.json", {**values, "tokens_per_second": 1e4, "model_bytes": 2e6, **changes})
    return folder


def report_of(tmp_path: Path, systems: List[str], **arguments: Any) -> str:
    output = tmp_path / "new" / "one.md"
    script("conll2000/chunking_report").main(output, made_up(tmp_path / "metrics", systems), **arguments)
    return output.read_text(encoding="utf8")


def test_report_of_one_system(tmp_path):
    """No figures of the paper, nothing to compare, no timings, no model."""
    page = report_of(tmp_path, ["pipeline_marginal"], note="A note.")
    (table,) = tables(page)
    assert table[0] == [
        "Features", "System", "Tags", "Precision", "Recall", "F", "ECE", "Training", "Peak memory", "tokens/s", "Model",
    ]  # fmt: skip
    assert table[1:] == [
        ["ours", "marginals", "90.00%", "50.00", "40.00", "45.00", "0.1500", "-", "-", "10,000", "2.0 MB"]
    ]
    assert "Differences" not in page and "Azuma" not in page and "## Chunks" not in page
    assert "360 test tokens. A note." in page
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["one.md", "one_reliability.svg"]
    assert "Chunks, ours, marginals" in (tmp_path / "new" / "one_reliability.svg").read_text(encoding="utf8")


def test_report_of_some_systems(tmp_path):
    """Those that are there are compared, in the order of the table; systems of two groups are not."""
    page = report_of(tmp_path, ["multilayer_1best", "multilayer_joint", "pipeline_joint", "given"])
    systems, differences = tables(page)
    assert [row[1] for row in systems[1:]] == ["CRF + CRF: best tags", "CRF + CRF-BP: joint", "joint", "tags given"]
    assert [row[2] for row in systems[1:]] == ["90.00%"] * 3 + ["-"]
    assert [row[6:8] for row in systems[1:]] == [["95.6", "92.1"], ["95.8", "93.1"], ["", ""], ["", ""]]
    assert [row[1] for row in differences[1:]] == ["CRF + CRF: best tags → CRF + CRF-BP: joint"]
    assert differences[1][2:] == [f"{100 * 2 * 20 / (17 * 30):+.2f}", "0.0000", "+0.00", "1.0000"]


@pytest.mark.parametrize("others", [[], ["tagger.json"]])
def test_report_without_measurements(others, tmp_path, capsys):
    (tmp_path / "metrics").mkdir()
    for name in others:
        srsly.write_json(tmp_path / "metrics" / name, {})
    with pytest.raises(SystemExit) as error:
        script("conll2000/chunking_report").main(tmp_path / "one.md", tmp_path / "metrics")
    assert error.value.code == 1 and "No measurements" in capsys.readouterr().out
    assert not (tmp_path / "one.md").exists()


def random_counts(seed: int, better: float = 0.0) -> "tuple[np.ndarray, np.ndarray]":
    rng = np.random.default_rng(seed)
    size = rng.integers(5, 30, 80)
    gold = rng.integers(1, size // 2 + 1)
    systems = []
    for share in (0.7, 0.7 + better):
        found = np.maximum(1, gold + rng.integers(-1, 2, 80))
        systems.append(np.stack([rng.binomial(np.minimum(found, gold), share), found, gold,
                                 rng.binomial(size, share), size], axis=1).astype(float))  # fmt: skip
    return systems[0], systems[1]


def plain_bootstrap(a: np.ndarray, b: np.ndarray, n: int = 1000) -> "list[float]":
    """How often b is not better than a: in F, in tags. One resample after the other."""
    rng = np.random.default_rng(1)
    not_better = [0, 0]
    for _ in range(n):
        drawn = rng.integers(0, len(a), len(a))
        x, y = ([0.0] * 5, [0.0] * 5)
        for i in drawn:
            x, y = [p + q for p, q in zip(x, a[i], strict=True)], [p + q for p, q in zip(y, b[i], strict=True)]
        not_better[0] += 2 * y[0] / (y[1] + y[2]) <= 2 * x[0] / (x[1] + x[2])
        not_better[1] += y[3] / y[4] <= x[3] / x[4]
    return [count / n for count in not_better]


@pytest.mark.long
@pytest.mark.parametrize("seed, better", [(0, 0.0), (1, 0.02), (2, -0.02)])
def test_significance_is_that_of_a_plain_bootstrap(seed, better):
    a, b = random_counts(seed, better)
    (f, f_p), (tags, tag_p) = script("conll2000/chunking_report").significance(a, b)
    f_of, accuracy_of = (lambda x: 2 * x[0] / (x[1] + x[2])), (lambda x: x[3] / x[4])
    assert f == pytest.approx(f_of(b.sum(axis=0)) - f_of(a.sum(axis=0)))
    assert tags == pytest.approx(accuracy_of(b.sum(axis=0)) - accuracy_of(a.sum(axis=0)))
    assert [f_p, tag_p] == pytest.approx(plain_bootstrap(a, b), abs=0.06)
    (_, again_f), (_, again_tags) = script("conll2000/chunking_report").significance(a, b)
    assert (again_f, again_tags) == (f_p, tag_p), "the same each time"


def test_significance_of_known_cases():
    significance = script("conll2000/chunking_report").significance
    a, _ = random_counts(0)
    assert significance(a, a) == ((0.0, 1.0), (0.0, 1.0)), "equal is not better"
    better = a.copy()
    better[:, 3] += np.minimum(1, a[:, 4] - a[:, 3])
    (f, f_p), (tags, tag_p) = significance(a, better)
    assert (f, f_p) == (0.0, 1.0) and tags > 0 and tag_p == 0.0, "better in every sentence"
    assert significance(better, a)[1] == (-tags, 1.0)
    one = np.tile([4.0, 8, 8, 5, 10], (3, 1))
    other = one.copy()
    other[0, 0] += 1  # better only if this sentence is drawn: not in (2/3)^3 of all samples
    assert significance(one, other)[0] == pytest.approx((1 / 24, (2 / 3) ** 3), abs=0.02)
    nothing = np.array([[0.0, 0, 0, 1, 1]])
    assert significance(nothing, nothing) == ((0.0, 1.0), (0.0, 1.0))


def test_text_of_chunks():
    doc = Doc(spacy.blank("xx").vocab, "she never gave us a boat .".split())
    doc.spans["chunks"] = [Span(doc, 0, 1, "NP"), Span(doc, 1, 3, "VP"), Span(doc, 3, 6, "NP")]
    assert script("conll2000/chunking_report").text_of(doc) == "[she]**NP** [never gave]**VP** [us a boat]**NP** ."
