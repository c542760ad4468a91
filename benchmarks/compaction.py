"""What `python -m spacy hoseq compact` does to a model: size, accuracy and time of loading for several tolerances.

    python -m benchmarks.compaction MODEL DEV.spacy TEST.spacy [--tolerances 0.0005 ...]
        [--page docs/measurements/performance.md]

The development corpus chooses the weights; what the table shows is measured on the test corpus.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import spacy
import typer
from wasabi import table

from spacy_hoseq.pipelines.compaction.pipeline import compact_pipeline, measured, save_compact
from spacy_hoseq.readers.annotated import dev_examples
from spacy_hoseq.reporting.report import n_bytes

from .page import aligns_of, write_table

COLUMNS = ("tolerance", "features", "weights", "model", "metric, dev", "metric, test", "loading")
N_LOADS = 3
LOAD = """
import sys, time
import spacy
start = time.process_time()
spacy.load(sys.argv[1])
print(time.process_time() - start)
"""
DEFAULT = [0.0, 0.0005, 0.005]


def main(
    model: Path,
    dev: Path,
    test: Path,
    tolerances: list[float] | None = None,
    metric: str | None = None,
    page: Path | None = None,
    mark: str = "compaction",
) -> None:
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for tolerance in tolerances or DEFAULT:
            nlp = spacy.load(model)
            result = compact_pipeline(
                nlp, dev_examples(nlp, dev), tolerance, [metric] if metric else None
            )
            name = metric or next(iter(result.before))
            if not rows:
                before = [change.before for change in result.changes]
                rows.append(row("as trained", before, model, result.before[name], test, name))
            output = Path(folder) / str(tolerance)
            save_compact(nlp, output)
            after = [change.after for change in result.changes]
            rows.append(row(f"{tolerance:.2%}", after, output, result.after[name], test, name))
            print(rows[-1])
    print(table(rows, header=COLUMNS, divider=True, aligns=aligns_of(COLUMNS)))
    if page is not None:
        write_table(
            page,
            mark,
            COLUMNS,
            rows,
            f"The metric is {rows and name}; spacy {spacy.__version__}, one thread",
        )


def row(
    label: str, counts: list, folder: Path, on_dev: float, test: Path, name: str
) -> tuple[str, ...]:
    nlp = spacy.load(folder)
    on_test = measured(nlp, dev_examples(nlp, test), [name])[name]
    features, weights = (
        sum(getattr(count, key) for count in counts) for key in ("features", "weights")
    )
    size, seconds = f"{n_bytes(folder) / 1e6:.2f} MB", f"{loading(folder):.2f} s"
    return (
        label,
        f"{features:,}",
        f"{weights:,}",
        size,
        f"{on_dev:.2%}",
        f"{on_test:.2%}",
        seconds,
    )


def loading(folder: Path) -> float:
    """Processor time of loading a pipeline after the import of spaCy, in seconds: the least of some processes."""
    command = [sys.executable, "-c", LOAD, str(folder)]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(N_LOADS)
    ]
    return min(float(run.stdout.split()[-1]) for run in runs)


if __name__ == "__main__":
    typer.run(main)
