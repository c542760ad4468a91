"""experiments/ocr/report.py: the table of systems and the figures over the order of the patterns."""

import re

import pytest
import srsly

from ...repository import ROOT, run

SCRIPT = ROOT / "experiments" / "ocr" / "report.py"


def measured(accuracies, fold_numbers=(0, 1), iterations=50):
    """What folds.py writes. accuracies: of each order."""
    runs, means = [], []
    for order, accuracy in accuracies.items():
        numbers = {"accuracy": accuracy, "patterns": 10 * order}
        numbers |= {"train_seconds_per_iteration": 0.25 * order, "test_seconds": 1.5 * order}
        runs += [{"fold": fold, "order": order, "iterations": iterations, **numbers} for fold in fold_numbers]
        means.append({"order": order, "folds": len(fold_numbers), **numbers})
    return {"data_folds": [0, 1, 2, 3, 4], "runs": runs, "means": means}


@pytest.mark.long
def test_report(tmp_path):
    pytest.importorskip("matplotlib")
    systems = {
        "per<ceptron": measured({1: 0.5, 3: 0.625, 7: 0.875}),
        "CRF": measured({1: 0.75, 7: 0.8125}, [0], 30),
        "dual": measured({7: 0.9}, [2], 10),
    }
    for name, values in systems.items():
        srsly.write_json(tmp_path / f"{len(name)}.json", values)
    items = [f"{name}={tmp_path / f'{len(name)}.json'}" for name in systems]
    process = run(SCRIPT, tmp_path / "new" / "ocr.md", *items, "--note", "A note.", folder=tmp_path)
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "new" / "ocr.md").read_text(encoding="utf8")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("|")]
    header = ["System", "Order", "Accuracy", "Training, s/iteration", "Test, s", "Iterations", "Folds"]
    assert rows[0] == rows[7] == header
    assert rows[2:7] == [
        ["per<ceptron", "7", "87.50% ± 0.00", "1.750", "10.500", "50", "2"],
        ["per<ceptron", "1", "50.00% ± 0.00", "0.250", "1.500", "50", "2"],
        ["CRF", "7", "81.25%", "1.750", "10.500", "30", "1"],
        ["CRF", "1", "75.00%", "0.250", "1.500", "30", "1"],
        ["dual", "7", "90.00%", "1.750", "10.500", "10", "1"],
    ]
    assert ["Perceptron (Qian & Liu)", "7", "88.53%", "0.390", "-", "50", "10"] in rows[9:]
    assert "the others of the 5 in the file" in page and "A note." in page
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", page)
    assert pictures == ["ocr_accuracy.svg", "ocr_time.svg"]
    for name in pictures:
        picture = (tmp_path / "new" / name).read_text(encoding="utf8")
        assert "<svg" in picture and picture.rstrip().endswith("</svg>")
    first = [(tmp_path / "new" / name).read_bytes() for name in pictures]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["ocr.md", *pictures]
    again = run(SCRIPT, tmp_path / "new" / "ocr.md", *items, folder=tmp_path)
    assert again.returncode == 0 and [(tmp_path / "new" / name).read_bytes() for name in pictures] == first


@pytest.mark.long
def test_words(tmp_path):
    """Means and standard deviations over folds; gains are fold by fold."""
    table = {(0, 1): (0.5, 0.25), (1, 1): (0.75, 0.5), (0, 7): (0.75, 0.25), (1, 7): (0.875, 0.25)}
    keys = {"iterations": 50, "batch_size": 10, "dropout": 0.3}
    runs = [
        {"fold": fold, "order": order, "patterns": 10 * order, "accuracy": a, "unseen_accuracy": b, **keys}
        for (fold, order), (a, b) in table.items()
    ]
    srsly.write_json(tmp_path / "words.json", {"data_folds": [0, 1, 2, 3, 4], "runs": runs, "means": []})
    process = run(SCRIPT, tmp_path / "words.md", "--words", f"CRF={tmp_path / 'words.json'}")
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "words.md").read_text(encoding="utf8")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("|")]
    assert page.startswith("## Words that training has not seen") and "into 5 parts" in page and len(rows) == 4
    settings = ["50", "10", "0.3", "2"]
    assert rows[2] == ["CRF", "1", "10", "62.50% ± 17.68", "-", "37.50% ± 17.68", "-", *settings]
    gains = ["81.25% ± 8.84", "+18.75 ± 8.84", "25.00% ± 0.00", "-12.50 ± 17.68"]
    assert rows[3] == ["CRF", "7", "70", *gains, *settings]


@pytest.mark.long
def test_iterations_of_dual_decomposition(tmp_path):
    rows = [
        {"trained": "exact", "iterations": 1, "accuracy": 0.625, "certified": 0.0, "bound": 5.0},
        {"trained": "exact", "iterations": 10, "accuracy": 0.6875, "certified": 0.25, "bound": 1.5},
        {"trained": "exact", "iterations": None, "accuracy": 0.75},
    ]
    measured = {"train_words": 150, "test_words": 60, "epochs": 4, "rows": rows}
    srsly.write_json(tmp_path / "dual.json", measured)
    process = run(SCRIPT, tmp_path / "dual.md", "--dual", tmp_path / "dual.json")
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "dual.md").read_text(encoding="utf8")
    assert page.startswith("## What iterations buy dual decomposition") and "150 words of one fold" in page
    assert "| exact | the chain alone | 62.50% | 0% | 5.00 |" in page
    assert "| exact | dual decomposition, 10 | 68.75% | 25% | 1.50 |\n| exact | exact | 75.00% | - | - |" in page
