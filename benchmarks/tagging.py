"""Compare taggers on one machine, in one run: accuracy, training, speed, memory, size.

    python -m benchmarks.tagging --corpus CORPUS --output FILE.csv [--models DIR] [--systems NAME --systems NAME ...]
        [--passes 5] [--page docs/measurements/performance.md ...] [--plot FILE.svg]

CORPUS: a folder with train.spacy, dev.spacy and test.spacy, such as corpus/conll2000 of the project workflow. Chunks
are those of a folder `chunks` in it or beside it, else the entities of the same files. Systems that are not installed
are left out.

Every system trains in a process of its own, one after the other. Then one process each loads its model, and all label
the test corpus in turn (A, B, C, A, B, C, ...), all with one thread on the same core, each for half a second or more;
the median of the turns counts. After that, in turn again, from raw text: each pipeline is loaded anew for every turn,
so that it sees every word for the first time; and once more after 100,000 tokens of the training text, as a stream of
new text is seen.

With --models, trained models are kept there, and those found are used.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import typer
from wasabi import msg

from .corpora import Data, chunk_folder
from .machine import description, environment, pin_to_one_core
from .page import has_table, show, write_table
from .results import (
    COLUMNS,
    FROM_TEXT,
    RATIOS,
    SHORT,
    Row,
    draw,
    machine_of,
    ratio_cells,
    short_cells,
    table_cells,
    text_cells,
    versions_of,
    write_rows,
)
from .system import folder_name
from .systems import SYSTEMS


def main(
    # fmt: off
    corpus: Path = typer.Option(..., help="Folder with train.spacy, dev.spacy and test.spacy", exists=True),
    output: Path = typer.Option(Path("metrics/tagging.csv"), help="CSV to write"),
    systems: Optional[List[str]] = typer.Option(None, help="Systems to compare. Default: all that are installed"),
    models: Optional[Path] = typer.Option(None, help="Folder in which trained models are kept and looked for"),
    chunks: Optional[Path] = typer.Option(None, help="The same corpus with chunks, if it is elsewhere"),
    passes: int = typer.Option(5, help="Turns of each system, after one that is not counted"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose tables are replaced"),
    plot: Optional[Path] = typer.Option(None, help="Picture to draw"),
    # fmt: on
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = models or Path(folder)
        data = Data(corpus, chunks or chunk_folder(corpus, place / "chunks"))
        names = [name for name in systems or SYSTEMS if is_there(name)]
        if not names:
            msg.fail("Nothing to measure", exits=1)
        for name in names:
            train(name, data, place)
        rows = compare(names, data, place, passes)
    write_rows(output, rows)
    publish(rows, page or [], plot)
    msg.good(f"Written to {output}")


def publish(rows: List[Row], pages: List[Path], plot: Optional[Path]) -> None:
    """Show the tables, write them into pages, draw."""
    tables = {
        "tagging": (COLUMNS, table_cells(rows)),
        "tagging-short": (SHORT, short_cells(rows)),
        "tagging-text": (FROM_TEXT, text_cells(rows)),
        "tagging-ratios": (RATIOS, ratio_cells(rows)),
    }
    note = f"{versions_of(rows)}; {machine_of(rows)}"
    for name, (header, cells) in ((name, found) for name, found in tables.items() if found[1]):
        show(header, cells)
        for path in (path for path in pages if has_table(path, name)):
            write_table(path, name, header, cells, note if name == "tagging" else "")
    if plot is not None:
        draw(rows, plot)


def is_there(name: str) -> bool:
    if name not in SYSTEMS:
        msg.fail(f"Unknown system {name!r}. Known: {', '.join(SYSTEMS)}", exits=1)
    missing = SYSTEMS[name].missing
    if missing:
        msg.warn(f"{name} is left out: {missing} is not installed")
    return not missing


def command(task: str, name: str, data: Data, models: Path) -> List[str]:
    folder = models / folder_name(name)
    return [sys.executable, "-m", "benchmarks.worker", task, name, str(data.tags), str(data.chunks), str(folder)]


def train(name: str, data: Data, models: Path) -> None:
    """Unless a model of the system is there."""
    if (models / folder_name(name) / "training.json").exists():
        msg.info(f"{name}: trained before")
        return
    msg.info(f"{name}: training ...")
    run = command("train", name, data, models)
    done = subprocess.run(run, env=environment(), capture_output=True, text=True, preexec_fn=pin_to_one_core)
    if done.returncode:
        msg.fail(f"Training {name} failed", done.stderr[-2000:], exits=1)


def compare(names: List[str], data: Data, models: Path, passes: int) -> List[Row]:
    """One row for each system."""
    with ExitStack() as stack:
        workers, measured = [], []
        for name in names:  # the next one starts when this one has loaded its model
            msg.info(f"{name}: loading ...")
            workers.append(stack.enter_context(Worker(command("serve", name, data, models))))
            measured.append(workers[-1].answer())
        timings: List[List[Dict[str, Any]]] = [[] for _ in names]
        for number in range(passes):
            msg.info(f"Pass {number + 1} of {passes}")
            for worker, found in zip(workers, timings, strict=True):
                found.append(worker.ask("ready"))
        texts: List[List[Dict[str, Optional[float]]]] = [[] for _ in names]
        for number in range(passes):
            msg.info(f"Pass {number + 1} of {passes}, raw text")
            for worker, seconds in zip(workers, texts, strict=True):
                seconds.append(worker.ask("text"))
    training = [json.loads((models / folder_name(name) / "training.json").read_text()) for name in names]
    rows = []
    for row, found, text, trained in zip(measured, timings, texts, training, strict=True):
        seconds = [one["seconds"] for one in found]
        median = statistics.median(seconds)
        has_model = row["model_bytes"] is not None
        trained.pop("history")
        rows.append(
            {
                **row,
                **(trained if has_model else dict.fromkeys(trained)),
                "passes": passes,
                "seconds": median,
                "seconds_min": min(seconds),
                "seconds_max": max(seconds),
                "tokens_per_second": row["tokens"] / median,
                **{key: median_of([one[key] for one in text]) for key in ("text_seconds", "later_seconds")},
                "peak_bytes": found[-1]["peak_bytes"],
                **description(),
            }
        )
    return rows


def median_of(seconds: Sequence[Optional[float]]) -> Optional[float]:
    """None of a system that reads no text."""
    measured = [one for one in seconds if one is not None]
    return statistics.median(measured) if measured else None


class Worker:
    """A process that serves a system (benchmarks/worker.py)."""

    def __init__(self, command: List[str]) -> None:
        self.command = command

    def __enter__(self) -> "Worker":
        self._log = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            self.command,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            preexec_fn=pin_to_one_core,
        )
        return self

    def __exit__(self, *error: Any) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._log.close()

    def ask(self, task: str) -> Dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{task}\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> Dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            msg.fail(f"{self.command[4]} failed", self._log.read()[-2000:], exits=1)
        found: Dict[str, Any] = json.loads(line)
        return found


if __name__ == "__main__":
    typer.run(main)
