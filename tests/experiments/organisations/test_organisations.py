"""Organisation names: configs, measuring, reranking and report, on made-up sentences."""

import sys

import numpy as np
import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin, Span
from spacy.util import load_config, load_model_from_config

from ...repository import ROOT, script

# a few updates without an evaluation; folds without a dev part
pytestmark = [pytest.mark.filterwarnings(f"ignore:.*{code}") for code in ("HW004", "HW008")]

RERANKED = ("reranked", "reranked_literature", "reranked_both")
NAMES = (
    "low",
    "patterns",
    "patterns_expected",
    *RERANKED,
    *(f"{name}_expected" for name in RERANKED),
)
CONFIGS = ["zh_org.cfg", "zh_org_low.cfg"]
FIRST, MIDDLE = ["江北", "红叶", "青山", "长河"], ["纸业", "机械", "", "茶叶"]
LAST, AFTER = ["公司", "大学", "委员会", "银行"], ["开会了。", "的人来了。", "卖书。"]
MODULES = ("measure", "rerank", "report", "reranking", "literature")
QUICK = {
    "training.max_epochs": 6,
    "training.batcher.size": 400,
    "training.logger.progress_bar": None,
}


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
    yield {name: script(f"organisations/{name}") for name in MODULES}
    sys.path.remove(str(folder))
    for name in {"measure", "reranking", "literature"} - before:
        sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("org")
    made = sentences()
    return (
        folder,
        corpus_file(folder / "train.spacy", made[:50]),
        corpus_file(folder / "test.spacy", made[50:]),
    )


@pytest.fixture(scope="module")
def metrics(files, scripts):
    """Of all systems."""
    from spacy.cli.train import train

    folder, train_file, test_file = files
    changes = {**QUICK, "paths.train": str(train_file), "paths.dev": str(test_file)}
    for name, config in zip(("patterns", "low"), CONFIGS, strict=True):
        train(ROOT / "configs" / config, folder / name, overrides=changes)
        srsly.write_json(folder / name / "timings.json", {"training_seconds": 1.0, "peak_bytes": 1})
        srsly.write_jsonl(
            folder / f"{name}.jsonl", [{"epoch": e, "scores": {"ents_f": 10 * e}} for e in (0, 1)]
        )
        scripts["measure"].main(
            folder / name / "model-last", test_file, folder / "metrics" / "0" / f"msra_{name}.json"
        )

    model, output = (
        folder / "patterns" / "model-last",
        folder / "metrics" / "0" / "msra_patterns_expected.json",
    )
    scripts["measure"].main(model, test_file, output, expected=True)

    class Context:
        args = [f"--{key}={value}" for key, value in QUICK.items() if value is not None]

    models = [folder / name / "model-last" for name in ("low", "patterns")]
    output = folder / "metrics" / "0" / "msra_reranked.json"
    scripts["rerank"].main(
        Context, ROOT / "configs" / CONFIGS[1], train_file, *models, test_file, output, k=4
    )
    return {name: srsly.read_json(folder / "metrics" / "0" / f"msra_{name}.json") for name in NAMES}


@pytest.mark.parametrize("file", CONFIGS)
def test_config_is_complete_and_can_be_made(file):
    config = load_config(ROOT / "configs" / file, interpolate=True)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    filled = load_model_from_config(config, auto_fill=True, validate=True)
    settings = config["components"]["hoseq_chunker"]
    assert (
        nlp.get_pipe_config("hoseq_chunker") == filled.get_pipe_config("hoseq_chunker") == settings
    )
    assert filled.config.interpolate()["initialize"] == config["initialize"]
    assert [token.text for token in nlp.make_doc("江北大学")] == list("江北大学")


def test_systems_differ_in_their_patterns_only():
    high, low = (load_config(ROOT / "configs" / file, interpolate=True) for file in CONFIGS)
    model = high["components"]["hoseq_chunker"]["model"]
    assert model["patterns"]["*"]["words"]["label"] == "ORG"
    model["patterns"], model["nonnegative"] = None, True  # which says nothing without patterns
    assert high == low


@pytest.mark.long
def test_names_are_found_and_counted(metrics):
    n_names = sum(name is not None for _, name in sentences()[50:])
    for name, values in metrics.items():
        right, found, gold = np.sum(values["sentences"], axis=0)
        assert gold == n_names and len(values["sentences"]) == len(sentences()[50:])
        assert values["p"] == right / found and values["r"] == right / gold and values["f"] > 0.8, (
            name
        )
        assert (
            values["tokens"] == sum(len(text) for text, _ in sentences()[50:])
            and values["tokens_per_second"] > 0
        )
        assert values["training_seconds"] >= 1 and "all" not in values
        assert name.startswith("reranked") or (values["epochs"], values["curve"]) == (
            6,
            [[0, 0.0], [1, 0.1]],
        )
    assert metrics["low"]["patterns"] is None and metrics["low"]["thresholds"] == [None, None]
    for name in ("patterns_expected", *(f"{reranked}_expected" for reranked in RERANKED)):
        assert all(0.1 <= threshold <= 0.5 for threshold in metrics[name]["thresholds"])
    assert metrics["patterns"]["patterns"] > 50 and metrics["reranked"]["patterns"] > 0
    for name in RERANKED:
        assert metrics[name]["oracle_f"] == metrics["reranked"]["oracle_f"] >= metrics[name]["f"]
        assert metrics[name]["lists"] == 50 and metrics[name]["first_f"] == pytest.approx(
            metrics["low"]["f"]
        )
    several = metrics["reranked"]["patterns"] + metrics["reranked_literature"]["patterns"]
    assert (
        metrics["reranked_literature"]["patterns"] > 0
        and metrics["reranked_both"]["patterns"] == several
    )


@pytest.mark.long
def test_report(metrics, files, scripts):
    output = files[0] / "reports" / "org_names.md"
    scripts["report"].main(output, files[0] / "metrics", note="Made up.")
    page = output.read_text(encoding="utf8")
    assert (
        page.startswith("# Organisation names")
        and "significantly outperform" in page
        and "Made up." in page
    )
    lines = [line for line in page.split("\n") if "CRF with patterns |" in line and "→" not in line]
    row, curve = lines
    cells, grown = ([cell.strip() for cell in line.strip("|").split("|")] for line in (row, curve))
    assert grown == ["MSRA, characters", "CRF with patterns", "0.00", "10.00"]
    assert cells[:2] == ["MSRA, characters", "CRF with patterns"]
    assert cells[2:5] == [f"{100 * metrics['patterns'][x]:.2f}" for x in "prf"] and cells[5] == "-"
    assert sum("→" in line for line in page.split("\n")) == 9 and "Over seeds" not in page


def candidate(module, spans, log_p, *features):
    return module.Candidate({(a, b, "ORG") for a, b in spans}, log_p, [np.array(features, np.intp)])


def test_gradient_of_the_reranker(scripts):
    module, rng = scripts["reranking"], np.random.default_rng(0)
    spans = [[(0, 1)], [(0, 2)], [], [(1, 3)]]
    found = [
        [candidate(module, spans[j], -float(j), *rng.integers(0, 3, size=4)) for j in range(4)]
        for _ in range(3)
    ]
    shared = rng.integers(0, 3, size=5)
    found[1] = [
        one._replace(features=[*one.features, *[shared] * (j % 3)])
        for j, one in enumerate(found[1])
    ]
    lists = module.lists_of(found, [{(0, 2, "ORG")}, set(), {(0, 1, "ORG"), (1, 3, "ORG")}], "ORG")
    weights = rng.normal(size=4)

    def loss(w):
        shares = lists.shares(module.scored(lists, w))
        return -sum(
            np.log(shares[4 * i : 4 * i + 4][lists.best[4 * i : 4 * i + 4]].sum()) for i in range(3)
        )

    expected = [(loss(weights + h) - loss(weights - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
    assert module._gradient(lists, weights) == pytest.approx(np.array(expected), abs=1e-6)
    counts = [
        np.bincount(np.concatenate(one.features), minlength=3) for some in found for one in some
    ]
    scores = lists.log_p * weights[0] + np.array(counts) @ weights[1:]
    assert module.scored(lists, weights) == pytest.approx(scores)
