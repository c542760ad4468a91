"""experiments/ocr/folds.py on invented letters."""

import re
from typing import Any

import pytest
import srsly

from ...repository import ROOT, script
from .toy import WORDS, file_fields, toy_file, write

DEFAULTS: dict[str, Any] = dict(
    decoder="exact", iterations=2, dropout=None, min_count=2, objective="", divide_words=False
)
SETTINGS = {
    *("fold", "order", "objective", "decoder", "config", "chosen"),
    *("iterations", "batch_size", "dropout"),
}
MEASURED = {"accuracy", "train_seconds_per_iteration", "test_seconds", "patterns"}


def folds_of(data, output, config="ocr.cfg", **settings):
    path = ROOT / "experiments" / "ocr" / "configs" / config
    script("ocr/folds").main(data=data, output=output, config=path, **{**DEFAULTS, **settings})
    return srsly.read_json(output)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return toy_file(tmp_path_factory.mktemp("letters") / "letter.data.gz")


SYSTEMS = [
    ("ocr.cfg", "perceptron"), ("ocr.cfg", "crf"), ("ocr.cfg", "max_margin"), ("ocr.cfg", ""),
    ("ocr_neural.cfg", ""), ("ocr_neural.cfg", "max_margin"),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("config, objective", SYSTEMS)
def test_folds_and_orders(config, objective, data, tmp_path, capsys):
    found = folds_of(
        data, tmp_path / "new" / "x.json", config, folds="0,2", orders="1,3", objective=objective
    )
    assert set(found) == {"data_folds", "runs", "means"} and found["data_folds"] == [0, 1, 2]
    assert [(r["order"], r["fold"]) for r in found["runs"]] == [(1, 0), (1, 2), (3, 0), (3, 2)]
    for one in found["runs"]:
        assert set(one) == MEASURED | SETTINGS
        assert (one["objective"], one["decoder"], one["iterations"]) == (objective, "exact", 2)
        assert (
            0 < one["accuracy"] <= 1
            and min(one["train_seconds_per_iteration"], one["test_seconds"]) > 0
        )
        assert (one["patterns"] > 0) == (one["order"] > 1)
    assert [(mean["order"], mean["folds"]) for mean in found["means"]] == [(1, 2), (3, 2)]
    for i, mean in enumerate(found["means"]):
        assert set(mean) == MEASURED | {"order", "folds"}
        for name in MEASURED:
            both = [one[name] for one in found["runs"][2 * i : 2 * i + 2]]
            assert mean[name] == pytest.approx(sum(both) / 2, rel=1e-6)
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if re.match(r"\s*\d", line)]
    assert [[*row[:3]] for row in rows] == [
        [str(m["order"]), f"{m['patterns']:.0f}", f"{m['accuracy']:.2%}"] for m in found["means"]
    ]


@pytest.mark.long
def test_accuracy_is_of_the_other_folds(tmp_path):
    """What fold 0 shows is enough for fold 1, but fold 1 shows one letter only."""
    words = [(text, 0) for text in [*WORDS, "a"]] + [("a", 1), ("a", 1)]
    data = write(tmp_path / "letter.data", file_fields(words))
    found = folds_of(
        data, tmp_path / "x.json", folds="0,1", orders="1", objective="perceptron", iterations=20
    )
    known, unknown = (one["accuracy"] for one in found["runs"])
    letters = "".join(WORDS) + "a"
    assert known == 1 and unknown == pytest.approx(letters.count("a") / len(letters))


@pytest.mark.long
def test_words_of_the_test_part_are_not_in_training(tmp_path):
    """Fold 0 learns without the word a, fold 2 without the word c, so that nothing is known of these letters."""
    data = write(
        tmp_path / "letter.data",
        file_fields([(text, fold) for fold in (0, 1, 2) for text in "abcabc"]),
    )
    settings = dict(folds="0,2", orders="1", objective="perceptron", iterations=20)
    together = folds_of(data, tmp_path / "x.json", **settings)["runs"]
    assert all("unseen_accuracy" not in one and one["accuracy"] == 1 for one in together)
    for one in folds_of(data, tmp_path / "y.json", divide_words=True, **settings)["runs"]:
        assert (one["accuracy"], one["unseen_accuracy"]) == (1, 0)
        assert (one["batch_size"], one["dropout"]) == (10, 0.0)
