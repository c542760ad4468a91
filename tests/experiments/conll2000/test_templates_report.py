"""experiments/conll2000/templates_report.py: means over seeds, differences from easiest first, beside the paper."""

import re

import pytest
import srsly

from ...repository import ROOT, run

SCRIPT = ROOT / "experiments" / "conll2000" / "templates_report.py"


def model(task, order, right, representation=None):
    """Ten sentences of ten tokens and four chunks. right: of each strategy, the tags or chunks found in each."""
    strategies = {}
    for strategy, n in right.items():
        tags, chunks = (n, 0) if task == "tags" else (10, n)
        scores = {"tag_acc": n / 10} if task == "tags" else {"spans_chunks_f": n / 4}
        strategies[strategy] = {**scores, "sentences": [[chunks, 4, 4, tags, 10]] * 10}
    return {
        "task": task,
        "representation": representation,
        "order": order,
        "strategies": strategies,
    }


@pytest.mark.long
def test_report(tmp_path):
    models = {
        "b": model("tags", 2, {"left_to_right": 7, "easiest_first": 9}),
        "a": model("tags", 2, {"left_to_right": 8, "easiest_first": 8}),
        "c": model("chunks", 1, {"left_to_right": 1, "easiest_first": 2}, "iob2"),
    }
    for name, values in models.items():
        srsly.write_json(tmp_path / f"{name}.json", values)
    process = run(
        SCRIPT, tmp_path / "new" / "x.md", *(tmp_path / f"{name}.json" for name in models)
    )
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "new" / "x.md").read_text(encoding="utf8")
    rows = [
        re.split(r"\s*\|\s*", line.strip("| "))
        for line in page.splitlines()
        if line.startswith("|")
    ]
    assert rows[2:] == [
        ["chunks iob2", "left_to_right", "1", "25.00", "+25.00", "0.0000", "1", "93.11"],
        ["chunks iob2", "easiest_first", "1", "50.00", "-", "-", "1", "93.11"],
        ["tags", "left_to_right", "2", "75.00 ± 7.07", "+10.00 ± 14.14", "1.0000", "2", "96.92"],
        ["tags", "easiest_first", "2", "85.00 ± 7.07", "-", "-", "2", "97.13"],
    ]
