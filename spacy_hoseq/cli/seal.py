"""`python -m spacy hoseq seal`: a list of a pipeline's files, by which damage to any of them is
noticed."""

from pathlib import Path
from typing import Optional

import typer
from wasabi import msg

from ..components.digest import FILES, write_digests
from ..pipelines import load_from, run_code
from .app import hoseq_cli, then


@hoseq_cli.command("seal", failed="Not sealed")
def seal_cli(
    # fmt: off
    model: Path = typer.Argument(
        ..., help="Directory of a trained pipeline", exists=True, file_okay=False
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """List the files of a pipeline with their digests. From then on `spacy_hoseq.load` and the
    commands refuse it if one of them is damaged, missing or of another pipeline. To be done again
    when the pipeline was saved anew.

    DOCS: docs/reference/command-line.md
    """
    run_code(code)
    write_digests(model)
    try:
        load_from(model)
    except Exception:
        (model / FILES).unlink()
        raise
    msg.good(f"{model / FILES}")
    then(f'copy {model} to where it is used; spacy_hoseq.load("{model}") looks for damage')
