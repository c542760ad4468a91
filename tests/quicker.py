"""What all tests do again and again, done once in a process."""

import functools
from typing import Any

import catalogue
import typer.testing


def install() -> None:
    """What packages have registered stays as it is while tests run, and so does what a command is made of.

    To look up the first, once for each name in a config, is a quarter of loading a pipeline; to make the second of
    the signatures of all commands takes longer than most of them.
    """
    catalogue.Registry._get_entry_points = functools.cache(catalogue.Registry._get_entry_points)  # type: ignore
    make: Any = functools.cache(lambda app, *_: get_command(app))
    get_command = typer.testing._get_command
    typer.testing._get_command = lambda app: make(
        app, len(app.registered_commands), len(app.registered_groups)
    )
