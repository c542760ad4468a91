"""experiments/treebanks/report.py on made-up measurements."""

import math
import re

import pytest
import srsly

from ...repository import call, script

REPORT = script("treebanks/report")
STATISTICS = {"tokens": 1200, "word_types": 40, "tag_types": 5, "tags_per_word": 1.25, "unknown": 30, "ambiguous": 600}
TITLE = "Tagging tea"
#           low:    right wrong right wrong
LOW_HIGH = [("1", "1", 30), ("0", "1", 9), ("1", "0", 2), ("0", "0", 1)]  # low order, higher order, tokens


def measured(path, correct, **more):
    values = {"tokens": len(correct), "accuracy": correct.count("1") / len(correct), "correct": correct}
    path.parent.mkdir(parents=True, exist_ok=True)
    srsly.write_json(path, {**values, "tokens_per_second": 4 * len(correct), **more})
    return path


@pytest.fixture
def folder(tmp_path):
    low, high = ("".join(pair[i] * pair[2] for pair in LOW_HIGH) for i in (0, 1))
    measured(tmp_path / "low_order.json", low, unknown_accuracy=0.5, training_seconds=12.4)
    measured(tmp_path / "higher_order.json", high, training_seconds=99.6)
    srsly.write_json(tmp_path / "statistics.json", {"train": STATISTICS, "dev": {**STATISTICS, "unknown": 300}})
    return tmp_path


def report(folder, *arguments, systems=("low order", "higher order", "CRFsuite")):
    """RETURNS the page, and what was printed."""
    names = [f"{name}={folder / name.replace(' ', '_')}.json" for name in systems]
    page = folder / "new" / "page.md"
    code, printed = call(REPORT, TITLE, page, folder / "statistics.json", *names, *arguments)
    assert code == 0, printed
    return page.read_text(encoding="utf8"), printed


def tables(page):
    """Cells of each table, by the first cell of a row."""
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}


def binomial(gained, lost):
    n = gained + lost
    return min(1, 2 * sum(math.comb(n, i) for i in range(min(gained, lost) + 1)) / 2**n)


def test_errors_gained_lost_and_significance(folder):
    """10 errors and 3; 9 tokens are gained, 2 lost."""
    page, printed = report(folder)
    rows = tables(page)
    assert page.startswith(f"# {TITLE}\n")
    assert rows["low order"] == ["76.19%", "50.0%", "", "", "", "12 s", "0.25 s"]
    assert f"{binomial(9, 2):.4f}" == "0.0654"
    assert rows["higher order"] == ["92.86%", "", "-70.0%", "+9 -2", "0.0654", "100 s", "0.25 s"]
    assert "change in their number against low order" in page and "Qian & Liu" not in page
    assert rows["train"] == ["1,200", "40", "5", "1.2500", "30", "2.50%", "600", "50.00%"]
    assert rows["dev"][4:6] == ["300", "25.00%"]
    assert "higher order 92.86% -70.0% +9 -2 0.0654" in printed


def test_a_system_that_was_not_measured_is_left_out(folder):
    page, printed = report(folder)
    assert "CRFsuite" not in page and f"CRFsuite was not measured: no {folder / 'CRFsuite.json'}" in printed
    measured(folder / "CRFsuite.json", "1" * 42)
    page, printed = report(folder)
    assert tables(page)["CRFsuite"] == ["100.00%", "", "-100.0%", "+10 -0", "0.0020", "", "0.25 s"]
    assert "not measured" not in printed


def test_small_p_and_a_first_system_without_errors(folder):
    measured(folder / "CRFsuite.json", "0" * 42)
    rows = tables(report(folder)[0])
    assert rows["CRFsuite"][2:5] == ["+320.0%", "+0 -32", "< 0.0001"]
    measured(folder / "low_order.json", "1" * 42)
    rows = tables(report(folder)[0])
    assert rows["higher order"][2:5] == ["", "+0 -3", "0.2500"]


@pytest.mark.parametrize("paper, names", [
    ("ctb", ["*Qian & Liu, low order*", "*Qian & Liu, higher order*", "*best official, SIGHAN 2008*"]),
    ("wsj", ["*Tsuruoka & Tsujii, easiest-first*", "*Tsuruoka & Tsujii, full bidirectional*"]),
])  # fmt: skip
def test_figures_of_the_papers(paper, names, folder):
    page, _ = report(folder, "--paper", paper)
    rows = tables(page)
    assert list(rows)[-len(names) :] == names
    if paper == "ctb":
        assert rows[names[0]] == ["94.04%", "", "", "", "", "6919 s", "23.4 s"]
        assert rows[names[1]] == ["94.41%", "", "-5.3%", "", "< 0.01", "7431 s", "26.2 s"]
    assert ("59,955 of testing" in page) == (paper == "ctb")


def test_pooled_with_another_corpus(folder):
    """9 + 6 gained and 2 + 1 lost, of 10 + 8 errors 3 + 3 are left."""
    measured(folder / "tea_two" / "low_order.json", "0" * 8 + "1" * 12)
    page, _ = report(folder, "--pool", folder / "tea_two")
    assert "together with" not in page, "the other was not measured with rules"
    measured(folder / "tea_two" / "higher_order.json", "1" * 6 + "00" + "0" + "1" * 11)
    page, _ = report(folder, "--pool", folder / "tea_two")
    expected = "together with tea_two: 62 tokens, errors -66.7%, +15 -3, p = 0.0075"
    assert expected in page and f"{binomial(15, 3):.2g}" == "0.0075"
    page, _ = report(folder, "--pool", folder / "tea_two", systems=["low order", "CRFsuite"])
    assert "together with" not in page, "nothing to pool"


def test_no_system_was_measured(folder):
    arguments = REPORT, TITLE, folder / "page.md", folder / "statistics.json", f"CRFsuite={folder / 'none.json'}"
    status, output = call(*arguments)
    assert status == 1 and "No system was measured" in output


def test_pooled_without_errors_of_low_order(folder):
    measured(folder / "low_order.json", "1" * 42)
    for name in ("low_order", "higher_order"):
        measured(folder / "tea_two" / f"{name}.json", "1" * 20)
    page, _ = report(folder, "--pool", folder / "tea_two")
    assert "+0 -3, p = 0.25" in page
