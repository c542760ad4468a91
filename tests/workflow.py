"""`python -m spacy project run ...`, quicker: its Python commands are forks of a process that has imported spaCy.

    python tests/workflow.py WORKFLOW [FOLDER] [--vars.NAME VALUE ...]

A command costs what it does, and not a second and a half of imports before. The workflow `demo` of project.yml, which
tests/project/test_demo.py runs as a user does, shows that the commands run by themselves.
"""

import multiprocessing
import runpy
import sys
from pathlib import Path
from typing import Any

import quicker  # tests/quicker.py
import spacy
import spacy.cli
import weasel.cli.run

import spacy_hoseq.cli  # noqa: F401

FORKS = multiprocessing.get_context("fork")


def run_command(command: list[str], **_: Any) -> None:
    """In place of weasel's, which starts a new Python."""
    assert command[0] == sys.executable, command
    process = FORKS.Process(target=run_python, args=(command[1:],))
    process.start()
    process.join()
    if process.exitcode != 0:
        sys.exit(process.exitcode)


def run_python(arguments: list[str]) -> None:
    """`python ARGUMENTS`"""
    first, *others = arguments
    if first == "-c":
        sys.argv = arguments
        exec(others[0], {"__name__": "__main__"})
    elif first == "-m":
        sys.argv = others
        runpy.run_module(others[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(first).resolve().parent)
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    quicker.install()
    for registry in (
        "factories",
        "architectures",
        "misc",
        "scorers",
        "readers",
    ):  # imports what commands need
        getattr(spacy.registry, registry).get_all()
    weasel.cli.run.run_command = run_command
    sys.argv = ["spacy", "project", "run", *sys.argv[1:]]
    spacy.cli.setup_cli()
