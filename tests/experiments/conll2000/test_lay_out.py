"""experiments/conll2000/lay_out.py on miniature files."""

from pathlib import Path
from typing import Any

import pytest

from ...repository import ROOT, run

SCRIPT = ROOT / "experiments" / "conll2000" / "lay_out.py"
TRAIN = "".join(f"Boat{i} NNP B-NP\nleaks VBZ B-VP\n. . O\n\n" for i in range(25))
TEST = "Nobody NN B-NP\nbails VBZ B-VP\n\n"


def lay_out(folder: Path, *arguments: Any, **environment: str) -> list[list[str]]:
    """The first words of the sentences in the train, dev and test part."""
    process = run(SCRIPT, folder / "output", *arguments, folder=folder, **environment)
    assert process.returncode == 0, process.stdout
    parts = [
        (folder / "output" / f"{part}.conll").read_text(encoding="utf8")
        for part in ("train", "dev", "test")
    ]
    assert all(part.endswith("\n\n") and not part.endswith("\n\n\n") for part in parts)
    return [[sentence.split(" ")[0] for sentence in part.strip().split("\n\n")] for part in parts]


def boats(*numbers: int) -> list[str]:
    return [f"Boat{i}" for i in numbers]


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    folder = tmp_path / "corpora"
    folder.mkdir()
    return folder


def test_last_tenth_is_for_development(corpora, tmp_path):
    (corpora / "train.txt").write_text(TRAIN, encoding="utf8")
    (corpora / "test.txt").write_text(TEST, encoding="utf8")
    assert lay_out(tmp_path, "--folder", corpora) == [boats(*range(23)), boats(23, 24), ["Nobody"]]
    assert (tmp_path / "output" / "test.conll").read_text(encoding="utf8") == TEST


@pytest.mark.parametrize("make", [True, False])
def test_missing_files(make, tmp_path):
    folder = tmp_path / "none"
    if make:
        folder.mkdir()
    process = run(SCRIPT, tmp_path / "output", "--folder", folder)
    assert process.returncode == 1
    assert (
        "No train.txt or train.txt.gz in" in process.stdout
        and "project run download" in process.stdout
    )
    assert not (tmp_path / "output").exists()
