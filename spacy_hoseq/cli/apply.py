"""`python -m spacy hoseq apply`: a trained pipeline over many texts, in several processes."""

import os
from pathlib import Path
from typing import List, Optional

import typer
from tqdm import tqdm
from wasabi import msg

from ..errors import Errors
from ..readers.files import find_files
from ..readers.sentences import Problem
from ..readers.texts import shares
from .app import hoseq_cli
from .processes import HALF, Pipeline, annotated
from .tally import show_problems


@hoseq_cli.command("apply")
def apply_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory or package of a trained pipeline, or en, zh"),
    data: Path = typer.Argument(
        ..., help="File of texts (.jsonl), of Docs (.spacy) or with one text (others), or folder of them", exists=True
    ),
    output: Path = typer.Argument(..., help="Folder to write .spacy files to", file_okay=False),
    n_process: int = typer.Option(1, "--n-process", "-n", min=-1, help="Processes; -1: one for each core"),
    docs_per_file: int = typer.Option(1000, "--docs-per-file", min=1, help="Texts that become one .spacy file"),
    text_key: str = typer.Option("text", "--text-key", "-tk", help="Field of the text in .jsonl"),
    overwrite: bool = typer.Option(False, "--overwrite", "-F", help="Replace what an earlier run has written"),
    code: Optional[Path] = typer.Option(None, "--code", "-c", help="Python file that the pipeline needs"),
    # fmt: on
) -> None:
    """Annotate texts or Docs with a trained pipeline and write them as .spacy files, numbered in their order.

    Each process writes files of its own, so that several processes are faster than one. Memory stays the same, however
    many texts there are. What is written does not depend on the number of processes. Fields of .jsonl beside the text
    are kept in `doc.user_data["meta"]`. Texts that cannot be read or annotated are left out and listed; the exit status
    is 1 then.

    DOCS: docs/reference/command-line.md
    """
    n_process = n_process if n_process > 0 else os.cpu_count() or 1
    docs = tokens = written = 0
    problems: List[Problem] = []
    try:
        files = find_files(data, [""])
        pipeline = Pipeline(model, code)
        clear(output, overwrite)
        with tqdm(unit=" docs", leave=False, disable=None) as progress:
            for done in annotated(pipeline, shares(files, docs_per_file, text_key), output, n_process):
                progress.update(done.docs)
                docs, tokens, written = docs + done.docs, tokens + done.tokens, written + done.files
                problems += done.problems
    except (ValueError, OSError) as error:
        msg.fail(f"Stopped, with {written:,} files written", str(error), exits=1)
    counts = {"Files read": len(files), "Docs": docs, "Tokens": tokens, "Files written": written}
    rows = [*counts.items(), ("Problems", len(problems))]
    msg.table([(name, f"{count:,}") for name, count in rows], aligns=("l", "r"))
    if problems:
        show_problems(msg, problems)
        msg.warn(f"Without what is listed above: {output}", exits=1)
    msg.good(f"{output}")


def clear(output: Path, overwrite: bool) -> None:
    """Make the folder, and delete the files of an earlier run from it if that may be. RAISES ValueError [HS113]."""
    output.mkdir(parents=True, exist_ok=True)
    found = list(output.iterdir())
    earlier = [path for path in found if path.stem.isdecimal() and path.suffix in (".spacy", HALF)]
    if len(earlier) < len(found):
        raise ValueError(Errors.HS113.format(path=output, problem="it has other files than those of an earlier run"))
    if earlier and not overwrite:
        raise ValueError(Errors.HS113.format(path=output, problem="it has files of an earlier run"))
    for path in earlier:
        path.unlink()
