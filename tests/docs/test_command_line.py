"""docs/reference/command-line.md has every command with every option."""

import re

import pytest
from typer.main import get_command

from spacy_hoseq.cli import hoseq_cli

from .pages import PAGES, headings, made_tables, section

PAGE = "docs/reference/command-line.md"
COMMANDS = get_command(hoseq_cli).commands


def test_every_command_has_a_section():
    titles = [title.strip("`") for level, title, _ in headings(PAGES[PAGE]) if level == 2]
    assert sorted(titles) == sorted(f"hoseq {name}" for name in COMMANDS)


def test_options_are_those_of_the_commands():
    """`python docs/tables.py` writes them."""
    assert made_tables().with_options(PAGES[PAGE]) == PAGES[PAGE]


@pytest.mark.parametrize("name", COMMANDS)
def test_options(name):
    """The list says what all of them do; the text names no other."""
    options = set()
    for each in COMMANDS[name].params:
        if each.opts[0].startswith("-") and each.name != "help":
            if each.help not in made_tables().SAID_ABOVE:
                options |= {*each.opts, *each.secondary_opts}
    text = section(PAGE, f"`hoseq {name}`")
    text, _, rows = text.partition(f"<!-- options: {name} -->")
    cells = [row.partition(": ") for row in rows.splitlines() if row.startswith("- `")]
    assert {option for row in cells for option in re.findall(r"`(--?\w[^`]*)`", row[0])} == options
    assert all(len(row[2]) > 5 for row in cells)
    named = set(re.findall(r"(?<![-\w`])`?(--?[a-z][a-z-]*)", text, flags=re.IGNORECASE)) - {"--"}
    assert named <= options | {"-m"}  # python -m
