"""docs/reference/command-line.md has every command, and the site every option."""

import re

import pytest
from typer.main import get_command

from spacy_hoseq.cli import hoseq_cli

from .pages import PAGES, headings, made_tables, section

PAGE = "docs/reference/command-line.md"
COMMANDS = get_command(hoseq_cli).commands


def test_every_command_has_a_section():
    titles = [title.strip("`") for level, title, _ in headings(PAGES[PAGE]) if level == 2]
    assert sorted(titles) == sorted(f"python -m spacy hoseq {name}" for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name):
    """All are in the table that the site has; the text names no other."""
    params = [
        param
        for param in COMMANDS[name].params
        if param.opts[0].startswith("-") and param.name != "help"
    ]
    options = {option for param in params for option in param.opts}
    opposites = {option for param in params for option in param.secondary_opts}
    said = section(PAGE, f"`python -m spacy hoseq {name}`")
    assert f"<!-- options: {name} -->" in said or not params
    rows = made_tables().options(name)
    shown = {option for spelled, _, _ in rows for option in re.findall(r"`(-[^`]+)`", spelled)}
    assert options <= shown <= options | opposites and all(what for _, _, what in rows)
    named = set(re.findall(r"(?<![-\w`])`?(--?[a-z][a-z-]*)", said, flags=re.IGNORECASE)) - {"--"}
    assert named <= options | opposites | {"-m"}  # python -m
