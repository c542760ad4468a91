"""benchmarks/versions.py: a version agrees with itself, and what differs is counted."""

import sys

import numpy as np
import pytest

from ..chunk_corpus import paths
from ..repository import ROOT, config_of, run

pytest.importorskip("benchmarks", reason="the benchmarks are not beside the tests")
from benchmarks.versions import different  # noqa: E402


def labels(tags, spans=(), scores=(), marginals=()):
    numbers = {"scores": scores, "marginals": marginals}
    numbers = {name: np.array(values, np.float32) for name, values in numbers.items()}
    return {"tags": np.array(tags), "spans": np.array(spans), **numbers}


def test_labels_that_differ_are_counted():
    assert different(labels(["A", "B"]), labels(["A", "B"])) == 0
    assert different(labels(["A", "B"], ["0 1 X"]), labels(["B", "B"], ["0 1 Y"])) == 2
    assert different(labels(["A", "B"]), labels(["A"])) == 2


@pytest.mark.long
def test_a_version_agrees_with_itself(tmp_path):
    config_of("crf").to_disk(tmp_path / "crf.cfg")
    options = ["--config", str(tmp_path / "crf.cfg"), "--turns", "1"]
    options += ["--option", "training.max_steps=3", "--option", "training.eval_frequency=3"]
    options += ["--option", "components.hoseq_tagger.save_marginals=true"]
    files = paths(tmp_path).values()
    options = ["--before", sys.executable, *options]
    process = run("-m", "benchmarks.versions", *files, *options, folder=ROOT)
    assert process.returncode == 0, process.stdout
    row = process.stdout.strip().splitlines()[-1].split()
    assert row[0] == "crf" and row[1] == "0" and float(row[2]) == 0.0
    assert row[3] == row[4] and float(row[3].rstrip("%")) > 30
