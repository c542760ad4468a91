"""`python -m spacy hoseq compact`: a smaller model of the same accuracy."""

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
    before = sizes(model)
    msg.info("Pruning: the pipeline is evaluated some 50 times for each component")
    with tqdm(unit=" evaluations", leave=False, disable=None) as bar:
        result = compact_pipeline(nlp, examples, tolerance, metric or None, progress=bar.update)
    save_compact(nlp, output, overwrite=force, keep_strings=keep_strings)
    saved = load_from(output)
    after = measured(saved, dev_examples(saved, dev), list(result.before))
    rows = table_rows(result._replace(after=after), before, sizes(output))
    print(table(rows, header=("", "before", "after"), divider=True, aligns=("l", "r", "r")))
    if not within(after, {name: score - tolerance for name, score in result.before.items()}):
        msg.fail(f"What was written to {output} does not keep the metrics", exits=1)
    msg.good(f"Written to {output}")
    then(f"python -m spacy evaluate {output} TEST.spacy")


def table_rows(result: Compaction, before: Dict[str, int], after: Dict[str, int]) -> List[Row]:
    """Metrics, features and weights of components, sizes of the directory's parts."""
    rows = [
        (name, f"{score:.4f}", f"{result.after[name]:.4f}") for name, score in result.before.items()
    ]
    for change in result.changes:
        for name in ("features", "weights"):
            old = getattr(change.before, name)
            rows.append((f"{change.name}: {name}", f"{old:,}", f"{getattr(change.after, name):,}"))
    for name, old in before.items():
        rows.append((name, f"{old / 1e6:.3f}", f"{after.get(name, 0) / 1e6:.3f}"))
    return rows


def sizes(folder: Path) -> Dict[str, int]:
    """Bytes of each part of a model directory, and of all."""
    parts = {f"{path.name}, MB": bytes_of(path) for path in sorted(folder.iterdir())}
    return {**parts, "all, MB": sum(parts.values())}


def bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
