"""`python -m spacy hoseq apply`: a trained pipeline over any amount of text."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tqdm import tqdm
from typer import Exit, Option

from ..reporting.pages import uncalibrated
from .app import hoseq_cli, msg, then
from .shared import Code, Model, Texts, arrow_needed, show_account

if TYPE_CHECKING:
    from ..batch.formats import Done
    from ..batch.job import Job, Report

FIELDS = "text,word,tag,pos,sentences,spans"
Format = Literal["conll", "conllu", "csv", "jsonl", "parquet", "spacy", "tsv"]


@hoseq_cli.command(
    "apply", failed="Stopped", interrupted="the same command goes on where this one stopped"
)
def apply_cli(
    model: Model,
    inputs: Texts,
    output: Annotated[
        str, Option("--output", "-o", help="Folder to write to; - for standard output")
    ],
    form: Annotated[
        Format | None, Option("--format", "-f", help="Default: parquet; to - jsonl")
    ] = None,
    flat: Annotated[
        bool,
        Option("--flat", help="A row for each token, not for each text; csv and tsv always"),
    ] = False,
    n_process: Annotated[
        int, Option("--n-process", "-j", min=-1, help="Processes; -1: one for each core")
    ] = 1,
    fields: Annotated[
        str | None,
        Option(
            "--fields",
            help=f"Default: {FIELDS}; with --flat word,lemma,tag,pos,prob,sentences,spans",
        ),
    ] = None,
    text_key: Annotated[
        str, Option("--text-key", "-tk", help="Column, or key of .jsonl, of the text")
    ] = "text",
    id_key: Annotated[
        str,
        Option("--id-key", help="Column, or key of .jsonl, of the id, if there is one"),
    ] = "id",
    whole: Annotated[
        bool,
        Option("--whole", "-w", help="A .txt file is one text, not one in each line"),
    ] = False,
    part_size: Annotated[int, Option("--part-size", min=1, help="Texts of a file, at most")] = 5000,
    force: Annotated[
        bool,
        Option("--force", "-F", help="Delete what an earlier run has written, and begin anew"),
    ] = False,
    exclude: Annotated[
        str, Option("--exclude", help="Components not to load, separated by commas")
    ] = "",
    max_length: Annotated[
        int | None, Option("--max-length", help="Characters of the longest text")
    ] = None,
    code: Code = None,
) -> None:
    """Annotate any amount of text with a trained pipeline.

    \b
      hoseq apply en texts/ -o annotated                          Parquet, in parts
      hoseq apply en corpus.csv --text-key body -o annotated -f jsonl -j 4
      cat texts.txt | hoseq apply zh - -o - | less                a stream of JSON lines

    The same command goes on where an interrupted one stopped. What is written does not depend on
    the number of processes. Rows that fail are listed in errors.jsonl; the exit status is 1 then.

    DOCS: docs/reference/command-line.md
    """
    # not above: these need pyarrow, which few commands require
    with arrow_needed():
        from ..batch.annotator import Annotator
        from ..batch.inputs import InputOptions
        from ..batch.job import Job
    folder = None if output == "-" else Path(output)
    written = form or ("parquet" if folder else "jsonl")
    flat = flat or written in ("csv", "tsv")
    # the annotator has defaults of its own for rows of tokens
    if not fields and not flat:
        fields = FIELDS
    annotator = Annotator(
        model,
        outputs=names_in(fields or ""),
        flat=flat,
        exclude=names_in(exclude),
        max_length=max_length,
        code=code,
    )
    job = Job(annotator, inputs, folder, written, InputOptions(text_key, id_key, whole, part_size))
    if n_process <= 0:
        n_process = os.cpu_count() or 1
    state = run(job, n_process, force)
    report(job, output, state)
    if folder:
        msg.good(output)
        reads = {
            "parquet": "pandas.read_parquet reads them all",
            "spacy": "DocBin().from_disk reads one",
        }
        then(f"read {output}/parts: {reads.get(written, f'files of {written}')}")
    # what could be annotated is written all the same
    if state["errors"]:
        raise Exit(1)


def names_in(text: str) -> list[str]:
    """The names in a list such as "word,tag"."""
    return [name for name in text.split(",") if name]


def run(job: "Job", n_process: int, force: bool, report: "Report | None" = None) -> Any:
    """Annotate everything, with a progress bar. report: called with each part that is done. RETURNS
    the numbers of parts, rows, tokens and errors."""
    # seconds between updates of the bar: every update is a line of its own in a log
    interval = 0.5 if sys.stderr.isatty() else 60.0
    settings = {"unit": "B", "unit_scale": True, "leave": False, "mininterval": interval}
    with tqdm(total=job.size or None, delay=5 * interval, **settings) as bar:

        def tell(done: "Done") -> None:
            bar.update(done.position - bar.n)
            if report is not None:
                report(done)
            # a folder has errors.jsonl; a stream has nothing beside it
            if job.output is None:
                for error in done.entry["errors"]:
                    print(json.dumps(error, ensure_ascii=False), file=sys.stderr)

        if job.output is None:
            return job.to_stream(sys.stdout.buffer, n_process, tell)
        return job.to_folder(n_process, force, tell)


def report(job: "Job", output: str, state: Any) -> None:
    """Show counts and notes."""
    loaded = job.annotator.loaded
    for note in uncalibrated(loaded.nlp, loaded.probable(job.annotator.outputs)).values():
        print(note, file=sys.stderr)
    place = "above"
    # on standard output are the annotated texts
    if job.output is not None:
        place = f"{output}/errors.jsonl"
        names = {"Parts": "parts", "Texts": "rows", "Tokens": "tokens", "Errors": "errors"}
        show_account(job.account, {name: state[key] for name, key in names.items()})
    if state["errors"]:
        print(f"{state['errors']:,} errors: {place}", file=sys.stderr)
