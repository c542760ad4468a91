"""Commands that mend a corpus: `find-errors` finds likely annotation errors, `correct` writes what
became of them, `select` says which texts to annotate next."""

from pathlib import Path
from typing import Any

import spacy
import typer
from spacy.cli._util import parse_config_overrides
from spacy.tokens import Doc, SpanGroup
from spacy.util import load_config, minibatch
from thinc.api import Config
from wasabi import msg

from ..errors import Errors
from ..inspection.certainty import BATCH
from ..inspection.findings import corrected, find_errors
from ..inspection.selection import Doubts, doubtful_tokens, doubts_of, select
from ..pipelines import checked_language, run_code
from ..pipelines.recipes import recipe
from ..readers.annotated import read_docs, spacy_files
from ..readers.files import read_values
from ..readers.sentences import Problem
from ..reporting.findings import annotation_tasks, findings_page, marked, task_of
from .app import done, hoseq_cli
from .shared import (
    CODE,
    COMPONENTS,
    FOLDER,
    FORCE,
    META,
    TEXT_KEY,
    Model,
    check_free,
    docs_of,
    pipeline_of,
    progress,
    write,
)

SPANS_KEY = "doubtful"


@hoseq_cli.command(
    "find-errors",
    failed="Nothing found",
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
    output: Path = FOLDER,
    folds: int = typer.Option(
        5, "--folds", "-k", help="Trainings, each without a part of the corpus"
    ),
    n: int = typer.Option(200, "--number", "-n", min=1, help="Findings at most"),
    alternatives: int = typer.Option(
        3, "--alternatives", min=1, help="Alternatives of each, at most"
    ),
    lang: str | None = typer.Option(None, "--lang", "-l", help="Language of a recipe"),
    seed: int = typer.Option(0, "--seed", help="Of the division into parts"),
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Find likely annotation errors: where models that have not seen a text disagree most with its
    annotation.

    DOCS: docs/tasks/annotation.md
    """
    tasks = output / "findings.jsonl"
    check_free(tasks, force)
    run_code(code)
    settings = config_of(config, lang, parse_config_overrides(context.args))
    docs = docs_in(corpus, checked_language(settings.get("nlp", {}).get("lang", "")))
    msg.info(f"{len(docs):,} docs, {folds} trainings")
    findings = find_errors(
        settings,
        docs,
        n_folds=folds,
        n=n,
        k=alternatives,
        seed=seed,
        progress=lambda trained: progress(trained, "trainings", folds),
    )
    page = output / "findings.html"
    write(page, findings_page(docs, findings))
    write(output / "findings.spacy", marked(docs, findings))
    write(tasks, annotation_tasks(docs, findings))  # the last one: what is there is finished
    done(
        f"{len(findings):,} findings: {page}, findings.jsonl, findings.spacy",
        f"look at {page}; answer in {tasks}; "
        f"python -m spacy hoseq correct {corpus} {tasks} -o CORRECTED.spacy",
    )


def config_of(name: str, lang: str | None, overrides: dict[str, Any]) -> Config:
    """A file, or a recipe by its name. RAISES ValueError [HS172]: it is no config."""
    if not name.endswith(".cfg"):
        return Config().from_str(recipe(name, lang), overrides=overrides, interpolate=False)
    try:
        return load_config(name, overrides=overrides, interpolate=False)
    except ValueError as error:
        raise ValueError(
            Errors.HS172.format(actual=f"{name}: {error}", expected="a config of `spacy train`")
        ) from error


def docs_in(corpus: Path, lang: str) -> list[Doc]:
    return list(progress(read_docs(spacy_files(corpus), spacy.blank(lang).vocab)))


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

    DOCS: docs/tasks/annotation.md
    """
    check_free(output, force)
    docs = docs_in(corpus, "xx")
    lines: list[Any] = list(
        read_values(answers, ["utf-8"], lambda entry: [{**entry.value}], "an object")
    )
    for line in lines:
        if isinstance(line, Problem):
            actual = f"{answers}, line {line.line}: {line.actual}"
            expected = "a line of findings.jsonl, with an answer"
            raise ValueError(Errors.HS172.format(actual=actual, expected=expected))
    n_changed = corrected(docs, lines)
    write(output, docs)
    done(
        f"{n_changed:,} corrections: {output}",
        f"python -m spacy train CONFIG --paths.train {output} --paths.dev DEV.spacy --output DIR",
    )


@hoseq_cli.command("select", failed="Nothing selected")
def select_cli(
    # fmt: off
    model: Model,
    pool: Path = typer.Argument(
        ..., help="Texts (.jsonl, .txt: one in each line), Docs (.spacy), or folder", exists=True
    ),
    output: Path = typer.Option(
        ..., "--output", "-o", help=".jsonl or .spacy file to write", dir_okay=False
    ),
    n: int = typer.Option(200, "--number", "-n", min=1, help="Texts to select"),
    diverse: bool = typer.Option(
        True, "--diverse/--no-diverse", help="Avoid texts with the same doubtful words"
    ),
    per_word: bool = typer.Option(
        False, "--per-word", help="Annotation is paid by the word, not by the text"
    ),
    doubtful: float = typer.Option(
        0.05, "--doubtful", "-d", help="A word is doubtful if 1 - p(label) is above this"
    ),
    component: list[str] | None = COMPONENTS,
    text_key: str = TEXT_KEY,
    force: bool = FORCE,
    code: Path | None = CODE,
    # fmt: on
) -> None:
    """Select the texts of which a trained pipeline is least sure, the best first, and the doubtful
    words in them.

    DOCS: docs/tasks/annotation.md
    """
    if output.suffix not in (".jsonl", ".spacy"):
        raise ValueError(
            Errors.HS027.format(name="output", value=output, expected="a .jsonl or a .spacy file")
        )
    check_free(output, force)
    nlp = pipeline_of(model, code)
    problems: list[Problem] = []
    docs = list(docs_of(nlp, [pool], text_key, problems))
    if not docs:
        raise ValueError(
            Errors.HS159.format(what="text", source=pool, expected="lines with text, or Docs")
        )
    doubts = [
        one
        for batch in minibatch(progress(docs, "texts", len(docs)), BATCH)
        for one in doubts_of(nlp, batch, component or ())
    ]
    chosen = select(doubts, n, diverse=diverse, per_word=per_word)
    asked = [doubtful_tokens(doubts[i], doubtful).tolist() for i in chosen]
    made = task if output.suffix == ".jsonl" else with_spans
    write(output, [made(docs[i], doubts[i], words) for i, words in zip(chosen, asked, strict=True)])
    n_words = sum(len(doubts[i].words) for i in chosen)
    done(
        f"{len(chosen):,} of {len(docs):,} texts: {output}. {n_words:,} words, "
        f"of which {sum(map(len, asked)):,} are doubtful",
        f"label the doubtful words in {output}, and train with these texts, too",
    )
    if problems:
        msg.warn("Without what is listed above", exits=1)


def task(doc: Doc, doubts: Doubts, asked: list[int]) -> dict[str, Any]:
    """A line of JSONL: text, tokens, what was beside the text, how doubtful it is, and its doubtful
    tokens."""
    words = [{"id": i, "doubt": round(float(doubts.doubtful[i]), 4)} for i in asked]
    meta = {**doc.user_data.get(META, {}), "doubt": round(doubts.of_text, 4)}
    return {**task_of(doc), "meta": meta, "doubtful": words}


def with_spans(doc: Doc, doubts: Doubts, asked: list[int]) -> Doc:
    """The Doc with the doubtful words as `doc.spans["doubtful"]`, scores: of doubt."""
    spans = [doc[i : i + 1] for i in asked]
    attributes = {"scores": doubts.doubtful[asked].tolist()}
    doc.spans[SPANS_KEY] = SpanGroup(doc, name=SPANS_KEY, spans=spans, attrs=attributes)
    return doc
