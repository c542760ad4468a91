"""`python -m spacy hoseq find-errors` and `correct`: likely annotation errors of a corpus, and what
became of them."""

import shutil
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

import spacy
import srsly
import typer
from spacy.cli._util import parse_config_overrides
from spacy.tokens import DocBin
from spacy.util import load_config
from thinc.api import Config
from wasabi import msg

from ...curation.findings import corrected, find_errors
from ...errors import Errors
from ...pipelines import run_code
from ...readers.annotated import read_docs, spacy_files
from ...readers.files import json_entries, read_lines
from ...readers.sentences import Problem
from ...recipes import checked, recipe
from ...reporting.findings import annotation_tasks, findings_page, marked
from ..app import hoseq_cli, then
from ..files import FORCE, TRAININGS, check_free, whole, write_text
from ..progress import progress


@hoseq_cli.command(
    "find-errors",
    failed="Nothing found",
    interrupted="the same command goes on with the training that it was at",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def find_errors_cli(
    # fmt: off
    context: typer.Context,
    config: str = typer.Argument(
        ..., help="Config of the training, or a recipe of `hoseq init`; settings may follow"
    ),
    corpus: Path = typer.Argument(
        ..., help="Annotated .spacy file, or folder of them", exists=True
    ),
    output: Path = typer.Option(..., "--output", "-o", help="Folder to write", file_okay=False),
    folds: int = typer.Option(
        5, "--folds", "-k", help="Trainings, each without a part of the corpus"
    ),
    n: int = typer.Option(200, "--number", "-n", min=1, help="Findings at most"),
    alternatives: int = typer.Option(
        3, "--alternatives", min=1, help="Alternatives of each, at most"
    ),
    lang: Optional[str] = typer.Option(None, "--lang", "-l", help="Language of a recipe"),
    seed: int = typer.Option(0, "--seed", help="Of the division into parts"),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the config needs"
    ),
    # fmt: on
) -> None:
    """Find likely annotation errors: where models that have not seen a text disagree most with its
    annotation.

    DOCS: docs/tasks/errors.md
    """
    tasks = output / "findings.jsonl"
    check_free(tasks, force)
    run_code(code)
    overrides = parse_config_overrides(context.args)
    if config.endswith(".cfg"):
        settings = config_at(config, overrides)
    else:
        settings = Config().from_str(recipe(config, lang), overrides=overrides, interpolate=False)
    vocab = spacy.blank(checked(settings.get("nlp", {}).get("lang", ""))).vocab
    docs = list(progress(read_docs(spacy_files(corpus), vocab, 0)))
    msg.info(f"{len(docs):,} docs, {folds} trainings")
    findings = find_errors(
        settings,
        docs,
        n_folds=folds,
        n=n,
        k=alternatives,
        seed=seed,
        folder=output / TRAININGS,
        progress=lambda trained: progress(trained, "trainings", folds),
    )
    page = output / "findings.html"
    write_text(page, findings_page(docs, findings))
    DocBin(docs=marked(docs, findings), store_user_data=True).to_disk(output / "findings.spacy")
    with whole(tasks) as part:  # the last one: what is there is finished
        srsly.write_jsonl(part, annotation_tasks(docs, findings))
    shutil.rmtree(output / TRAININGS)
    msg.good(f"{len(findings):,} findings: {page}, findings.jsonl, findings.spacy")
    then(
        f"look at {page}; answer in {tasks}; "
        f"python -m spacy hoseq correct {corpus} {tasks} -o CORRECTED.spacy"
    )


def config_at(path: str, overrides: Dict[str, Any]) -> Config:
    """RAISES ValueError [HS172]: it is no config."""
    try:
        return load_config(path, overrides=overrides, interpolate=False)
    except ValueError as error:
        expected = "a config of `spacy train`"
        raise ValueError(Errors.HS172.format(actual=f"{path}: {error}", expected=expected)) from error


@hoseq_cli.command("correct", failed="Nothing written")
def correct_cli(
    # fmt: off
    corpus: Path = typer.Argument(
        ..., help="The .spacy file, or folder, that the findings are of", exists=True
    ),
    answers: Path = typer.Argument(
        ..., help='findings.jsonl with answers: "accept": ["1"]', exists=True, dir_okay=False
    ),
    output: Path = typer.Option(..., "--output", "-o", help=".spacy file to write", dir_okay=False),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Write a corpus with the findings that were accepted: `"accept": ["1"]` in a line takes its
    first alternative.

    DOCS: docs/tasks/errors.md
    """
    check_free(output, force)
    docs = list(progress(read_docs(spacy_files(corpus), spacy.blank("xx").vocab, 0)))
    n_changed = corrected(docs, answers_in(answers))
    with whole(output) as part:
        DocBin(docs=docs, store_user_data=True).to_disk(part)
    msg.good(f"{n_changed:,} corrections: {output}")
    then(f"python -m spacy train CONFIG --paths.train {output} --paths.dev DEV.spacy --output DIR")


def answers_in(path: Path) -> Iterator[Dict[str, Any]]:
    """The lines of findings.jsonl. RAISES ValueError [HS172]: one is no object of JSON."""
    for entry in json_entries(path, read_lines(path, ["utf-8"]), "text", ""):
        if isinstance(entry, Problem):
            raise ValueError(
                Errors.HS172.format(
                    actual=f"{path}, line {entry.line}: {entry.actual}",
                    expected="a line of findings.jsonl, with an answer",
                )
            )
        yield entry.fields
