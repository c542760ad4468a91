"""`python -m spacy hoseq report`: how a pipeline did on annotated text."""

import shutil
from pathlib import Path
from typing import Optional

import srsly
import typer
from wasabi import msg

from ...errors import Errors
from ...inspection.reading import own_components
from ...pipelines import load_found, run_code
from ...readers.annotated import read_docs, spacy_files
from ...reporting.report import as_json, as_markdown, as_page, examples_in, report
from ..app import hoseq_cli, then
from ..files import FORCE, TRAININGS, check_free, write_text


@hoseq_cli.command(
    "report",
    failed="No report",
    interrupted="the same command goes on with the training that it was at",
)
def report_cli(
    # fmt: off
    model: str = typer.Argument(
        ..., help="Directory or package of a trained pipeline, or en, zh, af, cy"
    ),
    data: Path = typer.Argument(..., help="Annotated .spacy file, or folder of them", exists=True),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False),
    against: Optional[str] = typer.Option(
        None, "--against", "-a", help="Another pipeline to compare with"
    ),
    train: Optional[Path] = typer.Option(
        None, "--train", help="Training corpus: which words are known", exists=True
    ),
    curve: bool = typer.Option(
        False, "--curve", help="Train on shares of --train, for a learning curve"
    ),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipelines need"
    ),
    # fmt: on
) -> None:
    """Write report.html, report.md and report.json: accuracy with intervals, labels, confusions,
    probabilities, the least certain sentences, likely annotation errors, and what another pipeline
    does otherwise.

    DOCS: docs/tasks/report.md
    """
    page = output / "report.html"
    check_free(page, force)
    run_code(code)
    if curve and train is None:
        source = "the command, as a learning curve needs it"
        raise ValueError(
            Errors.HS159.format(what="training corpus", source=source, expected="--train")
        )
    nlp = load_found(model)
    examples = examples_in(nlp, data)
    if not any(len(eg.reference) for eg in examples):
        raise ValueError(
            Errors.HS159.format(
                what="annotated text", source=data, expected="a .spacy file of some"
            )
        )
    docs = None if train is None else list(read_docs(spacy_files(train), nlp.vocab, 0))
    evaluation = report(
        nlp,
        examples,
        model=name_of(model),
        data=data.name,
        against=None if against is None else (name_of(against), load_found(against)),
        train=docs,
        curve=output / TRAININGS if curve else None,
        tell=msg.info,
    )
    write_text(page, as_page(evaluation))
    write_text(output / "report.md", as_markdown(evaluation))
    srsly.write_json(output / "report.json", as_json(evaluation))
    if curve:
        shutil.rmtree(output / TRAININGS)
    for layer in evaluation["layers"]:
        scores = ", ".join(
            f"{name} {100 * share.value:.2f}" for name, share in layer["scores"].items()
        )
        msg.text(f"{layer['component']}: {scores}")
    missing = own_components(nlp).keys() - {layer["component"] for layer in evaluation["layers"]}
    if missing:
        msg.warn(f"Left out, for {data} has no gold labels of: {', '.join(sorted(missing))}")
    msg.good(f"{page}, report.md, report.json")
    then(f"look at {page}")


def name_of(model: str) -> str:
    """Of a directory that training has written: with the directory above, which tells them
    apart."""
    path = Path(model)
    return (
        f"{path.resolve().parent.name}/{path.name}"
        if path.is_dir() and path.name.startswith("model-")
        else path.name
    )
