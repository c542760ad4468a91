"""`python -m spacy hoseq init`: a config to begin with."""

from pathlib import Path
from typing import Optional

import typer
from wasabi import msg

from ..recipes import ALIASES, RECIPES, recipe
from .app import hoseq_cli, then
from .files import FORCE, check_free, write_text

OTHER_NAMES = {recipe_name: f" (or {other})" for other, recipe_name in ALIASES.items()}
LIST = "; ".join(
    f"{name}{OTHER_NAMES.get(name, '')}: {each.what}" for name, each in RECIPES.items()
)
STANDARD_OUTPUT = Path("-")


@hoseq_cli.command("init", failed="Nothing written")
def init_cli(
    # fmt: off
    name: str = typer.Argument(..., metavar="RECIPE", help=LIST),
    lang: Optional[str] = typer.Option(
        None, "--lang", "-l", help="Language of spaCy. Default: en; of chinese: zh"
    ),
    output: Path = typer.Option(
        STANDARD_OUTPUT, "--output", "-o", help="File to write (-: standard output)"
    ),
    force: bool = FORCE,
    # fmt: on
) -> None:
    """Write a config for `spacy train`, complete and with comments, that fits corpora of any size.

    DOCS: docs/reference/configs.md
    """
    text = recipe(name, lang)
    if output == STANDARD_OUTPUT:
        print(text, end="")
        return
    check_free(output, force)
    write_text(output, text)
    msg.good(f"{output}: {RECIPES[ALIASES.get(name, name)].what}")
    paths = "--paths.train TRAIN.spacy --paths.dev DEV.spacy"
    then(f"python -m spacy train {output} {paths} --output DIR")
