"""Organisation names: training, measuring, reranking and report, on made-up sentences."""

import sys

import numpy as np
import pytest
import spacy
import srsly
from spacy.cli.train import train
from spacy.tokens import Doc, DocBin, Span

from ..repository import ROOT, script

# a few updates without an evaluation; folds without a dev part
pytestmark = [pytest.mark.filterwarnings(f"ignore:.*{code}") for code in ("HW004", "HW008")]

RERANKED = ("reranked", "reranked_literature", "reranked_both")
NAMES = ("low", "patterns", "patterns_expected", *RERANKED)
FIRST, MIDDLE = ["江北", "红叶", "青山", "长河"], ["纸业", "机械", "", "茶叶"]
LAST, AFTER = ["公司", "大学", "委员会", "银行"], ["开会了。", "的人来了。", "卖书。"]
QUICK = {"training.max_epochs": 6, "training.batcher.size": 400}
QUICK["training.logger.progress_bar"] = None


def sentences():
    """Characters, and (first, end) of the name in each; every fifth sentence has none."""
    made = []
    for i in range(60):
        name = FIRST[i % 4] + MIDDLE[i * 7 // 4 % 4] + LAST[i * 5 // 3 % 4]
        before = ["昨天", "在", "由"][i % 3]
        made.append((f"{before}{name}{AFTER[i // 2 % 3]}", (len(before), len(before) + len(name))))
        if i % 5 == 0:
            made.append((f"{before}他们{AFTER[i // 2 % 3]}", None))
    return made


def corpus_file(path, some):
    vocab = spacy.blank("zh").vocab
    docs = []
    for text, name in some:
        doc = Doc(vocab, words=list(text), spaces=[False] * len(text))
        doc.set_ents([Span(doc, *name, "ORG")] if name else [])
        docs.append(doc)
    DocBin(docs=docs).to_disk(path)
    return path


@pytest.fixture(scope="module")
def scripts():
    """They import one another."""
    folder, before = ROOT / "experiments" / "organisations", set(sys.modules)
    sys.path.insert(0, str(folder))
    names = "measure rerank report reranking literature".split()
    yield {name: script(f"organisations/{name}") for name in names}
    sys.path.remove(str(folder))
    for name in {"measure", "reranking", "literature"} - before:
        sys.modules.pop(name, None)


@pytest.mark.long
def test_names_are_found_counted_and_reported(tmp_path, scripts):
    made = sentences()
    parts = {"train": made[:50], "test": made[50:]}
    files = [corpus_file(tmp_path / f"{part}.spacy", docs) for part, docs in parts.items()]
    metrics = tmp_path / "metrics" / "0"
    changes = {**QUICK, "paths.train": str(files[0]), "paths.dev": str(files[1])}
    for name, config in (("patterns", "zh_org.cfg"), ("low", "zh_org_low.cfg")):
        train(ROOT / "configs" / config, tmp_path / name, overrides=changes)
        timings = {"training_seconds": 1.0, "peak_bytes": 1}
        srsly.write_json(tmp_path / name / "timings.json", timings)
        rows = [{"epoch": epoch, "scores": {"ents_f": 10 * epoch}} for epoch in (0, 1)]
        srsly.write_jsonl(tmp_path / f"{name}.jsonl", rows)
        model = tmp_path / name / "model-last"
        scripts["measure"].main(model, files[1], metrics / f"msra_{name}.json")
    models = [tmp_path / name / "model-last" for name in ("low", "patterns")]
    expected = metrics / "msra_patterns_expected.json"
    scripts["measure"].main(models[1], files[1], expected, expected=True)

    class Context:
        args = [f"--{key}={value}" for key, value in QUICK.items() if value is not None]

    config = ROOT / "configs" / "zh_org_low.cfg"
    output = metrics / "msra_reranked.json"
    scripts["rerank"].main(Context, config, files[0], *models, files[1], output, k=4)

    n_names = sum(name is not None for _, name in made[50:])
    found = {name: srsly.read_json(metrics / f"msra_{name}.json") for name in NAMES}
    for name, values in found.items():
        right, guessed, gold = np.sum(values["sentences"], axis=0)
        assert gold == n_names and values["f"] > 0.8, name
        assert values["p"] == right / guessed and values["r"] == right / gold
    assert found["low"]["patterns"] is None and found["patterns"]["patterns"] > 50
    for name in RERANKED:
        assert found[name]["oracle_f"] == found["reranked"]["oracle_f"] >= found[name]["f"]
        assert found[name]["first_f"] == pytest.approx(found["low"]["f"])
    scripts["report"].main(tmp_path / "org.md", tmp_path / "metrics", note="Made up.")
    page = (tmp_path / "org.md").read_text("utf8")
    row = next(line for line in page.split("\n") if "CRF with patterns |" in line)
    assert [f"{100 * found['patterns'][x]:.2f}" in row for x in "prf"] == [True] * 3
