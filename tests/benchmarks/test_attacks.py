"""A few of each attack; `python -m tests.attacks` has the whole."""

import importlib
import random

import pytest

from ..repository import ROOT


@pytest.fixture
def attack(monkeypatch):
    """Modules by name. They are imported from the repository."""
    monkeypatch.syspath_prepend(str(ROOT))
    return lambda name: importlib.import_module(f"tests.attacks.{name}")


@pytest.mark.long
def test_damaged_files(attack):
    rows = attack("files").attack(40, seed=5)
    assert len(rows) == 40
    assert not [row for row in rows if row["outcome"] in ("silent", "uncoded", "crash")]


@pytest.mark.long
def test_hostile_requests(attack):
    rows = attack("requests").attack()
    assert len(rows) > 200 and not [problem for _, _, problem in rows if problem]


@pytest.mark.long
def test_killed_runs(attack, tmp_path):
    kills = attack("kills")
    chance = random.Random(1)
    kills.pipeline_in(tmp_path)
    (tmp_path / "in.jsonl").write_text("\n".join(kills.texts_of(100, chance)) + "\n")
    killed = kills.attack(tmp_path, 1, 2, chance)
    assert sum(killed.values()) <= 2
    assert kills.n_parts_in(tmp_path / "out") > 5


@pytest.mark.long
def test_input_that_cannot_be_trusted(attack):
    pytest.importorskip("pyarrow", reason="the extra `arrow` is not installed")
    rows = attack("inputs").attack()
    assert len(rows) > 20 and not [row for row in rows if row[1]]


@pytest.mark.skipif(not (ROOT / "spacy_hoseq").exists(), reason="installed without its source tree")
def test_mutants_name_what_is_there(attack):
    mutants = attack("mutants").MUTANTS
    assert len(mutants) > 30
    for mutant in mutants:
        assert (ROOT / mutant.path).exists() and mutant.after != mutant.before, mutant
        assert all((ROOT / "tests" / name).exists() for name in mutant.tests.split()), mutant
