"""docs/reference/command-line.md has every command, and every option of it."""

import re

import pytest
from typer.main import get_command

from spacy_hoseq.cli import hoseq_cli

from .pages import PAGES, headings, section

PAGE = "docs/reference/command-line.md"
COMMANDS = get_command(hoseq_cli).commands


def test_every_command_has_a_section():
    titles = [title.strip("`") for level, title, _ in headings(PAGES[PAGE]) if level == 2]
    assert sorted(titles) == sorted(f"python -m spacy hoseq {name}" for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name):
    """Every way to write an option but the opposite of a switch, which may be said or not; and no other."""
    params = [param for param in COMMANDS[name].params if param.opts[0].startswith("-") and param.name != "help"]
    options = {option for param in params for option in param.opts}
    opposites = {option for param in params for option in param.secondary_opts}
    said = section(PAGE, f"`python -m spacy hoseq {name}`")
    documented = set(re.findall(r"(?<![-\w])--?[a-z][a-z-]*", said, flags=re.IGNORECASE))
    assert options - {"-f", "--timings"} <= documented
    assert documented <= options | opposites | {"-m"}  # python -m
