"""Kills `hoseq apply` again and again, and compares what comes out with a run that nobody disturbed.

    python -m tests.attacks kills [--kills 40] [--texts 400] [--seed 0] [--output kills.json]

Each round is a job of its own, with one or two processes. Parent or workers are killed (SIGKILL) at a random moment,
while they begin, annotate or go on; then the same command is given again. In the end all files must have the bytes of
the undisturbed job, and no process may be left. Prints a table of what was killed, and fails if a byte differs.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import typer

WORDS = "they tag it at once nothing is missing the old ferry still runs twice a day nobody knows why".split()
CODE = """
import time
from spacy.language import Language
from spacy_hoseq.batch import inputs

inputs.LEAST = 1

@Language.component("slow")
def slow(doc):
    time.sleep(0.004)
    return doc
"""
PATIENCE = 120.0  # seconds for a run


def texts_of(n: int, chance: random.Random) -> list[str]:
    """Lines of JSON; every fortieth cannot be read."""
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(1, 12))) for _ in range(n)]
    return [
        "{" if i % 40 == 39 else json.dumps({"id": f"t{i}", "text": text})
        for i, text in enumerate(texts)
    ]


def pipeline_in(folder: Path) -> Path:
    """A pipeline that takes some time for each text."""
    import spacy

    (folder / "code.py").write_text(CODE)
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(folder / "model")
    path = folder / "model" / "config.cfg"
    text = path.read_text().replace(
        'pipeline = ["sentencizer"]', 'pipeline = ["sentencizer","slow"]'
    )
    path.write_text(
        text.replace("[components]", '[components]\n\n[components.slow]\nfactory = "slow"')
    )
    return folder / "model"


def command_of(folder: Path, output: Path, n_process: int) -> list[str]:
    options = [
        "-o",
        output,
        "-f",
        "jsonl",
        "--part-size",
        "10",
        "--code",
        folder / "code.py",
        "-j",
        n_process,
    ]
    command = [
        sys.executable,
        "-m",
        "spacy",
        "hoseq",
        "apply",
        folder / "model",
        folder / "in.jsonl",
    ]
    return [str(word) for word in [*command, *options]]


def children_of(pid: int) -> list[int]:
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def bytes_of(output: Path) -> dict[str, bytes]:
    files = (path for path in sorted(output.rglob("*")) if path.is_file())
    return {path.relative_to(output).as_posix(): path.read_bytes() for path in files}


def last_line_of(output: Path) -> dict[str, Any]:
    """Of the list of parts: the job, a part, or that the job is finished."""
    last: dict[str, Any] = json.loads((output / "parts.jsonl").read_bytes().splitlines()[-1])
    return last


def n_parts_in(output: Path) -> int:
    return len(list((output / "parts").glob("*"))) if output.exists() else 0


def wait_for_a_moment(run: "subprocess.Popen[bytes]", output: Path, chance: random.Random) -> None:
    """One in three times while the run begins, otherwise when it has written some parts more, and a moment later."""
    if chance.random() < 1 / 3:
        time.sleep(chance.uniform(0.0, 3.0))
        return
    wanted = n_parts_in(output) + chance.randint(1, 8)
    until = time.monotonic() + PATIENCE
    while run.poll() is None and n_parts_in(output) < wanted and time.monotonic() < until:
        time.sleep(0.005)
    time.sleep(chance.uniform(0.0, 0.02))


def disturbed(command: list[str], output: Path, chance: random.Random) -> str:
    """Start a run and kill one of its processes. RETURNS what was killed and when; "" if the run had ended before."""
    before = n_parts_in(output)
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_a_moment(run, output, chance)
    below = children_of(run.pid)
    victim = chance.choice([run.pid, *below])
    if run.poll() is not None:
        return ""
    moment = "beginning" if n_parts_in(output) <= before else "annotating"
    os.kill(victim, signal.SIGKILL)
    run.wait(PATIENCE)
    until = time.monotonic() + 10
    while any(map(is_running, below)) and time.monotonic() < until:
        time.sleep(0.05)
    if any(map(is_running, below)):
        raise SystemExit(f"processes are left behind: {[pid for pid in below if is_running(pid)]}")
    kind = "parent" if victim == run.pid else "worker"
    return f"{kind}, {moment}{' of a resumed run' if before else ''}"


def attack(folder: Path, n_process: int, most: int, chance: random.Random) -> "Counter[str]":
    """A job that is killed up to so many times and then finished. RETURNS what was killed."""
    output = folder / "out"
    command = command_of(folder, output, n_process)
    killed = Counter(disturbed(command, output, chance) for _ in range(most))
    killed.pop("", None)
    subprocess.run(
        command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=PATIENCE
    )
    if "state" not in last_line_of(output):
        raise SystemExit("the job is not finished")
    return killed


def main(
    kills: int = typer.Option(40, help="How many"),
    texts: int = typer.Option(400, help="Of each job"),
    seed: int = typer.Option(0, help="Of moments and victims"),
    output: Path | None = typer.Option(None, help="JSON: what was killed"),
) -> None:
    chance = random.Random(seed)
    killed: Counter[str] = Counter()
    n_jobs = 0
    n_different = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pipeline_in(folder)
        (folder / "in.jsonl").write_text("\n".join(texts_of(texts, chance)) + "\n")
        attack(folder, 1, 0, chance)
        undisturbed = bytes_of(folder / "out")
        shutil.rmtree(folder / "out")
        while sum(killed.values()) < kills:
            most = min(chance.randint(4, 9), kills - sum(killed.values()))
            killed += attack(folder, chance.choice([1, 2, 2]), most, chance)
            n_jobs += 1
            n_different += bytes_of(folder / "out") != undisturbed
            shutil.rmtree(folder / "out")
            counts = f"{sum(killed.values())} kills, {n_jobs} jobs, {n_different} with other bytes"
            print(f"{counts}: {dict(sorted(killed.items()))}", flush=True)
    for what, count in sorted(killed.items()):
        print(f"{count:4} {what}")
    result = {
        "kills": sum(killed.values()),
        "jobs": n_jobs,
        "different": n_different,
        "killed": dict(killed),
    }
    if output:
        output.write_text(json.dumps(result, indent=2) + "\n")
    if n_different:
        raise SystemExit(
            f"{n_different} of {n_jobs} jobs have other bytes than the undisturbed one"
        )
