"""Compare taggers on one machine, in one run: accuracy, training, speed, memory, size.

    python -m benchmarks.tagging CORPUS --output FILE.csv [--systems NAME ...] [--page docs/performance.md ...]
        [--plot FILE.svg]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy, such as corpus/conll2000 of the project workflow. Every
system runs in a process of its own, one after the other, with one thread on one core; ratios are to python-crfsuite.
"""

import csv
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import numpy
import spacy
import typer
from wasabi import msg, table

from .page import write_table
from .systems import SYSTEMS

BASELINE = "crfsuite perceptron"
DEFAULT = ["hoseq first order", "hoseq higher order", BASELINE]
COLUMNS = ("system", "accuracy", "unknown", "training", "tokens/s", "ratio", "load", "peak memory", "model")
ALIGNS = ("l", *["r"] * (len(COLUMNS) - 1))


def main(
    corpus: Path,
    output: Path = Path("metrics/tagging.csv"),
    systems: Optional[List[str]] = None,
    page: Optional[List[Path]] = None,
    plot: Optional[Path] = None,
) -> None:
    rows = [measure(name, corpus) for name in systems or DEFAULT]
    machine = {
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "spacy": spacy.__version__,
        "machine": platform.machine(),
        "processor": processor(),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("w", newline="", encoding="utf8") as file:
        writer = csv.DictWriter(file, [*rows[0], *machine])
        writer.writeheader()
        writer.writerows({**row, **machine} for row in rows)
    cells, where = table_cells(rows), ", ".join(f"{key} {value}" for key, value in machine.items())
    print(table(cells, header=COLUMNS, divider=True, aligns=ALIGNS))
    if plot is not None:
        draw(rows, plot)
    for path in page or []:
        write_table(path, "tagging", COLUMNS, cells, where)
    msg.good(f"Written to {output}", where)


def measure(name: str, corpus: Path) -> Dict[str, Any]:
    if name not in SYSTEMS:
        msg.fail(f"Unknown system {name!r}. Known: {', '.join(SYSTEMS)}", exits=1)
    threads = {key: "1" for key in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    msg.info(f"{name} ...")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.systems", name, str(corpus), folder]
        done = subprocess.run(
            command, env={**os.environ, **threads}, capture_output=True, text=True, preexec_fn=pin_to_one_core
        )
    if done.returncode:
        msg.fail(f"{name} failed", done.stderr[-2000:], exits=1)
    result: Dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    msg.good(f"{name}: {result['accuracy']:.2%}, {result['tokens_per_second']:,.0f} tokens/s")
    return result


def pin_to_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    names = cpuinfo.read_text().split("model name") if cpuinfo.exists() else []
    return names[1].split(":")[1].split("\n")[0].strip() if len(names) > 1 else platform.processor()


def draw(rows: List[Dict[str, Any]], path: Path) -> None:
    """Accuracy against tagging speed, one point a system. Needs matplotlib (the extra `report`)."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6))
    for row in rows:
        point = (row["tokens_per_second"], 100 * row["accuracy"])
        axes.scatter(*point, s=60, color="#c0392b" if row["system"] == BASELINE else "#2f6fb3")
        axes.annotate(row["system"], point, textcoords="offset points", xytext=(0, 9), ha="center")
    axes.set_xlabel("tokens a second, one core")
    axes.set_ylabel("accuracy, %")
    axes.margins(0.2)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def table_cells(rows: List[Dict[str, Any]]) -> List[Tuple[str, ...]]:
    base = next((row["tokens_per_second"] for row in rows if row["system"] == BASELINE), None)
    return [
        (
            row["system"],
            f"{row['accuracy']:.2%}",
            f"{row['unknown_accuracy']:.1%}",
            f"{row['training_seconds']:.0f} s",
            f"{row['tokens_per_second']:,.0f}",
            f"{row['tokens_per_second'] / base:.1f}x" if base else "-",
            f"{row['load_seconds']:.2f} s",
            f"{row['peak_bytes'] / 2**20:,.0f} MiB",
            f"{row['model_bytes'] / 1e6:.1f} MB",
        )
        for row in rows
    ]


if __name__ == "__main__":
    typer.run(main)
