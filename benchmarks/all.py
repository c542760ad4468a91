"""All measurements of the documentation; goes on where it stopped.

    python -m benchmarks.all --data CORPORA [--only NAME --only NAME ...] [--metrics metrics] [--list] [--check]

What is measured, by which commands, and in which order, stands in all.yml. METRICS has a folder for each commit that
changed what is measured (the package, benchmarks, configs, experiments): what stands there is not done again. A step
writes its tables into their pages when it ends, above each the commit, the recipe, what chose its settings, what it was
measured on, the machine. What a step printed is in METRICS/COMMIT/logs. Steps that measure times run alone, on two
cores that do nothing else, the others two at a time.
"""

import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import groupby
from pathlib import Path

import srsly
import typer
from tqdm import tqdm
from wasabi import msg, table

from .machine import environment
from .page import STEPS, is_changed, last_change


def main(
    # fmt: off
    data: Path = typer.Option(..., help="The folder of corpora", exists=True),
    only: list[str] | None = typer.Option(None, help="Steps to do. Default: all"),
    metrics: Path = typer.Option(
        Path("metrics"), help="Where measurements, models and logs are kept"
    ),
    show: bool = typer.Option(False, "--list", help="Say what is done, and do nothing"),
    check: bool = typer.Option(False, help="See whether each command can start, and do nothing"),
    # fmt: on
) -> None:
    names = chosen(only)
    metrics = metrics / last_change()
    state = metrics / "all.jsonl"
    done = {row["step"]: row["day"] for row in srsly.read_jsonl(state)} if state.exists() else {}
    if show:
        rows = [(name, f"{STEPS[name].minutes}", done.get(name, "")) for name in names]
        print(table(rows, header=("step", "minutes", "done"), divider=True))
        return
    if check:
        return report(names, [name for name in tqdm(names, unit="step") if not starts(name)])
    if is_changed():
        msg.fail(
            "The code is not that of a commit",
            "Commit or put away what was changed, then start again.",
            exits=1,
        )
    (metrics / "logs").mkdir(parents=True, exist_ok=True)
    todo = [name for name in names if name not in done]
    failed: list[str] = []

    def follow(name: str) -> None:
        start = time.perf_counter()
        if run(name, data, metrics):
            seconds = time.perf_counter() - start
            row = {"step": name, "day": str(date.today()), "seconds": seconds}
            srsly.write_jsonl(state, [row], append=True, append_new_line=False)
        else:
            failed.append(name)
        progress.update()

    with tqdm(total=len(todo), unit="step") as progress:
        for is_alone, steps in groupby(todo, key=lambda name: STEPS[name].alone):
            with ThreadPoolExecutor(1 if is_alone else 2) as pool:
                list(pool.map(follow, steps))
    report(names, failed)


def report(names: list[str], failed: list[str]) -> None:
    """Say what came of the steps. Exit status 1 if one failed."""
    if failed:
        msg.fail("Steps that failed", ", ".join(failed), exits=1)
    msg.good(f"{len(names)} steps are done")


def starts(name: str) -> bool:
    """Whether the commands of a step are there, with what they import: benchmarks say their help, workflows their
    steps."""
    for command in STEPS[name].run:
        words = shlex.split(command)[1:]
        asked = (
            [*words, "--dry"]
            if words[1:4] == ["spacy", "project", "run"]
            else [*words[:2], "--help"]
        )
        done = subprocess.run([sys.executable, *asked], capture_output=True, text=True)
        if done.returncode:
            msg.fail(
                f"{name} cannot start",
                f"{shlex.join(asked)}\n{(done.stderr or done.stdout)[-500:]}",
            )
            return False
    return True


def chosen(only: list[str] | None) -> list[str]:
    """The steps that are wanted, in their order."""
    unknown = sorted(set(only or []) - set(STEPS))
    if unknown:
        msg.fail(f"No such steps: {', '.join(unknown)}", f"There are: {', '.join(STEPS)}", exits=1)
    return [name for name in STEPS if not only or name in only]


def run(name: str, data: Path, metrics: Path) -> bool:
    """The commands of a step, until one fails."""
    for command in STEPS[name].run:
        words = [word.format(data=data, metrics=metrics) for word in shlex.split(command)]
        log = metrics / "logs" / f"{name}.log"
        with log.open("a", encoding="utf8") as file:
            file.write(f"$ {shlex.join(words)}\n")
            file.flush()
            found = {**environment(), "HOSEQ_CORPORA": os.fspath(data.resolve())}
            done = subprocess.run(
                [sys.executable, *words[1:]], env=found, stdout=file, stderr=subprocess.STDOUT
            )
        if done.returncode:
            msg.fail(f"{name} failed", f"{shlex.join(words)}\nWhat it printed: {log}")
            return False
    return True


if __name__ == "__main__":
    typer.run(main)
