"""`spacy train` with a stopwatch: writes seconds, of the clock and of processors, and peak memory (with that of
a second process) beside the model.

python experiments/common/train.py CONFIG TRAIN.spacy DEV.spacy OUTPUT [--training.max_epochs 5 and other overrides]

CONFIG: a file, or a recipe of `python -m spacy hoseq init`: "tagger"; for Chinese "tagger/zh".
"""

import gc
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import srsly
import typer
from spacy.cli._util import parse_config_overrides
from spacy.cli.train import train

from spacy_hoseq.recipes import recipe


def main(
    context: typer.Context, config: str, train_path: Path, dev_path: Path, output: Path
) -> None:
    start = time.perf_counter()
    paths = {"paths.train": str(train_path), "paths.dev": str(dev_path)}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(config)
        if not config.endswith(".cfg"):
            file = Path(folder) / "config.cfg"
            file.write_text(recipe(*config.split("/")), encoding="utf8")
        train(file, output, overrides={**paths, **parse_config_overrides(context.args)})
    gc.collect()  # ends the processes that trained, so that their memory is known
    used = [
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    ]
    peak = sum(used) * (
        1 if sys.platform == "darwin" else 1024
    )  # of this process and the largest other one
    seconds = {
        "training_seconds": time.perf_counter() - start,
        "processor_seconds": sum(os.times()[:4]),
    }
    timings = {**seconds, "peak_bytes": peak}
    srsly.write_json(output / "timings.json", timings)


if __name__ == "__main__":
    app = typer.Typer()
    app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(main)
    app()
