"""Are the tests any good? Plausible bugs, put one at a time into a copy of the repository: which are found?

    python -m tests.attacks.mutants [--only 3] [--first 0 --last 10]

They stand in mutants.yml: each is a change of one place, and names the tests of its room, which have to fail.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import srsly
import typer
from wasabi import msg

ROOT = Path(__file__).parents[2]
COPIED = "spacy_hoseq tests benchmarks experiments assets configs docs".split()
COPIED += ["pyproject.toml", "project.yml"]
TIMEOUT = 900  # seconds: a bug that never ends is found, too


class Mutant(NamedTuple):
    """path: below the repository. before: what stands there once. tests: files or folders below tests/."""

    path: str
    before: str
    after: str
    tests: str


MUTANTS = [Mutant(**each) for each in srsly.read_yaml(Path(__file__).with_suffix(".yml"))]


def main(
    only: int | None = typer.Option(None, help="Number of one mutant"),
    first: int = typer.Option(0, help="Begin with this one"),
    last: int | None = typer.Option(None, help="End before this one"),
) -> None:
    chosen = range(len(MUTANTS))[slice(first, last)] if only is None else [only]
    outcomes: dict[int, str] = {}
    with tempfile.TemporaryDirectory() as name:
        copy = copied(Path(name))
        for number in chosen:
            start = time.perf_counter()
            outcomes[number] = outcome_of(MUTANTS[number], copy)
            mutant = MUTANTS[number]
            change = " ".join(mutant.after.split())[:60] or "(nothing)"
            seconds = f"{time.perf_counter() - start:.0f} s"
            found = f"{number:3} {outcomes[number]:8} {mutant.path}: {change} ({seconds})"
            print(found, flush=True)
    lost = [number for number, outcome in outcomes.items() if outcome not in ("quick", "all")]
    n_quick = list(outcomes.values()).count("quick")
    n = len(outcomes)
    msg.text(f"{n - len(lost)} of {n} are found, {n_quick} by quick tests; not: {lost}")
    if lost:
        raise SystemExit(1)


def copied(folder: Path) -> Path:
    """The files that tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, folder / name)
    return folder


def outcome_of(mutant: Mutant, copy: Path) -> str:
    """ "quick" or "all", the tests that find it; "missed"; "gone": the place is not there any more."""
    path = copy / mutant.path
    text = path.read_text("utf8") if path.exists() else ""
    if text.count(mutant.before) != 1:
        return "gone"
    path.write_text(text.replace(mutant.before, mutant.after), "utf8")
    try:
        if fails(mutant, copy):
            return "quick"
        return "all" if fails(mutant, copy, "--all") else "missed"
    finally:
        path.write_text(text, "utf8")


def fails(mutant: Mutant, copy: Path, *options: str) -> bool:
    """True if a test of its room fails, or does not end."""
    tests = [f"tests/{name}" for name in mutant.tests.split()]
    try:
        command = [sys.executable, "-B", "-m", "pytest", "-n0", "-x", *options, *tests]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        run = subprocess.run(command, cwd=copy, env=environment, timeout=TIMEOUT, **output)
    except subprocess.TimeoutExpired:
        return True
    return run.returncode != 0


if __name__ == "__main__":
    typer.run(main)
