"""Gather what other steps and projects have measured into two files of rows that pages.py reads.

    python collect.py METRICS [--organisations ../organisations/metrics/org]

METRICS/learners.jsonl: letters, a row for each learner, order and fold. METRICS/organisations.jsonl.gz: names of
organisations, a row for each corpus, system and seed; resumes.jsonl.gz if there is no other corpus. What was not
measured is left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import srsly
import typer
from wasabi import msg

LEARNERS = {
    "perceptron": "perceptron",
    "crf": "CRF",
    "max_margin": "max-margin",
    "dual_decomposition": "perceptron, dual decomposition",
}
SYSTEMS = {
    "low": "low order",
    "reranked": "reranked",
    "reranked_literature": "reranked, literature's features",
    "reranked_both": "reranked, both",
    "patterns": "patterns",
    "low_expected": "low order, by probability",
    "reranked_expected": "reranked, by probability",
    "reranked_literature_expected": "reranked, literature's features, by probability",
    "reranked_both_expected": "reranked, both, by probability",
    "patterns_expected": "patterns, by probability",
}
OF_LEARNER = (
    "order",
    "fold",
    "accuracy",
    "iterations",
    "train_seconds_per_iteration",
    "test_seconds",
)


def main(metrics: Path, organisations: Path = Path("../organisations/metrics/org")) -> None:
    found = list(learners(metrics))
    if found:
        srsly.write_jsonl(metrics / "learners.jsonl", found)
        msg.good(f"{len(found)} rows: {metrics / 'learners.jsonl'}")
    found = list(names(organisations))
    if found:
        name = "resumes" if {row["corpus"] for row in found} == {"resume"} else "organisations"
        srsly.write_gzip_jsonl(metrics / f"{name}.jsonl.gz", found)
        msg.good(f"{len(found)} rows: {metrics / f'{name}.jsonl.gz'}")


def learners(metrics: Path) -> Iterator[dict[str, Any]]:
    for file, learner in LEARNERS.items():
        path = metrics / f"{file}.json"
        for run in srsly.read_json(path)["runs"] if path.exists() else []:
            yield {"learner": learner, **{name: run[name] for name in OF_LEARNER}}


def names(folder: Path) -> Iterator[dict[str, Any]]:
    """folder: a folder for each seed, with CORPUS_SYSTEM.json."""
    for path in sorted(folder.glob("*/*.json")):
        corpus, _, system = path.stem.partition("_")
        measured = srsly.read_json(path)
        kept = {name: measured[name] for name in ("lists", "sentences") if name in measured}
        yield {"corpus": corpus, "system": SYSTEMS[system], "seed": int(path.parent.name), **kept}


if __name__ == "__main__":
    typer.run(main)
