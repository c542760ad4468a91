"""`python -m spacy hoseq explain`: why a text is labelled as it is."""

import json
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import typer
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ...errors import Errors
from ...inspection.accounts import Account, accounts, as_data, explained, words_among
from ...pipelines import run_code
from ...reporting.explanation import account_text, explanation_page
from ...reporting.pages import uncalibrated
from ..app import hoseq_cli, then
from ..files import FORCE, check_free, write_text
from ..progress import progress
from ..tag import pipeline_of, texts_of, title_of


@hoseq_cli.command("explain", failed="Nothing explained")
def explain_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory or package of a trained pipeline, or en, zh, af, cy"),
    text: str = typer.Argument("-", help="The text, or a file with it, or - for standard input"),
    token: Optional[List[int]] = typer.Option(
        None, "--token", "-t", help="Number of a token; default: the least sure"
    ),
    against: Optional[str] = typer.Option(
        None, "--against", "-a", help="Why not this label? (not the one that comes next)"
    ),
    component: Optional[List[str]] = typer.Option(
        None, "--component", help="Default: all taggers and chunkers"
    ),
    output: Optional[Path] = typer.Option(
        None, "--output", "-o", help="Write a page on which each word opens its reasons"
    ),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Say why a token has its label, or a chunk is there, and not what comes next: the features,
    transitions and label patterns that the difference of the best labellings is the sum of; what
    the decision would be without them.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    run_code(code)
    nlp = pipeline_of(model)
    names = having(nlp, explained(nlp, component or None), against)
    docs = [nlp(part) for part in texts_of(text)]
    if not any(words_among(doc) for doc in docs):
        raise ValueError(
            Errors.HS159.format(what="word", source="the text", expected="one with words")
        )
    if output:
        write_text(output, explanation_page(nlp, progress(docs), names, title=title_of(text, nlp)))
        msg.good(str(output))
        then(f"look at {output}")
        return
    every = [
        (name, doc, one)
        for doc in docs
        for name in names
        for one in chosen(nlp, name, doc, token, against)
    ]
    if not every:
        raise ValueError(
            Errors.HS159.format(
                what="chunk",
                source=f"what {', '.join(names)} found",
                expected="a token of a chunk",
            )
        )
    notes = uncalibrated(nlp, names)
    for name, doc, account in every:
        data = {"component": name, "calibrated": name not in notes, **as_data(account)}
        text = account_text(account, name, doc, calibrated=name not in notes)
        print(json.dumps(data, ensure_ascii=False) if as_json else text)
    for note in () if as_json else notes.values():
        print(note, file=sys.stderr)


def having(nlp: Language, names: Sequence[str], label: Optional[str]) -> List[str]:
    """Components that have a label, None = any. RAISES ValueError [HS146]: none has."""
    labels: Dict[str, Any] = {name: getattr(nlp.get_pipe(name), "labels", ()) for name in names}
    of_label = [name for name in names if label is None or label in labels[name]]
    if not of_label:
        known = "; ".join(f"{', '.join(of)} ({name})" for name, of in labels.items())
        raise ValueError(Errors.HS146.format(label=label, known=known))
    return of_label


def chosen(
    nlp: Language, name: str, doc: Doc, tokens: Optional[List[int]], against: Optional[str] = None
) -> List[Account]:
    """Accounts of some tokens, or of the least probable label."""
    pipe = nlp.get_pipe(name)
    if tokens:
        return accounts(pipe, doc, tokens, against=against)
    least = sorted(accounts(pipe, doc, reasons=False), key=lambda account: account.p)[:1]
    return [one for found in least for one in accounts(pipe, doc, [found.first], against=against)]
