"""`python -m spacy hoseq calibrate`: calibrated probabilities."""

from functools import partial
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import typer
from wasabi import msg, table

from ...compaction.pipeline import check_output, dev_examples, save_compact
from ...inspection.calibration import Calibration, calibrate
from ...pipelines import load_found, run_code
from ...reporting.reliability import draw_calibration
from ..app import hoseq_cli, then
from ..files import FORCE, check_free
from ..progress import progress

ROWS = {
    "ece": "expected calibration error",
    "ece_equal_mass": "the same, bins of equal mass",
    "brier": "Brier score",
    "log_loss": "log loss, nats",
    "area": "area under risk-coverage",
}


@hoseq_cli.command("calibrate", failed="Nothing written")
def calibrate_cli(
    # fmt: off
    model: str = typer.Argument(
        ..., help="Directory or package of a trained pipeline, or en, zh, af, cy"
    ),
    dev: Path = typer.Argument(
        ..., help="Corpus (.spacy) of other text than in training", exists=True
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Directory to write"),
    component: Optional[List[str]] = typer.Option(
        None, "--component", help="Default: all that no other listens to"
    ),
    picture: Optional[Path] = typer.Option(None, "--picture", help="Folder for a picture of each"),
    limit: int = typer.Option(
        0, "--limit", min=0, help="Use so many texts of the corpus only; 0 = all"
    ),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Divide all weights of each tagger and chunker by one temperature, at which its probabilities
    fit the corpus. Labels and the order of alternatives stay. Figures "after" are of temperatures
    found without the text that they are measured on.

    DOCS: docs/tasks/how-sure.md
    """
    run_code(code)
    check_output(output, overwrite=force)
    nlp = load_found(model)
    if picture:
        for name in nlp.pipe_names:
            check_free(picture / f"{name}.svg", force)
    some = dev_examples(nlp, dev)[: limit or None]
    calibrations = calibrate(nlp, some, component or None, partial(progress, what="components"))
    save_compact(nlp, output, overwrite=force, keep_strings=True)
    if picture:
        picture.mkdir(parents=True, exist_ok=True)
        for name, one in calibrations.items():
            title = f"Probabilities of {name}: {model} on {dev.name}"
            (picture / f"{name}.svg").write_text(
                draw_calibration(one.before, one.after, title=title), encoding="utf8"
            )
    print(
        table(
            table_rows(calibrations),
            header=("", "before", "after"),
            divider=True,
            aligns=("l", "r", "r"),
        )
    )
    msg.good(f"Written to {output}")
    then(f"python -m spacy hoseq report {output} TEST.spacy -o report")


def table_rows(found: Dict[str, Calibration]) -> List[Tuple[str, str, str]]:
    rows = []
    for name, one in found.items():
        rows.append((f"{name}: temperature", "1", f"{one.temperature:.4g}"))
        rows += [
            (title, f"{getattr(one.before, field):.4f}", f"{getattr(one.after, field):.4f}")
            for field, title in ROWS.items()
        ]
        rows.append((f"labels that changed, of {one.after.n:,}", "", f"{one.n_changed:,}"))
    return rows
