"""The group of commands, which every command of this package joins with `@hoseq_cli.command(...)`."""

import typer
from spacy.cli._util import app

hoseq_cli = typer.Typer(name="hoseq", help="Commands of spacy_hoseq.", no_args_is_help=True)
app.add_typer(hoseq_cli)


@hoseq_cli.callback()
def group() -> None:
    """Keeps the name of a command even if it is the only one of the group."""
