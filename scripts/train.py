"""`spacy train` with a stopwatch: writes seconds and peak memory beside the model.

    python scripts/train.py CONFIG TRAIN.spacy DEV.spacy OUTPUT
"""

import resource
import sys
import time
from pathlib import Path

import srsly
import typer
from spacy.cli.train import train


def main(config: Path, train_path: Path, dev_path: Path, output: Path) -> None:
    start = time.perf_counter()
    train(config, output, overrides={"paths.train": str(train_path), "paths.dev": str(dev_path)})
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    timings = {"training_seconds": time.perf_counter() - start, "peak_bytes": peak}
    srsly.write_json(output / "timings.json", timings)


if __name__ == "__main__":
    typer.run(main)
