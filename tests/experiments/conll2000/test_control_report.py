"""experiments/conll2000/control_report.py: joint training beside its control, seed by seed."""

import re

import pytest
import srsly

from ...repository import ROOT, run

SCRIPT = ROOT / "experiments" / "conll2000" / "control_report.py"


def measured(right, tags):
    """Ten sentences of ten tokens, each with four chunks of which `right` are found, and with `tags` right tags."""
    scores = {"spans_chunks_f": right / 4, "tag_acc": tags / 10}
    return {"scores": scores, "max_epochs": 12, "sentences": [[right, 4, 4, tags, 10]] * 10}


@pytest.fixture
def metrics(tmp_path):
    arms = {"start": (1, 7), "apart_0": (2, 8), "joint_0": (3, 8), "apart_7": (2, 8), "joint_7": (2, 9)}
    for name, (right, tags) in arms.items():
        (tmp_path / "metrics").mkdir(exist_ok=True)
        srsly.write_json(tmp_path / "metrics" / f"{name}.json", measured(right, tags))
    srsly.write_json(tmp_path / "metrics" / "joint_8.json", measured(1, 1))  # its control is not there yet
    return tmp_path / "metrics"


@pytest.mark.long
def test_report(metrics, tmp_path):
    process = run(SCRIPT, tmp_path / "new" / "control.md", metrics)
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "new" / "control.md").read_text(encoding="utf8")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("|")]
    assert rows[2:] == [
        ["0", "12", "50.00", "75.00", "+25.00", "0.00", "80.00%", "80.00%", "+0.00", "1.00"],
        ["7", "12", "50.00", "50.00", "+0.00", "1.00", "80.00%", "90.00%", "+10.00", "0.00"],
    ]
    assert "The start has F 25.00 and 70.00% of the tags." in page
    assert (
        "joint less control: +12.50 ± 17.68 points over 2 seeds; control less start, seed by seed: +25.00, +25.00."
        in page
    )


@pytest.mark.long
def test_nothing_measured(tmp_path):
    process = run(SCRIPT, tmp_path / "control.md", tmp_path)
    assert process.returncode == 1 and "No measurements of both kinds" in process.stdout
    assert not (tmp_path / "control.md").exists()
