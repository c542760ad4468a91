"""`python -m spacy hoseq explain`: why a text is labelled as it is."""

import json
from pathlib import Path
from typing import List, Optional

import typer
from spacy.cli._util import import_code
from spacy.language import Language
from spacy.tokens import Doc
from wasabi import msg

from ...inspection.accounts import Account, accounts, as_data, explained
from ...reporting.explanation import account_text, explanation_page
from ..app import hoseq_cli
from ..tag import pipeline_of, texts_of


@hoseq_cli.command("explain")
def explain_cli(
    # fmt: off
    model: str = typer.Argument(..., help="Directory or package of a trained pipeline, or en, zh"),
    text: str = typer.Argument("-", help="The text, or a file with it, or - for standard input"),
    token: Optional[List[int]] = typer.Option(None, "--token", "-t", help="Number of a token; default: the least sure"),
    component: Optional[List[str]] = typer.Option(None, "--component", help="Default: all taggers and chunkers"),
    html: Optional[Path] = typer.Option(None, "--html", help="Write a page on which each word opens its reasons"),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    code: Optional[Path] = typer.Option(None, "--code", "-c", help="Python file that the pipeline needs"),
    # fmt: on
) -> None:
    """Say why a token has its label, or a chunk is there, and not what comes next: the features, transitions and label
    patterns that the difference of the best labellings is the sum of; what the decision would be without them.

    DOCS: docs/tasks/why.md
    """
    import_code(code)
    try:
        nlp = pipeline_of(model)
        docs = [nlp(part) for part in texts_of(text)]
        names = explained(nlp, component or None)
        if html:
            page = explanation_page(nlp, docs, names, title=f"{nlp.meta['lang']}_{nlp.meta['name']}")
            html.write_text(page, encoding="utf8")
            msg.good(str(html))
            return
        for doc in docs:
            for name in names:
                for account in chosen(nlp, name, doc, token or None):
                    data = {"component": name, **as_data(account)}
                    print(json.dumps(data, ensure_ascii=False) if as_json else account_text(account, name, doc))
    except (OSError, ValueError) as error:
        msg.fail("Nothing explained", str(error), exits=1)


def chosen(nlp: Language, name: str, doc: Doc, tokens: Optional[List[int]]) -> List[Account]:
    """Accounts of some tokens, or of the least probable label."""
    found = accounts(nlp.get_pipe(name), doc, tokens)
    return found if tokens is not None else sorted(found, key=lambda account: account.p)[:1]
