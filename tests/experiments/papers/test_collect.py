"""Rows that other steps and projects have measured."""

import srsly

from ...repository import ROOT, script

collect = script("papers/collect")


def test_rows_are_gathered(tmp_path):
    run = {
        "order": 7,
        "fold": 0,
        "accuracy": 0.9,
        "iterations": 50,
        "train_seconds_per_iteration": 0.5,
        "test_seconds": 1.0,
        "patterns": 3,
    }
    srsly.write_json(tmp_path / "crf.json", {"runs": [run]})
    (tmp_path / "org" / "2").mkdir(parents=True)
    measured = {"sentences": [[1, 2, 3]], "lists": 10, "f": 0.4}
    srsly.write_json(tmp_path / "org" / "2" / "pfr_reranked_expected.json", measured)
    collect.main(tmp_path, organisations=tmp_path / "org")
    (letters,) = srsly.read_jsonl(tmp_path / "learners.jsonl")
    assert letters == {"learner": "CRF", **{name: run[name] for name in collect.OF_LEARNER}}
    (names,) = srsly.read_gzip_jsonl(tmp_path / "organisations.jsonl.gz")
    assert names == {
        "corpus": "pfr",
        "system": "reranked, by probability",
        "seed": 2,
        "lists": 10,
        "sentences": [[1, 2, 3]],
    }


def test_all_systems_of_names_have_names():
    """What the project of the names writes, its report and the page of the paper know."""
    steps = srsly.read_yaml(ROOT / "experiments" / "organisations" / "project.yml")["commands"]
    files = [path for step in steps for path in step["outputs"] if path.startswith("metrics")]
    names = {path.split("/")[-1].removesuffix(".json").partition("_")[2] for path in files}
    assert names == set(collect.SYSTEMS) and len(files) == 3 * len(names)
