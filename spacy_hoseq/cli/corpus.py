"""Commands for the annotation of a corpus: `find-errors` finds likely errors, `correct` writes the
corrected corpus, `select` chooses the texts to annotate next."""

from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.cli._util import parse_config_overrides
from spacy.tokens import Doc, SpanGroup
from spacy.util import load_config, minibatch
from spacy.vocab import Vocab
from thinc.api import Config
from typer import Argument, Option

from ..errors import not_found, unreadable, wrong_value
from ..inspection.findings import corrected, find_errors
from ..inspection.selection import Doubts, doubtful_tokens, doubts_of, select
from ..pipelines import checked_language, run_code
from ..pipelines.recipes import recipe
from ..readers.account import Account
from ..readers.rows import read_values
from ..readers.sentences import Problem
from ..reporting.findings import annotation_tasks, findings_page, marked, task_of
from .app import hoseq_cli, msg
from .shared import (
    Code,
    Components,
    Corpus,
    Folder,
    Force,
    Model,
    TextKey,
    check_free,
    docs_in,
    docs_of,
    finish,
    pipeline_of,
    progress,
    write,
)


@hoseq_cli.command(
    "find-errors",
    failed="Nothing found",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def find_errors_cli(
    context: typer.Context,
    config: Annotated[
        str,
        Argument(help="Config of the training, or a recipe of `hoseq init`; settings may follow"),
    ],
    corpus: Corpus,
    output: Folder,
    folds: Annotated[
        int, Option("--folds", "-k", help="Trainings, each without a part of the corpus")
    ] = 5,
    n: Annotated[int, Option("--number", "-n", min=1, help="Findings at most")] = 200,
    alternatives: Annotated[
        int, Option("--alternatives", min=1, help="Alternatives of each, at most")
    ] = 3,
    lang: Annotated[str | None, Option("--lang", "-l", help="Language of a recipe")] = None,
    seed: Annotated[int, Option("--seed", help="Of the division into parts")] = 0,
    force: Force = False,
    code: Code = None,
) -> None:
    """Find likely annotation errors in a corpus.

    \b
      hoseq find-errors crf corpus.spacy -o doubts                a recipe of `hoseq init`
      hoseq find-errors my.cfg corpus.spacy -o doubts --training.max_epochs 5

    They are where models that have not seen a text disagree most with its annotation.

    DOCS: docs/tasks/annotation.md
    """
    tasks = output / "findings.jsonl"
    check_free(tasks, force)
    run_code(code)
    # options that typer does not know are settings of the config, as in `spacy train`
    settings = config_of(config, lang, parse_config_overrides(context.args))
    account = Account()
    vocab = spacy.blank(checked_language(settings.get("nlp", {}).get("lang", ""))).vocab
    docs = docs_in(corpus, vocab, account)
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
    write(page, findings_page(docs, findings), account)
    write(output / "findings.spacy", marked(docs, findings), account)
    # last of the three: if it is there, all are complete
    write(tasks, annotation_tasks(docs, findings), account)
    finish(
        account,
        {"Docs": len(docs)},
        f"{len(findings):,} findings: {page}, findings.jsonl, findings.spacy",
        f"look at {page}; answer in {tasks}; "
        f"python -m spacy hoseq correct {corpus} {tasks} -o CORRECTED.spacy",
    )


def config_of(name: str, lang: str | None, overrides: dict[str, Any]) -> Config:
    """The config in a file, or a recipe by its name. RAISES ValueError [HS172]: the file has no
    config."""
    if not name.endswith(".cfg"):
        return Config().from_str(recipe(name, lang), overrides=overrides, interpolate=False)
    try:
        return load_config(name, overrides=overrides, interpolate=False)
    except ValueError as error:
        raise unreadable(f"{name}: {error}", "a config of `spacy train`") from error


@hoseq_cli.command("correct", failed="Nothing written")
def correct_cli(
    corpus: Annotated[
        Path,
        Argument(help="The .spacy file, or folder, that the findings are of", exists=True),
    ],
    answers: Annotated[
        Path,
        Argument(help='findings.jsonl with answers: "accept": ["1"]', exists=True, dir_okay=False),
    ],
    output: Annotated[Path, Option("--output", "-o", help=".spacy file to write", dir_okay=False)],
    force: Force = False,
) -> None:
    """Write a corpus with the findings that were accepted.

    \b
      hoseq correct corpus.spacy doubts/findings.jsonl -o corrected.spacy

    `"accept": ["1"]` in a line of findings.jsonl takes its first alternative.

    DOCS: docs/tasks/annotation.md
    """
    check_free(output, force)
    # Docs that only change their annotation need no language
    account = Account()
    docs = docs_in(corpus, Vocab(), account)
    lines: list[Any] = []
    for line in read_values(answers, ["utf-8"], lambda entry: [dict(entry.value)], "an object"):
        # without a line, its correction would be missing
        if isinstance(line, Problem):
            raise unreadable(
                f"{answers}, line {line.line}: {line.actual}",
                "a line of findings.jsonl, with an answer",
            )
        lines.append(line)
    n_changed = corrected(docs, lines)
    write(output, docs, account)
    finish(
        account,
        {"Docs": len(docs)},
        f"{n_changed:,} corrections: {output}",
        f"python -m spacy train CONFIG --paths.train {output} --paths.dev DEV.spacy --output DIR",
    )


@hoseq_cli.command("select", failed="Nothing selected")
def select_cli(
    model: Model,
    pool: Annotated[
        Path,
        Argument(
            help="Texts (.jsonl, .txt: one in each line), Docs (.spacy), or folder", exists=True
        ),
    ],
    output: Annotated[
        Path, Option("--output", "-o", help=".jsonl or .spacy file to write", dir_okay=False)
    ],
    n: Annotated[int, Option("--number", "-n", min=1, help="Texts to select")] = 200,
    diverse: Annotated[
        bool,
        Option("--diverse/--no-diverse", help="Avoid texts with the same doubtful words"),
    ] = True,
    per_word: Annotated[
        bool, Option("--per-word", help="Annotation is paid by the word, not by the text")
    ] = False,
    doubtful: Annotated[
        float,
        Option("--doubtful", "-d", help="A word is doubtful if 1 - p(label) is above this"),
    ] = 0.05,
    component: Components = None,
    text_key: TextKey = "text",
    force: Force = False,
    code: Code = None,
) -> None:
    """Select the texts of which a pipeline is least sure.

    \b
      hoseq select en pool.jsonl -n 200 -o next.jsonl             for an annotation tool
      hoseq select training/model-best pool/ -o next.spacy --per-word

    They are to be annotated next, the best first. Their doubtful words are marked.

    DOCS: docs/tasks/annotation.md
    """
    if output.suffix not in (".jsonl", ".spacy"):
        raise wrong_value("output", output, "a .jsonl or a .spacy file")
    check_free(output, force)
    nlp = pipeline_of(model, code)
    account = Account()
    docs = list(docs_of(nlp, [pool], text_key, account))
    if not docs:
        raise not_found("text", pool, "lines with text, or Docs")
    doubts: list[Doubts] = []
    # by batches, as a whole corpus of lattices would not fit into memory
    for batch in minibatch(progress(docs, "texts", len(docs)), 128):
        doubts += doubts_of(nlp, batch, component or ())
    chosen = select(doubts, n, diverse=diverse, per_word=per_word)
    rows: list[Any] = []
    n_words = 0
    n_doubtful = 0
    for i in chosen:
        words = doubtful_tokens(doubts[i], doubtful).tolist()
        if output.suffix == ".jsonl":
            rows.append(task(docs[i], doubts[i], words))
        else:
            rows.append(with_spans(docs[i], doubts[i], words))
        n_words += len(doubts[i].words)
        n_doubtful += len(words)
    write(output, rows, account)
    finish(
        account,
        {"Texts": len(docs), "Selected": len(chosen)},
        f"{len(chosen):,} of {len(docs):,} texts: {output}. {n_words:,} words, "
        f"of which {n_doubtful:,} are doubtful",
        f"label the doubtful words in {output}, and train with these texts, too",
        len(doubts),
    )


def task(doc: Doc, doubts: Doubts, doubtful: list[int]) -> dict[str, Any]:
    """A line of JSONL: text and tokens, the other fields of its line, how doubtful it is, and its
    doubtful tokens. doubtful: numbers of these."""
    words = [{"id": i, "doubt": round(float(doubts.doubtful[i]), 4)} for i in doubtful]
    meta = {**doc.user_data.get("meta", {}), "doubt": round(doubts.entropy, 4)}
    return {**task_of(doc), "meta": meta, "doubtful": words}


def with_spans(doc: Doc, doubts: Doubts, doubtful: list[int]) -> Doc:
    """The Doc with its doubtful words as `doc.spans["doubtful"]`. doubtful: their numbers. The
    attribute "scores" says how doubtful each is."""
    spans = [doc[i : i + 1] for i in doubtful]
    scores = doubts.doubtful[doubtful].tolist()
    doc.spans["doubtful"] = SpanGroup(doc, name="doubtful", spans=spans, attrs={"scores": scores})
    return doc
