"""`python -m spacy hoseq apply`: a trained pipeline over any amount of text."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Literal, Optional

import typer
from wasabi import msg

from ..batch.writing import output_format, output_formats
from ..errors import Errors
from .app import hoseq_cli, then
from .progress import Progress

if TYPE_CHECKING:
    from ..batch.job import Engine, Job
    from ..batch.work import Done

STANDARD = "-"
FIELDS = "text,word,tag,pos,sentences,spans"
OF_TOKENS = "word,lemma,tag,pos,prob,sentences,spans"


READ = {"parquet": "pandas.read_parquet reads them all", "spacy": "DocBin().from_disk reads one"}
FORMATS = ", ".join(output_formats())


class Stopped(KeyboardInterrupt):
    """A signal has asked the process to end."""

    status = 143


def known_format(name: str) -> str:
    """RAISES typer.BadParameter: there is no such format."""
    if name and name not in output_formats():
        raise typer.BadParameter(f"{name!r} is not one of {FORMATS}.")
    return name


@hoseq_cli.command(
    "apply", failed="Stopped", interrupted="the same command goes on where this one stopped"
)
def apply_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory or package of a trained pipeline, or en, zh, af, cy"),
    inputs: List[str] = typer.Argument(
        ..., help="Files of texts, folders and globs of them; - for standard input"
    ),
    output: str = typer.Option(
        ..., "--output", "-o", help="Folder to write to; - for standard output"
    ),
    form: str = typer.Option(
        "", "--format", "-f", callback=known_format, help=f"{FORMATS}; else parquet, to - jsonl"
    ),
    flat: bool = typer.Option(
        False, "--flat", help="A row for each token, not for each text; csv and tsv always"
    ),
    n_process: int = typer.Option(
        1, "--n-process", "-j", min=-1, help="Processes; -1: one for each core"
    ),
    shard: str = typer.Option(
        "1/1", "--shard", help="i/n: every nth part from the ith on; for n machines"
    ),
    fields: Optional[str] = typer.Option(
        None, "--fields", help=f"Default: {FIELDS}; with --flat {OF_TOKENS}"
    ),
    text_key: str = typer.Option(
        "text", "--text-key", "-tk", help="Column, or key of .jsonl, of the text"
    ),
    id_key: str = typer.Option(
        "id", "--id-key", help="Column, or key of .jsonl, of the id, if there is one"
    ),
    whole: bool = typer.Option(
        False, "--whole", "-w", help="A .txt file is one text, not one in each line"
    ),
    part_size: int = typer.Option(5000, "--part-size", min=1, help="Texts of a file, at most"),
    force: bool = typer.Option(
        False, "--force", "-F", help="Replace the output if it is there: begin anew"
    ),
    exclude: str = typer.Option(
        "", "--exclude", help="Components not to load, separated by commas"
    ),
    max_length: Optional[int] = typer.Option(
        None, "--max-length", help="Characters of the longest text"
    ),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    engine: Literal["local", "ray"] = typer.Option("local", "--engine", help="Who does the work"),
    address: Optional[str] = typer.Option(
        None, "--address", help="Of a cluster of Ray. Default: this machine"
    ),
    # fmt: on
) -> None:
    """Annotate any amount of text with a trained pipeline. The same command goes on where an
    interrupted one stopped.

    What is written does not depend on the number of processes or machines. Rows that fail are
    listed in errors.jsonl; the exit status is 1 then.

    DOCS: docs/reference/command-line.md
    """
    form = form or ("jsonl" if output == STANDARD else "parquet")
    n_process = n_process if n_process > 0 else os.cpu_count() or 1
    try:
        with signals():
            settings = {
                "fields": fields,
                "max_length": max_length,
                "code": code,
                "exclude": list(filter(None, exclude.split(","))),
            }
            job = job_of(
                model, settings, inputs, output, form, (text_key, id_key, whole), part_size, flat
            )
            state = run(job, engine_of(engine, n_process, address), shard, force)
        for note in notes_of(job):
            print(note, file=sys.stderr)
    except (ValueError, OSError) as error:
        print(f"Stopped: {error}", file=sys.stderr)
        raise typer.Exit(1) from error
    if output != STANDARD:
        names = {"Parts": "parts", "Texts": "rows", "Tokens": "tokens", "Errors": "errors"}
        msg.table([(name, f"{state[key]:,}") for name, key in names.items()], aligns=("l", "r"))
    if state["errors"]:
        print(f"{state['errors']:,} errors: {state['listed']}", file=sys.stderr)
        raise typer.Exit(1)
    if output != STANDARD:
        msg.good(output)
        then(f"read {output}/parts: {READ.get(form, f'files of {form}')}")


@contextmanager
def signals() -> Iterator[None]:
    """SIGTERM ends the run as Ctrl-C does: workers first, and nothing half-written."""

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def job_of(
    model: str,
    settings: Dict[str, Any],
    inputs: List[str],
    output: str,
    form: str,
    reading: Any,
    part_size: int,
    flat: bool,
) -> "Job":
    """RAISES ValueError [HS170]: pyarrow is not installed; and as `Annotator` and `Job` do."""
    try:
        from ..batch.annotator import Annotator
        from ..batch.job import Job
        from ..batch.source import InputOptions
    except ImportError as error:
        raise ValueError(
            Errors.HS170.format(package="pyarrow", install='"spacy-hoseq[arrow]"')
        ) from error
    folder = None if output == STANDARD else Path(output)
    flat = flat or output_format(form).is_flat
    fields = settings.pop("fields")
    optional = () if fields else ("prob",)
    outputs = (fields or (OF_TOKENS if flat else FIELDS)).split(",")
    annotator = Annotator(model, outputs=outputs, optional=optional, **settings)
    return Job(annotator, inputs, folder, form, InputOptions(*reading), part_size, flat)


def engine_of(name: str, n_process: int, address: Optional[str]) -> "Engine":
    from ..batch import engines

    if name == "ray":
        return partial(engines.ray_actors, n=n_process, address=address)
    return engines.here if n_process == 1 else partial(engines.processes, n=n_process)


def run(job: "Job", engine: "Engine", shard: str, restart: bool) -> Dict[str, Any]:
    """RETURNS what there is to say in the end: numbers of parts, rows, tokens and errors, and where
    errors are."""
    from ..batch.folder import Shard

    if job.output is None:
        with Progress(job.size, 0, sys.stderr) as progress:
            n_errors = job.to_stream(
                sys.stdout.buffer, engine, partial(tell, progress, is_stream=True)
            )
        return {"errors": n_errors, "listed": "above"}
    with job.folder(Shard(shard), restart) as folder:
        with Progress(job.size, folder.state["position"], sys.stderr) as progress:
            state = job.to_folder(folder, engine, partial(tell, progress))
    return {**state, "listed": folder.errors}


def notes_of(job: "Job") -> List[str]:
    """A line for each component whose probabilities are written and are not calibrated."""
    from ..reporting.pages import uncalibrated

    loaded = job.annotator.loaded
    return [*uncalibrated(loaded.nlp, loaded.probable(job.annotator.outputs)).values()]


def tell(progress: Progress, done: "Done", is_stream: bool = False) -> None:
    progress.update(done.position, done.rows, done.tokens)
    for error in done.errors if is_stream else ():
        print(json.dumps(error, ensure_ascii=False), file=sys.stderr)
