"""`python -m spacy hoseq compact`: a smaller model of the same accuracy."""

import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import typer
from tqdm import tqdm
from wasabi import msg, table

from ..compaction.pipeline import (
    Compaction,
    check_output,
    compact_pipeline,
    dev_examples,
    measured,
    save_compact,
    within,
)
from ..pipelines import load_from, run_code
from .app import hoseq_cli, then
from .files import FORCE

N_LOADS = 3
LOAD = """
import sys, time
import spacy
from spacy.cli._util import import_code
import_code(sys.argv[2] or None)
start = time.process_time()
spacy.load(sys.argv[1])
print(time.process_time() - start)
"""
LOADING = "loading, CPU s"
Row = Tuple[str, str, str]


@hoseq_cli.command("compact", failed="Nothing written")
def compact_cli(
    # fmt: off
    model: Path = typer.Argument(
        ..., help="Directory of a trained pipeline", exists=True, file_okay=False
    ),
    dev: Path = typer.Argument(
        ..., help="Development corpus (.spacy), read as in training", exists=True
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Directory to write. Default: MODEL itself"
    ),
    tolerance: float = typer.Option(
        0.0005, "--tolerance", help="How much each metric may fall (0.0005 of 1)"
    ),
    metric: Optional[List[str]] = typer.Option(None, "--metric", help="Default: those of training"),
    keep_strings: bool = typer.Option(
        False, "--keep-strings", "-S", help="Keep all strings of the vocabulary"
    ),
    force: bool = FORCE,
    timings: bool = typer.Option(
        True, "--timings/--no-timings", help="Measure the time of loading"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Make a trained pipeline smaller: of each component of the package only the features and
    weights stay that the metrics on a development corpus need.

    DOCS: docs/reference/command-line.md
    """
    run_code(code)
    output = model if output is None else output
    check_output(output, overwrite=force)
    nlp = load_from(model)
    examples = dev_examples(nlp, dev)
    before = sizes(model, timings, code)
    msg.info("Pruning: the pipeline is evaluated some 50 times for each component")
    with tqdm(unit=" evaluations", leave=False, disable=None) as bar:
        result = compact_pipeline(nlp, examples, tolerance, metric or None, progress=bar.update)
    save_compact(nlp, output, overwrite=force, keep_strings=keep_strings)
    saved = load_from(output)
    after = measured(saved, dev_examples(saved, dev), list(result.before))
    rows = table_rows(result._replace(after=after), before, sizes(output, timings, code))
    print(table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r")))
    if not within(after, {name: score - tolerance for name, score in result.before.items()}):
        msg.fail(f"What was written to {output} does not keep the metrics", exits=1)
    msg.good(f"Written to {output}")
    then(f"python -m spacy evaluate {output} TEST.spacy")


def table_rows(result: Compaction, before: Dict[str, float], after: Dict[str, float]) -> List[Row]:
    """Metrics, features and weights of components, sizes of the directory's parts, time of
    loading."""
    rows = [
        (name, f"{score:.4f}", f"{result.after[name]:.4f}") for name, score in result.before.items()
    ]
    for change in result.changes:
        for name in ("features", "weights"):
            old = getattr(change.before, name)
            rows.append((f"{change.name}: {name}", f"{old:,}", f"{getattr(change.after, name):,}"))
    for name, old in before.items():
        scale, digits = (1.0, 2) if name == LOADING else (1e6, 3)
        rows.append(
            (name, f"{old / scale:.{digits}f}", f"{after.get(name, 0.0) / scale:.{digits}f}")
        )
    return rows


def sizes(folder: Path, timings: bool, code: Optional[Path]) -> Dict[str, float]:
    """Bytes of each part of a model directory, and of all; processor time of loading, after the
    import of spaCy (the least of some processes)."""
    parts = {f"{path.name}, MB": bytes_of(path) for path in sorted(folder.iterdir())}
    result: Dict[str, float] = {**parts, "all, MB": sum(parts.values())}
    if timings:
        command = [sys.executable, "-c", LOAD, str(folder), str(code or "")]
        runs = [
            subprocess.run(command, capture_output=True, text=True, check=True)
            for _ in range(N_LOADS)
        ]
        result[LOADING] = min(float(run.stdout.split()[-1]) for run in runs)
    return result


def bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
