"""What single settings do: the recipe `tagger` with one change at a time, on a small corpus, several seeds.

    python -m benchmarks.settings CORPUS [--seeds 3] [--page PAGE.md]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy, such as corpus/demo. The model after the last epoch is
evaluated on the dev and test parts together.
"""

import contextlib
import io
import statistics
import tempfile
from pathlib import Path
from typing import Any, Dict, Optional

import spacy
import typer
from spacy.cli.train import train
from spacy.training import Corpus
from tqdm import tqdm
from wasabi import table

from spacy_hoseq.recipes import recipe

from .page import write_table

CHANGES: Dict[str, Dict[str, Any]] = {
    "none: `max_margin`, `learn_rate = 0.03`, dropout 0.2": {},
    '`objective = "perceptron"`': {"objective": "perceptron"},
    '`objective = "log_likelihood"`': {"objective": "log_likelihood"},
    "the same, `average = false`": {"objective": "log_likelihood", "update_rule.average": False},
    "the same, `l1 = 0.01`": {"objective": "log_likelihood", "update_rule.average": False, "update_rule.l1": 0.01},
    "`perceptron` with the additive rule": {
        "objective": "perceptron",
        "update_rule": {"@misc": "spacy_hoseq.additive.v1", "learn_rate": 1.0},
    },
    "`average = true`": {"update_rule.average": True},
    "`average = false`": {"update_rule.average": False},
    "dropout 0": {"training.dropout": 0.0},
    "dropout 0.4": {"training.dropout": 0.4},
    "`learn_rate = 0.01`": {"update_rule.learn_rate": 0.01},
    "`learn_rate = 0.1`": {"update_rule.learn_rate": 0.1},
    "`learn_rate = 0.3`": {"update_rule.learn_rate": 0.3},
    "`l2 = 0.01`": {"update_rule.l2": 0.01},
    "`min_count = 2`": {"model.emissions.min_count": 2},
    "`hash_rows = 100000`": {"model.emissions.hash_rows": 100_000},
    "`hash_rows = 10000`": {"model.emissions.hash_rows": 10_000},
    "patterns, `max_order = 3`, `min_count = 10`": {
        "model.patterns": {"@misc": "spacy_hoseq.frequent_transitions.v1", "max_order": 3, "min_count": 10}
    },
}
HEADER = ("Change", "Accuracy", "lowest", "highest", "Model file")


def main(corpus: Path, seeds: int = 3, page: Optional[Path] = None) -> None:
    rows = []
    for name, change in tqdm(CHANGES.items()):
        found = [measure(corpus, change, seed) for seed in range(seeds)]
        accuracy = [100 * accuracy for accuracy, _ in found]
        size = statistics.mean(size for _, size in found)
        spread = (statistics.mean(accuracy), min(accuracy), max(accuracy))
        rows.append((name, *(f"{value:.1f}" for value in spread), f"{size / 1e6:.1f} MB"))
    print(table(rows, header=HEADER, divider=True, aligns=("l", "r", "r", "r", "r")))
    if page is not None:
        write_table(page, "settings", HEADER, rows)


def measure(corpus: Path, change: Dict[str, Any], seed: int) -> "tuple[float, int]":
    """Accuracy on dev and test parts, bytes of the model file."""
    overrides: Dict[str, Any] = {"paths.train": str(corpus / "train.spacy"), "paths.dev": str(corpus / "dev.spacy")}
    overrides.update({"system.seed": seed, "training.eval_frequency": 1_000_000, "training.logger.progress_bar": None})
    for key, value in change.items():
        overrides[key if key.startswith("training") else f"components.hoseq_tagger.{key}"] = value
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        config = Path(folder) / "config.cfg"
        config.write_text(recipe("tagger"), encoding="utf8")
        train(config, Path(folder), overrides=overrides)
        nlp = spacy.load(Path(folder) / "model-last")
        examples = [eg for part in ("dev", "test") for eg in Corpus(corpus / f"{part}.spacy", gold_preproc=True)(nlp)]
        size = (Path(folder) / "model-last" / "hoseq_tagger" / "model").stat().st_size
        return float(nlp.evaluate(examples)["tag_acc"]), size


if __name__ == "__main__":
    typer.run(main)
