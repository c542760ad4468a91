"""One text at a time, as a web service or a notebook calls a pipeline: time of a call against the size of its text.

    python -m benchmarks.latency --corpus CORPUS --models DIR --output FILE.csv [--systems NAME ...] [--passes 3]
        [--page PAGE.md] [--plot FILE.svg]

CORPUS and DIR as `benchmarks.tagging` has them, which trains what is missing. Every system loads its model anew for
each pass, in a process of its own, on one core, with one thread; systems take turns. Texts are cut from the test
corpus: each is new when it is first called with, and then it is called with again.
"""

import statistics
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import typer
from wasabi import msg

from .corpora import Data, chunk_folder
from .machine import description
from .page import has_table, show, write_table
from .results import Row, machine_of, read_rows, write_rows
from .systems import SYSTEMS, TOKENIZER
from .tagging import Worker, command, is_there, train
from .worker import CALLED

NUMBERS = ("size", "new", "new_95", "again", "again_95", "first", "second")
SENTENCE, TEN = 23, 230
HEADER = ("system", "first", "then", "23 new", "95%", "23 again", "95%", "1", "230", "1,000", "10,000")


def main(
    # fmt: off
    corpus: Path = typer.Option(..., help="Folder with train.spacy, dev.spacy and test.spacy", exists=True),
    models: Path = typer.Option(..., help="Folder in which trained models are kept and looked for"),
    output: Path = typer.Option(Path("metrics/latency.csv"), help="CSV to write"),
    systems: Optional[List[str]] = typer.Option(None, help="Systems to compare. Default: all that are installed"),
    chunks: Optional[Path] = typer.Option(None, help="The same corpus with chunks, if it is elsewhere"),
    passes: int = typer.Option(3, help="Turns of each system"),
    page: Optional[List[Path]] = typer.Option(None, help="Pages whose table is replaced"),
    plot: Optional[Path] = typer.Option(None, help="Picture to draw"),
    # fmt: on
) -> None:
    data = Data(corpus, chunks or chunk_folder(corpus, models / "chunks"))
    names = [name for name in systems or SYSTEMS if is_there(name)]
    for name in names:
        train(name, data, models)
    write_rows(output, measure(names, data, models, passes))
    publish(read_rows(output, ("system", *description())), page or [], plot)
    msg.good(f"Written to {output}")


def measure(names: Sequence[str], data: Data, models: Path, passes: int) -> List[Row]:
    """A row for each system and size: medians and 95th percentiles of all calls, in milliseconds."""
    found: Dict[str, List[Any]] = {name: [] for name in names}
    with ExitStack() as stack:
        workers = {name: stack.enter_context(Worker(command("serve", name, data, models))) for name in names}
        for worker in workers.values():
            worker.answer()
        for number in range(passes):
            msg.info(f"Pass {number + 1} of {passes}")
            for name, worker in workers.items():
                found[name].append(worker.ask("calls"))
    rows = []
    for name in (name for name in names if found[name][0] is not None):
        for size in sorted(CALLED):
            row: Row = {"system": name, "size": size}
            for kind in ("new", "again"):
                calls = sorted(seconds for turn in found[name] for seconds in turn["sizes"][str(size)][kind])
                row[kind] = 1000 * statistics.median(calls)
                row[f"{kind}_95"] = 1000 * calls[int(0.95 * (len(calls) - 1))]
            row.update(
                {key: 1000 * statistics.median(turn[key] for turn in found[name]) for key in ("first", "second")}
            )
            rows.append({**row, **description()})
    return rows


def publish(rows: Sequence[Row], pages: Sequence[Path], plot: Optional[Path]) -> None:
    """Show the table, write it into pages, draw."""
    cells = table_cells(rows)
    show(HEADER, cells)
    for path in (path for path in pages if has_table(path, "latency")):
        write_table(path, "latency", HEADER, cells, machine_of(rows))
    if plot is not None:
        draw(rows, plot)


def table_cells(rows: Sequence[Row]) -> List[Tuple[str, ...]]:
    """Columns as in HEADER, in milliseconds."""
    cells = []
    for name in dict.fromkeys(row["system"] for row in rows):
        of = {int(row["size"]): row for row in rows if row["system"] == name}
        one = of[SENTENCE]
        numbers = [one[key] for key in ("first", "second", "new", "new_95", "again", "again_95")]
        numbers += [of[size]["new"] for size in (1, TEN, 1_000, 10_000)]
        cells.append((name, *(f"{number:.2f}" for number in numbers)))
    return cells


def draw(rows: Sequence[Row], path: Path) -> None:
    """Time of a call against its size. Needs matplotlib (the extra `report`)."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "latency"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.4, 4.4))
    for name in dict.fromkeys(row["system"] for row in rows):
        points = [(row["size"], row["new"]) for row in rows if row["system"] == name]
        style = "-o" if name.startswith("hoseq") else ":" if name == TOKENIZER else "--s"
        axes.plot(*zip(*points, strict=True), style, markersize=4, label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("tokens of the text (logarithmic)")
    axes.set_ylabel("milliseconds a call, new text (logarithmic)")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8, frameon=False)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    typer.run(main)
