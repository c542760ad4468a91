"""`python -m spacy hoseq inspect`: what a pipeline has learnt."""

import json
from pathlib import Path
from typing import Optional

import srsly
import typer
from wasabi import msg

from ...inspection.weights import NAMES, Table, inspected, names_in
from ...pipelines import found_at, run_code
from ...readers.annotated import annotated_corpus
from ...reporting.inspection import inspection_page, inspection_text
from ..app import hoseq_cli, then
from ..files import FORCE, check_free, write_text
from ..progress import progress
from ..tag import pipeline_of


@hoseq_cli.command("inspect", failed="Nothing inspected")
def inspect_cli(
    # fmt: off
    model: str = typer.Argument(
        ..., help="Directory or package of a trained pipeline, or en, zh, af, cy"
    ),
    corpus: Optional[Path] = typer.Argument(
        None, help="Texts (.spacy) that give names, counts, examples", exists=True
    ),
    n: int = typer.Option(5, "--number", "-n", min=1, help="Features of each label, at both ends"),
    limit: int = typer.Option(1000, "--limit", min=1, help="Use so many texts of the corpus"),
    output: Optional[Path] = typer.Option(None, "--output", "-o", help="Write a page"),
    as_json: bool = typer.Option(False, "--json", help="Print everything as JSON"),
    keep_names: bool = typer.Option(
        False, "--keep-names", help="Keep the names of features beside the model"
    ),
    force: bool = FORCE,
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file that the pipeline needs"
    ),
    # fmt: on
) -> None:
    """Show what a pipeline has learnt: labels with their strongest features, transitions, label
    patterns, sizes. Features are hashes in a model; a corpus in which they fire gives them names.

    DOCS: docs/tasks/why.md
    """
    check_free(output, force)
    run_code(code)
    nlp = pipeline_of(model)
    examples = [] if corpus is None else annotated_corpus(corpus, [], limit)(nlp)
    docs = list(progress(nlp.pipe(eg.predicted for eg in examples)))
    names = names_beside(model)
    components = inspected(nlp, docs, top=n, names=names)
    merged: Table = {}
    if keep_names:
        known = names_in(components)
        merged = {name: {**names.get(name, {}), **known[name]} for name in known}
        srsly.write_json(Path(found_at(model)) / NAMES, merged)
    if output:
        write_text(output, inspection_page(components, title=f"Inside {model}"))
    if as_json:
        print(json.dumps(components, ensure_ascii=False))
    elif output:
        msg.good(str(output))
        then(f"look at {output}")
    else:
        print("\n".join(map(inspection_text, components)))
        every = [rows for one in components for rows in one["strongest"].values()]
        if any(not feature["name"] for rows in every for feature in rows):
            msg.text(
                "Features in hexadecimals have no name here: give a corpus in which they fire."
            )
    if keep_names and not as_json:
        msg.good(f"{sum(map(len, merged.values())):,} names: {Path(found_at(model)) / NAMES}")


def names_beside(model: str) -> Table:
    """Names that were kept beside a model, if there are any."""
    path = Path(found_at(model)) / NAMES
    return srsly.read_json(path) if path.is_file() else {}
