"""`python -m spacy hoseq adapt`: a trained pipeline goes on, on a few annotated texts of another kind."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from spacy.language import Language
from spacy.training import Example
from tqdm import tqdm

from ..errors import unreadable
from ..pipelines.adaptation import adapt
from ..pipelines.adaptation.card import card_of, meta_of, notes_of, score_rows
from ..pipelines.compaction.pipeline import check_output, save_compact
from ..pipelines.names import check_name
from ..readers.account import Account
from ..readers.annotated import annotated_with, without_crossing
from .app import hoseq_cli, msg
from .apply import names_in
from .shared import Code, Folder, Force, Model, docs_in, finish, pipeline_of, write


@hoseq_cli.command("adapt", failed="No pipeline made")
def adapt_cli(
    model: Model,
    corpus: Annotated[
        Path, typer.Argument(help=".spacy file or folder: annotated texts to adapt it to")
    ],
    output: Folder,
    components: Annotated[
        str,
        typer.Option("--components", help="Names, a,b. Default: all whose labels CORPUS has"),
    ] = "",
    dev: Annotated[
        Path | None,
        typer.Option("--dev", help="More such texts, to measure. Default: a part of CORPUS"),
    ] = None,
    old: Annotated[
        Path | None,
        typer.Option("--old", help="Texts of the old kind: what is forgotten there"),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Two columns: labels, and their names from now on"),
    ] = None,
    hold: Annotated[
        float,
        typer.Option("--hold", min=0, help="More: less is forgotten, and less is learnt"),
    ] = 3.0,
    name: Annotated[
        str, typer.Option("--name", help="Name of the pipeline, without its language")
    ] = "adapted",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the parts and the training")] = 0,
    force: Force = False,
    code: Code = None,
) -> None:
    """Adapt a pipeline to a few annotated texts.

    \b
      hoseq adapt en chats.spacy -o mine                       whatever is annotated there
      hoseq adapt en chats.spacy -o mine --old news.spacy      what is forgotten, too
      hoseq adapt mine terms.spacy -o both --labels names.tsv  and other names of labels

    It shows what is won on such text and, with --old, what is lost on other text; OUTPUT/README.md has
    the same tables. Fewer than 200 texts are measured in five folds.

    DOCS: docs/tasks/adapt.md
    """
    check_name(name)
    check_output(output, overwrite=force)
    renaming = {}
    if labels is not None:
        renaming = names_of(labels)
    nlp = pipeline_of(model, code)
    account = Account()
    with tqdm(unit=" passes", leave=False, disable=None) as bar:
        result = adapt(
            nlp,
            examples_in(nlp, corpus, account),
            dev=examples_in(nlp, dev, account),
            old=examples_in(nlp, old, account),
            components=names_in(components),
            labels=renaming,
            hold=hold,
            seed=seed,
            progress=bar.update,
        )
    meta = meta_of(name, nlp.meta, result)
    nlp.meta.update(meta)
    save_compact(nlp, output, overwrite=force)
    write(output / "README.md", card_of(str(output), nlp.meta, result))
    for title, rows in score_rows(result):
        msg.table(rows, header=title, divider=True, aligns=("l", "r", "r", "r", "r"))
    for note in notes_of(result):
        msg.text(note)
    account.wrote(output)
    finish(
        account,
        {"Texts": result.texts["train"]},
        f'spacy.load("{output}"); its card: {output / "README.md"}',
        f'python -m spacy hoseq tag {output} "..."',
    )


def names_of(path: Path) -> dict[str, str]:
    """Labels and their names from now on, two columns with a tab between them. RAISES ValueError
    [HS172]."""
    names = {}
    for number, line in enumerate(path.read_text(encoding="utf8").splitlines(), 1):
        old, _, new = line.partition("\t")
        if not line.strip():
            continue
        if not (old.strip() and new.strip()) or "\t" in new:
            raise unreadable(f"{path}:{number}: {line!r}", "a label, a tab, and its name")
        names[old.strip()] = new.strip()
    return names


def examples_in(nlp: Language, path: Path | None, account: Account) -> Sequence[Example]:
    """Annotated texts of a .spacy file or folder; none without a path."""
    if path is None:
        return []
    docs = without_crossing(docs_in(path, nlp.vocab, account))
    return [Example(annotated_with(doc, []), doc) for doc in docs]
