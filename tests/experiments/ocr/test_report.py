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
        runs += [
            {"fold": fold, "order": order, "iterations": iterations, **numbers}
            for fold in fold_numbers
        ]
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
    rows = [
        re.split(r"\s*\|\s*", line.strip("| "))
        for line in page.splitlines()
        if line.startswith("|")
    ]
    header = [
        "System",
        "Order",
        "Accuracy",
        "Training, s/iteration",
        "Test, s",
        "Iterations",
        "Folds",
    ]
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
    assert (
        again.returncode == 0
        and [(tmp_path / "new" / name).read_bytes() for name in pictures] == first
    )
