"""Handwriting, on invented letters: folds, the table of systems, dual decomposition."""

import gzip

import numpy as np
import pytest
import srsly

from ..repository import ROOT, run

OCR = ROOT / "experiments" / "ocr"
WORDS = ["bead", "dace", "cab", "bade", "ace", "dab", "added", "cede"]


def image_of(letter, seed, noise):
    """(128,) bool. The same for the same letter, but for a share `noise` of pixels."""
    pixels = np.random.default_rng(ord(letter)).random(128) < 0.3
    return pixels ^ (np.random.default_rng(seed).random(128) < noise)


def toy_file(path, folds=3, noise=0.02):
    """Words, some more than once, in several folds, in the letter.data format."""
    lines = []
    words = [(text, (i + shift) % folds) for shift in range(3) for i, text in enumerate(WORDS)]
    for word, (text, fold) in enumerate(words, start=1):
        for i, letter in enumerate(text, start=1):
            number = len(lines) + 1
            following = -1 if i == len(text) else number + 1
            pixels = image_of(letter, 1000 * word + i, noise).astype(int)
            row = number, letter, following, word, i, fold, *pixels.tolist()
            lines.append("\t".join(map(str, row)) + "\t\n")
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return path


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
def test_bounds_of_dual_decomposition_come_down(tmp_path):
    data = toy_file(tmp_path / "letter.data.gz", noise=0.2)
    settings = ["--train-words", "8", "--test-words", "6", "--epochs", "3", "--min-count", "1"]
    settings = ["--data", data, "--output", tmp_path / "x.json", *settings]
    process = run(OCR / "dual_iterations.py", *settings)
    assert process.returncode == 0, process.stdout
    rows = srsly.read_json(tmp_path / "x.json")["rows"]
    for first in (1, 6):
        bounds = [row["bound"] for row in rows[first : first + 4]]
        assert bounds == sorted(bounds, reverse=True) and bounds[0] > bounds[-1] > 1 - 1e-9
