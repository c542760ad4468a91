"""Handwriting, on invented letters: folds, the table of systems, dual decomposition."""

import gzip

import pytest
import srsly

from ..repository import ROOT, run, script
from .letters import WORDS, file_fields, text_of, toy_file, write

OCR = ROOT / "experiments" / "ocr"
# fold 0 learns without the word a, fold 2 without the word c: nothing is known of these letters
DIVIDED = [(text, fold) for fold in (0, 1, 2) for text in "abcabc"]


def folds_of(data, output, config, *options):
    files = ["--data", data, "--output", output, "--config", OCR / "configs" / config]
    process = run(OCR / "folds.py", *files, *options)
    assert process.returncode == 0, process.stdout
    return srsly.read_json(output)["runs"]


@pytest.mark.long
@pytest.mark.parametrize("config", ["ocr.cfg", "ocr_neural.cfg"])
def test_letters_are_learnt(config, tmp_path):
    data = toy_file(tmp_path / "letter.data.gz")
    options = ["--folds", "0,2", "--orders", "1,3", "--iterations", 12, "--min-count", 2]
    found = folds_of(data, tmp_path / "x.json", config, *options)
    assert [(one["order"], one["fold"]) for one in found] == [(1, 0), (1, 2), (3, 0), (3, 2)]
    for one in found:
        assert one["accuracy"] > 0.4 and (one["patterns"] > 0) == (one["order"] > 1)
        assert min(one["train_seconds_per_iteration"], one["test_seconds"]) > 0
    process = run(OCR / "report.py", tmp_path / "ocr.md", f"system={tmp_path / 'x.json'}")
    assert process.returncode == 0, process.stdout
    page = (tmp_path / "ocr.md").read_text("utf8")
    assert "Perceptron (Qian & Liu)" in page and f"{found[0]['patterns']}" in page


@pytest.mark.long
def test_accuracy_is_of_other_folds_and_other_words(tmp_path):
    letters = "".join(WORDS) + "a"
    words = [(text, 0) for text in [*WORDS, "a"]] + [("a", 1), ("a", 1)]  # fold 1 has one letter
    data = write(tmp_path / "letter.data", file_fields(words))
    options = ["--orders", "1", "--objective", "perceptron", "--iterations", 20]
    known, unknown = folds_of(data, tmp_path / "x.json", "ocr.cfg", "--folds", "0,1", *options)
    assert known["accuracy"] == 1
    assert unknown["accuracy"] == pytest.approx(letters.count("a") / len(letters))
    data = write(tmp_path / "letter.data", file_fields(DIVIDED))
    options += ["--folds", "0,2", "--divide-words"]
    for one in folds_of(data, tmp_path / "y.json", "ocr.cfg", *options):
        assert (one["accuracy"], one["unseen_accuracy"]) == (1, 0)


@pytest.mark.long
def test_bounds_of_dual_decomposition_come_down(tmp_path):
    data = toy_file(tmp_path / "letter.data.gz", noise=0.2)
    settings = ["--train-words", "8", "--test-words", "6", "--epochs", "3", "--min-count", "1"]
    process = run(
        OCR / "dual_iterations.py", "--data", data, "--output", tmp_path / "x.json", *settings
    )
    assert process.returncode == 0, process.stdout
    rows = srsly.read_json(tmp_path / "x.json")["rows"]
    for first in (1, 6):
        bounds = [row["bound"] for row in rows[first : first + 4]]
        assert bounds == sorted(bounds, reverse=True) and bounds[0] > bounds[-1] > 1 - 1e-9


def test_letters_are_taken_from_a_file(tmp_path):
    rows = file_fields([("bead", 0), ("cab", 4), ("a", 2)])
    path = write(tmp_path / "mine.data", rows)
    script("ocr/lay_out").main(tmp_path / "out.gz", file=str(path))
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == text_of(rows)
