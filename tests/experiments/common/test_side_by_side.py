"""experiments/common/side_by_side.py on made-up reports."""

import math
import re

import srsly

from ...repository import call, script

SIDE_BY_SIDE = script("common/side_by_side")
#           low:    right wrong right wrong
LOW_HIGH = [("1", "1", 30), ("0", "1", 9), ("1", "0", 2), ("0", "0", 1)]  # low order, higher order, tokens
LOW, HIGH = ("".join(pair[i] * pair[2] for pair in LOW_HIGH) for i in (0, 1))


def tags_of(right):
    """Sentences of six tokens; unknown words are every third."""
    parts = [right[i : i + 6] for i in range(0, len(right), 6)]
    unknown = right[::3]
    named = {"accuracy": right, "unknown words": unknown}
    shares = {name: {"value": of.count("1") / len(of), "n": len(of)} for name, of in named.items()}
    counts = [[part.count("1"), len(part), len(part)] for part in parts]
    return {"attribute": "tag", "scores": shares, "calibration": {"ece": 0.125}, "right": right, "counts": counts}


def chunks_of(right, n=10):
    """Sentences with four chunks each, of which some are right, and five found ones."""
    precision, recall = right / 5, right / 4
    values = {"precision": precision, "recall": recall, "f": 2 * right / 9, "sentences": 0.0}
    scores = {name: {"value": value, "n": 4 * n} for name, value in values.items()}
    return {
        "attribute": "spans.chunks", "scores": scores, "calibration": {"ece": 0.25}, "right": "",
        "counts": [[right, 5, 4]] * n,
    }  # fmt: skip


def written(folder, *layers, name=None, timings=None):
    model = name or folder.name
    folder.mkdir(parents=True)
    report = {
        "model": f"{model}/model-last",
        "layers": layers,
        "tokens": 42,
        "sentences": 7,
        "versions": {"spaCy": "3"},
    }
    srsly.write_json(folder / "report.json", {**report, "tokens_per_second": 168.0, "bytes": 2_500_000})
    if timings:
        (folder.parent / "training" / model).mkdir(parents=True)
        srsly.write_json(folder.parent / "training" / model / "timings.json", timings)
    return folder


def page_of(folder, *arguments):
    """RETURNS the page, its tables by the first cell of a row, and what was printed."""
    page = folder / "new" / "page.md"
    code, printed = call(SIDE_BY_SIDE, "Tea", page, *arguments, "--training", folder / "training")
    assert code == 0, printed
    text = page.read_text(encoding="utf8")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in text.splitlines() if line.startswith("|")]
    return text, {row[0]: row[1:] for row in rows}, printed


def binomial(gained, lost):
    n = gained + lost
    return min(1, 2 * sum(math.comb(n, i) for i in range(min(gained, lost) + 1)) / 2**n)


def test_taggers(tmp_path):
    """10 errors and 3; 9 tokens are gained, 2 lost. One was not measured."""
    low = written(tmp_path / "low_order", tags_of(LOW), timings={"training_seconds": 12.4, "peak_bytes": 2**21})
    high = written(tmp_path / "patterns", tags_of(HIGH))
    (high / "report.html").write_text("")
    systems = [f"low={low}", f"high={high}", f"CRFsuite={tmp_path / 'none'}"]
    page, rows, printed = page_of(tmp_path, *systems, "--note", "Of tea.")
    assert page.startswith("# Tea\n") and "42 tokens in 7 sentences; spaCy 3. Of tea." in page
    assert rows["System"] == [
        "Tags", "Unknown words", "Calibration error", "Training, s", "Memory, MiB", "Tokens/s", "Model, MB",
    ]  # fmt: skip
    assert rows["low"] == ["76.19", f"{100 * LOW[::3].count('1') / 14:.2f}", "0.1250", "12", "2", "168", "2.5"]
    linked = "[high](../patterns/report.html)"
    assert rows[linked] == ["92.86", f"{100 * HIGH[::3].count('1') / 14:.2f}", "0.1250", "", "", "168", "2.5"]
    kind, gain, p, *others = rows["low → high"]
    assert (kind, gain) == ("tag", "+16.67") and 0 < float(p) < 0.1
    assert others == ["-70.0%", "+9 -2", f"{binomial(9, 2):.2g}"] and others[-1] == "0.065"
    assert "CRFsuite was not measured: no" in printed and "CRFsuite" not in page


def test_seeds_and_chosen_comparisons(tmp_path):
    """Of F: start 1/4.5; control 2 and 2, joint 3 and 2 of 4.5."""
    start = written(tmp_path / "start", tags_of(LOW), chunks_of(1))
    control = [written(tmp_path / f"apart_{i}", tags_of(LOW), chunks_of(2)) for i in range(2)]
    joint = [written(tmp_path / f"joint_{i}", tags_of((LOW, HIGH)[i]), chunks_of(3 - i)) for i in range(2)]
    systems = [f"start={start}", *(f"control={one}" for one in control), *(f"joint={one}" for one in joint)]
    compared = ["--compare", "start=control", "--compare", "control=joint", "--compare", "joint=none"]
    page, rows, _ = page_of(tmp_path, *systems, *compared)
    shown = dict(zip(rows["System"], rows["joint"], strict=True))
    assert shown["F"] == "55.56 ± 15.71" and shown["Calibration error"] == "0.2500 ± 0.0000", "that of chunks"
    assert "start → joint" not in page and "joint → none" not in page
    differences = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if "→" in line]
    assert [row[:3] for row in differences] == [
        ["start → control", "tag", "+0.00 ± 0.00"],
        ["start → control", "spans.chunks", "+22.22 ± 0.00"],
        ["control → joint", "tag", "+8.33 ± 11.79"],
        ["control → joint", "spans.chunks", "+11.11 ± 15.71"],
    ]
    assert differences[0][3:] == ["1.0000, 1.0000", "+0.0%, +0.0%", "+0 -0, +0 -0", "1, 1"]
    assert differences[3][3:] == ["0.0000, 1.0000"], "better in every sentence; equal is not better"
