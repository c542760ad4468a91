"""`python -m spacy hoseq apply`: a trained pipeline over any amount of text."""

import json
import os
import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..reporting.pages import uncalibrated
from .app import hoseq_cli, then
from .shared import CODE, Model

if TYPE_CHECKING:
    from ..batch.formats import Done
    from ..batch.job import Job

STANDARD = "-"
FIELDS = "text,word,tag,pos,sentences,spans"
READ = {"parquet": "pandas.read_parquet reads them all", "spacy": "DocBin().from_disk reads one"}
FORMATS = ("conll", "conllu", "csv", "jsonl", "parquet", "spacy", "tsv")
Format = Enum("Format", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]
FLAT = ("csv", "tsv")
IN_TERMINAL = 0.5  # seconds between updates of the bar
IN_LOGS = 60.0  # where there is no terminal


@hoseq_cli.command(
    "apply", failed="Stopped", interrupted="the same command goes on where this one stopped"
)
def apply_cli(
    # fmt: off
    model: Model,
    inputs: list[str] = typer.Argument(
        ..., help="Files of texts, folders and globs of them; - for standard input"
    ),
    output: str = typer.Option(
        ..., "--output", "-o", help="Folder to write to; - for standard output"
    ),
    form: Format | None = typer.Option(None, "--format", "-f", help="Default: parquet; to - jsonl"),
    flat: bool = typer.Option(
        False, "--flat", help="A row for each token, not for each text; csv and tsv always"
    ),
    n_process: int = typer.Option(
        1, "--n-process", "-j", min=-1, help="Processes; -1: one for each core"
    ),
    fields: str | None = typer.Option(
        None,
        "--fields",
        help=f"Default: {FIELDS}; with --flat word,lemma,tag,pos,prob,sentences,spans",
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
        False, "--force", "-F", help="Delete what an earlier run has written, and begin anew"
    ),
    exclude: str = typer.Option(
        "", "--exclude", help="Components not to load, separated by commas"
    ),
    max_length: int | None = typer.Option(
        None, "--max-length", help="Characters of the longest text"
    ),
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Annotate any amount of text with a trained pipeline. The same command goes on where an
    interrupted one stopped.

    What is written does not depend on the number of processes. Rows that fail are listed in
    errors.jsonl; the exit status is 1 then.

    DOCS: docs/reference/command-line.md
    """
    try:
        from ..batch.annotator import Annotator
        from ..batch.inputs import InputOptions
        from ..batch.job import Job
    except ImportError as error:
        install = '"spacy-hoseq[arrow]"'
        raise ImportError(Errors.HS170.format(package="pyarrow", install=install)) from error
    written = form.value if form else "jsonl" if output == STANDARD else "parquet"
    flat = flat or written in FLAT
    annotator = Annotator(
        model,
        outputs=names_in(fields or ("" if flat else FIELDS)),
        flat=flat,
        exclude=names_in(exclude),
        max_length=max_length,
        code=code,
    )
    reading = InputOptions(text_key, id_key, whole, part_size)
    folder = None if output == STANDARD else Path(output)
    job = Job(annotator, inputs, folder, written, reading)
    state = run(job, n_process if n_process > 0 else os.cpu_count() or 1, force)
    report(job, output, state)
    if folder:
        msg.good(output)
        then(f"read {output}/parts: {READ.get(written, f'files of {written}')}")
    if state["errors"]:
        raise typer.Exit(1)


def names_in(text: str) -> list[str]:
    """Of "word,tag"."""
    return [name for name in text.split(",") if name]


def run(job: "Job", n_process: int, force: bool) -> Any:
    """RETURNS numbers of parts, rows, tokens and errors."""
    interval = IN_TERMINAL if sys.stderr.isatty() else IN_LOGS
    settings = {"unit": "B", "unit_scale": True, "leave": False, "mininterval": interval}
    with tqdm(total=job.size or None, delay=5 * interval, **settings) as bar:

        def tell(done: "Done") -> None:
            bar.update(done.position - bar.n)
            for error in done.entry["errors"] if job.output is None else ():
                print(json.dumps(error, ensure_ascii=False), file=sys.stderr)

        if job.output is None:
            return job.to_stream(sys.stdout.buffer, n_process, tell)
        return job.to_folder(n_process, force, tell)


def report(job: "Job", output: str, state: Any) -> None:
    """Counts and notes."""
    loaded = job.annotator.loaded
    for note in uncalibrated(loaded.nlp, loaded.probable(job.annotator.outputs)).values():
        print(note, file=sys.stderr)
    if output != STANDARD:
        names = {"Parts": "parts", "Texts": "rows", "Tokens": "tokens", "Errors": "errors"}
        msg.table([(name, f"{state[key]:,}") for name, key in names.items()], aligns=("l", "r"))
    if state["errors"]:
        place = "above" if output == STANDARD else f"{output}/errors.jsonl"
        print(f"{state['errors']:,} errors: {place}", file=sys.stderr)
