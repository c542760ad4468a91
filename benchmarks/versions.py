"""Two versions of the package on the same corpora: same labels, same probabilities? and how long does each take?

    python -m benchmarks.versions --before OLD_ENVIRONMENT/bin/python TRAIN.spacy TEST.spacy [--config FILE] ...

Each version runs in the environment of its own interpreter, and both take turns, so that what else the machine does
meets both. `before` and `after` train with the same config and seed; labels and probabilities are compared cell by
cell. Times are medians of the turns; a ratio above 1 says that the version under test is slower.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import typer

from .machine import THREADS, environment
from .page import show

WORKER = Path(__file__).with_name("version_worker.py")
HEADER = (
    "config",
    "other labels",
    "largest difference of p",
    "accuracy",
    "tagging",
    "training",
    "load",
    "memory",
    "model",
)


class Version:
    """An interpreter with one version of the package installed."""

    def __init__(self, python: Path, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._process = subprocess.Popen(
            [str(python), "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(folder / "log.txt").open("w"),
            env={**environment(), **THREADS},
            cwd=folder,
            text=True,
        )

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the process has no pipes")
        stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        stdin.flush()
        line = stdout.readline()
        if not line:
            raise RuntimeError((self.folder / "log.txt").read_text()[-2000:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def compare(
    pythons: list[Path],
    config: Path,
    train: Path,
    test: Path,
    options: dict[str, Any],
    turns: int,
    folder: Path,
) -> list[str]:
    """Train and label with both versions. RETURNS a row of the table."""
    versions = [
        Version(python, folder / name)
        for python, name in zip(pythons, ("before", "after"), strict=True)
    ]
    overrides = {"paths.train": str(train), "paths.dev": str(test), **options}
    try:
        training: list[list[float]] = [[], []]
        for turn in range(max(1, turns // 3)):
            for version, seconds in zip(versions, training, strict=True):
                output = str(version.folder / f"model{turn}")
                seconds.append(
                    version.ask("train", config=str(config), overrides=overrides, output=output)[
                        "seconds"
                    ]
                )
        models = [version.folder / "model0" / "model-best" for version in versions]
        loaded = [
            version.ask(
                "load",
                model=str(model),
                corpus=str(test),
                labels=str(version.folder / "labels.npz"),
            )
            for version, model in zip(versions, models, strict=True)
        ]
        times: list[list[float]] = [[], []]
        for _ in range(turns):
            for version, seconds in zip(versions, times, strict=True):
                seconds.append(version.ask("label")["seconds"])
    finally:
        for version in versions:
            version.close()
    old, new = (np.load(version.folder / "labels.npz") for version in versions)
    before, after = loaded
    return [
        config.stem,
        str(different(old, new)),
        f"{difference(old, new):.1e}",
        f"{before['accuracy']:.4%} {after['accuracy']:.4%}",
        ratio(times),
        ratio(training),
        f"{after['load'] / before['load']:.2f}",
        f"{after['memory'] / before['memory']:.2f}",
        f"{after['size'] / before['size']:.2f}",
    ]


def different(old: Any, new: Any) -> int:
    """How many tags and spans are not the same; all, if there are more or fewer."""
    return sum(
        int((old[name] != new[name]).sum()) if len(old[name]) == len(new[name]) else len(old[name])
        for name in ("tags", "spans")
    )


def difference(old: Any, new: Any) -> float:
    """Largest difference of two probabilities, NaN if there are more or fewer."""
    return max(
        float(np.abs(old[name] - new[name]).max(initial=0.0))
        if len(old[name]) == len(new[name])
        else float("nan")
        for name in ("scores", "marginals")
    )


def ratio(seconds: list[list[float]]) -> str:
    """Median of the ratios of the turns, and the smallest and the largest."""
    ratios = sorted(after / before for before, after in zip(*seconds, strict=True))
    return f"{statistics.median(ratios):.3f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"


def main(
    train: Path = typer.Argument(..., exists=True, help="Training corpus, .spacy"),
    test: Path = typer.Argument(
        ..., exists=True, help="Corpus to label, .spacy; also the development part"
    ),
    before: Path = typer.Option(
        ..., exists=True, help="Interpreter of the environment with the earlier version"
    ),
    after: Path = typer.Option(Path(sys.executable), help="Interpreter of the version under test"),
    config: list[Path] = typer.Option(
        ..., help="Once for each system; both versions must know what it names"
    ),
    option: list[str] = typer.Option([], help="Override of the configs, as training.max_steps=100"),
    turns: int = typer.Option(9, help="Turns of tagging; a third of them of training"),
    output: Path | None = typer.Option(
        None, help="Folder for models and labels; default: a temporary one"
    ),
) -> None:
    """Compare two versions of the package on one corpus."""
    values = {
        name: json.loads(value) for name, _, value in (pair.partition("=") for pair in option)
    }
    with tempfile.TemporaryDirectory() as temporary:
        root = (output or Path(temporary)).resolve()
        rows = []
        for file in config:
            (root / file.stem).mkdir(parents=True)
            files = file.resolve(), train.resolve(), test.resolve()
            rows.append(compare([before, after], *files, values, turns, root / file.stem))
        show(HEADER, rows)


if __name__ == "__main__":
    typer.run(main)
